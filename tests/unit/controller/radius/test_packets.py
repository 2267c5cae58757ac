"""RADIUS packets: what is sent is signed, and no answer is taken that is not."""

from __future__ import annotations

import hashlib
import hmac
import struct
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ofapp.bridge.effects import AccountSession, AskServer
from ofapp.bridge.port_access.answer import UNCLEAR
from ofapp.bridge.port_access.status import SessionFilter
from ofapp.controller.radius.client import Place, SecretError, places, read_secret
from ofapp.controller.radius.packets import Demand, RefusedError, Report, Request

SECRET = b"s3cret"
QUESTION = AskServer(1, 7, "eth7", 0x020A0000000B, b"alice", "s-1", bytes([2, 9, 0, 6, 1, 97]), b"")
ACCEPT, REJECT, CHALLENGE = 2, 3, 11
SIGNATURE = 80


def request(question: AskServer = QUESTION) -> Request:
    return Request(question, "br0", 0x020000000001, 5, SECRET)


def attribute(kind: int, value: bytes) -> bytes:
    return bytes([kind, len(value) + 2]) + value


def attributes(octets: bytes) -> dict[int, bytes]:
    """All values of a packet, those of one kind joined."""
    found: dict[int, bytes] = {}
    at = 20
    while at < len(octets):
        kind, length = octets[at], octets[at + 1]
        found[kind] = found.get(kind, b"") + octets[at + 2 : at + length]
        at += length
    return found


def reply(
    to: Request, code: int, *values: bytes, secret: bytes = SECRET, signed: bool = True
) -> bytes:
    """An answer as a server makes it (RFC 2865 3, RFC 3579 3.2)."""
    body = b"".join(values)
    authenticator = to.octets[4:20]
    if signed:
        body = attribute(SIGNATURE, bytes(16)) + body
    head = struct.pack("!BBH", code, to.octets[1], 20 + len(body))
    if signed:
        mac = hmac.new(secret, head + authenticator + body, "md5").digest()
        body = attribute(SIGNATURE, mac) + body[18:]
    return head + hashlib.md5(head + authenticator + body + secret).digest() + body


def test_a_request_is_signed_and_says_where_the_host_is() -> None:
    octets = request().octets
    found = attributes(octets)
    zeroed = octets.replace(found[SIGNATURE], bytes(16))
    assert found[SIGNATURE] == hmac.new(SECRET, zeroed, "md5").digest()
    assert (octets[20], found[1], found[31]) == (SIGNATURE, b"alice", b"02-0A-00-00-00-0B")
    assert (found[79], found[87], found[61]) == (QUESTION.eap, b"eth7", bytes([0, 0, 0, 15]))
    assert 2 not in found


def test_a_long_eap_message_goes_in_parts() -> None:
    question = AskServer(1, 7, "eth7", 1, b"a", "s", bytes(range(250)) * 4, b"state")
    found = attributes(request(question).octets)
    assert (found[79], found[24]) == (bytes(range(250)) * 4, b"state")


def test_mac_authentication_hides_its_password() -> None:
    question = AskServer(1, 7, "eth7", 0x020A0000000B, b"020a0000000b", "s-1", b"", b"")
    found = attributes(request(question).octets)
    assert found[6] == bytes([0, 0, 0, 10])
    assert len(found[2]) == 16
    assert b"020a0000000b" not in found[2]


def test_an_answer_is_read() -> None:
    asked = request()
    vlan = attribute(64, b"\1\0\0\x0d") + attribute(65, b"\1\0\0\6") + attribute(81, b"\x01staff")
    words = attribute(18, "bis später".encode())
    more = attribute(27, struct.pack("!I", 600)) + attribute(29, struct.pack("!I", 1))
    answer = asked.answer(reply(asked, ACCEPT, vlan, words, more))
    assert (answer.verdict, answer.vlan, answer.message) == ("accept", "staff", "bis später")
    assert (answer.timeout, answer.again) == (600, True)
    parts = attribute(79, b"\1\7") + attribute(79, b"\0\6\4\0") + attribute(24, b"s")
    challenge = asked.answer(reply(asked, CHALLENGE, parts))
    assert (challenge.verdict, challenge.eap, challenge.state) == (
        "challenge",
        b"\1\7\0\6\4\0",
        b"s",
    )
    assert asked.answer(reply(asked, REJECT)).verdict == "reject"


