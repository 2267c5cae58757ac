"""DHCPv4: which messages of hosts pass, and which leases servers grant and end."""

import struct
from dataclasses import replace

import pytest

from ofapp.bridge.first_hop.dhcp.requests import OF_PORT, SECONDS
from ofapp.bridge.first_hop.dhcp.verdict import Cause
from tests.support import dhcp_frames as frames
from tests.support.dhcp_frames import ACK, DISCOVER, INFORM, NAK, OFFER, REQUEST, Bootp, ip
from tests.unit.bridge.first_hop.dhcp.snooped import (
    GUEST,
    HOST,
    OTHER,
    OTHER_HOST,
    bound,
    dropped,
    ends,
    leases,
    snooping,
)

ASKED = Bootp(mac=HOST, kind=REQUEST, xid=1, options=((50, ip("10.0.0.7")),))
GRANTED = Bootp(
    op=2, kind=ACK, mac=HOST, xid=1, yiaddr="10.0.0.7", options=((51, bytes(3) + b"<"),)
)


@pytest.mark.parametrize("vid", [0, 7])
def test_an_acknowledged_request_is_a_lease(vid: int) -> None:
    dhcp = snooping()
    for frame, answer in (
        (frames.discover(HOST, vid=vid), frames.offer(HOST, "10.0.0.7", vid=vid)),
        (frames.request(HOST, "10.0.0.7", vid=vid), frames.ack(HOST, "10.0.0.7", vid=vid)),
    ):
        assert dhcp.from_client(GUEST, frame, 0.0)[:4] == (frame, "", (), None)
        verdict = dhcp.from_server(answer, 1.0)
        assert verdict.frame == answer
    assert leases(verdict) == [(GUEST.number, HOST, bound("10.0.0.7"), 3600.0)]
    assert verdict.facts[0].vid == vid


def test_an_offer_grants_nothing() -> None:
    dhcp = snooping()
    dhcp.from_client(GUEST, frames.discover(HOST), 0.0)
    assert dhcp.from_server(frames.offer(HOST, "10.0.0.7"), 0.0).facts == ()


def test_rapid_commit_is_a_lease() -> None:
    dhcp = snooping()
    dhcp.from_client(GUEST, frames.discover(HOST), 0.0)
    verdict = dhcp.from_server(frames.ack(HOST, "10.0.0.7"), 0.0)
    assert leases(verdict) == [(GUEST.number, HOST, bound("10.0.0.7"), 3600.0)]


def test_a_renewal_is_unicast_and_names_its_source() -> None:
    dhcp = snooping()
    frame = frames.renewal(HOST, "10.0.0.7")
    assert dhcp.from_client(GUEST, frame, 0.0)[:4] == (frame, "", (), ip("10.0.0.7"))
    verdict = dhcp.from_server(frames.ack(HOST, "10.0.0.7", seconds=60), 0.0)
    assert leases(verdict) == [(GUEST.number, HOST, bound("10.0.0.7"), 60.0)]


def test_an_answer_without_a_request_belongs_to_its_host() -> None:
    dhcp = snooping()
    expected = [(None, HOST, bound("10.0.0.7"), 3600.0)]
    assert leases(dhcp.from_server(frames.ack(HOST, "10.0.0.7"), 0.0)) == expected
    dhcp.from_client(GUEST, frames.request(HOST, "10.0.0.7"), 0.0)
    assert leases(dhcp.from_server(frames.ack(HOST, "10.0.0.7", xid=2), 0.0)) == expected
    assert leases(dhcp.from_server(frames.ack(HOST, "10.0.0.7", vid=2), 0.0)) == expected
    assert leases(dhcp.from_server(frames.ack(HOST, "10.0.0.7"), SECONDS)) == expected
    dhcp.forget(GUEST.number)
    assert leases(dhcp.from_server(frames.ack(HOST, "10.0.0.7"), 0.0)) == expected


