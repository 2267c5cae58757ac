"""Hosts that lie, hosts that want too much, controllers and switches that go and come."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
import yaml

from ofapp.openflow.model.traps import SNOOPED
from ofapp.openflow.pipeline.meters import meter_id
from tests.support import frames
from tests.support import multicast_frames as mcframes
from tests.support.controller import Controller
from tests.support.multicast_entries import (
    QUICK,
    Entries,
    counters,
    entries,
    family_status,
    hear_querier,
    members,
    wait_entry,
    wait_restricted,
)
from tests.support.ovs import LOCAL, Bridge, VSwitchd
from tests.support.waiting import wait_for

ROUTER = 3
GROUP, GROUP6 = "239.1.1.1", "ff1e::1:1"

# A bridge's state outlives its connection, so each test has its own datapath id.
LIMITED = range(0x3D00, 0x3D08)
GUARDED = 0x3D80
CONFIG = {
    "defaults": {"multicast": QUICK},
    "bridges": {
        f"{dpid:016x}": {
            "multicast": {"mcast_hash_max": 60},
            "ports": {f"few{dpid:x}": {"multicast": {"mcast_max_groups": 5}}},
        }
        for dpid in LIMITED
    }
    | {
        f"{GUARDED:016x}": {
            "stp": {"enabled": True},
            "ports": {
                f"edge{number}": {"stp": {"admin_edge": True, "root_guard": True}}
                for number in (1, 2, 3)
            },
        }
    },
}
_unused = iter(LIMITED)


pytestmark = pytest.mark.controller(yaml.safe_dump(CONFIG))
"""Short intervals and low limits."""


@pytest.fixture
def limited(bridge_factory: Callable[..., Bridge]) -> Bridge:
    """A bridge of 60 entries, 5 groups on port 1."""
    dpid = next(_unused)
    bridge = bridge_factory(ports=(f"few{dpid:x}", None, None), dpid=dpid)
    hear_querier(bridge, ROUTER)
    return bridge


def count(controller: Controller, bridge: Bridge, name: str, port: int = 1) -> int:
    """A counter of a port."""
    return counters(controller, bridge, port).get(name, 0)


def pour(bridge: Bridge, port: int, many: list[bytes]) -> None:
    """Inject many frames.  A receive queue holds a hundred; of so many some may be lost."""
    bridge.switch.settle()
    for at in range(0, len(many), 30):
        chunk = (frame.hex() for frame in many[at : at + 30])
        bridge.switch.appctl("netdev-dummy/receive", bridge.port_name(port), *chunk)
        bridge.switch.barrier()


# --- bad messages ----------------------------------------------------------------------------


def _broken(message: bytes, at: int, value: int | None = None) -> bytes:
    """With one octet changed; the checksums stay what they were."""
    octets = bytearray(message)
    octets[at] = octets[at] ^ 0xFF if value is None else value
    return bytes(octets)


JOIN4, JOIN6 = mcframes.join(1, GROUP), mcframes.join(1, GROUP6)
MALFORMED = {
    "igmp_checksum": _broken(JOIN4, 40),
    "ip_checksum": _broken(JOIN4, 24),
    "igmp_truncated": mcframes.igmp(1, "224.0.0.22", bytes((0x22, 0, 0, 0, 0, 0, 0, 9))),
    "igmp_group": mcframes.igmp(1, GROUP, bytes((0x16, 0, 0, 0)) + mcframes.packed("10.0.0.1")),
    "igmp_destination": mcframes.igmp(1, GROUP, bytes((0x11, 1, 0, 0, 0, 0, 0, 0))),
    "mld_checksum": _broken(JOIN6, 70),
    "mld_off_link": mcframes.mld(
        1, GROUP6, bytes((131,)) + bytes(7) + mcframes.packed(GROUP6), source="fd00::1"
    ),
    "mld_truncated": mcframes.mld(1, "ff02::16", bytes((143, 0, 0, 0, 0, 0, 0, 9))),
    "router_alert": mcframes.ip6(1, "ff02::16", 58, JOIN6[62:]),
}


@pytest.mark.parametrize("reason", MALFORMED)
def test_malformed_messages_are_counted_and_dropped(
    bridge: Bridge, controller: Controller, reason: str
) -> None:
    hear_querier(bridge, ROUTER)
    hear_querier(bridge, ROUTER, family=6)
    bridge.forget_sent()
    bridge.inject(1, MALFORMED[reason])
    wait_for(lambda: count(controller, bridge, f"drop_{reason}") == 1, f"a drop for {reason}")
    assert all(MALFORMED[reason] not in bridge.sent(port) for port in bridge.ports)
    assert not {GROUP, GROUP6} & {group for _, group, _ in entries(bridge)}


def _with(message: bytes, at: int, octets: bytes) -> bytes:
    return message[:at] + octets + message[at + len(octets) :]


UNREADABLE = {
    "ipv4-length": _with(JOIN4, 16, b"\x07\xd0"),
    "ipv4-length-too-small": _with(JOIN4, 16, b"\0\x05"),
    "ipv4-header-length": _with(JOIN4, 14, b"\x4f"),
    "ipv4-header-length-too-small": _with(JOIN4, 14, b"\x44"),
    "ipv4-cut": JOIN4[:30],
    "ipv6-length": _with(JOIN6, 18, b"\x07\xd0"),
    "ipv6-extension": _with(JOIN6, 55, b"\x40"),
    "ipv6-cut": JOIN6[:50],
    "stream": _with(mcframes.stream(1, GROUP), 16, b"\x07\xd0"),
}
"""Frames of which the switch itself cannot read the IP header."""


@pytest.mark.parametrize("what", UNREADABLE)
def test_what_has_no_whole_ip_header_is_counted_and_dropped(
    bridge: Bridge, controller: Controller, what: str
) -> None:
    """Whether streams are restricted or not; as the Linux bridge does with all IP multicast."""
    for drops in (1, 2):
        bridge.forget_sent()
        bridge.inject(1, UNREADABLE[what])
        wait_for(
            lambda drops=drops: count(controller, bridge, "drop_ip_truncated") == drops, "a drop"
        )
        assert all(UNREADABLE[what] not in bridge.sent(port) for port in bridge.ports)
        hear_querier(bridge, ROUTER)


def test_mld_that_is_cut_short_is_counted_and_dropped(
    bridge: Bridge, controller: Controller
) -> None:
    short = mcframes.mld(1, "ff02::16", bytes((143, 0, 0, 0)))
    bridge.inject(1, short)
    wait_for(lambda: count(controller, bridge, "drop_mld_truncated") == 1, "a drop")
    assert all(short not in bridge.sent(port) for port in bridge.ports)


def test_a_ttl_other_than_1_is_no_reason_to_drop(bridge: Bridge, controller: Controller) -> None:
    """Neither Linux nor Open vSwitch looks at it; `strict` does."""
    for family in (4, 6):
        hear_querier(bridge, ROUTER, family=family)
    body = bytes((0x16, 0, 0, 0)) + mcframes.packed(GROUP)
    bridge.inject(1, mcframes.igmp(1, GROUP, body, ttl=64))
    wait_entry(bridge, GROUP, {1, ROUTER})
    body = bytes((131,)) + bytes(7) + mcframes.packed(GROUP6)
    bridge.inject(1, mcframes.mld(1, GROUP6, body, hops=64))
    wait_entry(bridge, GROUP6, {1, ROUTER})


def test_random_damage_harms_nobody(bridge: Bridge, controller: Controller) -> None:
    """Octets changed and frames cut, checksums right again half the time."""
    chance = random.Random(41)
    hear_querier(bridge, ROUTER)
    hear_querier(bridge, ROUTER, family=6)
    sound = [
        mcframes.report(1, (2, GROUP, ("10.0.0.9", "10.0.0.8")), (5, "239.4.4.4", ("10.0.0.7",))),
        mcframes.report(1, (2, GROUP6, ("fd00::9",)), (5, "ff1e::4", ("fd00::7",))),
        mcframes.query(1, group=GROUP, sources=("10.0.0.9",)),
        mcframes.query(1, family=6, group=GROUP6, sources=("fd00::9",)),
        mcframes.pim_hello(1),
        mcframes.router_advertisement(1),
        mcframes.join(1, GROUP, vlan=77),
    ]
    fuzz = []
    for _ in range(400):
        octets = bytearray(chance.choice(sound))
        for _ in range(chance.randrange(4)):
            octets[chance.randrange(14, len(octets))] = chance.randrange(256)
        cut = chance.randrange(20, len(octets) + 1) if chance.random() < 0.3 else len(octets)
        octets = octets[:cut].ljust(60 if chance.random() < 0.5 else 0, b"\0")
        if octets[12:14] == b"\x08\x00" and len(octets) > 42 and chance.random() < 0.5:
            octets[24:26] = octets[40:42] = b"\0\0"
            octets[24:26] = mcframes.checksum(bytes(octets[14:38])).to_bytes(2, "big")
            end = 14 + int.from_bytes(octets[16:18], "big")
            octets[40:42] = mcframes.checksum(bytes(octets[38:end])).to_bytes(2, "big")
        fuzz.append(bytes(octets))
    pour(bridge, 1, fuzz)
    group = "239.200.1.1"
    bridge.inject(2, mcframes.join(2, group))
    wait_for(lambda: 2 in entries(bridge).get((0, group, None), ()), "a sound join to be heard")
    wait_for(lambda: controller.bridge(bridge)["in_line"], "the switch to be in line")
    assert controller.alive
    assert "Traceback" not in controller.log()
    counts = counters(controller, bridge, 1)
    assert sum(seen for name, seen in counts.items() if name.startswith("drop_")) > 20, counts


# --- too much --------------------------------------------------------------------------------


def _wanted(host: int, number: int) -> list[bytes]:
    """Reports that join so many groups, 100 in each."""
    groups = [f"239.9.{n >> 8}.{n & 0xFF}" for n in range(number)]
    return [
        mcframes.report(host, *((mcframes.TO_EX, group, ()) for group in groups[at : at + 100]))
        for at in range(0, number, 100)
    ]


def test_a_port_has_no_more_groups_than_it_may(limited: Bridge, controller: Controller) -> None:
    limited.inject(1, *_wanted(1, 3000))
    limited.inject(2, mcframes.join(2, GROUP))
    wait_entry(limited, GROUP, {2, ROUTER})
    wait_for(lambda: count(controller, limited, "limit_max_groups") == 2995, "refusals")
    assert len(entries(limited)) == 1 + 5 + 1  # the unregistered, port 1's, port 2's
    (event,) = limits(controller, limited)
    assert "mcast_max_groups" in event


def test_a_host_that_joins_everything_harms_itself(limited: Bridge, controller: Controller) -> None:
    limited.inject(2, *_wanted(1, 3000))
    wait_for(lambda: count(controller, limited, "limit_hash_max", 2) > 2900, "refusals")
    assert len(entries(limited)) <= 61
    limited.inject(1, mcframes.join(2, GROUP))  # there is room for others
    wait_entry(limited, GROUP, {1, ROUTER})
    limited.inject(LOCAL, mcframes.join(4, GROUP))
    wait_entry(limited, GROUP, {1, ROUTER, LOCAL})
    assert limited.send(1, mcframes.stream(1, "239.250.1.1")) == {ROUTER}
    assert limits(controller, limited)
    assert controller.alive


def limits(controller: Controller, bridge: Bridge) -> list[str]:
    """The events about limits of *bridge*."""
    found = controller.events("mcast.limit.reached")
    return [event["message"] for event in found if event["datapath_id"] == bridge.dpid16]


def test_messages_of_each_port_are_metered_apart(bridge: Bridge, controller: Controller) -> None:
    hear_querier(bridge, ROUTER)
    snoop = {port: meter_id(port, SNOOPED) for port in (1, 2)}
    rate = SNOOPED.rate or 0
    while bridge.meter_packets()[snoop[1]] < rate + 100:  # at one moment: the clock stands
        pour(bridge, 1, [mcframes.join(1, GROUP)] * 120)
    bridge.inject(2, mcframes.join(2, GROUP))
    wait_entry(bridge, GROUP, {1, 2, ROUTER})
    assert bridge.meter_packets()[snoop[2]] == 1
    assert count(controller, bridge, "rx_igmp_v3_report") == rate
    assert count(controller, bridge, "rx_igmp_v3_report", 2) == 1


# --- the controller and the switch go and come --------------------------------------------------


def joined(bridge: Bridge) -> Entries:
    """A router, members of both families, in a VLAN, and one that wants a source only."""
    hear_querier(bridge, ROUTER)
    hear_querier(bridge, ROUTER, family=6)
    hear_querier(bridge, ROUTER, vid=10)
    bridge.inject(1, mcframes.join(1, GROUP), mcframes.join(1, GROUP, vlan=10))
    bridge.inject(2, mcframes.report(2, (mcframes.ALLOW, "232.1.1.1", ("10.0.0.9",))))
    bridge.inject(2, mcframes.join(2, GROUP6), mcframes.join(2, GROUP))
    wait_entry(bridge, GROUP, {1, 2, ROUTER})
    wait_entry(bridge, GROUP, {1, ROUTER}, vid=10)
    wait_entry(bridge, GROUP6, {2, ROUTER})
    wait_entry(bridge, "232.1.1.1", {2, ROUTER}, source="10.0.0.9")
    return entries(bridge)


def flows_and_groups(bridge: Bridge) -> tuple[object, ...]:
    """All of the datapath but its counters."""
    return {flow.identity for flow in bridge.flows() if flow.table >= 60}, bridge.groups()


def test_kill_9_changes_nothing_and_memberships_are_known_again(
    bridge: Bridge, controller: Controller
) -> None:
    joined(bridge)
    held, known = flows_and_groups(bridge), members(controller, bridge)
    assert len(known) == 5
    stream, one = mcframes.stream(ROUTER, GROUP), mcframes.stream(9, "232.1.1.1", source="10.0.0.9")
    controller.kill9()
    assert bridge.send(ROUTER, stream) == {1, 2}
    assert bridge.send(1, one) == {2, ROUTER}
    controller.start()

    def talk() -> None:
        bridge.switch.step()
        assert bridge.send(ROUTER, stream) == {1, 2}

    wait_for(lambda: bridge.connected, "the connection", tick=talk)
    controller.wait_ready(bridge)
    talk()
    assert members(controller, bridge) == known
    (router,) = family_status(controller, bridge, 4)["router_ports"]
    assert router["port"]["number"] == ROUTER
    now = flows_and_groups(bridge)
    assert now[1] == held[1]
    assert {f for f in now[0] if f[0] >= 70} == {f for f in held[0] if f[0] >= 70}
    # And it goes on: a leave, as the querier asks about it, and another join.
    bridge.inject(2, mcframes.leave(2, GROUP))
    bridge.inject(ROUTER, mcframes.query(250, group=GROUP))
    bridge.inject(1, mcframes.report(1, (mcframes.IS_EX, GROUP, ())))
    wait_entry(bridge, GROUP, {1, ROUTER})
    bridge.inject(LOCAL, mcframes.join(4, GROUP))
    wait_entry(bridge, GROUP, {1, ROUTER, LOCAL})


def test_a_member_that_left_meanwhile_is_asked_for(bridge: Bridge, controller: Controller) -> None:
    joined(bridge)
    controller.kill9()
    bridge.forget_sent()
    controller.start()
    controller.wait_ready(bridge)
    wait_for(
        lambda: [f for f in bridge.sent(1) if f[12:14] == b"\x08\x00" and f[38:39] == b"\x11"],
        "a query for those who are still there",
    )


def test_ovs_restarts(bridge: Bridge, controller: Controller) -> None:
    held = joined(bridge)
    bridge.switch.restart_switch()
    wait_for(lambda: bridge.connected, "the connection", tick=bridge.switch.step)
    controller.wait_ready(bridge)
    wait_for(lambda: entries(bridge) == held, "everything to be reinstalled")
    assert bridge.send(ROUTER, mcframes.stream(ROUTER, GROUP)) == {1, 2}


def test_what_somebody_deletes_comes_back(bridge: Bridge, controller: Controller) -> None:
    held = joined(bridge)
    bridge.disconnect()
    wait_for(lambda: not controller.bridge(bridge)["connected"], "the controller to notice")
    bridge.switch.ofctl("del-groups", bridge.name)  # and the flows that lead to them
    controller.connect(bridge)
    wait_for(lambda: entries(bridge) == held, "everything to be put back")
    assert bridge.send(ROUTER, mcframes.stream(ROUTER, GROUP)) == {1, 2}


# --- spanning tree ---------------------------------------------------------------------------


def test_a_blocked_port_is_in_no_set(vswitchd: VSwitchd, controller: Controller) -> None:
    bridge = vswitchd.add_bridge(dpid=GUARDED)
    for number in (1, 2, 3):
        bridge.add_port(number, f"edge{number}")
    controller.connect(bridge)
    stream = mcframes.stream(1, GROUP)
    hear_querier(bridge, ROUTER)
    bridge.inject(2, mcframes.join(2, GROUP))
    wait_entry(bridge, GROUP, {2, ROUTER})
    superior = bytearray(frames.bpdu("02:00:00:00:00:01"))
    superior[22:24] = b"\0\0"  # its priority
    bridge.inject(2, bytes(superior))
    wait_entry(bridge, GROUP, {ROUTER})
    assert bridge.send(1, stream) == {ROUTER}
    # Nor is it a router port, nor does it join: nothing enters by it.
    bridge.inject(2, mcframes.pim_hello(9), mcframes.join(2, "239.2.2.2"))
    bridge.inject(1, mcframes.join(1, "239.3.3.3"))
    wait_entry(bridge, "239.3.3.3", {1, ROUTER})
    wait_restricted(bridge, {ROUTER})
    assert (0, "239.2.2.2", None) not in entries(bridge)
    bridge.destroy()
