"""Ports that do not learn, locked and sticky ports, limits that drop, and addresses that flap."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ofapp.openflow.model.cookie import Feature, make_cookie
from ofapp.openflow.model.rule import TableId
from ofapp.openflow.model.traps import SIGHTING
from ofapp.openflow.pipeline.group_numbers import FLOOD_GROUP
from tests.support import frames
from tests.support.controller import Controller
from tests.support.flows import Flow
from tests.support.hosts import halves, learn, wait_forgotten, wait_learned
from tests.support.ovs import LOCAL, Bridge, VSwitchd
from tests.support.waiting import wait_for

A, B, C, D = (frames.host(number) for number in (1, 2, 3, 4))

# A bridge's entries outlive its connection, so each test has its own datapath id.
DPIDS = range(0x91A20, 0x91A38)
_BRIDGE = """
  "{dpid:016x}":
    ageing_time: 60
    mac_move: {{moves: 3, window: 60, hold: 30}}
    vlans:
      7: {{fdb_max_learned: 2, over_limit: drop}}
      8: {{fdb_max_learned: 1}}
    ports:
      quiet{dpid:x}: {{learning: false}}
      locked{dpid:x}: {{locked: true}}
      sticky{dpid:x}: {{sticky: true}}
      full{dpid:x}: {{fdb_max_learned: 2, over_limit: drop}}"""
CONFIG = "bridges:" + "".join(_BRIDGE.format(dpid=dpid) for dpid in DPIDS) + "\n"
_unused = iter(DPIDS)


pytestmark = pytest.mark.controller(CONFIG)
"""Bridges whose ports are guarded by their names."""


@pytest.fixture
def guarded(
    bridge_factory: Callable[..., Bridge], controller: Controller
) -> Callable[[str], Bridge]:
    """Makes bridges: port 1 is of the kind that is asked for, ports 2 and 3 are ordinary."""

    def make(kind: str) -> Bridge:
        if not controller.alive:
            controller.start()
        dpid = next(_unused)
        return bridge_factory(ports=(f"{kind}{dpid:x}", None, None), dpid=dpid)

    return make


def events_of(controller: Controller, bridge: Bridge, kind: str) -> list[dict[str, Any]]:
    """The events of that kind about the bridge."""
    return [event for event in controller.events(kind) if event["datapath_id"] == bridge.dpid16]


def wait_event(controller: Controller, bridge: Bridge, kind: str, count: int = 1) -> dict[str, Any]:
    """Wait for so many of them; the last."""
    wait_for(lambda: len(events_of(controller, bridge, kind)) == count, f"{count} {kind}")
    return events_of(controller, bridge, kind)[-1]


def of(bridge: Bridge, feature: int, table: int = TableId.SOURCE) -> list[Flow]:
    """The bridge's flows of a feature in a table."""
    prefix = make_cookie(feature) >> 40
    return [flow for flow in bridge.flows() if flow.table == table and flow.cookie >> 40 == prefix]


def gates(bridge: Bridge) -> set[str]:
    """What the closed gates match."""
    return {flow.match for flow in of(bridge, SIGHTING.feature) if flow.priority in (110, 120)}


def counter(controller: Controller, bridge: Bridge, name: str) -> int:
    """One of the bridge's counters."""
    return int(controller.bridge(bridge)["counters"].get(name, 0))


def wait_dropped(controller: Controller, bridge: Bridge, rule: str) -> None:
    """Wait until the API tells of frames that the rule has dropped."""
    bridge.switch.settle()
    wait_for(lambda: controller.bridge(bridge)["drops"].get(rule), f"drops of {rule}", seconds=20)


class TestQuiet:
    def test_frames_pass_and_nobody_is_learned(
        self, guarded: Callable[[str], Bridge], controller: Controller
    ) -> None:
        bridge = guarded("quiet")
        learn(controller, bridge, 2, port=2)
        assert bridge.send(1, frames.ethernet(B, A)) == {2}
        assert bridge.send(1, frames.ethernet(frames.BROADCAST, A)) == {2, 3, LOCAL}
        learn(controller, bridge, 3, port=3)  # earlier reports have been heard by now
        assert controller.where(bridge, A) is None
        assert halves(bridge, A) == (0, 0)
        assert bridge.send(2, frames.ethernet(A, B)) == {1, 3, LOCAL}

    def test_a_host_known_elsewhere_stays_there(
        self, guarded: Callable[[str], Bridge], controller: Controller
    ) -> None:
        bridge = guarded("quiet")
        learn(controller, bridge, 1, port=2)
        bridge.inject(1, frames.ethernet(frames.BROADCAST, A))
        learn(controller, bridge, 3, port=3)
        assert controller.where(bridge, A) == 2


