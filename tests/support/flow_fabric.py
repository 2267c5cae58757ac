"""A fabric of switches that forward by the flows that its members get, without any Open vSwitch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Set
from functools import lru_cache

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects.fabric import Content, DesiredFabric
from ofapp.bridge.fabric.plans.graph import End, Graph
from ofapp.bridge.fabric.plans.plan import Plan, plan
from ofapp.bridge.params.params import BridgeParams
from ofapp.bridge.ports.port import Port
from ofapp.openflow.model.flow import Flow
from ofapp.openflow.pipeline import flows
from ofapp.openflow.pipeline.egress import way_out
from ofapp.openflow.switch.installed import Installed
from tests.support.fabric import NUMBER, desired_at, policies
from tests.support.flow_switch import FlowSwitch, Frame

EDGES = (1001, 1002)
"""Edge ports of each member; a host is at the first."""
ALL = (1 << 48) - 1
NONE: frozenset[int] = frozenset()
Outcome = tuple[int, int] | None
"""Where a frame has left: (member, edge port); None: nowhere."""


def host(member: int) -> int:
    """The address of a member's host."""
    return 0x02_00_00_AA_00_00 | member


@lru_cache(256)
def _edge(member: int) -> Bridge:
    made = Bridge(member + 1, BridgeParams())
    made.set_ports([Port(port, f"e{port}", port, True) for port in EDGES], 0.0)
    return made


def member_switch(
    fabric: DesiredFabric, remotes: Mapping[int, int] | None = None, known: bool = True
) -> FlowSwitch:
    """A member's switch.  remotes: members of the hosts that it knows; known: so is its own."""
    edge = _edge(fabric.member)
    program = Installed(metered=True).wanted(desired_at(edge, fabric))
    learned: list[Flow] = []
    if known:
        out = way_out(policies(edge), EDGES[0], 0)
        learned += flows.learned_flows(EDGES[0], 0, host(fabric.member), 1, 300, out)
    for number, member in (remotes or {}).items():
        learned.append(flows.remote_flow(0, host(number), member, 300))
    return FlowSwitch([*program.all_flows(), *learned], program.groups)


class FlowFabric:
    """The members of a graph.  known: they know each other's hosts.

    using: the plan that all use; None: the graph's.
    cut_off: members whose controller is lost, which still use `using`; since then a graph had
    another plan, which the others use.
    """

    def __init__(
        self,
        whole: Graph,
        using: Plan | None = None,
        known: bool = True,
        cut_off: Set[int] = frozenset(),
        since: Graph | None = None,
    ) -> None:
        self.graph = whole
        self._plan = plan(whole) if using is None else using
        self._newest = {} if since is None else plan(since, cut_off)
        self._known = known
        self._switches: dict[int, FlowSwitch] = {}
        self.far = {
            End(member, hop.port): End(hop.member, hop.entry)
            for member, hops in whole.hops.items()
            for hop in hops
        }

    def switch(self, member: int) -> FlowSwitch:
        """A member's switch."""
        if member not in self._switches:
            parts = {3: self._plan[member]}
            if member in self._newest:
                parts[4] = self._newest[member]
            content = Content(parts, NONE, max(parts))
            links = tuple(hop.port for hop in self.graph.hops[member])
            remotes = {other: other for other in self.graph.members if other != member}
            fabric = DesiredFabric(NUMBER, member, links, links, content)
            self._switches[member] = member_switch(
                fabric, remotes if self._known else {}, self._known
            )
        return self._switches[member]


class Network:
    """A fabric in which some links do not work.  live: ends of links that have carrier."""

    def __init__(self, fabric: FlowFabric, left: Graph, live: Callable[[End], bool] | None = None):
        self.fabric = fabric
        works = {End(member, hop.port) for member in left.members for hop in left.hops[member]}
        self._works = works
        ends = {end for end in fabric.far if (end in works if live is None else live(end))}
        self._live = {
            member: frozenset(end.port for end in ends if end.member == member)
            for member in fabric.graph.members
        }
        self._ends: dict[tuple[End, Frame], frozenset[Outcome]] = {}
        self._path: set[tuple[End, Frame]] = set()

    def unicast(self, member: int, to: int) -> frozenset[Outcome]:
        """Where a frame to a host may end, by all hashes; a loop or a copy is an error."""
        return self._follow(End(member, EDGES[1]), Frame(host(to), 0x02_00_00_BB_00_00))

    def _follow(self, at: End, frame: Frame) -> frozenset[Outcome]:
        here = at, frame
        if here in self._ends:
            return self._ends[here]
        assert here not in self._path, f"loop at {here}"
        self._path.add(here)
        ends: set[Outcome] = set()
        for sent in self.fabric.switch(at.member).forward(at.port, frame, self._live[at.member]):
            assert len(sent) <= 1, f"copies at {here}: {sent}"
            for port, left in sent or [(0, frame)]:
                ends |= self._leave(End(at.member, port), left)
        self._path.remove(here)
        self._ends[here] = frozenset(ends)
        return self._ends[here]

    def _leave(self, end: End, frame: Frame) -> frozenset[Outcome]:
        if end.port in EDGES:
            assert frame.inside is None, "a frame of the fabric leaves it"
            return frozenset({tuple(end)})  # type: ignore[arg-type]
        if end not in self.fabric.far or end not in self._works:
            return frozenset({None})
        return self._follow(self.fabric.far[end], frame)

    def flood(self, member: int, dst: int = ALL, choice: int = 0) -> Counter[tuple[int, int]]:
        """How often a frame for all, or for an unknown host, leaves by edge ports.

        choice: of the ways by hashes, which copies that go around failed links have.
        """
        arrived: Counter[tuple[int, int]] = Counter()
        crossed: set[tuple[End, Frame]] = set()
        waiting = [(End(member, EDGES[1]), Frame(dst, 0x02_00_00_BB_00_00))]
        while waiting:
            at, frame = waiting.pop()
            ways = self.fabric.switch(at.member).forward(at.port, frame, self._live[at.member])
            for port, left in ways[choice % len(ways)]:
                end = End(at.member, port)
                if port in EDGES:
                    assert left == Frame(dst, 0x02_00_00_BB_00_00), "the frame has changed"
                    arrived[tuple(end)] += 1
                elif end in self.fabric.far:
                    assert (end, left) not in crossed, f"twice by {end}"
                    crossed.add((end, left))
                    if end in self._works:
                        waiting.append((self.fabric.far[end], left))
        return arrived
