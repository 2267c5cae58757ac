"""DHCPv6: which messages of hosts pass, and which leases servers grant and end."""

import pytest

from ofapp.bridge.first_hop.dhcp.requests import SECONDS
from ofapp.bridge.first_hop.dhcp.verdict import Cause
from tests.support import dhcp_frames as frames
from tests.support.dhcp_frames import (
    ADVERTISE,
    CONFIRM,
    DECLINE6,
    INFORMATION_REQUEST,
    REBIND,
    RECONFIGURE,
    RELAY_FORWARD,
    RELAY_REPLY,
    RELEASE6,
    RENEW,
    REPLY,
    REQUEST6,
    SOLICIT,
    duid,
    ia_na,
    ia_pd,
    ia_ta,
    ip,
    link_local,
    message6,
    option6,
    reply6,
    request6,
    status,
)
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

A = ("2001:db8::7", 3600)


@pytest.mark.parametrize("vid", [0, 7])
@pytest.mark.parametrize("kind", [SOLICIT, REQUEST6, RENEW, REBIND])
def test_a_reply_is_a_lease(kind: int, vid: int) -> None:
    dhcp = snooping()
    frame = request6(HOST, ia_na(A), kind=kind, vid=vid)
    assert dhcp.from_client(GUEST, frame, 0.0)[:4] == (frame, "", (), ip(link_local(HOST)))
    answer = reply6(HOST, ia_na(A), vid=vid)
    verdict = dhcp.from_server(answer, 1.0)
    assert verdict.frame == answer
    assert leases(verdict) == [(GUEST.number, HOST, bound("2001:db8::7"), 3600.0)]
    assert verdict.facts[0].vid == vid


def test_addresses_temporary_ones_and_prefixes() -> None:
    dhcp = snooping()
    dhcp.from_client(GUEST, request6(HOST, ia_na()), 0.0)
    answer = reply6(
        HOST,
        ia_na(A, ("2001:db8::8", 0xFFFFFFFF)),
        ia_ta("2001:db8::9", 60),
        ia_pd("2001:db8:1:23::", 56, 7200),
        option6(23, bytes(16)),
    )
    where = GUEST.number, HOST
    assert leases(dhcp.from_server(answer, 0.0)) == [
        (*where, bound("2001:db8::7"), 3600.0),
        (*where, bound("2001:db8::8"), None),
        (*where, bound("2001:db8::9"), 60.0),
        (*where, bound("2001:db8:1::/56"), 7200.0),
    ]


def test_an_advertisement_grants_nothing() -> None:
    dhcp = snooping()
    dhcp.from_client(GUEST, request6(HOST, ia_na(), kind=SOLICIT), 0.0)
    for kind in (ADVERTISE, RECONFIGURE):
        frame = reply6(HOST, ia_na(A), kind=kind)
        assert dhcp.from_server(frame, 0.0)[:4] == (frame, "", (), None)


@pytest.mark.parametrize(
    "options",
    [
        (ia_na(extra=status(2)),),
        (ia_na(A, extra=status(3)),),
        (option6(3, bytes(12) + option6(5, ip(A[0]) + bytes(7) + b"\1" + status(4))),),
        (ia_na(("ff02::1", 60)),),
        (ia_na(("::", 60)),),
        (ia_pd("::", 0, 60),),
        (ia_na(extra=option6(99, b"x")),),
        (),
    ],
    ids=["none", "no binding", "not on link", "group", "any", "empty", "other", "nothing"],
)
def test_replies_that_grant_nothing(options: tuple[bytes, ...]) -> None:
    dhcp = snooping()
    dhcp.from_client(GUEST, request6(HOST, ia_na()), 0.0)
    frame = reply6(HOST, *options)
    assert dhcp.from_server(frame, 0.0)[:4] == (frame, "", (), None)


def test_status_success_is_no_obstacle() -> None:
    answer = reply6(HOST, ia_na(A, extra=status(0)))
    assert leases(snooping().from_server(answer, 0.0))


