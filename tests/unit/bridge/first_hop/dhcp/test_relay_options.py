"""Option 82 (RFC 3046) and Relay-forward messages (RFC 6221): inserted, kept and removed."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ofapp.bridge.packet.checksum import checksum_ok, pseudo_header
from ofapp.bridge.packet.malformed import Malformed
from ofapp.bridge.packet.udp import Datagram, read_udp
from ofapp.bridge.ports.port import Port
from tests.support import dhcp_frames as frames
from tests.support.dhcp_frames import (
    ACK,
    ADVERTISE,
    RELAY_FORWARD,
    RELAY_REPLY,
    REPLY,
    REQUEST,
    SOLICIT,
    Bootp,
    duid,
    ia_na,
    ip,
    link_local,
    message6,
    option4,
    option6,
)
from tests.unit.bridge.first_hop.dhcp.snooped import (
    BRIDGE,
    GUEST,
    HOST,
    bound,
    dropped,
    leases,
    snooping,
)
from tests.unit.bridge.first_hop.dhcp.test_captures import captures

OURS = (82, option4(1, b"vnet3") + option4(2, BRIDGE.encode()))
FORGED = (82, option4(1, b"vnet9") + option4(2, b"another bridge"))
ASKED = Bootp(mac=HOST, kind=REQUEST, options=((50, ip("10.0.0.7")), (12, b"guest")))
A = ("2001:db8::7", 3600)


def whole(frame: bytes | None) -> tuple[Datagram, bytes]:
    """A datagram with correct lengths and checksums, and its payload."""
    assert frame is not None
    datagram = read_udp(frame)
    assert not isinstance(datagram, Malformed)
    packet = datagram.packet
    assert len(frame) == packet.end == datagram.end
    if len(packet.source) == 4:
        assert checksum_ok(frame[packet.header : packet.at])
    data = frame[packet.at : packet.end]
    assert checksum_ok(pseudo_header(packet.source, packet.dest, len(data), 17) + data)
    return datagram, frame[datagram.at : datagram.end]


def forwarded(frame: bytes, mode: str) -> bytes:
    verdict = snooping(mode).from_client(GUEST, frame, 0.0)
    assert verdict.frame is not None, verdict.reason
    return verdict.frame


@pytest.mark.parametrize("vid", [0, 7])
def test_the_port_is_inserted_as_last_option(vid: int) -> None:
    sent = frames.from_client4(ASKED, vid=vid)
    expected = replace(ASKED, options=(*ASKED.options, OURS))
    made = forwarded(sent, "insert")
    assert whole(made)[1] == expected.octets
    assert made[:18] == sent[:18]


def test_what_a_host_sends_is_replaced_removed_or_kept() -> None:
    options = ((1, b"1234"), FORGED, (50, ip("10.0.0.7")), FORGED)
    sent = frames.from_client4(replace(ASKED, options=options))
    kept = (options[0], options[2])
    inserted = replace(ASKED, options=(*kept, OURS))
    assert whole(forwarded(sent, "insert"))[1] == inserted.octets
    assert whole(forwarded(sent, "remove"))[1] == replace(ASKED, options=kept).octets
    assert forwarded(sent, "keep") == sent


def test_a_message_without_the_option_stays_as_it_is() -> None:
    sent = frames.from_client4(ASKED)
    assert forwarded(sent, "remove") is sent
    plain = frames.from_client4(replace(ASKED, kind=None, cookie=b"", options=(), end=b""))
    assert forwarded(plain, "insert") == plain


def test_the_option_is_removed_from_fields_of_names_as_well() -> None:
    named, forged = option4(12, b"guest"), option4(*FORGED)
    full = option4(12, bytes(61)) + b"\0"  # it ends without an end option
    message = replace(ASKED, options=((52, b"\3"),), file=forged + named + b"\xff", sname=full)
    expected = replace(message, file=named + b"\xff", options=(*message.options, OURS))
    made = whole(forwarded(frames.from_client4(message), "insert"))[1]
    assert b"vnet9" not in made
    assert made[108:] == expected.octets[108:]
    assert made[44:108] == full[:64]


def test_a_field_without_the_option_stays_as_it_is() -> None:
    file = option4(12, bytes(124)) + b"\0\0"
    sname = option4(*FORGED).ljust(64, b"\0")
    message = replace(ASKED, options=((52, b"\3"),), file=file, sname=sname)
    made = forwarded(frames.from_client4(message), "remove")
    assert whole(made)[1][108:236] == file
    assert snooping().from_client(GUEST, made, 0.0).frame == made


def test_ip_options_stay() -> None:
    sent = frames.from_client4(ASKED)
    payload = frames.udp("0.0.0.0", "255.255.255.255", (68, 67), ASKED.octets)
    packet = frames.ipv4("0.0.0.0", "255.255.255.255", payload, options=b"\x94\4\0\0")
    frame = sent[:14] + packet
    datagram, data = whole(forwarded(frame, "insert"))
    assert datagram.packet.at - datagram.packet.header == 24
    assert data == replace(ASKED, options=(*ASKED.options, OURS)).octets


def test_the_shortest_message_has_300_octets() -> None:
    sent = frames.from_client4(replace(ASKED, shortest=0))
    assert len(whole(forwarded(sent, "insert"))[1]) == 300


def test_no_option_is_inserted_that_does_not_fit() -> None:
    dhcp = snooping("insert")
    many = tuple((43, bytes(255)) for _ in range(4))
    octets = len(replace(ASKED, options=many).octets) + 28
    fits = 1500 - octets - len(option4(*OURS))
    for spare, inserted in ((0, 1), (-1, 0)):
        pad = (12, bytes(fits - spare - 2))
        sent = frames.from_client4(replace(ASKED, options=(*many, pad)))
        made = dhcp.from_client(GUEST, sent, 0.0).frame
        assert made is not None
        assert (len(made) == 1514) is bool(inserted)
        assert made == sent or inserted
    assert dhcp.counters == {"option82_inserted": 1, "option82_too_long": 1}


def test_a_forged_option_is_removed_from_a_message_that_is_too_long() -> None:
    many = tuple((43, bytes(255)) for _ in range(4))
    octets = len(replace(ASKED, options=(*many, FORGED)).octets) + 28
    pad = (12, bytes(1500 - octets - 2 + 5))  # on a port with jumbo frames
    sent = frames.from_client4(replace(ASKED, options=(*many, FORGED, pad)))
    made = forwarded(sent, "insert")
    assert whole(made)[1] == replace(ASKED, options=(*many, pad)).octets


def test_our_option_is_removed_from_the_answer() -> None:
    answer = Bootp(op=2, mac=HOST, kind=ACK, yiaddr="10.0.0.7", options=((51, bytes(3) + b"<"),))
    dhcp = snooping()  # also after the parameter was changed
    verdict = dhcp.from_server(
        frames.from_server4(replace(answer, options=(*answer.options, OURS))), 0.0
    )
    assert whole(verdict.frame)[1] == answer.octets
    assert leases(verdict) == [(None, HOST, bound("10.0.0.7"), 60.0)]
    assert dhcp.counters == {"option82_removed": 1}


@pytest.mark.parametrize(
    "option",
    [FORGED, (82, option4(1, b"vnet3")), (82, b""), (82, b"\2"), (82, b"\2\x20short")],
    ids=["other bridge", "no remote ID", "empty", "cut", "overlong"],
)
def test_an_option_of_others_stays_in_the_answer(option: tuple[int, bytes]) -> None:
    answer = Bootp(op=2, mac=HOST, kind=ACK, yiaddr="10.0.0.7", options=(option,))
    frame = frames.from_server4(answer)
    assert snooping("insert").from_server(frame, 0.0).frame == frame


def test_servers_answer_with_the_option() -> None:
    name = "option 82 inserted; dnsmasq 2.90, Kea 2.2"
    answers = [frame for sender, frame in captures()[name] if sender == "server"]
    assert len(answers) == 4
    for answer in answers:
        assert b"vnet3" in answer
        made = snooping().from_server(answer, 0.0).frame
        assert b"vnet3" not in whole(made)[1]


# DHCPv6


def relay_reply(payload: bytes, **changes: object) -> bytes:
    """A server's frame to the relay agent that the bridge is."""
    fields = {"interface": BRIDGE.encode() + b":vnet3", "link": "::", "peer": link_local(HOST)}
    fields |= changes
    head = bytes((RELAY_REPLY, 0)) + ip(str(fields["link"])) + ip(str(fields["peer"]))
    interface = fields["interface"]
    assert isinstance(interface, bytes)
    relayed = head + option6(18, interface) + option6(9, payload)
    return frames.from_server6(HOST, relayed, ports=(547, 547))