def test_rights_are_read() -> None:
    asked = request()
    lists = attribute(11, b"guests") + attribute(11, b"staff")
    tagged, untagged = struct.pack("!I", 0x31000014), struct.pack("!I", 0x32000FFF)
    egress = attribute(56, tagged) + attribute(56, untagged) + attribute(58, b"1voice")
    unclear = attribute(56, b"1") + attribute(56, b"3\0\0\1") + attribute(58, b"voice")
    up = attribute(26, struct.pack("!IBBI", 14122, 7, 6, 5_000_000))
    down = attribute(26, struct.pack("!IBBI", 14122, 8, 6, 9_000_000))
    other = attribute(26, struct.pack("!IBBI", 9, 7, 6, 1)) + attribute(26, b"\0")
    answer = asked.answer(reply(asked, ACCEPT, lists, egress, unclear, up, other, down))
    assert (answer.filters, answer.up, answer.down) == (("guests", "staff"), 5_000_000, 9_000_000)
    assert answer.egress == (
        *((True, "20"), (False, "4095"), (False, "?"), (False, "?")),
        *((True, "voice"), (False, "?")),
    )


@pytest.mark.parametrize(
    ("values", "rate"),
    [
        ([b"\0\0\0\0"], None),
        ([b"\xff" * 4], 2**32 - 1),
        ([b"\0\0\1\0", b"\0\0\1\0"], 256),
        ([b"\0\0\1\0", b"\0\0\2\0"], UNCLEAR),
        ([b"\0\0\0\0", b"\0\0\2\0"], UNCLEAR),
        ([b"\0" * 7 + b"\1"], UNCLEAR),
        ([b""], UNCLEAR),
    ],
    ids=["zero", "most", "twice", "two", "zero and another", "64 bits", "empty"],
)
@pytest.mark.parametrize("apart", [False, True])
def test_a_rate_is_one_number_or_unclear(
    values: list[bytes], rate: int | None, apart: bool
) -> None:
    """An unclear rate is a refusal: the host would have no limit."""
    asked, vendor = request(), struct.pack("!I", 14122)
    parts = [bytes([7, 2 + len(value)]) + value for value in values]
    whole = parts if apart else [b"".join(parts)]
    octets = b"".join(attribute(26, vendor + each) for each in whole)
    assert asked.answer(reply(asked, ACCEPT, octets)).up == rate


@pytest.mark.parametrize(
    ("values", "timeout"),
    [
        ([], None),
        ([b"\0\0\0\0"], None),
        ([b"\0\0\2\x58"], 600),
        ([b"\2\x58"], UNCLEAR),
        ([b"\0" * 7 + b"\1"], UNCLEAR),
        ([b"\0\0\2\x58", b"\0\0\0\1"], UNCLEAR),
    ],
    ids=["none", "zero", "one", "16 bits", "64 bits", "two"],
)
def test_a_session_timeout_is_one_number_or_unclear(
    values: list[bytes], timeout: int | None
) -> None:
    """An unclear Session-Timeout is a refusal: the session would have no end."""
    asked = request()
    octets = b"".join(attribute(27, value) for value in values)
    assert asked.answer(reply(asked, ACCEPT, octets)).timeout == timeout


def test_a_rate_without_an_end_is_unclear() -> None:
    asked, vendor = request(), struct.pack("!I", 14122)
    octets = attribute(26, vendor + bytes([7, 9, 0, 0, 1, 0]))
    answer = asked.answer(reply(asked, ACCEPT, octets))
    assert (answer.up, answer.down) == (UNCLEAR, None)


@pytest.mark.parametrize("kind", [64, 65])
def test_a_vlan_beside_a_number_of_another_length_does_not_exist(kind: int) -> None:
    """Else the host would have the VLAN of its port."""
    asked = request()
    numbers = attribute(64, b"\0\0\0\x0d") + attribute(65, b"\0\0\0\6")
    octets = numbers + attribute(kind, b"\x06")
    assert asked.answer(reply(asked, ACCEPT, octets, attribute(81, b"20"))).vlan == "?"
    assert asked.answer(reply(asked, ACCEPT, octets)).vlan == ""


@pytest.mark.parametrize(
    ("kind", "medium", "named"), [(13, 6, "20"), (3, 6, ""), (13, 1, "")], ids=str
)
def test_only_a_tunnel_that_is_a_vlan_gives_one(kind: int, medium: int, named: str) -> None:
    asked = request()
    numbers = attribute(64, struct.pack("!I", kind)) + attribute(65, struct.pack("!I", medium))
    assert asked.answer(reply(asked, ACCEPT, numbers, attribute(81, b"20"))).vlan == named


@pytest.mark.parametrize(
    ("forge", "reason"),
    [
        (lambda to: reply(to, ACCEPT, signed=False), "unsigned"),
        (lambda to: reply(to, ACCEPT, secret=b"other"), "invalid_signature"),
        (lambda to: reply(to, REJECT).replace(b"\x03", b"\x02", 1), "invalid_signature"),
        (lambda to: reply(to, 44), "unknown_code"),
        (lambda to: reply(to, ACCEPT)[:-1], "malformed"),
        (lambda to: reply(to, ACCEPT, attribute(SIGNATURE, bytes(4))), "malformed"),
        (lambda to: reply(request(), ACCEPT), "invalid_signature"),
    ],
    ids=["unsigned", "secret", "changed", "code", "short", "twice", "other request"],
)
def test_no_other_answer_is_taken(forge: object, reason: str) -> None:
    asked = request()
    with pytest.raises(RefusedError) as refused:
        asked.answer(forge(asked))  # type: ignore[operator]
    assert refused.value.reason == reason


