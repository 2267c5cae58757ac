"""Port policies on a real switch: isolation, flood controls, hairpin, storms, mirrors, shutdown.

Learning's own policies are in test_guards.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import ClassVar

import pytest

from ofapp.openflow.model.trap import MeterKind
from ofapp.openflow.model.traps import BROADCAST, MULTICAST, UNKNOWN_UNICAST
from ofapp.openflow.pipeline.meters import meter_id
from tests.support import frames
from tests.support.controller import Controller
from tests.support.hosts import wait_learned
from tests.support.ovs import LOCAL, Bridge, VSwitchd
from tests.support.waiting import wait_for

A, B, C = (frames.host(number) for number in (1, 2, 3))
GROUP = "01:00:5e:00:00:fb"

CONFIG = """
defaults: {mac_move: {moves: 0}, ageing_time: 20}
bridges:
  "0000000000000061": {ports: {1: {isolated: true}, 2: {isolated: true}}}
  "0000000000000069":
    ports: {1: {community: 1}, 2: {community: 1}, 3: {community: 2}, 4: {isolated: true}}
  "0000000000000062": {ports: {2: {flood: false}, 3: {mcast_flood: false}, 4: {bcast_flood: false}}}
  "0000000000000063":
    ports:
      1: {hairpin: true}
      2: {hairpin: true, vlan: {trunk: [7], native: 7}}
      3: {vlan: 7}
  "0000000000000064": {ports: {1: {storm: {broadcast: 10, multicast: 5, unknown_unicast: 20}}}}
  "0000000000000068": {ports: {2: {isolated: true, shutdown: true}}}
  "000000000000006a": {ports: {1: {rate_in: 1000}}}
  "000000000000006b":
    ports: {1: {rate_out: 1000}, 2: {rate_out: 2000, vlan: 7}, 3: {vlan: {trunk: [7], native: 1}}}
  "000000000000006c": {ports: {later: {rate_out: 1000}, LOCAL: {rate_out: 2000}}}
  "000000000000006d":
    ports: {spied: {rate_out: 1000}}
    mirrors: {watch: {to: span, egress: [spied]}}
  "0000000000000067": {ports: {1: {storm: {unknown_unicast: 20}}}}
  "0000000000000065":
    ports: {2: {vlan: 7}, 3: {vlan: {trunk: [7]}}}
    mirrors: {watch: {to: span, ingress: [spied], egress: [spied]}}
  "0000000000000068":
    stp: {enabled: true}
    lldp: {enabled: true}
    ports: {tree: {stp: {admin_edge: true}}}
    mirrors: {watch: {to: watcher, ingress: [tree]}}
  "0000000000000066": {ports: {2: {monitor: true}, 3: {shutdown: true}}}