@pytest.mark.parametrize("vid", [0, 7])
def test_a_client_is_relayed_with_its_port_and_address(vid: int) -> None:
    payload = message6(SOLICIT, 1, duid(HOST), ia_na())
    sent = frames.from_client6(HOST, payload, vid=vid)
    made = forwarded(sent, "insert")
    datagram, data = whole(made)
    assert (datagram.source_port, datagram.dest_port) == (547, 547)
    start = 18 if vid else 14
    assert made[:start] == sent[:start]
    assert made[start + 8 : start + 40] == sent[start + 8 : start + 40]
    assert data == bytes((RELAY_FORWARD, 0)) + bytes(16) + ip(link_local(HOST)) + option6(
        79, b"\0\1" + HOST.to_bytes(6, "big")
    ) + option6(18, BRIDGE.encode() + b":vnet3") + option6(9, payload)


def test_clients_are_not_relayed_unless_it_is_configured() -> None:
    sent = frames.request6(HOST, ia_na())
    for mode in ("keep", "remove"):
        assert forwarded(sent, mode) is sent


def test_extension_headers_stay() -> None:
    payload = message6(SOLICIT, 1, duid(HOST), ia_na())
    source = link_local(HOST)
    packet = frames.ipv6(
        source,
        "ff02::1:2",
        frames.udp(source, "ff02::1:2", (546, 547), payload),
        60,
        chain=bytes((17, 0, 1, 4)) + bytes(4),
    )
    made = forwarded(frames.ethernet(HOST, 0x3333_0001_0002, 0x86DD, packet), "insert")
    datagram, _ = whole(made)
    assert datagram.packet.at - datagram.packet.header == 48