class TestLocked:
    def test_only_its_static_addresses_pass(
        self, guarded: Callable[[str], Bridge], controller: Controller
    ) -> None:
        bridge = guarded("locked")
        learn(controller, bridge, 2, port=2)
        assert controller.put_static(bridge, A, 1).status == 201
        assert controller.put_static(bridge, C, 3).status == 201
        assert bridge.send(1, frames.ethernet(B, A)) == {2}
        assert bridge.send(1, frames.ethernet(B, A, vlan=7)) == set()
        for stranger in (D, B, C, _own(controller, bridge)):
            assert bridge.send(1, frames.ethernet(frames.BROADCAST, stranger)) == set()
        assert bridge.send(2, frames.ethernet(A, B)) == {1}
        assert controller.where(bridge, D) is None

    def test_an_entry_that_goes_elsewhere_takes_its_pass_along(
        self, guarded: Callable[[str], Bridge], controller: Controller
    ) -> None:
        bridge = guarded("locked")

        def reaches(ports: set[int]) -> None:
            """It is saved when REST answers; the switch has it some milliseconds later."""
            frame = frames.ethernet(B, A)
            wait_for(lambda: bridge.send(1, frame) == ports, f"its frames to reach {ports}")

        controller.put_static(bridge, A, 1)
        reaches({2, 3, LOCAL})
        controller.put_static(bridge, A, 2)
        reaches(set())
        controller.put_static(bridge, A, 1)
        reaches({2, 3, LOCAL})
        path = f"/v1/bridges/{bridge.dpid16}/fdb/0/{A}"
        assert controller.api("DELETE", path).status == 204
        reaches(set())

    def test_it_stays_locked_over_a_restart_and_a_link_that_fails(
        self, guarded: Callable[[str], Bridge], controller: Controller
    ) -> None:
        bridge = guarded("locked")
        controller.put_static(bridge, A, 1)
        flows = {flow.identity for flow in bridge.flows()}
        controller.kill9()
        assert bridge.send(1, frames.ethernet(B, A)) == {2, 3, LOCAL}
        assert bridge.send(1, frames.ethernet(B, D)) == set()
        controller.start()
        controller.wait_ready(bridge)
        assert {flow.identity for flow in bridge.flows()} == flows
        bridge.link(1, up=False)
        wait_for(lambda: not of(bridge, Feature.GUARD), "the port to close")
        bridge.link(1, up=True)
        wait_for(lambda: {flow.identity for flow in bridge.flows()} == flows, "the same flows")
        assert bridge.send(1, frames.ethernet(B, D)) == set()
        wait_dropped(controller, bridge, "locked")
        assert wait_event(controller, bridge, "port.locked.limited")["port"] == 1