"""


pytestmark = pytest.mark.controller(CONFIG, speed=5)


@pytest.fixture
def make(vswitchd: VSwitchd, controller: Controller) -> Iterator[Callable[..., Bridge]]:
    made: list[Bridge] = []

    def connected(dpid: int, ports: int = 3, down: int | None = None, **names: int) -> Bridge:
        bridge = vswitchd.add_bridge(ports=ports, dpid=dpid)
        made.append(bridge)
        for name, number in names.items():
            bridge.add_port(number, name)
        if down is not None:
            bridge.link(down, up=False)
        return controller.connect(bridge)

    yield connected
    for bridge in made:
        bridge.destroy()


def learn(controller: Controller, bridge: Bridge, mac: str, port: int, vlan: int = 0) -> None:
    bridge.inject(port, frames.ethernet(frames.host(99), mac))
    wait_learned(controller, bridge, mac, port, vlan)


class TestIsolation:
    @pytest.mark.parametrize("dst", [frames.host(77), frames.BROADCAST, GROUP])
    def test_isolated_ports_reach_only_others(self, make: Callable[..., Bridge], dst: str) -> None:
        bridge = make(0x61)
        assert bridge.send(1, frames.ethernet(dst, A)) == {3, LOCAL}
        assert bridge.send(3, frames.ethernet(dst, C)) == {1, 2, LOCAL}

    def test_known_hosts_too(self, make: Callable[..., Bridge], controller: Controller) -> None:
        bridge = make(0x61)
        for port, mac in ((1, A), (2, B), (3, C)):
            learn(controller, bridge, mac, port)
        assert bridge.send(1, frames.ethernet(B, A)) == set()
        assert bridge.send(1, frames.ethernet(C, A)) == {3}
        assert bridge.send(3, frames.ethernet(A, C)) == {1}

    def test_a_flush_reaches_hosts_behind_them(
        self, make: Callable[..., Bridge], controller: Controller
    ) -> None:
        bridge = make(0x61)
        learn(controller, bridge, A, 1)
        learn(controller, bridge, C, 3)
        assert controller.flush(bridge, port=bridge.port_name(1)) == 1
        wait_for(
            lambda: bridge.send(3, frames.ethernet(A, C)) == {1, 2, LOCAL}, "the flow to be gone"
        )


class TestCommunities:
    """Ports 1 and 2 are in one community, 3 in another; 4 is isolated, 5 and LOCAL are neither."""

    REACHED: ClassVar[dict[int, set[int]]] = {
        1: {2, 5, LOCAL},
        3: {5, LOCAL},
        4: {5, LOCAL},
        5: {1, 2, 3, 4, LOCAL},
    }

    @pytest.mark.parametrize("dst", [frames.host(77), frames.BROADCAST, GROUP])
    def test_floods(self, make: Callable[..., Bridge], dst: str) -> None:
        bridge = make(0x69, ports=5)
        for port, reached in self.REACHED.items():
            assert bridge.send(port, frames.ethernet(dst, frames.host(port))) == reached

    def test_known_hosts(self, make: Callable[..., Bridge], controller: Controller) -> None:
        bridge = make(0x69, ports=5)
        for port in range(1, 6):
            learn(controller, bridge, frames.host(port), port)
        for port, reached in self.REACHED.items():
            for to in {1, 2, 3, 4, 5} - {port}:
                frame = frames.ethernet(frames.host(to), frames.host(port))
                assert bridge.send(port, frame) == {to} & reached, (port, to)

    def test_a_port_changes_its_community_while_frames_pass(
        self, make: Callable[..., Bridge], controller: Controller
    ) -> None:
        bridge = make(0x69, ports=5)
        learn(controller, bridge, A, 1)
        frame = frames.ethernet(A, C)
        assert bridge.send(3, frame) == set()
        path = f"/v1/bridges/{bridge.dpid16}/ports/{bridge.port_name(3)}"
        assert controller.api("PATCH", path, {"community": 1}).status == 200
        wait_for(lambda: bridge.send(3, frame) == {1}, "port 3 to be in the community")
        assert controller.get(path)["community"] == 1
        assert controller.api("PATCH", path, {"community": 32}).status == 422


class TestFloodControls:
    @pytest.mark.parametrize(
        ("dst", "out"),
        [(frames.host(77), {3, 4}), (GROUP, {2, 4}), (frames.BROADCAST, {2, 3})],
        ids=["unknown", "multicast", "broadcast"],
    )
    def test_each_kind_by_itself(
        self, make: Callable[..., Bridge], dst: str, out: set[int]
    ) -> None:
        bridge = make(0x62, ports=4)
        assert bridge.send(1, frames.ethernet(dst, A)) == out | {LOCAL}

    def test_known_hosts_are_reached(
        self, make: Callable[..., Bridge], controller: Controller
    ) -> None:
        bridge = make(0x62, ports=4)
        learn(controller, bridge, B, 2)
        assert bridge.send(1, frames.ethernet(B, A)) == {2}


class TestHairpin:
    def test_frames_return_where_it_is_allowed(
        self, make: Callable[..., Bridge], controller: Controller
    ) -> None:
        bridge = make(0x63, ports=0, one=1)
        assert bridge.send(1, frames.ethernet(frames.BROADCAST, A)) == {1, LOCAL}
        learn(controller, bridge, A, 1)
        learn(controller, bridge, B, 1)
        assert bridge.send(1, frames.ethernet(B, A)) == {1}

    def test_a_link_that_fails_and_comes_back(self, make: Callable[..., Bridge]) -> None:
        bridge = make(0x63, ports=0, one=1)
        frame = frames.ethernet(frames.BROADCAST, A)
        bridge.link(1, up=False)
        wait_for(lambda: 1 not in bridge.deliver(LOCAL, frame), "the port to close")
        bridge.link(1, up=True)
        wait_for(lambda: bridge.send(1, frame) == {1, LOCAL}, "the hairpin to be back")

    def test_in_the_native_vlan_without_a_tag(self, make: Callable[..., Bridge]) -> None:
        bridge = make(0x63)
        frame = frames.ethernet(frames.BROADCAST, A)
        assert bridge.send(2, frame) == {2, 3}


class TestRateIn:
    """Port 1 may send 1,000 kbit/s, and a fifth of a second of it at once."""

    def test_bits_above_the_rate_are_dropped_and_counted(
        self, make: Callable[..., Bridge], controller: Controller
    ) -> None:
        bridge = make(0x6A)
        learn(controller, bridge, A, 1)
        learn(controller, bridge, B, 2)
        large = frames.ethernet(B, A, payload=bytes(1236))  # 10 kbit
        assert len(large) == 1250
        for frame, passed in ((large, 20), (frames.ethernet(B, A).ljust(125, b"\0"), 200)):
            bridge.switch.warp(2)
            bridge.forget_sent()
            bridge.inject(1, *[frame] * 300)  # at one moment: the clock stands
            assert abs(bridge.sent(2).count(frame) - passed) <= 1
        bridge.switch.warp(0.1)
        bridge.forget_sent()
        bridge.inject(1, *[large] * 100)
        assert abs(bridge.sent(2).count(large) - 10) <= 1, "a tenth of a second of the rate"
        bridge.forget_sent()
        bridge.inject(2, *[frames.ethernet(A, B)] * 300)
        assert len(bridge.sent(1)) == 300, "the other ports have no limit"

        path = f"/v1/bridges/{bridge.dpid16}/ports/{bridge.port_name(1)}"
        wait_for(
            lambda: controller.get(path)["held_back"].get("rate_in", 0) > 400,
            "the drops to be counted",
            tick=bridge.switch.step,
        )
        wait_for(lambda: controller.events("rate_in.limited"), "it", tick=bridge.switch.step)
        assert controller.api("PATCH", path, {"rate_in": None}).status == 200
        bridge.forget_sent()
        bridge.inject(1, *[large] * 300)
        assert len(bridge.sent(2)) == 300
        for wrong in (63, 100_000_001, "10M"):
            assert controller.api("PATCH", path, {"rate_in": wrong}).status == 422


class TestRateOut:
    """What leaves by port 1 is limited to 1,000 kbit/s, by port 2 to 2,000 kbit/s in VLAN 7."""

    LARGE = 1250  # octets, which are 10 kbit

    def test_each_port_of_a_flood_has_its_own_rate(self, make: Callable[..., Bridge]) -> None:
        bridge = make(0x6B, ports=5)
        flood = frames.ethernet(frames.BROADCAST, C, payload=bytes(self.LARGE - 14))
        bridge.switch.warp(2)
        bridge.forget_sent()
        bridge.inject(4, *[flood] * 300)  # at one moment: the clock stands
        assert abs(bridge.sent(1).count(flood) - 20) <= 1
        assert bridge.sent(5).count(flood) == 300, "another port has no limit"
        in_vlan = frames.ethernet(frames.BROADCAST, B, vlan=7, payload=bytes(self.LARGE - 14))
        bridge.forget_sent()
        bridge.inject(3, *[in_vlan] * 300)
        bare = frames.ethernet(frames.BROADCAST, B, payload=bytes(self.LARGE - 14))
        assert abs(bridge.sent(2).count(bare) - 40) <= 1
        assert bridge.sent(5).count(in_vlan) == 300

    def test_frames_to_a_known_host(
        self, make: Callable[..., Bridge], controller: Controller
    ) -> None:
        bridge = make(0x6B, ports=5)
        learn(controller, bridge, A, 1)
        learn(controller, bridge, C, 4)
        back = frames.ethernet(frames.BROADCAST, A, payload=bytes(self.LARGE - 14))
        bridge.switch.warp(2)
        bridge.inject(1, *[back] * 300)
        large = frames.ethernet(A, C, payload=bytes(self.LARGE - 14))
        bridge.forget_sent()
        bridge.inject(4, *[large] * 300)
        assert abs(bridge.sent(1).count(large) - 20) <= 1, "what comes in takes nothing of the rate"
        bridge.switch.warp(0.1)
        bridge.forget_sent()
        bridge.inject(4, *[large] * 100)
        assert abs(bridge.sent(1).count(large) - 10) <= 1, "a tenth of a second of the rate"
        bridge.forget_sent()
        bridge.inject(1, *[frames.ethernet(C, A)] * 300)
        assert len(bridge.sent(4)) == 300, "the other direction has no limit"

        path = f"/v1/bridges/{bridge.dpid16}/ports/{bridge.port_name(1)}"
        wait_for(
            lambda: controller.get(path)["held_back"].get("rate_out", 0) > 300,
            "the drops to be counted",
            tick=bridge.switch.step,
        )
        shown = controller.ofapp("port", "show", bridge.dpid16, "-s").stdout
        assert re.search(rf"{bridge.port_name(1)}: frames above limits: .*rate_out \d+", shown)
        assert 0 <= controller.get(path)["held_back_age"] < 60
        drops = controller.get(f"/v1/bridges/{bridge.dpid16}")["drops"]
        assert not any(drops.values()), "a flood that does not go back is no loss"
        wait_for(lambda: controller.events("rate_out.limited"), "it", tick=bridge.switch.step)
        assert controller.api("PATCH", path, {"rate_out": 4000}).status == 200
        bridge.switch.warp(2)
        bridge.forget_sent()
        bridge.inject(4, *[large] * 300)
        assert abs(bridge.sent(1).count(large) - 80) <= 1
        assert controller.api("PATCH", path, {"rate_out": None}).status == 200
        bridge.forget_sent()
        bridge.inject(4, *[large] * 300)
        assert bridge.sent(1).count(large) == 300

    def test_a_port_that_comes_later_is_limited_at_once(
        self, make: Callable[..., Bridge], controller: Controller
    ) -> None:
        bridge = make(0x6C)
        flood = frames.ethernet(frames.BROADCAST, C, payload=bytes(self.LARGE - 14))
        bridge.add_port(9, "later")
        wait_for(lambda: bridge.send(1, frames.ethernet(frames.BROADCAST, A)) >= {9}, "port 9")
        bridge.switch.warp(2)
        bridge.forget_sent()
        bridge.inject(1, *[flood] * 300)
        assert abs(bridge.sent(9).count(flood) - 20) <= 1
        assert abs(bridge.sent(LOCAL).count(flood) - 40) <= 1
        assert bridge.sent(2).count(flood) == 300

    def test_a_mirror_gets_what_leaves(self, make: Callable[..., Bridge]) -> None:
        bridge = make(0x6D, spied=4, span=5)
        flood = frames.ethernet(frames.BROADCAST, C, payload=bytes(self.LARGE - 14))
        bridge.switch.warp(2)
        bridge.forget_sent()
        bridge.inject(1, *[flood] * 100)
        assert bridge.sent(2).count(flood) == 100
        left = bridge.sent(4).count(flood)
        assert abs(left - 20) <= 1
        assert bridge.sent(5).count(flood) == left


class TestStorms:
    @pytest.mark.parametrize(
        ("dst", "rate", "kind"),
        [
            (frames.BROADCAST, 10, BROADCAST),
            (GROUP, 5, MULTICAST),
            (frames.host(77), 20, UNKNOWN_UNICAST),
        ],
        ids=["broadcast", "multicast", "unknown-unicast"],
    )
    def test_what_is_above_the_rate_is_dropped(
        self,
        make: Callable[..., Bridge],
        controller: Controller,
        dst: str,
        rate: int,
        kind: MeterKind,
    ) -> None:
        bridge = make(0x64)
        learn(controller, bridge, A, 1)
        learn(controller, bridge, B, 2)
        frame = frames.ethernet(dst, A)
        bridge.switch.warp(2)  # learning has used some of what is allowed
        before = bridge.meter_packets()[meter_id(1, kind)]
        bridge.forget_sent()
        bridge.inject(1, *[frame] * (rate * 3))  # at one moment: the clock stands
        assert bridge.sent(2).count(frame) == rate
        assert bridge.meter_packets()[meter_id(1, kind)] - before == rate * 3
        others = frames.ethernet(frames.host(78) if dst == frames.host(77) else dst, B)
        assert bridge.send(2, others) == {1, 3, LOCAL}
        assert bridge.send(1, frames.ethernet(B, A)) == {2}
        events = f"storm.{kind.name.lower()}.limited"
        wait_for(lambda: controller.events(events), "the storm to be told", tick=bridge.switch.step)
        wait_for(lambda: kind.name in _storms(controller, bridge), "a problem that names the port")
        bridge.switch.warp(2)
        assert bridge.send(1, frame) == {2, 3, LOCAL}
        wait_for(
            lambda: kind.name not in _storms(controller, bridge),
            "the end of the problem",
            seconds=20,
            tick=bridge.switch.step,
        )

    def test_the_link_comes_up_after_the_flows_were_set(self, make: Callable[..., Bridge]) -> None:
        """Frames to unknown hosts pass at once, not only after the next comparison."""
        bridge = make(0x67, down=1)
        bridge.link(1, up=True)
        frame = frames.ethernet(frames.BROADCAST, A)
        wait_for(lambda: bridge.send(1, frame) == {2, 3, LOCAL}, "the port to open")
        assert bridge.send(1, frames.ethernet(frames.host(77), A)) == {2, 3, LOCAL}


def _storms(controller: Controller, bridge: Bridge) -> list[str]:
    """What storm control drops at port 1, by the problems."""
    return [
        problem["data"]["frames"]
        for problem in controller.get("/v1/problems")["problems"]
        if (problem["kind"], problem["bridge"]) == ("port.storm", bridge.name)
        and problem["port"] == bridge.port_name(1)
    ]


def test_a_static_address_on_a_port_that_is_shut_down(
    make: Callable[..., Bridge], controller: Controller
) -> None:
    """Its flow leads to the port's group; without that group the switch would refuse it."""
    bridge = make(0x68)
    assert controller.put_static(bridge, B, 2).status in (200, 201, 204)
    wait_for(lambda: bridge.send(1, frames.ethernet(B, A)) == set(), "the address to lead nowhere")
    assert controller.bridge(bridge)["in_line"]
    assert not controller.events("openflow.refused")


