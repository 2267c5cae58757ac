"""Which hosts reach each other by the states of ports and cables, VLAN by VLAN.

Hosts count where they were learned, at ports without a known cable. Two switches with hosts
are connected in a VLAN if a path of cables leads from one to the other, and both ends of each cable
forward and carry the VLAN. A path that closes on itself is a loop. Members of a fabric are
connected by its links, as their plans have it.

Broadcasts of a storm spread along the tree, and less by each port's limit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from operator import attrgetter
from typing import NamedTuple

from ofapp.bridge.ports.port import LOCAL_PORT
from ofapp.bridge.ports.vlan import PortVlans
from ofapp.bridge.queries import logical_port
from ofapp.bridge.stp import PortState
from ofapp.bridge.twin.cable import Cable, SwitchPort
from ofapp.bridge.twin.foreign import is_foreign
from ofapp.bridge.twin.network import TwinNetwork


@dataclass(frozen=True, slots=True, order=True)
class HostPort:
    """A port of a bridge with hosts in a VLAN; VID 0 is no VLAN."""

    datapath_id: int
    port: int
    vid: int


class Pair(NamedTuple):
    """Two switches with hosts in a VLAN, by datapath id.  There may be tens of thousands."""

    a: int
    b: int
    vid: int


@dataclass(frozen=True, slots=True, order=True)
class Loop:
    """Cables that form a loop in a VLAN."""

    vid: int


class Interruption(NamedTuple):
    """A pair that is not connected, a place that does not forward, or a loop.

    since, until: in seconds since the changes; until None: not before the end of the run.
    """

    what: Pair | HostPort | Loop
    since: float
    until: float | None


@dataclass(frozen=True, slots=True)
class View:
    """What is connected at one instant.

    parts: the part of the network that each switch is in, by VLAN; loops: VLANs with a loop.
    closed: places that do not forward.  groups: switches with hosts, by VLAN.
    apart: pairs of members of one fabric that do not reach each other.
    """

    parts: Mapping[int, Mapping[int, int]]
    loops: tuple[Loop, ...]
    closed: tuple[HostPort, ...]
    groups: Mapping[int, tuple[int, ...]]
    apart: frozenset[tuple[int, int]]

    def cut(self, vid: int) -> list[Pair]:
        """Pairs of switches with hosts in a VLAN that are not connected."""
        parts, switches = self.parts[vid], self.groups[vid]
        if not self.apart and len({parts.get(each, -each) for each in switches}) == 1:
            return []
        return [
            Pair(a, b, vid)
            for a, b in combinations(switches, 2)
            if parts.get(a, -1) != parts.get(b, -2) or (a, b) in self.apart
        ]


class Reach:
    """Follows which hosts reach each other while a network changes.

    hosts: how many were learned at each place; later: the same when hosts have moved.
    """

    def __init__(
        self,
        network: TwinNetwork,
        hosts: Mapping[HostPort, int],
        later: Mapping[HostPort, int] | None = None,
    ) -> None:
        self._network = network
        self._begun = network.now
        self.hosts = hosts
        self._before: dict[Pair | HostPort | Loop, None] = {}
        for _ in self._wrong(self._before):
            pass
        if later is not None:
            self.hosts = later
        self._open: dict[Pair | HostPort | Loop, float] = {}
        self._ended: list[Interruption] = []

    def look(self) -> Iterator[None]:
        """Take the network's present state in; pauses after each VLAN."""
        wrong: dict[Pair | HostPort | Loop, None] = {}
        now = self._network.now - self._begun
        yield from self._wrong(wrong)
        for each in [each for each in self._open if each not in wrong]:
            since = self._open.pop(each)
            if since != now:
                self._ended.append(Interruption(each, since, now))
        for each in wrong:
            if each not in self._before:
                self._open.setdefault(each, now)

    def found(self) -> tuple[Interruption, ...]:
        """All that was interrupted, and loops, by the time of the beginning."""
        lasting = [Interruption(each, since, None) for each, since in self._open.items()]
        return tuple(sorted([*self._ended, *lasting], key=attrgetter("since")))

    def _wrong(self, found: dict[Pair | HostPort | Loop, None]) -> Iterator[None]:
        view = self._view()
        found.update(dict.fromkeys((*view.closed, *view.loops)))
        for vid in view.groups:
            found.update(dict.fromkeys(view.cut(vid)))
            yield

    def _view(self) -> View:
        network = self._network
        closed = tuple(
            place for place in self.hosts if not network.forwards(place.datapath_id, place.port)
        )
        vids: dict[int, set[int]] = {}
        for place in self.hosts:
            switch = network.switch_at(place.datapath_id, place.port)
            vids.setdefault(place.vid, set()).add(switch)
        meeting = frozenset(
            pair for fabric in network.fabrics.values() for pair in fabric.meeting(network.cables)
        )
        members = (sorted(fabric.members()) for fabric in network.fabrics.values())
        apart = {pair for each in members for pair in combinations(each, 2)} - meeting
        links, parts = [*_links(network)], {}
        loops: list[Loop] = []
        known: dict[tuple[int, ...], tuple[dict[int, int], bool]] = {}
        for vid in sorted(vids) or (0,):
            carry = tuple(at for at, one in enumerate(links) if one.a.has(vid) and one.b.has(vid))
            if carry not in known:  # many VLANs have the same links
                ends = (links[at].ends for at in carry)
                known[carry] = _parts(network.switches(), meeting, ends)
            parts[vid], loop = known[carry]
            if loop:
                loops.append(Loop(vid))
        groups = {vid: tuple(sorted(switches)) for vid, switches in sorted(vids.items())}
        return View(parts, tuple(loops), closed, groups, frozenset(apart))


