"""What the decoder believes, what it drops and why, and that nothing makes it raise."""

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ofapp.bridge.multicast.decode import decode
from ofapp.bridge.multicast.message import Other, Query, Record, Report, RouterHello
from ofapp.bridge.packet.malformed import Malformed
from tests.unit.bridge.multicast.lan import (
    ALLOW,
    BLOCK,
    HOP_BY_HOP,
    IS_EX,
    IS_IN,
    TO_EX,
    TO_IN,
    V4,
    V6,
    ethernet,
    icmp6,
    igmp,
    ip,
    ipv4,
    ipv6,
    records,
)

G, G6 = "239.1.1.1", "ff05::1:1"
QTAG = b"\x81\x00\x00\x05"
STAG = b"\x88\xa8\x00\x06"


def reason(frame: bytes, strict: bool = False) -> str:
    message = decode(frame, strict)
    assert isinstance(message, Malformed), message
    return message.reason


def kind(frame: bytes, strict: bool = False) -> str:
    message = decode(frame, strict)
    assert not isinstance(message, Malformed), message
    return message.kind


# What is believed.


@pytest.mark.parametrize(
    ("frame", "name", "version", "rows"),
    [
        (V4.join_v1(), "igmp_v1_report", 1, [(IS_EX, G, [])]),
        (V4.join(), "igmp_v2_report", 2, [(IS_EX, G, [])]),
        (V4.leave(), "igmp_v2_leave", 2, [(TO_IN, G, [])]),
        (
            V4.report((ALLOW, G, ["10.0.0.1", "10.0.0.2"]), (BLOCK, "232.1.1.1", ["10.0.0.3"])),
            "igmp_v3_report",
            3,
            [(ALLOW, G, ["10.0.0.1", "10.0.0.2"]), (BLOCK, "232.1.1.1", ["10.0.0.3"])],
        ),
        (V6.join(), "mld_v1_report", 1, [(IS_EX, G6, [])]),
        (V6.leave(), "mld_v1_leave", 1, [(TO_IN, G6, [])]),
        (
            V6.report((TO_EX, G6, ["2001:db8::1"]), (IS_IN, "ff3e::1", ["2001:db8::2"])),
            "mld_v2_report",
            2,
            [(TO_EX, G6, ["2001:db8::1"]), (IS_IN, "ff3e::1", ["2001:db8::2"])],
        ),
    ],
)
def test_reports(
    frame: bytes, name: str, version: int, rows: list[tuple[int, str, list[str]]]
) -> None:
    for strict in (False, True):
        message = decode(frame, strict)
        assert isinstance(message, Report)
        assert (message.kind, message.version) == (name, version)
        assert message.host == bytes((2, 0, 0, 0, 0, 1))
        assert message.records == tuple(
            Record(kind, ip(group), tuple(map(ip, sources))) for kind, group, sources in rows
        )


@pytest.mark.parametrize(
    ("frame", "want"),
    [
        (V4.query(version=1), ("igmp_v1_query", 1, "0.0.0.0", (), 10.0, False, 0, 0.0)),
        (V4.query(version=2, code=50), ("igmp_v2_query", 2, "0.0.0.0", (), 5.0, False, 0, 0.0)),
        (V4.query(version=2, group=G), ("igmp_v2_query", 2, G, (), 1.0, False, 0, 0.0)),
        (V4.query(qqic=0x8F), ("igmp_v3_query", 3, "0.0.0.0", (), 10.0, False, 2, 248.0)),
        (
            V4.query(group=G, sources=V4.sources[:2], suppress=True, qrv=3, code=0x8F),
            ("igmp_v3_query", 3, G, V4.sources[:2], 24.8, True, 3, 125.0),
        ),
        (V6.query(version=1), ("mld_v1_query", 1, "::", (), 10.0, False, 0, 0.0)),
        (V6.query(version=1, group=G6), ("mld_v1_query", 1, G6, (), 1.0, False, 0, 0.0)),
        (V6.query(), ("mld_v2_query", 2, "::", (), 10.0, False, 2, 125.0)),
        (
            V6.query(group=G6, sources=V6.sources[:2], suppress=True, code=0x8001),
            ("mld_v2_query", 2, G6, V6.sources[:2], 32.776, True, 2, 125.0),
        ),
    ],
)
def test_queries(
    frame: bytes, want: tuple[str, int, str, tuple[str, ...], float, bool, int, float]
) -> None:
    for strict in (False, True):
        message = decode(frame, strict)
        assert isinstance(message, Query)
        name, version, group, sources, resp, suppress, qrv, qqi = want
        assert (message.kind, message.version, message.group) == (name, version, ip(group))
        assert message.sources == tuple(map(ip, sources))
        assert message.max_resp == pytest.approx(resp)
        assert (message.suppress, message.qrv, message.qqi) == (suppress, qrv, qqi)
        assert message.general == (group in ("0.0.0.0", "::"))


