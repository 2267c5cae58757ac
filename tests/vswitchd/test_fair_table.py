"""A port that floods new addresses leaves room in the table for the hosts of all others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from tests.support import frames
from tests.support.controller import Controller
from tests.support.hosts import learn, learned_flows
from tests.support.ovs import Bridge, VSwitchd
from tests.support.waiting import wait_for
from tests.vswitchd.ring import Ring

DPIDS = iter(range(0x71720, 0x71728))
FLOODED, OTHERS = 6, (1, 2, 3, 4, 5)
LAG = 4095
FRAMES = 50


def flood(bridge: Bridge, port: int, count: int = 16, vlan: int | None = None) -> None:
    """Frames of so many invented addresses."""
    sources = [frames.host(0x40000 + number) for number in range(count)]
    bridge.inject(port, *(frames.ethernet(frames.BROADCAST, mac, vlan=vlan) for mac in sources))


def by_port(controller: Controller, bridge: Bridge) -> Counter[str]:
    """Number of learned addresses by port."""
    return Counter(controller.bridge(bridge)["fdb"]["learned_by_port"])


def leaked(bridge: Bridge, one: tuple[int, str], other: tuple[int, str], vlan: int = 0) -> int:
    """How many frames between two hosts leave by other ports."""
    count = 0
    for _ in range(FRAMES // 2):
        for (port, source), (to, target) in ((one, other), (other, one)):
            frame = frames.ethernet(target, source, vlan=vlan or None)
            count += bool(bridge.send(port, frame) - {to})
    return count


@pytest.fixture
def make(
    vswitchd: VSwitchd, controller_factory: Callable[[str], Controller]
) -> Iterator[Callable[[str], tuple[Controller, Bridge]]]:
    """Makes a connected bridge with ports 1 to 6 from its settings."""
    made: list[Bridge] = []

    def connected(settings: str) -> tuple[Controller, Bridge]:
        dpid = next(DPIDS)
        controller = controller_factory(f'bridges: {{"{dpid:016x}": {settings}}}')
        bridge = vswitchd.add_bridge(dpid=dpid)
        made.append(bridge)
        for number in (*OTHERS, FLOODED):
            bridge.add_port(number, f"fair{number}")
        return controller, controller.connect(bridge)

    yield connected
    for bridge in made:
        bridge.destroy()


@pytest.mark.parametrize(
    ("settings", "vlan"),
    [("{fdb_max_learned: 10}", 0), ("{vlans: {7: {fdb_max_learned: 10}}}", 7)],
)
def test_two_hosts_on_each_of_five_ports_beside_a_flood(
    make: Callable[[str], tuple[Controller, Bridge]], settings: str, vlan: int
) -> None:
    if vlan:
        settings = settings[:-1] + ", ports: {'fair*': {vlan: {trunk: 7}}}}"
    controller, bridge = make(settings)
    flood(bridge, FLOODED, vlan=vlan or None)
    wait_for(lambda: by_port(controller, bridge)["fair6"] == 10, "a full table")
    (event,) = wait_for(lambda: controller.events("fdb.limit"), "the event")
    assert (event["data"]["port_name"], event["data"]["learned"]) == ("fair6", 10)
    hosts = [learn(controller, bridge, 10 * port, port, vlan) for port in OTHERS]
    for port in OTHERS:
        mac = frames.host(10 * port + 1)
        bridge.inject(port, frames.ethernet(frames.BROADCAST, mac, vlan=vlan or None))
    wait_for(
        lambda: sorted(by_port(controller, bridge).values()) == [1, 1, 2, 2, 2, 2],
        "equal shares",
    )
    assert all(controller.where(bridge, mac, vlan) for mac in hosts)
    assert leaked(bridge, (1, hosts[0]), (2, hosts[1]), vlan) == 0
    wait_for(lambda: len(learned_flows(bridge)) == 20, "two flows for each address")
    flood(bridge, FLOODED, 200, vlan=vlan or None)
    learned = controller.bridge(bridge)["counters"]["learned"]
    ports = controller.get(f"/v1/bridges/{bridge.dpid16}/ports")["ports"]
    flooded = next(port for port in ports if port["name"] == "fair6")
    assert flooded["displaced"] >= 8
    wait_for(
        lambda: (
            controller.bridge(bridge)["counters"][
                "refused_vlan_limit" if vlan else "refused_bridge_limit"
            ]
            > 100
        ),
        "refusals",
    )
    assert controller.bridge(bridge)["counters"]["learned"] == learned


def test_a_restarted_controller_finds_the_shares_and_goes_on(
    make: Callable[[str], tuple[Controller, Bridge]],
) -> None:
    controller, bridge = make("{fdb_max_learned: 10}")
    flood(bridge, FLOODED)
    wait_for(lambda: by_port(controller, bridge)["fair6"] == 10, "a full table")
    first = learn(controller, bridge, 10, 1)
    controller.kill9()
    controller.start()
    controller.wait_ready(bridge)
    wait_for(lambda: by_port(controller, bridge) == {"fair6": 9, "fair1": 1}, "the same table")
    second = learn(controller, bridge, 20, 2)
    assert by_port(controller, bridge) == {"fair6": 8, "fair1": 1, "fair2": 1}
    assert leaked(bridge, (1, first), (2, second)) == 0


def test_the_members_of_an_aggregation_share_one_share(
    make: Callable[[str], tuple[Controller, Bridge]],
) -> None:
    lag = "{members: [fair5, fair6], lacp: 'off'}"
    controller, bridge = make(f"{{fdb_max_learned: 9, lags: {{uplink: {lag}}}}}")
    flood(bridge, 5, 6)
    flood(bridge, 6, 12)
    wait_for(lambda: by_port(controller, bridge) == {"uplink": 9}, "a full table")
    for port in (1, 2):
        for number in range(4):
            bridge.inject(port, frames.arp_request(frames.host(10 * port + number)))
    wait_for(
        lambda: by_port(controller, bridge) == {"uplink": 3, "fair1": 3, "fair2": 3},
        "a third for each",
    )


def test_a_flood_at_one_member_leaves_room_for_hosts_at_the_others(ring: Ring) -> None:
    ring.configure(bridges={"pod": {"fdb_max_learned": 8}})
    flood(ring.members[0], 1)
    controller, members = ring.controller, ring.members
    wait_for(lambda: by_port(controller, members[0]) == {ring.name(1, 1): 8}, "a full table")
    for number, member in ((1, 2), (2, 3)):
        ring.learn(number, member)
    assert by_port(controller, members[0]) == {
        ring.name(1, 1): 6,
        ring.name(2, 1): 1,
        ring.name(3, 1): 1,
    }
    wait_for(
        lambda: len(learned_flows(members[0])) == 12, "the flows of those that made room to go"
    )
    frame = frames.ethernet(frames.host(2), frames.host(1))
    wait_for(lambda: ring.send(2, 1, frame) == {(3, 1): 1}, "the way", tick=ring.switch.in_pace())