def test_confirm_grants_nothing() -> None:
    dhcp = snooping()
    assert dhcp.from_client(GUEST, request6(HOST, ia_na(A), kind=CONFIRM), 0.0).facts == ()
    assert dhcp.from_server(reply6(HOST, status(0)), 0.0).facts == ()


def test_a_server_withdraws_an_address() -> None:
    dhcp = snooping()
    dhcp.from_client(GUEST, request6(HOST, ia_na(A), kind=RENEW), 0.0)
    verdict = dhcp.from_server(reply6(HOST, ia_na(("2001:db8::7", 0))), 0.0)
    assert ends(verdict) == [(GUEST.number, HOST, bound("2001:db8::7"), Cause.WITHDRAWN)]


@pytest.mark.parametrize(("kind", "cause"), [(RELEASE6, Cause.RELEASE), (DECLINE6, Cause.DECLINE)])
def test_release_and_decline_end_leases(kind: int, cause: Cause) -> None:
    frame = request6(HOST, ia_na(A), ia_pd("2001:db8:1::", 48, 0), kind=kind)
    verdict = snooping().from_client(GUEST, frame, 0.0)
    assert verdict.frame == frame
    assert ends(verdict) == [
        (GUEST.number, HOST, bound("2001:db8::7"), cause),
        (GUEST.number, HOST, bound("2001:db8:1::/48"), cause),
    ]


def test_a_reply_without_a_request_belongs_to_the_host_that_gets_it() -> None:
    dhcp = snooping()
    expected = [(None, HOST, bound("2001:db8::7"), 3600.0)]
    assert leases(dhcp.from_server(reply6(HOST, ia_na(A)), 0.0)) == expected
    dhcp.from_client(GUEST, request6(HOST, ia_na(A)), 0.0)
    assert leases(dhcp.from_server(reply6(HOST, ia_na(A), xid=2), 0.0)) == expected
    assert leases(dhcp.from_server(reply6(HOST, ia_na(A), vid=2), 0.0)) == expected
    assert leases(dhcp.from_server(reply6(HOST, ia_na(A)), SECONDS)) == expected
    group = frames.from_server6(0x3333_0000_0001, message6(REPLY, 9, duid(HOST), ia_na(A)))
    assert dhcp.from_server(group, 0.0).facts == ()


def test_a_unicast_renewal_names_its_source() -> None:
    payload = message6(RENEW, 1, duid(HOST), ia_na(A))
    frame = frames.from_client6(HOST, payload, source=A[0], dest="2001:db8::1")
    dhcp = snooping("insert")
    assert dhcp.from_client(GUEST, frame, 0.0)[:4] == (frame, "", (), ip(A[0]))


REFUSED = {
    "dhcpv6_from_server": [
        *[
            request6(HOST, ia_na(A), kind=kind)
            for kind in (ADVERTISE, REPLY, RECONFIGURE, RELAY_FORWARD, RELAY_REPLY, 0, 20, 255)
        ],
    ],
    "dhcpv6_duid": [
        frames.from_client6(HOST, message6(REQUEST6, 1, None, ia_na(A))),
        frames.from_client6(HOST, message6(REQUEST6, 1, b"\0\3")),
        frames.from_client6(HOST, message6(REQUEST6, 1, bytes(131))),
        frames.from_client6(HOST, message6(REQUEST6, 1, duid(HOST), option6(1, duid(HOST)))),
    ],
    "dhcpv6_source": [
        frames.from_client6(HOST, message6(REQUEST6, 1, duid(HOST)), source="::"),
        frames.from_client6(HOST, message6(REQUEST6, 1, duid(HOST)), source="ff02::1"),
        frames.from_client6(HOST | 1 << 40, message6(REQUEST6, 1, duid(HOST))),
    ],
    "dhcpv6_truncated": [frames.from_client6(HOST, payload) for payload in (b"", b"\3", b"\3\0\0")],
    "dhcpv6_options": [
        request6(HOST, tail)
        for tail in (
            b"\0",
            b"\0\3\0",
            option6(3, bytes(12))[:-1],
            option6(3, bytes(11)),
            option6(25, bytes(3)),
            option6(4, bytes(4) + b"\0"),
            option6(3, bytes(12) + option6(5, bytes(23))),
            option6(3, bytes(12) + option6(5, bytes(24) + b"\0")),
            option6(25, bytes(12) + option6(26, bytes(24))),
            option6(25, bytes(12) + option6(26, bytes(8) + b"\x81" + bytes(16))),
        )
    ],
    "dhcp_other": [
        frames.ethernet(
            HOST,
            frames.SERVER,
            0x86DD,
            frames.ipv6(
                link_local(HOST),
                "ff02::1:2",
                frames.udp(link_local(HOST), "ff02::1:2", (546, 67), b"\3"),
                17,
            ),
        )
    ],
}