@pytest.mark.parametrize("vx", [V4, V6])
def test_routers(vx: type[V4] | type[V6]) -> None:
    def hold(frame: bytes) -> float | None:
        message = decode(frame, True)
        assert isinstance(message, RouterHello)
        assert message.family is vx.family
        return message.hold

    assert hold(vx.hello(hold=30)) == 30.0
    assert hold(vx.hello(hold=None)) == 105.0  # RFC 7761 4.3.3 when the option is missing
    assert hold(vx.hello(hold=0)) == 0.0
    assert hold(vx.hello(hold=0xFFFF)) is None
    assert hold(vx.mrd(interval=20)) == 60.0
    assert hold(vx.mrd(interval=0)) is None
    assert hold(vx.mrd(end=True)) == 0.0


@pytest.mark.parametrize("vx", [V4, V6])
def test_what_is_behind_a_second_tag_is_content(vx: type[V4] | type[V6]) -> None:
    for tags in (b"", QTAG, STAG):
        assert kind(vx.report((IS_EX, vx.group, []), tags=tags)).endswith("_report")
    for tags in (STAG + QTAG, QTAG * 2):
        assert decode(vx.report((IS_EX, vx.group, []), tags=tags)) == Other()


def test_ethernet_padding_and_trailer_are_not_read() -> None:
    frame = V4.query(version=2) + bytes(18)
    assert kind(frame) == "igmp_v2_query"  # 26 octets of IGMP would have been version 3


@pytest.mark.parametrize("vx", [V4, V6])
def test_report_from_the_unspecified_address_is_believed(vx: type[V4] | type[V6]) -> None:
    assert isinstance(decode(vx.report((IS_EX, vx.group, []), src=vx.none), True), Report)


def test_auxiliary_data_unknown_types_bad_groups_and_bad_sources_are_skipped() -> None:
    body = struct.pack("!HH", 0, 4)
    body += struct.pack("!BBH", IS_EX, 2, 0) + ip(G) + b"auxdata!"
    body += struct.pack("!BBH", 9, 0, 1) + ip(G) + ip("10.0.0.1")
    body += struct.pack("!BBH", IS_EX, 0, 0) + ip("10.0.0.1")
    body += struct.pack("!BBH", ALLOW, 0, 4) + ip(G)
    body += ip("10.0.0.1") + ip("239.9.9.9") + ip("0.0.0.0") + ip("10.0.0.1")
    message = decode(ethernet(ipv4(igmp(0x22, 0, body), "10.0.0.1", "224.0.0.22"), 0x0800))
    assert isinstance(message, Report)
    assert message.records == (Record(IS_EX, ip(G)), Record(ALLOW, ip(G), (ip("10.0.0.1"),)))


@pytest.mark.parametrize(
    "frame",
    [
        V4.unknown(),  # DVMRP
        V6.unknown(),  # neighbour solicitation
        ethernet(b"\0" * 46, 0x88CC),  # not IP
        ethernet(ipv4(bytes(20), "10.0.0.1", G, proto=17, ttl=9), 0x0800),  # a stream
        ethernet(ipv6(bytes(20), "fe80::1", G6, hbh=b"", proto=17), 0x86DD),
        ethernet(ipv4(igmp(0x21, 0, b""), "10.0.0.1", "224.0.0.13", proto=103), 0x0800),
        ethernet(ipv4(igmp(0x20, 0, b""), "10.0.0.1", "224.0.0.9", proto=103), 0x0800),
        ethernet(ipv6(b"\x2c\x00" + bytes(6), "fe80::1", G6, hbh=b"", proto=44), 0x86DD),
    ],
)
def test_what_is_not_ours_is_passed_on(frame: bytes) -> None:
    assert isinstance(decode(frame, True), Other)


# What is dropped, and why.

V3 = igmp(0x22, 0, records((IS_EX, G, [])))
MLD2 = records((IS_EX, G6, []))


