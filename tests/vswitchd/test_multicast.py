"""Who gets a stream and who hears a message (RFC 4541), frame by frame."""

from __future__ import annotations

import time
from collections.abc import Callable
from ipaddress import IPv6Address

import pytest
import yaml

from ofapp.openflow.pipeline.group_numbers import FLOOD_GROUP
from tests.support import frames
from tests.support import multicast_frames as mcframes
from tests.support.controller import Controller
from tests.support.hosts import learn
from tests.support.multicast_entries import (
    QUICK,
    entries,
    family_status,
    hear_querier,
    heard,
    wait_entry,
    wait_restricted,
)
from tests.support.multicast_frames import ALLOW, BLOCK, IS_EX, TO_EX, TO_IN, packed
from tests.support.ovs import LOCAL, Bridge
from tests.support.waiting import wait_for

ROUTER = 3
OTHERS = {2, ROUTER, LOCAL}
GROUPS = {4: "239.1.1.1", 6: "ff1e::1:1"}
OTHER_GROUPS = {4: "239.7.7.7", 6: "ff1e::7:7"}
SOURCES = {4: ("10.9.0.1", "10.9.0.2", "10.9.0.3"), 6: ("fd00::1", "fd00::2", "fd00::3")}

both_families = pytest.mark.parametrize("family", [4, 6], ids=["ipv4", "ipv6"])


# A bridge's state outlives its connection, so each test has its own datapath id.
ASKING = range(0x3C00, 0x3C20)
OWN = {"mcast_querier": True, "mcast_querier_address4": "10.0.0.240"}
CONFIG = {
    "defaults": {"multicast": QUICK},
    "bridges": {
        f"{dpid:016x}": {
            "multicast": OWN,
            "vlans": {30: {"name": "silent"}},
            "ports": {f"fast{dpid:x}": {"multicast": {"mcast_fast_leave": True}}},
        }
        for dpid in ASKING
    },
}
_unused = iter(ASKING)


pytestmark = pytest.mark.controller(yaml.safe_dump(CONFIG))
"""The last-member time is 0.2 s."""


@pytest.fixture
def asking(bridge_factory: Callable[..., Bridge]) -> Bridge:
    """A bridge that is the querier; no host is a router."""
    dpid = next(_unused)
    bridge = bridge_factory(dpid=dpid, ports=(None, None, f"fast{dpid:x}"))
    for family in (4, 6):
        wait_restricted(bridge, set(), family=family)
    return bridge


def test_a_vlan_is_asked_in_before_anybody_speaks_there(asking: Bridge) -> None:
    for family in (4, 6):
        wait_restricted(asking, set(), family=family, vid=30)


def answer(bridge: Bridge, group: str, *sources: str) -> None:
    """The querier hears the leave and asks."""
    family = 6 if ":" in group else 4
    bridge.inject(ROUTER, mcframes.query(250, family=family, group=group, sources=sources))


def gets(
    bridge: Bridge, group: str, source: str | None = None, vlan: int | None = None
) -> set[int]:
    """The ports that a stream from port 1 leaves by."""
    return bridge.send(1, mcframes.stream(1, group, source=source, vlan=vlan))


# --- no querier -----------------------------------------------------------------------------


@both_families
def test_before_any_querier_everything_floods(bridge: Bridge, family: int) -> None:
    joining = mcframes.join(2, GROUPS[family])
    heard(bridge, 2, joining, {1, ROUTER, LOCAL})
    assert gets(bridge, GROUPS[family]) == OTHERS
    assert gets(bridge, OTHER_GROUPS[family]) == OTHERS
    assert entries(bridge) == {}


@both_families
def test_a_query_from_the_unspecified_address_restricts_where_nobody_better_asks(
    bridge: Bridge, family: int
) -> None:
    asking = mcframes.query(250, family=family, source={4: "0.0.0.0", 6: "::"}[family])
    heard(bridge, ROUTER, asking, {1, 2, LOCAL})
    wait_restricted(bridge, {ROUTER}, family=family)
    heard(bridge, 2, mcframes.join(2, GROUPS[family]), {ROUTER})
    wait_entry(bridge, GROUPS[family], {2, ROUTER})
    assert gets(bridge, GROUPS[family]) == {2, ROUTER}
    assert gets(bridge, OTHER_GROUPS[family]) == {ROUTER}