class TestSticky:
    def test_it_does_not_age(
        self, guarded: Callable[[str], Bridge], controller: Controller
    ) -> None:
        bridge = guarded("sticky")
        learn(controller, bridge, 1, port=1)
        learn(controller, bridge, 2, port=2)
        bridge.switch.warp(100)
        wait_forgotten(controller, bridge, B)
        assert bridge.send(2, frames.ethernet(A, B)) == {1}
        (entry,) = controller.fdb(bridge, mac=A)
        assert entry["flags"] == ["sticky"]
        assert entry["type"] == "learned"

    def test_it_does_not_move_and_a_thief_is_held_down(
        self, guarded: Callable[[str], Bridge], controller: Controller
    ) -> None:
        bridge = guarded("sticky")
        learn(controller, bridge, 1, port=1)
        learn(controller, bridge, 3, port=3)
        bridge.inject(2, frames.ethernet(C, A))
        event = wait_event(controller, bridge, "fdb.held")
        assert event["data"]["reason"] == "sticky"
        wait_for(lambda: of(bridge, Feature.HELD), "the thief's frames to be dropped")
        assert bridge.send(2, frames.ethernet(C, A)) == set()
        assert bridge.send(3, frames.ethernet(A, C)) == {1}
        assert bridge.send(1, frames.ethernet(C, A)) == {3}
        before = counter(controller, bridge, "held_sightings")
        for _ in range(5):
            bridge.inject(2, frames.ethernet(C, A))
        learn(controller, bridge, 4, port=2)
        assert counter(controller, bridge, "held_sightings") == before
        assert controller.where(bridge, A) == 1

    def test_it_survives_the_controller_and_a_link_that_fails(
        self, guarded: Callable[[str], Bridge], controller: Controller
    ) -> None:
        bridge = guarded("sticky")
        learn(controller, bridge, 1, port=1)
        flows = {flow.identity for flow in bridge.flows()}
        controller.restart()
        controller.wait_ready(bridge)
        wait_for(lambda: controller.where(bridge, A) == 1, "the entry")
        assert {flow.identity for flow in bridge.flows()} == flows
        bridge.link(1, up=False)
        wait_for(lambda: halves(bridge, A) == (0, 0), "the port's flows to go")
        assert controller.where(bridge, A) == 1
        bridge.inject(2, frames.ethernet(C, A))
        wait_event(controller, bridge, "fdb.held")
        bridge.link(1, up=True)
        wait_for(lambda: halves(bridge, A) == (1, 1), "the port's flows to come back")
        assert controller.where(bridge, A) == 1

    def test_what_a_switch_lost_comes_back(
        self, guarded: Callable[[str], Bridge], controller: Controller
    ) -> None:
        bridge = guarded("sticky")
        learn(controller, bridge, 1, port=1)
        flows = {flow.identity for flow in bridge.flows()}
        bridge.switch.ofctl("del-flows", bridge.name, f"table={TableId.SOURCE}")
        bridge.disconnect()
        wait_for(lambda: not bridge.connected, "the connection to end", tick=bridge.switch.step)
        controller.connect(bridge)
        wait_for(lambda: {flow.identity for flow in bridge.flows()} == flows, "the same flows")

    def test_a_flush_frees_it(
        self, guarded: Callable[[str], Bridge], controller: Controller
    ) -> None:
        bridge = guarded("sticky")
        learn(controller, bridge, 1, port=1)
        assert controller.flush(bridge, port=1) == 1
        wait_forgotten(controller, bridge, A)
        learn(controller, bridge, 1, port=2)
        learn(controller, bridge, 2, port=1)
        assert controller.flush(bridge, mac=B) == 1
        wait_forgotten(controller, bridge, B)


class TestPortLimit:
    def test_what_is_beyond_is_dropped_until_there_is_room(
        self, guarded: Callable[[str], Bridge], controller: Controller
    ) -> None:
        bridge = guarded("full")
        learn(controller, bridge, 1, port=1)
        assert gates(bridge) == set()
        learn(controller, bridge, 2, port=1)
        wait_for(lambda: gates(bridge) == {"in_port=1"}, "the gate to close")
        assert bridge.send(1, frames.ethernet(frames.BROADCAST, C)) == set()
        assert bridge.send(1, frames.ethernet(frames.BROADCAST, A)) == {2, 3, LOCAL}
        event = wait_event(controller, bridge, "fdb.limit")
        assert event["data"]["drop"] is True
        assert controller.where(bridge, C) is None
        wait_dropped(controller, bridge, "full")
        bridge.switch.warp(40)
        bridge.inject(1, frames.ethernet(C, A))
        bridge.switch.warp(22)  # B ages out, A does not
        wait_forgotten(controller, bridge, B)
        wait_event(controller, bridge, "fdb.limit.cleared")
        wait_for(lambda: gates(bridge) == set(), "the gate to open")
        learn(controller, bridge, 3, port=1)

    def test_it_is_closed_after_a_restart(
        self, guarded: Callable[[str], Bridge], controller: Controller
    ) -> None:
        bridge = guarded("full")
        for number in (1, 2):
            learn(controller, bridge, number, port=1)
        wait_for(lambda: gates(bridge), "the gate to close")
        controller.restart()
        controller.wait_ready(bridge)
        wait_for(lambda: gates(bridge) == {"in_port=1"}, "the gate to close again")
        assert bridge.send(1, frames.ethernet(frames.BROADCAST, C)) == set()
        bridge.link(1, up=False)
        wait_for(lambda: gates(bridge) == set(), "the port to close")
        bridge.link(1, up=True)
        wait_for(lambda: bridge.groups()[FLOOD_GROUP] == {1, 2, 3, LOCAL}, "it to open")
        learn(controller, bridge, 3, port=1)