def single_points(network: TwinNetwork) -> Iterator[tuple[str, object]]:
    """Cables and switches without which the network falls apart: ("cable" or "bridge", which)."""
    ends = {each: _switches_of(network, each) for each in network.cables}
    switches = [*network.switches()]
    whole = _count(switches, ends.values())
    alone = Counter(ends.values())
    for cable, pair in ends.items():
        left = [between for between in ends.values() if between != pair]
        if alone[pair] == 1 and _count(switches, left) > whole:
            yield "cable", cable
    for switch in switches:
        if _count([each for each in switches if each != switch], ends.values()) > whole:
            yield "bridge", switch


def _switches_of(network: TwinNetwork, cable: Cable) -> tuple[int, int]:
    a, b = (network.switch_at(*end) for end in cable)
    return min(a, b), max(a, b)


def _count(switches: Iterable[int], cables: Iterable[tuple[int, int]]) -> int:
    """The number of parts that these cables connect; those to other switches do not count."""
    parts = _Parts(switches)
    for a, b in cables:
        if a in parts.of and b in parts.of:
            parts.join(a, b)
    return len({parts.find(each) for each in parts.of})


class _Parts:
    """Disjoint sets.  of: a member of the same set, nearer to its root."""

    def __init__(self, members: Iterable[int]) -> None:
        self.of = {each: each for each in members}

    def find(self, member: int) -> int:
        """The root of a member's set."""
        while self.of[member] != member:
            self.of[member] = member = self.of[self.of[member]]
        return member

    def join(self, a: int, b: int) -> bool:
        """Join two sets; gives whether they were one before."""
        a, b = self.find(a), self.find(b)
        self.of[a] = b
        return a == b


class _Link(NamedTuple):
    """A link of which both ends forward.  ends: its switches; a, b: the VLANs of its ports."""

    ends: tuple[int, int]
    a: PortVlans
    b: PortVlans


def _links(network: TwinNetwork) -> Iterator[_Link]:
    """The links of which both ends forward; the members of an aggregation are one link."""
    cables = {tuple((end.datapath_id, logical(network, *end)) for end in c) for c in network.cables}
    for a, b in sorted(cables):
        if network.forwards(*a) and network.forwards(*b):
            vlans = (network.bridges[at].port_policies.vlans(port) for at, port in (a, b))
            yield _Link((network.switch_at(*a), network.switch_at(*b)), *vlans)


def _parts(
    switches: Iterable[int], meeting: Iterable[tuple[int, int]], links: Iterable[tuple[int, int]]
) -> tuple[dict[int, int], bool]:
    """The part of each switch by these links, and whether there is a loop.

    meeting: pairs of members of fabrics that reach each other.
    """
    parts, loop = _Parts(switches), False
    for pair in meeting:
        parts.join(*pair)
    for each in links:
        loop |= parts.join(*each)
    return {each: parts.find(each) for each in parts.of}, loop


def logical(network: TwinNetwork, datapath_id: int, port: int) -> int:
    """The bridge's port of a switch's port: the aggregation of a member."""
    bridge = network.bridges.get(datapath_id)
    found = None if bridge is None else logical_port(bridge, port)
    return port if found is None else found.number


class Struck(NamedTuple):
    """A port with hosts by which broadcasts of a storm leave.  rate: frames a second."""

    datapath_id: int
    port: int
    vid: int
    rate: int


def spread(network: TwinNetwork, at: SwitchPort, rate: int) -> Iterator[Struck]:
    """The ports without a cable that broadcasts without a tag leave by.

    Each bridge is reached once: where there is a loop, frames come without end.
    """
    first = network.bridges[at.datapath_id]
    source = logical(network, *at)
    vid = first.port_policies.vlans(source).pvid
    cables = {
        (near.datapath_id, logical(network, *near)): (far.datapath_id, logical(network, *far))
        for a, b in network.cables
        for near, far in ((a, b), (b, a))
    }
    waiting, seen = [(at.datapath_id, source, rate)], {at.datapath_id}
    while waiting:
        datapath_id, entry, offered = waiting.pop()
        admitted = _admitted(network, datapath_id, entry, vid, offered)
        for number, state in network.bridges[datapath_id].relay.states.items() if admitted else ():
            if number == entry or state is not PortState.FORWARDING:
                continue
            policies = network.bridges[datapath_id].port_policies
            if not policies.vlans(number).has(vid) or not policies.may_pass(entry, number):
                continue
            far = cables.get((datapath_id, number))
            if far is None:
                if number != LOCAL_PORT and not is_foreign(datapath_id):
                    yield Struck(datapath_id, number, vid, admitted)
            elif far[0] not in seen and far[0] in network.bridges:
                seen.add(far[0])
                waiting.append((*far, admitted))


def _admitted(network: TwinNetwork, datapath_id: int, port: int, vid: int, offered: int) -> int:
    """How many of the offered frames a port lets in each second."""
    bridge = network.bridges[datapath_id]
    if not network.forwards(datapath_id, port) or not bridge.port_policies.vlans(port).has(vid):
        return 0
    most = bridge.port_policies.policy(port).storm.broadcast
    return offered if most is None else min(offered, most)