def test_a_message_that_would_be_too_long_is_not_relayed() -> None:
    dhcp = snooping("insert")
    for length, relayed in ((1300, True), (1400, False)):
        sent = frames.request6(HOST, option6(16, bytes(length)))
        made = dhcp.from_client(GUEST, sent, 0.0).frame
        assert (made != sent) is relayed
    assert dhcp.counters == {"ldra_relayed": 1, "ldra_too_long": 1}


def test_the_answer_of_the_server_is_unwrapped() -> None:
    dhcp = snooping("insert")
    dhcp.from_client(GUEST, frames.request6(HOST, ia_na()), 0.0)
    answer = frames.reply6(HOST, ia_na(A))
    inside = whole(answer)[1]
    verdict = dhcp.from_server(relay_reply(inside), 0.0)
    assert verdict.frame == answer
    assert leases(verdict) == [(GUEST.number, HOST, bound("2001:db8::7"), 3600.0)]
    restarted = snooping("remove").from_server(relay_reply(inside), 0.0)
    assert restarted.frame == answer
    assert leases(restarted) == [(None, HOST, bound("2001:db8::7"), 3600.0)]


@pytest.mark.parametrize(
    "changes",
    [{"interface": b"other bridge:vnet3"}, {"interface": b""}, {"link": "2001:db8::1"}],
    ids=["other bridge", "no interface", "link"],
)
def test_the_answer_to_another_relay_agent_passes(changes: dict[str, object]) -> None:
    frame = relay_reply(message6(REPLY, 1, duid(HOST), ia_na(A)), **changes)
    assert snooping("insert").from_server(frame, 0.0)[:4] == (frame, "", (), None)


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (relay_reply(message6(SOLICIT, 1, duid(HOST))), "dhcpv6_relayed"),
        (relay_reply(b"\7"), "dhcpv6_relayed"),
        (relay_reply(bytes((RELAY_REPLY, 0)) + bytes(32)), "dhcpv6_relayed"),
        (relay_reply(message6(ADVERTISE, 1, duid(HOST)), peer="fe80::1"), "dhcpv6_peer"),
    ],
    ids=["client's", "cut", "nested", "peer"],
)
def test_what_no_server_sends_is_dropped(frame: bytes, reason: str) -> None:
    dhcp = snooping("insert")
    assert dropped(dhcp.from_server(frame, 0.0), dhcp) == reason


