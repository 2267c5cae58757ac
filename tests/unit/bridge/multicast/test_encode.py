"""Our queries, octet by octet against frames built independently."""

import pytest

from ofapp.bridge.multicast import Family
from ofapp.bridge.multicast.decode import decode
from ofapp.bridge.multicast.encode import QuerySpec, encode_query
from ofapp.bridge.multicast.message import Query
from tests.unit.bridge.multicast.lan import MAC, V4, V6, ip


def of_router(frame: bytes, dst: bytes) -> bytes:
    """The frame of V4/V6.query as our bridge sends it: its own address, the group's MAC."""
    return dst + MAC.to_bytes(6, "big") + frame[12:]


ALL4, GROUP4 = bytes.fromhex("01005e000001"), bytes.fromhex("01005e010101")
ALL6, GROUP6 = bytes.fromhex("333300000001"), bytes.fromhex("333300010001")


@pytest.mark.parametrize(
    ("spec", "want", "dst"),
    [
        (QuerySpec(Family.IPV4, 1, ip("0.0.0.0")), V4.query(version=1), ALL4),
        (QuerySpec(Family.IPV4, 2, ip("0.0.0.0")), V4.query(version=2), ALL4),
        (QuerySpec(Family.IPV4, 3, ip("0.0.0.0")), V4.query(), ALL4),
        (
            QuerySpec(Family.IPV4, 2, ip(V4.group), (), 1.0),
            V4.query(version=2, group=V4.group),
            GROUP4,
        ),
        (
            QuerySpec(Family.IPV4, 3, ip(V4.group), (), 1.0, True),
            V4.query(group=V4.group, suppress=True),
            GROUP4,
        ),
        (
            QuerySpec(Family.IPV4, 3, ip(V4.group), (ip("10.9.0.1"), ip("10.9.0.2")), 24.8),
            V4.query(group=V4.group, sources=V4.sources[:2], code=0x8F),
            GROUP4,
        ),
        (QuerySpec(Family.IPV6, 1, ip("::")), V6.query(version=1), ALL6),
        (QuerySpec(Family.IPV6, 2, ip("::"), qqi=248.0), V6.query(qqic=0x8F), ALL6),
        (
            QuerySpec(Family.IPV6, 2, ip(V6.group), (ip("2001:db8::1"),), 32.776, True),
            V6.query(group=V6.group, sources=V6.sources[:1], code=0x8001, suppress=True),
            GROUP6,
        ),
    ],
)
def test_queries_octet_by_octet(spec: QuerySpec, want: bytes, dst: bytes) -> None:
    source = ip(V4.router if spec.family is Family.IPV4 else V6.router)
    frame = encode_query(spec, MAC, source)
    assert frame == of_router(want, dst)
    tagged = encode_query(spec, MAC, source, vid=7)
    assert tagged == frame[:12] + b"\x81\x00\x00\x07" + frame[12:]
    assert decode(tagged, True) == decode(frame, True)


def test_too_long_a_response_time_is_the_longest_that_can_be_said() -> None:
    spec = QuerySpec(Family.IPV4, 2, ip("0.0.0.0"), max_resp=100.0)
    query = decode(encode_query(spec, MAC, ip(V4.router)))
    assert isinstance(query, Query)
    assert query.max_resp == 25.5
    spec = QuerySpec(Family.IPV6, 1, ip("::"), max_resp=100.0)
    query = decode(encode_query(spec, MAC, ip(V6.router)))
    assert isinstance(query, Query)
    assert query.max_resp == 65.535


def test_too_short_a_response_time_does_not_become_version_1() -> None:
    spec = QuerySpec(Family.IPV4, 2, ip("0.0.0.0"), max_resp=0.01)
    query = decode(encode_query(spec, MAC, ip(V4.router)))
    assert isinstance(query, Query)
    assert (query.version, query.max_resp) == (2, 0.1)


def test_a_robustness_over_7_is_sent_as_0() -> None:
    """RFC 3376 4.1.6."""
    query = decode(encode_query(QuerySpec(Family.IPV4, 3, ip("0.0.0.0"), qrv=8), MAC, bytes(4)))
    assert isinstance(query, Query)
    assert query.qrv == 0