# --- who asks, who answers -------------------------------------------------------------------


@both_families
def test_queries_go_everywhere_and_reports_to_routers_alone(bridge: Bridge, family: int) -> None:
    asking = mcframes.query(250, family=family)
    heard(bridge, ROUTER, asking, {1, 2, LOCAL})
    wait_restricted(bridge, {ROUTER}, family=family)
    for message in (
        mcframes.join(1, GROUPS[family]),
        mcframes.join(1, GROUPS[family], version=1),
        mcframes.leave(1, GROUPS[family], version=2 if family == 4 else 1),
    ):
        heard(bridge, 1, message, {ROUTER})
    specific = mcframes.query(250, family=family, group=GROUPS[family])
    heard(bridge, ROUTER, specific, {1, 2, LOCAL})


@pytest.mark.parametrize(
    "hello",
    [
        mcframes.pim_hello(9),
        mcframes.pim_hello(9, family=6),
        mcframes.router_advertisement(9),
    ],
    ids=["pim", "pim6", "mrd"],
)
def test_routers_are_found_by_their_hellos(bridge: Bridge, hello: bytes) -> None:
    family = 6 if hello[12:14] == b"\x86\xdd" else 4
    hear_querier(bridge, ROUTER, family=family)
    heard(bridge, 2, hello, {1, ROUTER, LOCAL})
    wait_restricted(bridge, {2, ROUTER}, family=family)
    assert gets(bridge, OTHER_GROUPS[family]) == {2, ROUTER}


def test_a_pim_goodbye_ends_a_router_port(bridge: Bridge) -> None:
    hear_querier(bridge, ROUTER)
    bridge.inject(2, mcframes.pim_hello(9))
    wait_restricted(bridge, {2, ROUTER})
    bridge.inject(2, mcframes.pim_hello(9, hold=0))
    wait_restricted(bridge, {ROUTER})


@both_families
def test_a_routers_termination_ends_a_router_port(bridge: Bridge, family: int) -> None:
    """Over IPv6 it is too short for the switch to see what it is."""
    hear_querier(bridge, ROUTER, family=family)
    bridge.inject(2, mcframes.router_advertisement(9, family=family))
    wait_restricted(bridge, {2, ROUTER}, family=family)
    bridge.inject(2, mcframes.router_termination(9, family=family))
    wait_restricted(bridge, {ROUTER}, family=family)


# --- members ---------------------------------------------------------------------------------


@both_families
def test_a_stream_goes_to_members_and_routers_alone(bridge: Bridge, family: int) -> None:
    group = GROUPS[family]
    hear_querier(bridge, ROUTER, family=family)
    assert gets(bridge, group) == {ROUTER}
    bridge.inject(2, mcframes.join(2, group))
    wait_entry(bridge, group, {2, ROUTER})
    assert gets(bridge, group) == {2, ROUTER}
    assert gets(bridge, OTHER_GROUPS[family]) == {ROUTER}
    bridge.inject(LOCAL, mcframes.join(4, group))
    wait_entry(bridge, group, {2, ROUTER, LOCAL})
    assert gets(bridge, group) == OTHERS


@pytest.mark.parametrize(
    ("group", "version"),
    [("239.1.1.1", 1), ("239.1.1.1", 2), ("239.1.1.1", 3), ("ff1e::1", 1), ("ff1e::1", 2)],
)
def test_every_version_joins_and_leaves(bridge: Bridge, group: str, version: int) -> None:
    hear_querier(bridge, ROUTER, family=6 if ":" in group else 4)
    bridge.inject(2, mcframes.join(2, group, version=version))
    wait_entry(bridge, group, {2, ROUTER})
    # IGMPv1 has no leave, and no other version's is believed while its hosts are there.
    bridge.inject(
        2, mcframes.leave(2, group, version=2 if version == 1 and "." in group else version)
    )
    if (group, version) == ("239.1.1.1", 1):
        bridge.inject(1, mcframes.join(1, "239.2.2.2"))
        wait_entry(bridge, "239.2.2.2", {1, ROUTER})
        assert gets(bridge, group) == {2, ROUTER}
    else:
        answer(bridge, group)
        wait_entry(bridge, group, None)
        assert gets(bridge, group) == {ROUTER}