class TestVlanLimit:
    def test_what_is_beyond_is_dropped_on_every_port_but_may_move(
        self, guarded: Callable[[str], Bridge], controller: Controller
    ) -> None:
        bridge = guarded("any")
        learn(controller, bridge, 1, port=1, vlan=7)
        learn(controller, bridge, 2, port=2, vlan=7)
        wait_for(lambda: len(gates(bridge)) == 4, "the gates to close")
        for port in (1, 3):
            frame = frames.ethernet(frames.BROADCAST, C, vlan=7)
            assert bridge.send(port, frame) == set()
        learn(controller, bridge, 3, port=3)  # in no VLAN: not concerned
        learn(controller, bridge, 1, port=3, vlan=7)
        assert bridge.send(2, frames.ethernet(A, B, vlan=7)) == {3}
        assert wait_event(controller, bridge, "fdb.limit", 2)["data"]["vlan"] == 7
        assert {event["port"] for event in events_of(controller, bridge, "fdb.limit")} == {1, 3}
        assert controller.flush(bridge, vlan=7) == 2
        wait_for(lambda: gates(bridge) == set(), "the gates to open")
        wait_event(controller, bridge, "fdb.limit.cleared")
        learn(controller, bridge, 3, port=1, vlan=7)

    def test_what_is_beyond_floods_where_that_is_asked(
        self, guarded: Callable[[str], Bridge], controller: Controller
    ) -> None:
        bridge = guarded("any")
        learn(controller, bridge, 1, port=1, vlan=8)
        frame = frames.ethernet(frames.BROADCAST, B, vlan=8)
        assert bridge.send(2, frame) == {1, 3, LOCAL}
        wait_event(controller, bridge, "fdb.limit")
        assert controller.where(bridge, B, 8) is None
        assert gates(bridge) == set()