def v6(
    kind_: int, rest: bytes, src: str = "fe80::1", dst: str = "ff02::16", **how: object
) -> bytes:
    return ethernet(ipv6(icmp6(kind_, rest, src, dst), src, dst, **how), 0x86DD)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("frame", "why"),
    [
        (b"", "ethernet_truncated"),
        (V4.join()[:13], "ethernet_truncated"),
        (ethernet(b"", 0x8100), "ethernet_truncated"),
        (V4.join()[:20], "ip_truncated"),
        (V4.join()[:-1], "ip_truncated"),
        (V6.join()[:30], "ip_truncated"),
        (V6.join()[:-1], "ip_truncated"),
        (ethernet(b"\x65" + ipv4(V3, "10.0.0.1", G)[1:], 0x0800), "ip_truncated"),
        (ethernet(b"\x44" + ipv4(V3, "10.0.0.1", G)[1:], 0x0800), "ip_truncated"),
        (ethernet(ipv6(b"", "fe80::1", G6, hbh=b"", proto=0), 0x86DD), "ip_truncated"),
        (
            ethernet(ipv6(b"\x3a\x09" + bytes(6), "fe80::1", G6, hbh=b"", proto=0), 0x86DD),
            "ip_truncated",
        ),
        (
            ethernet(ipv4(V3, "10.0.0.1", G)[:11] + b"\xff" + ipv4(V3, "10.0.0.1", G)[12:], 0x0800),
            "ip_checksum",
        ),
        (ethernet(ipv4(V3, "10.0.0.1", G, fragment=0x2000), 0x0800), "ip_fragment"),
        (ethernet(ipv4(V3, "10.0.0.1", G, fragment=0x0005), 0x0800), "ip_fragment"),
        (
            ethernet(
                ipv6(
                    b"\x2c" + HOP_BY_HOP + b"\x3a\x00" + bytes(6), "fe80::1", G6, hbh=b"", proto=0
                ),
                0x86DD,
            ),
            "ip_fragment",
        ),
        (ethernet(ipv4(V3, "239.9.9.9", G), 0x0800), "ip_source"),
        (ethernet(ipv4(V3, "127.0.0.1", G), 0x0800), "ip_source"),
        (ethernet(ipv4(V3, "255.255.255.255", G), 0x0800), "ip_source"),
        (ethernet(ipv4(b"\x16\x00", "10.0.0.1", G), 0x0800), "igmp_truncated"),
        (ethernet(ipv4(igmp(0x16, 0, b""), "10.0.0.1", G), 0x0800), "igmp_truncated"),
        (
            ethernet(ipv4(igmp(0x11, 9, bytes(6)), "10.0.0.1", "224.0.0.1"), 0x0800),
            "igmp_truncated",
        ),
        (
            ethernet(
                ipv4(igmp(0x11, 9, bytes(6) + b"\0\2" + bytes(4)), "10.0.0.1", "224.0.0.1"), 0x0800
            ),
            "igmp_truncated",
        ),
        (V4.query(sources=V4.sources), "igmp_group"),
        (V6.query(sources=V6.sources), "mld_group"),
        (V4.damaged(), "igmp_checksum"),
        (V6.damaged(), "mld_checksum"),
        (ethernet(ipv4(igmp(0x16, 0, ip("10.0.0.1")), "10.0.0.1", G), 0x0800), "igmp_group"),
        (ethernet(ipv4(igmp(0x11, 9, ip("10.0.0.1")), "10.0.0.1", G), 0x0800), "igmp_group"),
        (
            ethernet(ipv4(igmp(0x11, 9, bytes(4)), "10.0.0.1", "224.0.0.9"), 0x0800),
            "igmp_destination",
        ),
        (ethernet(ipv4(igmp(0x30, 20, b""), "10.0.0.1", "224.0.0.106"), 0x0800), "mrd_truncated"),
        (
            ethernet(ipv4(igmp(0x30, 20, bytes(4)), "10.0.0.1", "224.0.0.1"), 0x0800),
            "mrd_destination",
        ),
        (ethernet(ipv6(b"\x8f\0", "fe80::1", "ff02::16"), 0x86DD), "mld_truncated"),
        (v6(143, b""), "mld_truncated"),
        (v6(131, bytes(10)), "mld_truncated"),
        (v6(130, bytes(22), dst="ff02::1"), "mld_truncated"),
        (v6(130, bytes(22) + b"\0\1" + bytes(8), dst="ff02::1"), "mld_truncated"),
        (v6(143, MLD2, src="2001:db8::1"), "mld_off_link"),
        (v6(130, bytes(20), src="2001:db8::1", dst="ff02::1"), "mld_off_link"),
        (v6(151, bytes(4), src="::", dst="ff02::6a"), "mld_off_link"),
        (v6(143, MLD2, hbh=b""), "router_alert"),
        (v6(131, bytes(4) + ip("fe80::1")), "mld_group"),
        (v6(130, bytes(4) + ip("fe80::1")), "mld_group"),
        (v6(130, bytes(20), dst="ff02::2"), "mld_destination"),
        (v6(151, bytes(4), dst="ff02::1"), "mrd_destination"),
        (ethernet(ipv4(b"\x20\0", "10.0.0.1", "224.0.0.13", proto=103), 0x0800), "pim_truncated"),
        (
            ethernet(ipv4(b"\x20\0\0\0", "10.0.0.1", "224.0.0.13", proto=103), 0x0800),
            "pim_checksum",
        ),
        (
            ethernet(ipv6(b"\x20\0\0\0", "fe80::1", "ff02::d", hbh=b"", proto=103), 0x86DD),
            "pim_checksum",
        ),
        (
            ethernet(ipv4(igmp(0x20, 0, b"\0\1"), "10.0.0.1", "224.0.0.13", proto=103), 0x0800),
            "pim_truncated",
        ),
        (
            ethernet(ipv4(igmp(0x20, 0, b"\0\1\0\2"), "10.0.0.1", "224.0.0.13", proto=103), 0x0800),
            "pim_truncated",
        ),
        (V6.hello(src="2001:db8::1"), "pim_off_link"),
    ],
)
def test_dropped_with_a_reason(frame: bytes, why: str) -> None:
    assert reason(frame) == why
    assert reason(frame, strict=True) == why