@pytest.mark.parametrize(
    "options", [b"", option6(9, b"") * 2, option6(18, b"a") * 2 + option6(9, b""), b"\0"]
)
def test_an_unreadable_relayed_answer_passes(options: bytes) -> None:
    dhcp = snooping("insert")
    payload = bytes((RELAY_REPLY, 0)) + bytes(32) + options
    frame = frames.from_server6(HOST, payload, ports=(547, 547))
    assert dhcp.from_server(frame, 0.0)[:4] == (frame, "", (), None)
    assert dhcp.counters == {"server_dhcpv6_options": 1}


def test_kea_answers_a_relayed_client() -> None:
    name = "relayed as RFC 6221 says; Kea 2.2"
    answers = [frame for sender, frame in captures()[name] if sender == "server"]
    dhcp = snooping()
    kinds = []
    for answer in answers:
        verdict = dhcp.from_server(answer, 0.0)
        datagram, data = whole(verdict.frame)
        assert datagram.dest_port == 546
        kinds.append(data[0])
    assert kinds == [ADVERTISE, REPLY]
    assert leases(verdict) == [(None, HOST, bound("2001:db8::51"), 7200.0)]


# Round trips

NAMES = st.text(st.characters(codec="ascii", categories=("L", "N")), min_size=1, max_size=15)
OPTIONS = st.lists(
    st.tuples(
        st.integers(1, 254).filter(lambda code: code not in (50, 51, 52, 53, 82)),
        st.binary(max_size=60),
    ),
    max_size=6,
)


@given(NAMES, OPTIONS, st.integers(0, 4094))
def test_what_is_inserted_is_removed_again(
    name: str, options: list[tuple[int, bytes]], vid: int
) -> None:
    dhcp = snooping("insert")
    asked = replace(ASKED, options=tuple(options))
    made = dhcp.from_client(Port(3, name, 1, True), frames.from_client4(asked, vid=vid), 0.0).frame
    _, data = whole(made)
    assert name.encode() in data
    answered = replace(asked, op=2, kind=ACK, yiaddr="10.0.0.7")
    back = bytearray(frames.from_server4(replace(answered, options=(*options, OURS)), vid=vid))
    verdict = dhcp.from_server(bytes(back), 0.0)
    assert whole(verdict.frame)[1] == answered.octets


@given(NAMES, st.binary(min_size=3, max_size=130), st.integers(0, 4094))
def test_what_is_relayed_is_unwrapped_again(name: str, client: bytes, vid: int) -> None:
    dhcp = snooping("insert")
    payload = message6(SOLICIT, 5, client, ia_na())
    sent = frames.from_client6(HOST, payload, vid=vid)
    made = dhcp.from_client(Port(3, name, 1, True), sent, 0.0).frame
    _, data = whole(made)
    inside = message6(REPLY, 5, client, ia_na(A))
    relayed = bytes((RELAY_REPLY,)) + data[1 : -len(payload) - 4] + option6(9, inside)
    answer = frames.from_server6(HOST, relayed, vid=vid, ports=(547, 547))
    verdict = dhcp.from_server(answer, 0.0)
    assert verdict.frame == frames.from_server6(HOST, inside, vid=vid)
    assert leases(verdict) == [(3, HOST, bound("2001:db8::7"), 3600.0)]