class TestMoves:
    def test_an_address_that_flaps_is_held_down_and_recovers(
        self, guarded: Callable[[str], Bridge], controller: Controller
    ) -> None:
        bridge = guarded("any")
        self.flap(controller, bridge)
        event = wait_event(controller, bridge, "fdb.held")
        assert event["data"]["reason"] == "moves"
        wait_learned(controller, bridge, A, 1)  # where it was before
        (entry,) = controller.fdb(bridge, mac=A)
        assert entry["flags"] == ["held"]
        path = f"/v1/bridges/{bridge.dpid16}/fdb/held"
        (held,) = controller.get(path)["held"]
        assert (held["mac"], held["port"]["number"], held["reason"]) == (A, 1, "moves")
        assert 0 < held["seconds_left"] <= 30
        assert bridge.send(1, frames.ethernet(frames.BROADCAST, A)) == {2, 3, LOCAL}
        for port in (2, 3):
            assert bridge.send(port, frames.ethernet(frames.BROADCAST, A)) == set()
        (flow,) = of(bridge, Feature.HELD)
        assert flow.packets >= 2
        bridge.switch.warp(31)  # the switch lets go by itself
        assert of(bridge, Feature.HELD) == []
        assert bridge.send(2, frames.ethernet(frames.BROADCAST, A)) == {1, 3, LOCAL}

    def test_it_stays_held_when_the_controller_starts_anew(
        self, guarded: Callable[[str], Bridge], controller: Controller
    ) -> None:
        bridge = guarded("any")
        self.flap(controller, bridge)
        wait_learned(controller, bridge, A, 1)
        wait_for(lambda: of(bridge, Feature.HELD), "it to be held")
        path = f"/v1/bridges/{bridge.dpid16}/fdb/held"
        (before,) = controller.get(path)["held"]
        controller.kill9()
        bridge.switch.warp(5)
        controller.start()
        controller.wait_ready(bridge)
        (after,) = controller.get(path)["held"]
        assert 20 < after.pop("seconds_left") <= 25 < before.pop("seconds_left")
        assert {**after, "sightings": 0} == {**before, "sightings": 0}
        wait_learned(controller, bridge, A, 1)
        assert bridge.send(2, frames.ethernet(frames.BROADCAST, A)) == set()
        assert len(of(bridge, Feature.HELD)) == 1
        assert controller.api("DELETE", f"{path}/0/{A}").status == 204
        wait_for(lambda: not of(bridge, Feature.HELD), "its flow to go")

    def test_it_is_let_go_by_hand(
        self, guarded: Callable[[str], Bridge], controller: Controller
    ) -> None:
        bridge = guarded("any")
        self.flap(controller, bridge)
        wait_for(lambda: of(bridge, Feature.HELD), "it to be held")
        path = f"/v1/bridges/{bridge.dpid16}/fdb/held/0/{A}"
        assert controller.api("DELETE", path).status == 204
        wait_event(controller, bridge, "fdb.held.cleared")
        wait_for(lambda: not of(bridge, Feature.HELD), "its flow to go")
        assert controller.api("DELETE", path).status == 404
        learn(controller, bridge, 1, port=2)

    def test_a_host_that_moves_now_and_then_is_not_held(
        self, guarded: Callable[[str], Bridge], controller: Controller
    ) -> None:
        bridge = guarded("any")
        for port in (1, 2, 3, 1):
            learn(controller, bridge, 1, port=port)
        for port in (2, 3, 2):  # forgotten in between: no move
            controller.flush(bridge, mac=A)
            wait_forgotten(controller, bridge, A)
            learn(controller, bridge, 1, port=port)
        assert events_of(controller, bridge, "fdb.held") == []

    @staticmethod
    def flap(controller: Controller, bridge: Bridge) -> None:
        """Three moves that are let through, and one too many."""
        for port in (1, 2, 1, 2):
            learn(controller, bridge, 1, port=port)
        bridge.inject(1, frames.ethernet(frames.BROADCAST, A))


class TestChanges:
    def test_guards_come_and_go_with_the_file(
        self, vswitchd: VSwitchd, controller_factory: Callable[[str], Controller]
    ) -> None:
        controller = controller_factory("")
        bridge = vswitchd.add_bridge(ports=3)
        controller.connect(bridge)
        plain = {flow.identity for flow in bridge.flows()}
        learn(controller, bridge, 1, port=1)
        learn(controller, bridge, 2, port=2)

        def become(port: str) -> None:
            controller.configure(f"bridges: {{'{bridge.dpid16}': {{ports: {{1: {{{port}}}}}}}}}")
            reply = controller.api("POST", "/v1/config/reload")
            assert reply.status == 200, reply.body

        become("sticky: true")
        wait_for(lambda: of(bridge, Feature.STICKY), "what is known to be sticky")
        assert bridge.send(2, frames.ethernet(A, B)) == {1}
        become("fdb_max_learned: 1, over_limit: drop")
        wait_for(lambda: gates(bridge) == {"in_port=1"}, "the gate to close")
        assert of(bridge, Feature.STICKY) == []
        assert bridge.send(2, frames.ethernet(A, B)) == {1}
        become("locked: true")
        wait_for(lambda: of(bridge, Feature.GUARD), "the port to be locked")
        assert bridge.send(1, frames.ethernet(B, A)) == set()
        assert controller.where(bridge, A) is None
        become("learning: false")
        wait_for(lambda: not of(bridge, Feature.GUARD), "the port to be open")
        assert bridge.send(1, frames.ethernet(B, A)) == {2}
        become("")
        wait_for(lambda: plain <= {flow.identity for flow in bridge.flows()}, "the plain flows")
        learn(controller, bridge, 1, port=1)
        assert controller.flush(bridge) == 2
        wait_for(lambda: plain == {flow.identity for flow in bridge.flows()}, "no others")
        bridge.destroy()


def _own(controller: Controller, bridge: Bridge) -> str:
    (entry,) = controller.fdb(bridge, type="local")
    return str(entry["mac"])
