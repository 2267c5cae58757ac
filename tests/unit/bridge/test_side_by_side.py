"""Bridges of ours beside each other, with a querier that has no address (mcast_querier's default).

A chain: host ports 1 (which may be a member) and 2 (which is silent) at each, cables on 3 and 4.
"""

from collections.abc import Iterator

import pytest

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import Effect, SendFrame
from ofapp.bridge.multicast import Family, Params, SetGroup, SetUnregistered, VlanParams
from ofapp.bridge.params.params import BridgeParams
from ofapp.bridge.ports.port import Port
from tests.unit.bridge.multicast.lan import TO_EX, V4, V6, ip

Wire = type[V4] | type[V6]
Place = tuple[int, int]
"""(bridge, port)."""

LENGTH = 3


class Chain:
    """Bridges, hosts that answer queries while they are members, and virtual time."""

    def __init__(self, vx: Wire, asking: set[int], old: bool) -> None:
        self.vx, self.old, self.now = vx, old, 0.0
        self.members: set[Place] = set()
        versions = {"mcast_igmp_version": 2, "mcast_mld_version": 1} if old else {}
        self.bridges: list[Bridge] = []
        for at in range(LENGTH):
            vlan = VlanParams(mcast_querier=at in asking, **versions)
            params = BridgeParams(stp=None, multicast=Params(vlan=vlan))
            self.bridges.append(Bridge(at + 1, params))
        for at, bridge in enumerate(self.bridges):
            ports = [Port(n, f"p{n}", 16 * at + n, up=True) for n in (1, 2, 3, 4)]
            self.carry(at, bridge.set_ports(ports, 0.0))

    def carry(self, at: int, effects: list[Effect]) -> None:
        """Deliver frames: to hosts that answer, and along the cables."""
        for effect in effects:
            if isinstance(effect, SendFrame):
                for port in effect.ports:
                    self.deliver((at, port), effect.frame)

    def deliver(self, place: Place, frame: bytes) -> None:
        far = beyond(place)
        if far is not None:
            at, port = far
            self.carry(at, self.bridges[at].hear("snooped", [(port, frame)], self.now))
        elif place in self.members and is_query(frame):
            self.join(place)

    def join(self, place: Place) -> None:
        self.members.add(place)
        at, port = place
        host = 16 * at + port
        new = self.vx.report((TO_EX, self.vx.group, []), host=host)
        frame = self.vx.join(host=host) if self.old else new
        self.carry(at, self.bridges[at].hear("snooped", [(port, frame)], self.now))

    def advance(self, seconds: float) -> None:
        end = self.now + seconds
        while True:
            due = [(b.next_wakeup(), at) for at, b in enumerate(self.bridges)]
            when, at = min((when, at) for when, at in due if when is not None)
            if when > end:
                break
            self.now = max(self.now, when)
            self.carry(at, self.bridges[at].tick(self.now))
        self.now = end

    def stream(self, source: Place, group: str) -> set[Place]:
        """The hosts that a frame to the group gets to."""
        at, port = source
        return {place for out in self.out(at, port, ip(group)) for place in self.follow(out, group)}

    def follow(self, place: Place, group: str) -> Iterator[Place]:
        far = beyond(place)
        if far is not None:
            yield from self.stream(far, group)
        elif place[1] in (1, 2):
            yield place

    def out(self, at: int, port: int, group: bytes) -> set[Place]:
        snooper = self.bridges[at].multicast
        ports: frozenset[int] | None = None
        for wanted in snooper.desired(self.bridges[at].params) or ():
            if isinstance(wanted, SetGroup) and wanted.group == group:
                ports = wanted.ports
                break
            if isinstance(wanted, SetUnregistered) and wanted.family is self.vx.family:
                ports = wanted.ports
        return {(at, p) for p in ({1, 2, 3, 4} if ports is None else ports) - {port}}


def beyond(place: Place) -> Place | None:
    """The other end of a cable: port 4 leads to port 3 of the next."""
    at, port = place
    if port == 4 and at + 1 < LENGTH:
        return at + 1, 3
    return (at - 1, 4) if port == 3 and at > 0 else None


def is_query(frame: bytes) -> bool:
    return frame[38] == 0x11 if frame[12:14] == b"\x08\x00" else frame[62] == 130


@pytest.mark.parametrize("old", [False, True], ids=["new", "old"])
@pytest.mark.parametrize("asking", [{0}, {1}, {0, 2}, {0, 1, 2}], ids=str)
@pytest.mark.parametrize("vx", [V4, V6])
def test_streams_get_to_members_wherever_they_are_and_to_no_other_host(
    vx: Wire, asking: set[int], old: bool
) -> None:
    chain = Chain(vx, asking, old)
    for at in range(LENGTH):
        chain.join((at, 1))
    chain.advance(600.0)
    for at, bridge in enumerate(chain.bridges):
        snapshot = bridge.multicast.status(chain.now)
        assert snapshot is not None
        active = {Family(info.family) for info in snapshot.queriers if info.active}
        assert active == {Family.IPV4, Family.IPV6}
        for port in (1, 2):
            others = {(other, 1) for other in range(LENGTH)} - {(at, port)}
            assert chain.stream((at, port), vx.group) == others
            assert chain.stream((at, port), vx.other) == set()