@pytest.mark.parametrize(
    ("option", "lifetime"),
    [
        (((51, b"\xff\xff\xff\xff"),), None),
        (((51, struct.pack("!I", 0xFFFFFFFE)),), 4294967294.0),
        ((), None),
    ],
    ids=["infinite", "longest", "none"],
)
def test_lease_times(option: tuple[tuple[int, bytes], ...], lifetime: float | None) -> None:
    answer = frames.from_server4(replace(GRANTED, options=option))
    assert leases(snooping().from_server(answer, 0.0)) == [
        (None, HOST, bound("10.0.0.7"), lifetime)
    ]


@pytest.mark.parametrize(
    "answer",
    [
        replace(GRANTED, options=((51, bytes(4)),)),
        replace(GRANTED, yiaddr="0.0.0.0"),
        replace(GRANTED, yiaddr="224.0.0.1"),
        replace(GRANTED, mac=0),
        replace(GRANTED, mac=0x0100_5E00_0001),
        replace(GRANTED, op=1),
        replace(GRANTED, kind=OFFER),
        replace(GRANTED, kind=13),
        replace(GRANTED, kind=NAK),
    ],
    ids=["no time", "inform", "group", "no host", "group MAC", "op", "offer", "leasequery", "nak"],
)
def test_answers_that_grant_nothing_are_forwarded(answer: Bootp) -> None:
    frame = frames.from_server4(answer, dest="10.0.0.7")
    assert snooping().from_server(frame, 0.0)[:4] == (frame, "", (), None)


def test_bootp_without_dhcp_is_a_lease_without_end() -> None:
    dhcp = snooping()
    asks = Bootp(mac=HOST, kind=None, xid=1, cookie=b"", end=b"", shortest=300)
    assert dhcp.from_client(GUEST, frames.from_client4(asks), 0.0).frame is not None
    answer = replace(asks, op=2, yiaddr="10.0.0.7")
    assert leases(dhcp.from_server(frames.from_server4(answer), 0.0)) == [
        (GUEST.number, HOST, bound("10.0.0.7"), None)
    ]


def test_a_refusal_ends_what_its_request_has_asked_for() -> None:
    dhcp = snooping()
    dhcp.from_client(GUEST, frames.request(HOST, "10.0.0.7"), 0.0)
    verdict = dhcp.from_server(frames.nak(HOST), 0.0)
    assert ends(verdict) == [(GUEST.number, HOST, bound("10.0.0.7"), Cause.NAK)]
    dhcp.from_client(GUEST, frames.renewal(HOST, "10.0.0.8", xid=2), 0.0)
    verdict = dhcp.from_server(frames.nak(HOST, xid=2), 0.0)
    assert ends(verdict) == [(GUEST.number, HOST, bound("10.0.0.8"), Cause.NAK)]
    dhcp.from_client(GUEST, frames.discover(HOST, xid=3), 0.0)
    for xid in (3, 4):
        assert dhcp.from_server(frames.nak(HOST, xid=xid), 0.0).facts == ()


def test_release_and_decline_end_a_lease() -> None:
    dhcp = snooping()
    verdict = dhcp.from_client(GUEST, frames.release(HOST, "10.0.0.7"), 0.0)
    assert ends(verdict) == [(GUEST.number, HOST, bound("10.0.0.7"), Cause.RELEASE)]
    assert verdict.source == ip("10.0.0.7")
    verdict = dhcp.from_client(GUEST, frames.decline(HOST, "10.0.0.7"), 0.0)
    assert ends(verdict) == [(GUEST.number, HOST, bound("10.0.0.7"), Cause.DECLINE)]


def test_information_is_not_a_lease() -> None:
    dhcp = snooping()
    frame = frames.from_client4(Bootp(mac=HOST, kind=INFORM, ciaddr="10.0.0.9"))
    assert dhcp.from_client(GUEST, frame, 0.0)[:4] == (frame, "", (), ip("10.0.0.9"))
    assert not [*dhcp.unanswered(HOST)]