def test_groups_that_share_a_mac_address_do_not_leak(bridge: Bridge) -> None:
    alike = [f"{first}.{second}.1.1" for first in (225, 232, 239) for second in (1, 129)]
    assert len({mcframes.group_mac(group) for group in alike}) == 1
    hear_querier(bridge, ROUTER)
    bridge.inject(2, mcframes.join(2, alike[0]))
    wait_entry(bridge, alike[0], {2, ROUTER})
    assert [gets(bridge, group) for group in alike] == [{2, ROUTER}] + [{ROUTER}] * 5
    # Nor those of IPv6 whose last 32 bits are the same.
    hear_querier(bridge, ROUTER, family=6)
    bridge.inject(2, mcframes.join(2, "ff1e::1:1"))
    wait_entry(bridge, "ff1e::1:1", {2, ROUTER})
    assert gets(bridge, "ff1e::1:1") == {2, ROUTER}
    assert gets(bridge, "ff15::5:0:1:1") == {ROUTER}


@both_families
def test_each_vlan_is_a_world_of_its_own(bridge: Bridge, family: int) -> None:
    group = GROUPS[family]
    hear_querier(bridge, ROUTER, family=family, vid=10)
    bridge.inject(2, mcframes.join(2, group, vlan=10), mcframes.join(2, group, vlan=20))
    wait_entry(bridge, group, {2, ROUTER}, vid=10)
    assert gets(bridge, group, vlan=10) == {2, ROUTER}
    assert gets(bridge, OTHER_GROUPS[family], vlan=10) == {ROUTER}
    assert gets(bridge, group, vlan=20) == OTHERS  # no querier there
    assert gets(bridge, group) == OTHERS
    hear_querier(bridge, 2, family=family, vid=20)
    assert gets(bridge, OTHER_GROUPS[family], vlan=20) == {2}
    assert gets(bridge, OTHER_GROUPS[family], vlan=10) == {ROUTER}


# --- sources ---------------------------------------------------------------------------------


@both_families
def test_a_host_that_wants_one_source_gets_no_other(bridge: Bridge, family: int) -> None:
    group, (wanted, unwanted, later) = GROUPS[family], SOURCES[family]
    hear_querier(bridge, ROUTER, family=family)
    bridge.inject(2, mcframes.report(2, (ALLOW, group, (wanted,))))
    wait_entry(bridge, group, {2, ROUTER}, source=wanted)
    assert gets(bridge, group, wanted) == {2, ROUTER}
    assert gets(bridge, group, unwanted) == {ROUTER}
    bridge.inject(2, mcframes.report(2, (ALLOW, group, (later,))))
    wait_entry(bridge, group, {2, ROUTER}, source=later)
    assert gets(bridge, group, later) == {2, ROUTER}
    bridge.inject(2, mcframes.report(2, (BLOCK, group, (wanted,))))
    answer(bridge, group, wanted)
    wait_entry(bridge, group, None, source=wanted)
    assert gets(bridge, group, wanted) == {ROUTER}
    assert gets(bridge, group, later) == {2, ROUTER}


@both_families
def test_a_host_that_wants_all_but_one_source(bridge: Bridge, family: int) -> None:
    group, (bad, good, _) = GROUPS[family], SOURCES[family]
    hear_querier(bridge, ROUTER, family=family)
    bridge.inject(2, mcframes.report(2, (TO_EX, group, (bad,))))
    wait_entry(bridge, group, {2, ROUTER})
    wait_entry(bridge, group, {ROUTER}, source=bad)
    assert gets(bridge, group, good) == {2, ROUTER}
    assert gets(bridge, group, bad) == {ROUTER}
    # Another host elsewhere has no such wish.
    bridge.inject(LOCAL, mcframes.report(4, (IS_EX, group, ())))
    wait_entry(bridge, group, {ROUTER, LOCAL}, source=bad)
    assert gets(bridge, group, bad) == {ROUTER, LOCAL}
    assert gets(bridge, group, good) == OTHERS


def test_one_port_wants_all_and_another_one_source(bridge: Bridge) -> None:
    group, (wanted, other, _) = GROUPS[4], SOURCES[4]
    hear_querier(bridge, ROUTER)
    bridge.inject(2, mcframes.report(2, (ALLOW, group, (wanted,))))
    bridge.inject(LOCAL, mcframes.join(4, group))
    wait_entry(bridge, group, OTHERS, source=wanted)
    wait_entry(bridge, group, {ROUTER, LOCAL})
    assert gets(bridge, group, wanted) == OTHERS
    assert gets(bridge, group, other) == {ROUTER, LOCAL}
    bridge.inject(2, mcframes.report(2, (TO_IN, group, ())))
    answer(bridge, group, wanted)
    wait_entry(bridge, group, None, source=wanted)
    assert gets(bridge, group, wanted) == {ROUTER, LOCAL}