@pytest.mark.parametrize("count", [2, 3, 0xFFFF])
def test_more_records_or_sources_claimed_than_there_are(count: int) -> None:
    for at in (6, 10):  # the record count, the first record's source count
        body = bytearray(igmp(0x22, 0, records((IS_EX, G, ["10.0.0.1"]))))
        body[at : at + 2] = struct.pack("!H", count)
        body[2:4] = bytes(2)
        frame = ethernet(ipv4(igmp(0x22, 0, bytes(body[4:])), "10.0.0.1", "224.0.0.22"), 0x0800)
        assert reason(frame) == "igmp_truncated"


def test_auxiliary_data_beyond_the_end() -> None:
    body = struct.pack("!HHBBH", 0, 1, IS_EX, 9, 0) + ip(G)
    frame = ethernet(ipv4(igmp(0x22, 0, body), "10.0.0.1", "224.0.0.22"), 0x0800)
    assert reason(frame) == "igmp_truncated"
    assert reason(v6(143, struct.pack("!HHBBH", 0, 2, IS_EX, 0, 0) + ip(G6))) == "mld_truncated"


# Where the RFCs are stricter than deployed practice.

PAD6 = b"\x00\x01\x04\x00\x00\x00\x00"  # hop-by-hop with padding only


@pytest.mark.parametrize(
    ("frame", "why"),
    [
        (ethernet(ipv4(V3, "10.0.0.1", "224.0.0.22", options=b""), 0x0800), "router_alert"),
        (
            ethernet(ipv4(V3, "10.0.0.1", "224.0.0.22", options=b"\x01\x01\x01\x00"), 0x0800),
            "router_alert",
        ),
        (
            ethernet(
                ipv4(V3, "10.0.0.1", "224.0.0.22", options=b"\x07\x04\0\0\x07\x01\0\0"), 0x0800
            ),
            "router_alert",
        ),
        (ethernet(ipv4(V3, "10.0.0.1", G), 0x0800), "igmp_destination"),
        (ethernet(ipv4(igmp(0x16, 0, ip(G)), "10.0.0.1", "224.0.0.2"), 0x0800), "igmp_destination"),
        (ethernet(ipv4(igmp(0x17, 0, ip(G)), "10.0.0.1", G), 0x0800), "igmp_destination"),
        (ethernet(ipv4(igmp(0x11, 9, ip(G)), "10.0.0.1", "224.0.0.1"), 0x0800), "igmp_destination"),
        (
            ethernet(
                ipv4(igmp(0x30, 20, bytes(4)), "10.0.0.1", "224.0.0.106", options=b""), 0x0800
            ),
            "router_alert",
        ),
        (v6(143, MLD2, hbh=PAD6), "router_alert"),
        (v6(143, MLD2, hbh=b"\x00\x00\x00\x00\x00\x00\x1e"), "router_alert"),
        (v6(143, MLD2, dst="ff02::1"), "mld_destination"),
        (v6(131, bytes(4) + ip(G6), dst="ff02::2"), "mld_destination"),
        (v6(132, bytes(4) + ip(G6), dst=G6), "mld_destination"),
        (v6(130, bytes(4) + ip(G6), dst="ff02::1"), "mld_destination"),
        (ethernet(ipv4(V3, "10.0.0.1", "224.0.0.22", ttl=64), 0x0800), "igmp_ttl"),
        (v6(143, MLD2, hop_limit=2), "mld_hop_limit"),
        (v6(143, MLD2, hop_limit=255), "mld_hop_limit"),
        (
            ethernet(ipv4(igmp(0x20, 0, b""), "10.0.0.1", "224.0.0.13", proto=103, ttl=3), 0x0800),
            "pim_ttl",
        ),
    ],
)
def test_accepted_as_linux_does_unless_strict(frame: bytes, why: str) -> None:
    assert kind(frame)
    assert reason(frame, strict=True) == why