@given(st.binary(max_size=200), st.sampled_from([ACCEPT, REJECT, CHALLENGE, 1, 255]))
def test_no_octets_raise_anything_else(octets: bytes, code: int) -> None:
    asked = request()
    for packet in (octets, reply(asked, code, octets), bytes([code, 5]) + octets):
        try:
            answer = asked.answer(packet)
        except RefusedError:
            continue
        assert answer.verdict in ("accept", "reject", "challenge")


def demand(code: int, *values: bytes, secret: bytes = SECRET, at: float | None = None) -> bytes:
    """A Disconnect-Request or CoA-Request as a server makes it (RFC 5176 2.3)."""
    stamp = attribute(55, struct.pack("!I", int(time.time() if at is None else at)))
    body = b"".join((stamp, *values))
    head = struct.pack("!BBH", code, 9, 20 + len(body))
    return head + hashlib.md5(head + bytes(16) + body + secret).digest() + body


STATION = attribute(31, b"02-0A-00-00-00-0B")


def test_a_demand_of_a_server_is_read_and_answered() -> None:
    ends = Demand(demand(40, STATION, attribute(44, b"s-1")), SECRET)
    assert (ends.ends, ends.bridge, ends.called) == (True, None, None)
    assert ends.sessions == SessionFilter("s-1", 0x020A0000000B)
    assert (ends.reply()[0], ends.reply(503)[0]) == (41, 42)
    again = Demand(demand(43, STATION), SECRET)
    assert (again.ends, again.reply()[0], again.reply(402)[0]) == (False, 44, 45)
    assert attributes(again.reply(402))[101] == struct.pack("!I", 402)


@pytest.mark.parametrize(
    ("octets", "reason"),
    [
        (demand(40, STATION, secret=b"other"), "invalid_signature"),
        (demand(40, STATION, at=0), "not_fresh"),
        (demand(40, STATION, attribute(80, bytes(16))), "invalid_signature"),
        (demand(40, STATION) + b"x", "invalid_signature"),
        (demand(1, STATION), "unknown_code"),
        (b"", "malformed"),
    ],
    ids=["secret", "old", "signature", "longer", "code", "nothing"],
)
def test_no_other_demand_is_carried_out(octets: bytes, reason: str) -> None:
    with pytest.raises(RefusedError) as refused:
        Demand(octets, SECRET)
    assert refused.value.reason == reason


@given(st.binary(max_size=100), st.sampled_from([40, 43]))
def test_no_octets_of_a_demand_raise_anything_else(octets: bytes, code: int) -> None:
    for packet in (octets, demand(code, octets)):
        try:
            read = Demand(packet, SECRET)
        except RefusedError:
            continue
        assert read.reply()


def test_a_report_is_signed_and_its_answer_checked() -> None:
    session = AccountSession(2, 7, "eth7", 0x020A0000000B, b"alice", "s-1", 60, 5, (b"staff",))
    report = Report(session, "br0", 0x020000000001, 5, SECRET)
    found = attributes(report.octets)
    assert (found[40], found[46], found[49]) == tuple(
        struct.pack("!I", number) for number in (2, 60, 5)
    )
    assert (found[25], found[44], found[31]) == (b"staff", b"s-1", b"02-0A-00-00-00-0B")
    zeroed = report.octets[:4] + bytes(16) + report.octets[20:]
    assert hashlib.md5(zeroed + SECRET).digest() == report.octets[4:20]
    head = struct.pack("!BBH", 5, 5, 20)
    good = head + hashlib.md5(head + report.octets[4:20] + SECRET).digest()
    assert report.answer(good)
    with pytest.raises(RefusedError, match="invalid_signature"):
        report.answer(head + bytes(16))


def test_servers_are_read() -> None:
    assert places("10.0.0.1,[2001:db8::1]:99,[::1],10.0.0.2:1645") == [
        Place("10.0.0.1", 1812),
        Place("2001:db8::1", 99),
        Place("::1", 1812),
        Place("10.0.0.2", 1645),
    ]
    assert places("") == []


def test_a_server_is_known_by_its_address_however_it_is_written() -> None:
    assert places("[2001:DB8:0:0::1]:1812,[2001:db8:0:0:0:0:0:2]") == [
        Place("2001:db8::1", 1812),
        Place("2001:db8::2", 1812),
    ]


def test_a_secret_that_cannot_be_read_is_an_error_that_names_the_file(tmp_path: object) -> None:
    with pytest.raises(SecretError, match="secret_file"):
        read_secret("")
    with pytest.raises(SecretError, match=f"{tmp_path}/none cannot be read"):
        read_secret(f"{tmp_path}/none")