REFUSED = {
    "dhcp_chaddr": [frames.from_client4(ASKED, mac=OTHER_HOST)],
    "dhcp_giaddr": [frames.from_client4(replace(ASKED, giaddr="10.0.0.3"))],
    "dhcp_from_server": [
        frames.from_client4(replace(ASKED, op=2)),
        *[frames.from_client4(replace(ASKED, kind=kind)) for kind in (OFFER, ACK, NAK, 10, 99)],
    ],
    "dhcp_address": [
        frames.from_client4(Bootp(mac=HOST, kind=frames.RELEASE)),
        frames.from_client4(Bootp(mac=HOST, kind=frames.DECLINE, options=((50, bytes(4)),))),
    ],
    "dhcp_hardware": [
        frames.from_client4(replace(ASKED, hardware=(6, 6))),
        frames.from_client4(replace(ASKED, hardware=(1, 16))),
    ],
    "dhcp_options": [
        frames.from_client4(replace(ASKED, options=((53, bytes((REQUEST,))),))),  # two types
        frames.from_client4(replace(ASKED, kind=0)),
        frames.from_client4(replace(ASKED, kind=None, options=((53, b""),))),
        frames.from_client4(replace(ASKED, options=((50, b"\x0a"),))),
        frames.from_client4(replace(ASKED, options=((52, b"\4"),))),
        frames.from_client4(replace(ASKED, options=((52, b""),))),
        frames.from_client4(replace(ASKED, options=((52, b"\1"),), file=b"\x0c\xff")),
        frames.from_client4(replace(ASKED, end=b"\x0c\x05x", shortest=0)),
        frames.from_client4(replace(ASKED, end=b"\x0c", shortest=0)),
    ],
    "dhcp_truncated": [
        frames.ethernet(
            HOST,
            frames.BROADCAST,
            0x0800,
            frames.ipv4(
                "0.0.0.0",
                "255.255.255.255",
                frames.udp("0.0.0.0", "255.255.255.255", (68, 67), ASKED.octets[:235]),
            ),
        )
    ],
    "dhcp_other": [frames.from_client4(ASKED, ports=(68, 69))],
}


@pytest.mark.parametrize(
    ("reason", "frame"), [(reason, each) for reason, all_ in REFUSED.items() for each in all_]
)
def test_refused_messages_of_hosts(reason: str, frame: bytes) -> None:
    dhcp = snooping()
    assert dropped(dhcp.from_client(GUEST, frame, 0.0), dhcp) == reason
    assert leases(dhcp.from_server(frames.ack(HOST, "10.0.0.7"), 0.0))[0][0] is None


def test_a_group_is_no_host() -> None:
    dhcp = snooping()
    frame = frames.discover(0x0100_5E00_0001)
    assert dropped(dhcp.from_client(GUEST, frame, 0.0), dhcp) == "dhcp_chaddr"


def test_options_may_be_in_the_fields_of_names() -> None:
    dhcp = snooping()
    kind = frames.option4(53, bytes((REQUEST,))) + b"\xff"
    asked = frames.option4(50, ip("10.0.0.7")) + b"\xff"
    message = replace(ASKED, kind=None, options=((52, b"\3"),), file=kind, sname=asked)
    assert dhcp.from_client(GUEST, frames.from_client4(message), 0.0).frame is not None
    assert ends(dhcp.from_server(frames.nak(HOST), 0.0)) == [
        (GUEST.number, HOST, bound("10.0.0.7"), Cause.NAK)
    ]


def test_a_long_option_is_in_several_parts() -> None:
    halves = ((51, b"\0\0"), (12, b"name"), (51, b"\0\x3c"))
    answer = frames.from_server4(replace(GRANTED, options=halves))
    assert leases(snooping().from_server(answer, 0.0)) == [(None, HOST, bound("10.0.0.7"), 60.0)]


def test_another_port_cannot_take_a_request_over() -> None:
    dhcp = snooping()
    frame = frames.request(HOST, "10.0.0.7")
    dhcp.from_client(GUEST, frame, 0.0)
    verdict = dhcp.from_client(OTHER, frame, 1.0)
    assert dropped(verdict, dhcp) == "dhcp_request_of_other_port"
    assert leases(dhcp.from_server(frames.ack(HOST, "10.0.0.7"), 2.0))[0][0] == GUEST.number
    assert dhcp.from_client(OTHER, frame, SECONDS).frame is not None, "the request has ended"


