"""A fabric: several switches that are one bridge.

Each member has an ordinary session, over its view of the bridge (`view`).  All effects of the
bridge, and those of the views (in the notice `ForFabric`), are for the caller.  It handles notices,
has the members carry out the `steps` of all other effects, one step after the other, and then what
`contents` returns.

Members keep forwarding by what they hold without a controller.  So the versions that they
may use are stored (`dump`) before they get a content that uses them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import Effect
from ofapp.bridge.effects.fabric import Content, DesiredFabric, SetFabric
from ofapp.bridge.fabric.links import Links
from ofapp.bridge.fabric.member.member import MemberBridge
from ofapp.bridge.fabric.params import FabricParams
from ofapp.bridge.fabric.plans.graph import Graph
from ofapp.bridge.fabric.plans.trace import Path, Search, trace, trace_flood
from ofapp.bridge.fabric.state.split import Step
from ofapp.bridge.fabric.state.state import FabricState
from ofapp.bridge.fabric.status import FabricStatus, MemberStatus, Trace
from ofapp.bridge.lldp.own import OwnAgents


class Fabric:
    """One fabric.  Times are of the core, in seconds; members are numbers from 1.

    bridge: its one bridge, with the ports of all members; the fabric alone lets its time pass.
    """

    def __init__(
        self, params: FabricParams, bridge: Bridge, agents: OwnAgents, stored: Any = None
    ) -> None:
        """stored: what `dump` returned in an earlier process; ValueError if it is no such thing."""
        if stored is not None and not isinstance(stored, Mapping):
            raise ValueError("not the state of a fabric")
        self._state = FabricState(params, bridge, agents, stored or {})
        self._views: dict[int, MemberBridge] = {}
        self._asked: dict[int, DesiredFabric] = {}

    def copied(self, bridge: Bridge) -> Fabric:
        """Return a fabric in the same state that goes on independently, over a copy of the bridge.

        Members get their contents again.
        """
        copy = Fabric(self.params, bridge, self._state.agents, self.dump())
        copy._state.take(self._state)
        for member, ports in self._state.ports.items():
            copy.view(member).ports.take(ports)
        return copy

    @property
    def bridge(self) -> Bridge:
        """The bridge."""
        return self._state.bridge

    @property
    def params(self) -> FabricParams:
        """The parameters."""
        return self._state.params

    @property
    def links(self) -> Links:
        """The links between members."""
        return self._state.links

    def view(self, member: int) -> MemberBridge:
        """The bridge as one member sees it; always the same object."""
        if member not in self._views:
            self._views[member] = MemberBridge(self._state, member)
        return self._views[member]

    def number(self, member: int, port: int) -> int | None:
        """The bridge's number of a port of a member's switch; None: it is none of the bridge."""
        return self._state.places.number(member, port)

    def member_of(self, port: int) -> int | None:
        """The member where hosts on a port of the bridge are reached."""
        return self._state.places.member_of(port)

    # Connections of members

    def connected(self, member: int, now: float) -> list[Effect]:
        """Take note that a member's session is PROGRAMMED; its view's `go_on` calls this."""
        self._asked.pop(member, None)
        return self._state.connect(member, now)

    def disconnected(self, member: int, now: float) -> list[Effect]:
        """Take note that a member's connection has ended, whether it was PROGRAMMED or not."""
        self._asked.pop(member, None)
        return self._state.disconnect(member, now)

    # What members carry out

    def steps(self, effects: Iterable[Effect]) -> list[Step]:
        """Split effects by the members that carry them out; notices are not in the result.

        Call it for all effects, in their order, as soon as they are returned.
        """
        steps = self._state.split.steps(effects)
        self._state.places.settle()
        return [step for step in steps if step]

    def contents(self, now: float) -> list[tuple[int, Content]]:
        """Contents that have changed since the last call, each with its connected member.

        Call it after every input, and after `steps`.  Store `dump`, send each member its
        `fabric_effect`, and pass the content to `confirm` when the member has carried it out, or
        call `refuse`.
        """
        if not self._state.news:
            return []
        self._state.news = False
        changed: list[tuple[int, Content]] = []
        for member in sorted(self._state.presence.connected):
            desired = self._state.desired(member)
            if self._asked.get(member) != replace(desired, shared={}):  # see `SetShared`
                self._asked[member] = replace(desired, shared={})
                changed.append((member, desired.content))
        return changed

    def fabric_effect(self, member: int) -> SetFabric:
        """What a member is to hold of the fabric."""
        return SetFabric(self._state.desired(member))

    def confirm(self, member: int, content: Content, now: float) -> list[Effect]:
        """Take note that a member has carried out a content."""
        return self._state.confirm(member, content, now)

    def refuse(self, member: int, now: float) -> list[Effect]:
        """Take note that a member's switch has refused flows of a content."""
        return self._state.refuse(member, now)

    # Time

    def tick(self, now: float) -> list[Effect]:
        """Let time pass for the bridge, links, conversations and versions."""
        return self._state.tick(now)

    def next_wakeup(self) -> float | None:
        """When `tick` is due; None when nothing is.  Any input may change it."""
        return self._state.next_wakeup()

    # Parameters

    def set_params(self, params: FabricParams, now: float) -> list[Effect]:
        """Apply changed parameters; ValueError where members have another number or position.

        Members may have left or be back, and those at the end of the list may be new, or gone.
        """
        effects = self._state.set_params(params, now)
        for member in [*self._views]:
            if member in self._state.places.members:
                effects += self._views[member].set_fabric(params, now)
            else:
                del self._views[member]
        return effects

    # Values

    def dump(self) -> dict[str, Any]:
        """The state for the next process, as JSON-serialisable data."""
        return self._state.dump()

    def status(self, now: float) -> FabricStatus:
        """The state, for display."""
        state, links = self._state, self._state.links.status(now)
        ports = Counter(map(state.places.member_of, (port.number for port in self.bridge.ports)))
        hosts: Counter[int | None] = Counter()
        for port, count in self.bridge.addresses.by_port().items():
            hosts[state.places.member_of(port)] += count
        return FabricStatus(
            self.params.name,
            self.params.number,
            self.params.datapath_id,
            state.settled(links),
            state.why_paused(),
            tuple(self._member(at, ports[at], hosts[at]) for at in state.places.members),
            links,
            {
                **{f"conversations_{name}": n for name, n in state.conversations.counters.items()},
                "versions_exhausted": int(state.updates.exhausted),
                **state.counters,
            },
        )

    def _member(self, member: int, ports: int, hosts: int) -> MemberStatus:
        state, about = self._state, self.params.members[member - 1]
        connected = member in state.presence.connected
        held, uses = state.updates.held(member), state.updates.uses().get(member, frozenset())
        version = next(iter(uses)) if len(uses) == 1 else None
        return MemberStatus(
            about.name,
            member,
            about.datapath_id,
            connected,
            connected and version is not None and version in held,
            member in state.refusing,
            version,
            tuple(sorted(held)),
            ports,
            hosts,
            state.conversations.of(member),
        )

    def trace(
        self, member: int, vid: int, mac: int, failed: Collection[tuple[str, str]] = ()
    ) -> Trace:
        """The links that frames to a host take which enter at a member.

        failed: links, by the names of their ports, that are taken for failed.
        """
        state = self._state
        graph, plan = state.links.graph(), state.updates.plan_of(member)
        names = {frozenset(pair) for pair in failed}
        without = [
            link
            for link in graph.links
            if {state.link_name(*link.one), state.link_name(*link.other)} in names
        ]
        port = self._port_of(vid, mac)
        places = () if port is None else state.places.attachments(port)
        members = [place.member for place in places]
        if port is None or not members:
            return trace_flood(plan, graph, member, state.link_name, without)
        known = self.bridge.ports.get(port)
        return trace(
            plan,
            graph,
            member,
            member if member in members else members[0],
            state.link_name,
            without,
            None if known is None else known.name,
        )

    def paths(self, graph: Graph) -> Iterator[tuple[int, int, tuple[Path, ...]]]:
        """The paths between members, the lower first.  graph: links whose ends have carrier."""
        state = self._state
        for one in sorted(graph.members):
            search = Search(state.updates.plan_of(one), graph, state.link_name)
            for other in sorted(each for each in graph.members if each > one):
                yield one, other, search.shown(one, other)

    def meeting(self, graph: Graph) -> frozenset[tuple[int, int]]:
        """Pairs of members, the lower first, between which no frame is lost, flooded ones too.

        graph: links whose ends have carrier.
        """
        state = self._state
        planned, pairs = state.graphs.planned, combinations(sorted(graph.members), 2)
        live = {frozenset(link[:2]) for link in graph.links}
        if (
            state.updates.settled
            and (state.presence.connected & {*planned.members}).issuperset(graph.members)
            and live.issuperset(frozenset(link[:2]) for link in planned.links)
        ):  # all frames take the paths of one plan, of which no link has failed
            return frozenset(pair for pair in pairs if len({planned.parts[at] for at in pair}) == 1)
        of = {at: Search(state.updates.plan_of(at), graph, state.link_name) for at in graph.members}
        flooded = {at: search.flooded(at) for at, search in of.items()}
        return frozenset(
            (one, other)
            for one, other in pairs
            if all(
                to in flooded[at] and of[at].arrive(at, to)
                for at, to in ((one, other), (other, one))
            )
        )

    def _port_of(self, vid: int, mac: int) -> int | None:
        """The bridge's port where a host is, or an address of the bridge."""
        entry = self.bridge.fdb.get(vid, mac)
        return self.bridge.learning.local.get(mac) if entry is None else entry.port