@pytest.mark.parametrize(
    ("reason", "frame"), [(reason, each) for reason, all_ in REFUSED.items() for each in all_]
)
def test_refused_messages_of_hosts(reason: str, frame: bytes) -> None:
    dhcp = snooping()
    assert dropped(dhcp.from_client(GUEST, frame, 0.0), dhcp) == reason
    assert leases(dhcp.from_server(reply6(HOST, ia_na(A)), 0.0))[0][0] is None


def test_information_needs_no_identity() -> None:
    frame = frames.from_client6(HOST, message6(INFORMATION_REQUEST, 1, None))
    assert snooping().from_client(GUEST, frame, 0.0).frame == frame


def test_another_port_cannot_take_a_request_over() -> None:
    dhcp = snooping()
    payload = message6(REQUEST6, 1, duid(HOST), ia_na())
    dhcp.from_client(GUEST, frames.from_client6(HOST, payload), 0.0)
    verdict = dhcp.from_client(OTHER, frames.from_client6(OTHER_HOST, payload), 0.0)
    assert dropped(verdict, dhcp) == "dhcpv6_request_of_other_port"
    assert leases(dhcp.from_server(reply6(HOST, ia_na(A)), 0.0))[0][:2] == (GUEST.number, HOST)


def test_messages_of_other_relay_agents_pass() -> None:
    dhcp = snooping()
    for kind in (RELAY_FORWARD, RELAY_REPLY):
        payload = bytes((kind, 1)) + ip("2001:db8::1") + ip("fe80::9") + option6(9, b"\7\0\0\1")
        frame = frames.from_server6(OTHER_HOST, payload, ports=(547, 547))
        assert dhcp.from_server(frame, 0.0)[:4] == (frame, "", (), None)


def test_an_unreadable_answer_is_forwarded_and_counted() -> None:
    dhcp = snooping()
    for frame, reason in (
        (frames.from_server6(HOST, b"\7"), "server_dhcpv6_truncated"),
        (frames.from_server6(HOST, b"\x0d\0", ports=(547, 547)), "server_dhcpv6_truncated"),
        (frames.from_server6(HOST, b"\7\0\0\1\0"), "server_dhcpv6_options"),
        (frames.from_server6(HOST, b"\7\0\0\1")[:40], "server_ip_truncated"),
    ):
        before = dhcp.counters[reason]
        assert dhcp.from_server(frame, 0.0)[:4] == (frame, "", (), None)
        assert dhcp.counters[reason] == before + 1


def test_requests_without_an_answer_are_known() -> None:
    dhcp = snooping()
    for now, kind in ((1.0, SOLICIT), (5.0, REQUEST6)):
        dhcp.from_client(GUEST, request6(HOST, ia_na(), kind=kind), now)
    assert [*dhcp.unanswered(HOST)] == [(GUEST.number, 0, HOST, "request", 2, 1.0, 5.0)]
    dhcp.from_server(reply6(HOST, ia_na(), kind=ADVERTISE), 6.0)
    assert [*dhcp.unanswered(HOST)] == []