def test_a_host_that_moves_within_a_request_has_it_on_its_new_port() -> None:
    dhcp = snooping()
    frame = frames.request(HOST, "10.0.0.7")
    dhcp.from_client(GUEST, frame, 0.0)
    dhcp.forget(GUEST.number)  # its old port is down
    assert dhcp.from_client(OTHER, frame, 1.0).frame is not None
    assert leases(dhcp.from_server(frames.ack(HOST, "10.0.0.7"), 2.0))[0][0] == OTHER.number


def test_a_repeated_request_is_remembered_longer() -> None:
    dhcp = snooping()
    for now in (0.0, 40.0):
        dhcp.from_client(GUEST, frames.request(HOST, "10.0.0.7"), now)
    assert leases(dhcp.from_server(frames.ack(HOST, "10.0.0.7"), 80.0))[0][0] == GUEST.number


def test_a_port_with_many_requests_loses_its_own() -> None:
    dhcp = snooping()
    dhcp.from_client(OTHER, frames.discover(OTHER_HOST, xid=9), 0.0)
    for xid in range(OF_PORT + 1):
        dhcp.from_client(GUEST, frames.discover(HOST, xid=xid), 1.0)
    assert dhcp.replaced == 1
    assert leases(dhcp.from_server(frames.ack(HOST, "10.0.0.7", xid=0), 2.0))[0][0] is None
    for xid in (1, OF_PORT):
        verdict = dhcp.from_server(frames.ack(HOST, "10.0.0.7", xid=xid), 2.0)
        assert leases(verdict)[0][0] == GUEST.number
    verdict = dhcp.from_server(frames.ack(OTHER_HOST, "10.0.0.8", xid=9), 2.0)
    assert leases(verdict)[0][0] == OTHER.number


def test_relay_agents_and_servers_talk_to_each_other() -> None:
    dhcp = snooping()
    relayed = replace(ASKED, giaddr="10.0.1.1")
    answered = replace(GRANTED, giaddr="10.0.1.1")
    for frame in (
        frames.from_client4(relayed, ports=(67, 67), dest="10.0.0.1"),
        frames.from_server4(answered, ports=(67, 67), dest="10.0.1.1"),
    ):
        assert dhcp.from_server(frame, 0.0)[:4] == (frame, "", (), None)


def test_the_answer_of_a_relay_agent_is_a_lease() -> None:
    dhcp = snooping()
    dhcp.from_client(GUEST, frames.request(HOST, "10.0.0.7"), 0.0)
    answer = frames.from_server4(replace(GRANTED, giaddr="10.0.1.1"))
    assert leases(dhcp.from_server(answer, 0.0)) == [(GUEST.number, HOST, bound("10.0.0.7"), 60.0)]


def test_an_unreadable_answer_is_forwarded_and_counted() -> None:
    dhcp = snooping()
    for message, reason in (
        (replace(GRANTED, hardware=(6, 6)), "server_dhcp_hardware"),
        (replace(GRANTED, options=((52, b"\7"),)), "server_dhcp_options"),
    ):
        frame = frames.from_server4(message)
        assert dhcp.from_server(frame, 0.0)[:4] == (frame, "", (), None)
        assert dhcp.counters[reason] == 1


def test_requests_without_an_answer_are_known() -> None:
    dhcp = snooping()
    for now in (1.0, 5.0):
        dhcp.from_client(GUEST, frames.discover(HOST, vid=7), now)
    dhcp.from_client(OTHER, frames.request(OTHER_HOST, "10.0.0.8"), 6.0)
    assert [*dhcp.unanswered(HOST)] == [(GUEST.number, 7, HOST, "discover", 2, 1.0, 5.0)]
    dhcp.from_server(frames.offer(HOST, "10.0.0.7", vid=7), 6.0)
    assert [*dhcp.unanswered(HOST)] == []
    assert [each.kind for each in dhcp.unanswered(OTHER_HOST)] == ["request"]
    dhcp.forget(OTHER.number)
    assert [*dhcp.unanswered(OTHER_HOST)] == []


@pytest.mark.parametrize("kind", [DISCOVER, REQUEST])
def test_the_minimum_of_a_message_is_its_fixed_part(kind: int) -> None:
    message = replace(ASKED, kind=kind, shortest=0)
    assert snooping().from_client(GUEST, frames.from_client4(message), 0.0).frame is not None
