"""Members of a fabric on one Open vSwitch; the test carries frames from link to link.

So a test sees every frame on every link, and says which links are down.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, cast

import ofapp.common.hub  # noqa: F401

# isort: split
from ofapp.bridge import bridge as core
from ofapp.bridge.desired import Desired
from ofapp.bridge.effects import Effect, InstallEntry
from ofapp.bridge.effects.fabric import Content, DesiredFabric, PutRemote, SetFabric
from ofapp.bridge.fabric.plans.graph import End, Graph, Link
from ofapp.bridge.fabric.plans.plan import plan
from ofapp.bridge.params.params import BridgeParams, PortParams
from ofapp.bridge.ports.port import Port
from ofapp.openflow.switch.encode.encoder import Encoder
from ofapp.openflow.switch.installed import Installed
from ofapp.openflow.switch.program import Program, difference
from ofapp.openflow.wire.messages.flow_stats import FlowStats
from tests.support import frames
from tests.support.dhcp_frames import ipv4
from tests.support.fabric import NUMBER, desired_at, graph, link_ports, policies
from tests.support.ovs import Bridge, VSwitchd
from tests.vswitchd.wire import Wire

EDGES = (11, 12, 13)
LABEL = struct.pack("!I", 64 | 1 << 8)
"""The MPLS header of the fabric, the bottom of the stack."""
_MOST = 2_000  # frames on links, beyond which there is a loop


@dataclass
class Member:
    """A member's switch, and what its controller believes of it."""

    bridge: Bridge
    core: core.Bridge
    fabric: DesiredFabric
    installed: Installed = field(default_factory=lambda: Installed(metered=True))

    @property
    def desired(self) -> Desired:
        """All that the switch should hold."""
        return desired_at(self.core, self.fabric)

    def program(self) -> None:
        """Bring the whole switch in line."""
        wanted = self.installed.wanted(self.desired)
        self._send(difference(Program(), wanted).messages())
        self.installed.holds(wanted)

    def apply(self, *effects: Effect) -> None:
        """Carry effects out."""
        for effect in effects:
            if isinstance(effect, SetFabric):
                self.fabric = effect.desired
        bridge: Any = SimpleNamespace(port_policies=policies(self.core), params=self.core.params)
        encoder = Encoder(bridge, self.installed)
        self._send(encoder.encode([*effects]))

    def flows(self) -> list[FlowStats]:
        with Wire(self.bridge) as wire:
            return wire.flows()

    def _send(self, messages: bytes) -> None:
        with Wire(self.bridge) as wire:
            wire.send([messages])


class Bed:
    """Members whose links are the graph's, with edge ports of numbers `EDGES`."""

    def __init__(
        self,
        switch: VSwitchd,
        graph: Graph,
        ports: Mapping[tuple[int, int], PortParams] | None = None,
        shared: Mapping[int, Mapping[int, tuple[int, ...]]] | None = None,
        tags_inside: bool = False,
    ) -> None:
        self.switch = switch
        self.graph = graph
        self.down: set[Link] = set()
        self.crossed: list[tuple[End, End, bytes]] = []  # in the order of the links
        self.members: dict[int, Member] = {}
        parts = plan(graph)
        for number in graph.members:
            bridge = switch.add_bridge()
            links = link_ports(graph, number)
            bridge.add_ports(dict.fromkeys((*links, *EDGES), ()))
            params = {
                f"e{port}": options for (at, port), options in (ports or {}).items() if at == number
            }
            edge = core.Bridge(number, BridgeParams(ports=params))
            edge.set_ports([Port(port, f"e{port}", port, True) for port in EDGES], 0.0)
            content = Content({0: parts[number]}, frozenset(), 0)
            fabric = DesiredFabric(
                NUMBER, number, links, links, content, (shared or {}).get(number, {}), tags_inside
            )
            self.members[number] = Member(bridge, edge, fabric)
            self.members[number].program()

    def close(self) -> None:
        for member in self.members.values():
            member.bridge.destroy()

    def fail(self, *links: Link, up: bool = False) -> None:
        """Take the carrier of links away at both ends, or give it back."""
        for link in links:
            (self.down.discard if up else self.down.add)(link)
            for end in (link.one, link.other):
                self.members[end.member].bridge.link(end.port, up=up)
        self.switch.step()

    def link(self, one: int, other: int) -> Link:
        """The first link between two members."""
        return next(
            link
            for link in self.graph.links
            if {link.one.member, link.other.member} == {one, other}
        )

    def set_content(self, contents: Mapping[int, Content]) -> None:
        for member, content in contents.items():
            at = self.members[member]
            at.apply(SetFabric(replace(at.fabric, content=content)))

    def send(self, member: int, port: int, *frames: bytes) -> Counter[tuple[int, int, bytes]]:
        """Let frames arrive, and carry them to their ends; gives what left by edge ports."""
        self.forget()
        self.members[member].bridge.inject(port, *frames)
        self.carry()
        return self.arrived()

    def forget(self) -> None:
        """Start afresh: what has left so far does not count."""
        self.crossed.clear()
        for member in self.members.values():
            member.bridge.forget_sent()

    def carry(self, rounds: int | None = None) -> int:
        """Carry frames over links, so many rounds or until none is under way; gives how many."""
        before = len(self.crossed)
        while rounds is None or rounds > 0:
            rounds = None if rounds is None else rounds - 1
            ends = [end for link in self.graph.links for end in (link[:2], link[1::-1])]
            way = [
                (one, other, frame)
                for one, other in cast(Iterable[tuple[End, End]], ends)
                for frame in self.members[one.member].bridge.sent(one.port)
            ]
            if not way:
                break
            self.crossed += way
            assert len(self.crossed) < _MOST, "a loop"
            for one, other, frame in way:
                if not any({one, other} == {link.one, link.other} for link in self.down):
                    there = self.members[other.member].bridge
                    self.switch.appctl(
                        "netdev-dummy/receive", there.port_name(other.port), frame.hex()
                    )
        return len(self.crossed) - before

    def arrived(self) -> Counter[tuple[int, int, bytes]]:
        """What has left by edge ports since this was last asked: (member, port, frame)."""
        return Counter(
            (number, port, frame)
            for number, member in self.members.items()
            for port in EDGES
            for frame in member.bridge.sent(port)
        )

    def way(self) -> list[tuple[int, int]]:
        """The members that the last frame passed, as pairs."""
        return [(one.member, other.member) for one, other, _ in self.crossed]


MakeBed = Callable[..., Bed]
PAIR = graph((1, 2))
RING = graph((1, 2), (2, 3), (3, 1))
SQUARE = graph((1, 2), (2, 3), (3, 4), (4, 1), (1, 3))
CHAIN = graph((1, 2), (2, 3), (3, 4))
A, B = frames.host(0xA), frames.host(0xB)
NUMBER_B = int.from_bytes(frames.mac(B), "big")


def know(bed: Bed, member: int, vid: int = 0, port: int = 11) -> None:
    """Host B is at an edge port of a member, and all others know it."""
    for number, at in bed.members.items():
        if number == member:
            at.apply(InstallEntry(port, vid, NUMBER_B, 1, 0))
        else:
            at.apply(PutRemote(vid, NUMBER_B, member))


def tcp(port: int = 1000) -> bytes:
    """A segment from A to B."""
    segment = struct.pack("!HHIIHHHH", port, 80, 0, 0, 5 << 12 | 2, 100, 0, 0)
    packet = ipv4("10.0.0.1", "10.0.0.2", segment, protocol=6)
    return frames.ethernet(B, A, packet, ethertype=0x0800)