def test_igmpv1_has_no_router_alert_even_in_strict() -> None:
    assert kind(V4.join_v1(), strict=True) == "igmp_v1_report"
    query = ethernet(ipv4(igmp(0x11, 0, bytes(4)), "10.0.0.1", "224.0.0.1", options=b""), 0x0800)
    assert kind(query, strict=True) == "igmp_v1_query"


def test_router_alert_counts_among_several_extension_headers() -> None:
    message = icmp6(143, MLD2, "fe80::1", "ff02::16")
    headers = b"\x3c" + HOP_BY_HOP + b"\x3a\x00\x01\x04" + bytes(4)  # then destination options
    frame = ethernet(ipv6(headers + message, "fe80::1", "ff02::16", hbh=b"", proto=0), 0x86DD)
    assert kind(frame, strict=True) == "mld_v2_report"


def test_other_options_of_a_hello_are_skipped() -> None:
    options = struct.pack("!HHIHHH", 20, 4, 7, 1, 2, 30)
    frame = ethernet(ipv4(igmp(0x20, 0, options), "10.0.0.1", "224.0.0.13", proto=103), 0x0800)
    message = decode(frame)
    assert isinstance(message, RouterHello)
    assert message.hold == 30.0


def test_router_alert_is_found_among_other_options() -> None:
    options = b"\x01\x07\x03\x00\x94\x04\x00\x00"
    frame = ethernet(ipv4(V3, "10.0.0.1", "224.0.0.22", options=options), 0x0800)
    assert kind(frame, strict=True) == "igmp_v3_report"


# Anything at all.

SOUND = [
    V4.report((ALLOW, G, list(V4.sources)), (IS_EX, "239.2.2.2", [])),
    V6.report((ALLOW, G6, list(V6.sources)), (IS_EX, "ff05::9", [])),
    V4.query(group=G, sources=V4.sources),
    V6.query(group=G6, sources=V6.sources),
    V4.hello(),
    V6.hello(),
    V4.mrd(),
    V6.mrd(),
    V4.join(),
    V6.leave(),
]


@given(st.binary(max_size=120), st.booleans())
@settings(max_examples=300)
def test_random_octets_never_raise(data: bytes, strict: bool) -> None:
    decode(data, strict)


@given(
    st.sampled_from(SOUND),
    st.lists(st.tuples(st.integers(0, 200), st.integers(0, 255)), min_size=1, max_size=4),
    st.integers(0, 200),
    st.booleans(),
)
@settings(max_examples=600)
def test_damaged_frames_never_raise(
    frame: bytes, damage: list[tuple[int, int]], cut: int, strict: bool
) -> None:
    octets = bytearray(frame)
    for at, value in damage:
        octets[at % len(octets)] = value
    decode(bytes(octets[: len(octets) - cut % 8]), strict)


@given(st.sampled_from([0x11, 0x12, 0x16, 0x17, 0x22, 0x30, 0x32]), st.binary(max_size=60))
def test_sound_checksum_over_random_igmp_never_raises(kind_: int, body: bytes) -> None:
    decode(ethernet(ipv4(igmp(kind_, 1, body), "10.0.0.1", "224.0.0.1"), 0x0800))


@given(st.sampled_from([130, 131, 132, 143, 151, 153]), st.binary(max_size=90))
def test_sound_checksum_over_random_mld_never_raises(kind_: int, body: bytes) -> None:
    decode(v6(kind_, body))


@pytest.mark.parametrize("frame", SOUND)
def test_every_truncation_is_dropped(frame: bytes) -> None:
    for length in range(len(frame)):
        assert isinstance(decode(frame[:length]), Malformed)