# --- leaving, where this bridge asks --------------------------------------------------------


@both_families
def test_the_last_member_is_asked_for_before_a_stream_ends(asking: Bridge, family: int) -> None:
    group = GROUPS[family]
    asking.inject(2, mcframes.join(2, group))
    wait_entry(asking, group, {2})
    assert gets(asking, group) == {2}
    asking.forget_sent()
    asking.inject(2, mcframes.leave(2, group))
    wait_entry(asking, group, None)
    assert len([frame for frame in queries(asking.sent(2)) if packed(group) in frame]) == 2
    assert not queries(asking.sent(1))  # only where a host left
    assert gets(asking, group) == set()


@both_families
def test_a_second_host_on_the_port_keeps_the_stream(asking: Bridge, family: int) -> None:
    group = GROUPS[family]
    asking.inject(2, mcframes.join(2, group), mcframes.join(5, group))
    wait_entry(asking, group, {2})
    asking.forget_sent()
    asking.inject(2, mcframes.leave(2, group))
    wait_for(lambda: queries(asking.sent(2)), "the question whether anybody is left")
    asking.inject(2, mcframes.report(5, (IS_EX, group, ())))
    until = time.monotonic() + 0.4  # twice the last-member time
    while time.monotonic() < until:
        assert gets(asking, group) == {2}


@both_families
def test_one_source_is_asked_for_too(asking: Bridge, family: int) -> None:
    group, (wanted, kept, _) = GROUPS[family], SOURCES[family]
    asking.inject(2, mcframes.report(2, (ALLOW, group, (wanted, kept))))
    wait_entry(asking, group, {2}, source=wanted)
    asking.forget_sent()
    asking.inject(2, mcframes.report(2, (BLOCK, group, (wanted,))))
    wait_entry(asking, group, None, source=wanted)
    asked = queries(asking.sent(2))
    assert len(asked) == 2
    assert all(packed(wanted) in frame and packed(kept) not in frame for frame in asked)
    assert gets(asking, group, kept) == {2}
    assert gets(asking, group, wanted) == set()


@both_families
def test_fast_leave_ends_a_stream_with_the_last_host(asking: Bridge, family: int) -> None:
    group, fast = GROUPS[family], 3
    asking.inject(fast, mcframes.join(2, group), mcframes.join(5, group))
    wait_entry(asking, group, {fast})
    asking.inject(fast, mcframes.leave(2, group))
    wait_for(lambda: queries(asking.sent(fast)), "the question whether the other is there")
    asking.inject(fast, mcframes.report(5, (IS_EX, group, ())))
    asking.inject(2, mcframes.join(6, group))
    wait_entry(asking, group, {2, fast})
    asking.forget_sent()
    asking.inject(fast, mcframes.leave(5, group))
    wait_entry(asking, group, {2})
    # Who had to ask would ask twice; one may yet be of the first leave, on a busy machine.
    assert len(queries(asking.sent(fast))) < 2


@both_families
def test_the_lower_address_asks(asking: Bridge, controller: Controller, family: int) -> None:
    ours = {4: "10.0.0.240", 6: link_local(asking)}[family]
    lower, higher = {4: ("10.0.0.5", "10.0.0.250"), 6: ("fe80::5", "fe80::ff00:0:0:1")}[family]
    assert packed(lower) < packed(ours) < packed(higher)

    def wait_querier(address: str) -> None:
        wait_for(
            lambda: family_status(controller, asking, family)["querier"]["address"] == address,
            f"querier {address}",
        )

    wait_querier(ours)
    heard(asking, 2, mcframes.query(9, family=family, source=higher), {1, 3, LOCAL})
    wait_querier(ours)
    heard(asking, 2, mcframes.query(8, family=family, source=lower), {1, 3, LOCAL})
    wait_querier(lower)


# --- what must not be restricted --------------------------------------------------------------