class TestMirrors:
    def test_copies_of_what_comes_and_goes(
        self, make: Callable[..., Bridge], controller: Controller
    ) -> None:
        bridge = make(0x65, ports=0, spied=1, other=4, span=9)
        request = frames.ethernet(frames.BROADCAST, A)
        assert bridge.send(1, request) == {4, LOCAL, 9}
        learn(controller, bridge, A, 1)
        learn(controller, bridge, B, 4)
        assert bridge.send(4, frames.ethernet(A, B)) == {1, 9}
        assert bridge.send(1, frames.ethernet(B, A)) == {4, 9}

    def test_what_is_for_the_bridge_itself_is_copied_too(self, make: Callable[..., Bridge]) -> None:
        """BPDUs, LLDP, EAPOL, and what no bridge forwards."""
        others = [
            frames.ethernet("01:80:c2:00:00:0e", A, ethertype=0x88CC),
            frames.ethernet("01:80:c2:00:00:03", A, ethertype=0x888E),
            frames.ethernet("01:80:c2:00:00:02", A, ethertype=0x8809),
        ]
        plain = make(0x65, ports=0, spied=1, other=4, span=9)
        assert plain.send(1, frames.bpdu(A)) == {4, LOCAL, 9}
        assert [plain.send(1, frame) for frame in others] == [{9}, {9}, {9}]
        tree = make(0x68, ports=0, tree=1, beside=4, watcher=9)
        frame = frames.ethernet(frames.BROADCAST, A)
        wait_for(lambda: 9 in tree.send(1, frame), "the port to open", tick=tree.switch.step)
        assert [tree.send(1, frame) for frame in (frames.bpdu(A), *others)] == [{9}] * 4

    def test_who_listens_takes_no_part(self, make: Callable[..., Bridge]) -> None:
        bridge = make(0x65, ports=0, spied=1, other=4, span=9)
        assert bridge.send(9, frames.ethernet(frames.BROADCAST, C)) == set()
        assert bridge.send(4, frames.ethernet(frames.host(77), B)) == {1, 9, LOCAL}

    def test_a_listener_that_is_away(self, make: Callable[..., Bridge]) -> None:
        bridge = make(0x65, ports=0, spied=1, other=4)
        assert bridge.send(1, frames.ethernet(frames.BROADCAST, A)) == {4, LOCAL}
        bridge.add_port(9, "span")
        wait_for(
            lambda: bridge.send(1, frames.ethernet(frames.BROADCAST, A)) == {4, LOCAL, 9},
            "the copies to begin",
        )


def test_monitors_and_ports_that_are_shut_take_no_part(
    make: Callable[..., Bridge], controller: Controller
) -> None:
    bridge = make(0x66, ports=4)
    assert bridge.send(1, frames.ethernet(frames.BROADCAST, A)) == {4, LOCAL}
    for port in (2, 3):
        assert bridge.send(port, frames.ethernet(frames.BROADCAST, B)) == set()
    assert controller.fdb(bridge, mac=B) == []