def test_what_always_floods(bridge: Bridge, controller: Controller) -> None:
    hear_querier(bridge, ROUTER)
    hear_querier(bridge, ROUTER, family=6)
    for group in ("224.0.0.1", "224.0.0.5", "224.0.0.251", "224.0.0.255", "ff02::1"):
        assert gets(bridge, group) == OTHERS, group
    assert gets(bridge, "224.0.1.1") == {ROUTER}
    assert gets(bridge, "ff02::fb") == {ROUTER}
    learn(controller, bridge, 1, port=1)
    for destination in (frames.BROADCAST, "01:00:0c:cc:cc:cd", "01:00:5e:01:01:01"):
        assert bridge.send(1, frames.ethernet(destination, frames.host(1))) == OTHERS, destination


@both_families
def test_a_broadcast_floods_whichever_group_its_packet_is_for(
    bridge: Bridge, controller: Controller, family: int
) -> None:
    """As on the Linux bridge and Open vSwitch's own: wake-up tools send such frames."""
    hear_querier(bridge, ROUTER, family=family)
    bridge.inject(2, mcframes.join(2, GROUPS[family]))
    wait_entry(bridge, GROUPS[family], {2, ROUTER})
    bridge.inject(1, frames.ethernet(frames.BROADCAST, frames.host(1)))
    for frame in (mcframes.stream(1, GROUPS[family]), mcframes.join(1, OTHER_GROUPS[family])):
        assert bridge.send(1, frames.mac(frames.BROADCAST) + frame[6:]) == OTHERS
    assert OTHER_GROUPS[family] not in str(controller.get(f"/v1/bridges/{bridge.dpid16}/mdb"))


@both_families
def test_unicast_is_no_business_of_snooping(
    bridge: Bridge, controller: Controller, family: int
) -> None:
    hear_querier(bridge, ROUTER, family=family)
    learn(controller, bridge, 2, port=2)
    for frame in (mcframes.stream(1, GROUPS[family]), mcframes.join(1, GROUPS[family])):
        assert bridge.send(1, frames.mac(frames.host(2)) + frame[6:]) == {2}
        assert bridge.send(1, frames.mac(frames.host(77)) + frame[6:]) == OTHERS


# --- ports -----------------------------------------------------------------------------------


def test_a_port_that_goes_down_is_a_member_no_more(bridge: Bridge) -> None:
    group = GROUPS[4]
    hear_querier(bridge, ROUTER)
    bridge.inject(2, mcframes.join(2, group))
    bridge.inject(LOCAL, mcframes.join(4, group))
    wait_entry(bridge, group, OTHERS)
    bridge.link(2, up=False)
    wait_entry(bridge, group, {ROUTER, LOCAL})
    assert gets(bridge, group) == {ROUTER, LOCAL}
    bridge.link(2, up=True)
    wait_for(lambda: 2 in bridge.groups()[FLOOD_GROUP], "the port to be back")
    assert gets(bridge, group) == {ROUTER, LOCAL}
    bridge.inject(2, mcframes.join(2, group))
    wait_entry(bridge, group, OTHERS)
    bridge.del_port(2)
    wait_entry(bridge, group, {ROUTER, LOCAL})


def test_a_port_that_comes_up_is_asked_who_is_there(bridge: Bridge) -> None:
    hear_querier(bridge, ROUTER)
    bridge.link(2, up=False)
    wait_for(lambda: 2 not in bridge.groups()[FLOOD_GROUP], "the port to be down")
    bridge.forget_sent()
    bridge.link(2, up=True)
    wait_for(lambda: queries(bridge.sent(2)), "a query")
    assert not queries(bridge.sent(1))


def link_local(bridge: Bridge) -> str:
    """What the bridge makes of its Ethernet address for itself."""
    address = bridge.switch.vsctl("get", "Interface", bridge.name, "mac_in_use").strip().strip('"')
    mac = bytearray(frames.mac(address))
    mac[0] ^= 2
    return str(IPv6Address(b"\xfe\x80" + bytes(6) + mac[:3] + b"\xff\xfe" + mac[3:]))


def queries(sent: list[bytes]) -> list[bytes]:
    """The queries among frames."""
    return [
        frame
        for frame in sent
        if (frame[12:14] == b"\x08\x00" and frame[23] == 2 and frame[38] == 0x11)
        or (frame[12:14] == b"\x86\xdd" and frame[20] == 0 and frame[62] == 130)
    ]
