"""The state that a fabric and the views of its members share.

Every change of links or members ends with `follow`: it makes plans, pauses the bridge's protocols
and lets them run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import Effect
from ofapp.bridge.fabric.address import VERSIONS
from ofapp.bridge.fabric.desired import DesiredFabric
from ofapp.bridge.fabric.events import MEMBER_REFUSED, MEMBER_REFUSED_CLEARED
from ofapp.bridge.fabric.graph import End, Graph
from ofapp.bridge.fabric.links import Links
from ofapp.bridge.fabric.params import FabricParams
from ofapp.bridge.fabric.status import LinkState, LinkStatus
from ofapp.bridge.fabric.update import Content, Updates
from ofapp.bridge.fabric.view.addresses import AgedOut
from ofapp.bridge.fabric.view.conversations import Conversations
from ofapp.bridge.fabric.view.entries import FoundEntries
from ofapp.bridge.fabric.view.places import Places
from ofapp.bridge.fabric.view.ports import MemberPorts
from ofapp.bridge.fabric.view.presence import Presence
from ofapp.bridge.fabric.view.split import Split
from ofapp.bridge.lldp.own import OwnAgents
from ofapp.bridge.ports.port import LOCAL_PORT, Port

START = 10.0
"""Most seconds from the first member's connection to the first plan, in which members go on with
those that they have from an earlier controller: until then their links are being found again."""

REFUSED_AGAIN = 60.0
"""Seconds after which a member that has refused its content is part of a plan again."""

SETTLE = 0.1
"""Seconds that a link that is new waits for others, to be in one plan with them."""


class FabricState:
    """places, split, conversations, links, updates, presence, found, aged: the parts of a fabric.

    ports: of each member's switch.
    counters: events that no part counts.
    news: members may have to hold something else than before (see `Fabric.contents`).
    refusing: members whose switches have refused their content, with when they are tried again;
    None: they are being tried.
    runs: the protocols of the bridge run.
    """

    def __init__(
        self, params: FabricParams, bridge: Bridge, agents: OwnAgents, stored: Mapping[str, Any]
    ) -> None:
        self.params = params
        self.bridge = bridge
        self.places = Places(params, bridge)
        self.places.partial = True
        self.places.numbering.restore(stored.get("ports", []))
        self.conversations = Conversations(bridge.learning, self.places)
        self.split = Split(self.places, self.conversations)
        self.links = Links(params, agents, read_proven(stored.get("proven", [])))
        self.updates = Updates(VERSIONS, read_uses(stored.get("uses", {})))
        self.presence = Presence()
        self.found = FoundEntries(bridge, self.places)
        self.aged = AgedOut()
        self.counters = Counter(refused_contents=0)
        self.ports: dict[int, MemberPorts] = {}
        self.news = False
        self.refusing: dict[int, float | None] = {}
        self.runs = False
        self._admitted: frozenset[End] = frozenset()  # as last seen
        self._graph: Graph | None = None
        self._working: Graph | None = None  # the same without links that do not work
        self._graph_at: float | None = None  # when a better graph is to be used
        self._wait_until: float | None = None  # for the first graph

    # Connections of members

    def expect(self, member: int, now: float) -> None:
        """Take note that a member has a connection, over which it is not programmed yet."""
        self.presence.expect(member)
        self.split.forget(member)
        self._pause(now)

    def connect(self, member: int, now: float) -> list[Effect]:
        """Take note that a member holds what it was to hold, and can be programmed."""
        self.presence.connect(member)
        self.refusing.pop(member, None)
        self.updates.connect(member, now)
        self.news = True
        return [*self.links.connected(member, now), *self.follow(now)]

    def disconnect(self, member: int, now: float) -> list[Effect]:
        """Take note that a member has no connection.  It goes on with what it holds."""
        if member in self.presence.connected:
            self.updates.disconnect(member, now)
        self.presence.disconnect(member)
        self.refusing.pop(member, None)
        self.news = True
        return [*self.links.disconnected(member, now), *self.follow(now)]

    # Contents

    def confirm(self, member: int, content: Content, now: float) -> list[Effect]:
        """Take note that a member has carried out a content."""
        self.updates.confirm(member, content, now)
        self.news = True
        if member not in self.refusing or not self.updates.is_current(member):
            return []
        del self.refusing[member]
        name = self.params.members[member - 1].name
        return [MEMBER_REFUSED_CLEARED.event(f"{name} holds the plan", data={"member": name})]

    def refuse(self, member: int, now: float) -> list[Effect]:
        """Take note that a member's switch has refused a content.

        It is handled as if it were cut off: it goes on with what it holds, and others use no plan
        that it lacks.
        """
        if member not in self.presence.connected or self.refusing.get(member) is not None:
            return []
        known = member in self.refusing
        self.refusing[member] = now + REFUSED_AGAIN
        self.updates.disconnect(member, now)
        self.news = True
        self.counters["refused_contents"] += 1
        if known:
            return []
        name = self.params.members[member - 1].name
        text = f"{name} refuses flows of the fabric: it goes on with those that it holds"
        return [MEMBER_REFUSED.event(text, data={"member": name, "seconds": REFUSED_AGAIN})]

    def _try_again(self, now: float) -> None:
        """Make members that have refused their content parts of a plan again, in time."""
        for member, until in self.refusing.items():
            if until is not None and until <= now:
                self.refusing[member] = None
                self.updates.connect(member, now)
                self.news = True

    # Changes

    def follow(self, now: float) -> list[Effect]:
        """React to changes of links, and of the connections of members."""
        self._follow_graph(now)
        if (admitted := self.links.admitted()) != self._admitted:
            self._admitted, self.news = admitted, True
        effects = self._follow_cuts(now)
        members, graph = self.places.members, self._graph or Graph((), ())
        found = self._graph is not None
        for member in self.presence.look(members, self.links.is_alone, graph, now, found):
            effects += self.remove(member, now)
        if self.presence.connected and not self.presence.away(self.places.members):
            return effects + self._go_on(now)
        self._pause(now)
        return effects

    def _follow_cuts(self, now: float) -> list[Effect]:
        """Take ports of members that most others do not reach out of aggregations."""
        effects: list[Effect] = []
        main = {*self.places.members} if self._working is None else main_part(self._working)
        for member, ports in sorted(self.ports.items()):
            if ports.cut_off is (member not in main):
                continue
            ports.cut_off = member not in main
            there = [*filter(None, map(ports.of_bridge, ports.edges.values()))]
            shared = [port for port in there if self.bridge.lags.has(port.name)]
            effects += self.bridge.put_ports(shared, now)
        return effects

    def remove(self, member: int, now: float) -> list[Effect]:
        """Remove the ports of a member that is gone; LOCAL of the bridge stays, and is down."""
        places, numbers = self.places, list[int]()
        for port in places.numbering.names(member):
            number = places.number(member, port)
            if number is not None and number != LOCAL_PORT:
                numbers.append(number)
                places.leave(member, port)
        if member in self.ports:
            self.ports[member].edges.clear()
        effects = self.bridge.remove_ports(numbers, now)
        if member == 1:
            effects += self.bridge.put_port(self._local(), now)
        return effects + self.bridge.retain([], now, self.names_elsewhere(member))

    def _local(self) -> Port:
        """LOCAL of the bridge while its member is gone."""
        known = self.bridge.ports.get(LOCAL_PORT)
        if known is not None:
            return replace(known, up=False)
        address = self.params.datapath_id & 0xFFFF_FFFF_FFFF
        return Port(LOCAL_PORT, self.params.name, address, False)

    def names_elsewhere(self, member: int) -> dict[int, str]:
        """Names of the tree's ports, also restored ones, but for those of this member alone."""
        return {
            number: name
            for number, name in self.bridge.stp.names().items()
            if self._members_of(number, name) != {member}
        }

    def _members_of(self, number: int, name: str) -> set[int | None]:
        names = self.bridge.lags.configured(number)
        return {self.places.of_name(each) for each in ((name,) if names is None else names)}

    def _go_on(self, now: float) -> list[Effect]:
        if self.runs:
            return []
        self.runs = True
        self.bridge.resume(now)
        return [*self.found.settle(now), *self.bridge.go_on(now)]

    def _pause(self, now: float) -> None:
        if self.runs or not self.presence.seen:
            self.runs = False
            self.bridge.pause(now)

    def _follow_graph(self, now: float) -> None:
        """Use a graph without failed links at once, and one with new links a little later."""
        if self._finds_links_again(now):
            return
        links = self.links.graph().links
        graph = Graph(tuple(self.places.members), links)
        working = Graph(graph.members, self.links.working().links)
        if graph == self._graph:
            self._graph_at, self._working = None, working
            return
        if self._graph is not None and {*self._graph.links} <= {*links}:
            if self._graph_at is None:
                self._graph_at = now + SETTLE
            if now < self._graph_at:
                return
        if self._graph is None:
            self.links.found()
        self._graph, self._working, self._graph_at, self.news = graph, working, None, True
        self.updates.set_graph(graph, now)

    def _finds_links_again(self, now: float) -> bool:
        """Whether members have plans of an earlier controller, and no graph is known for another.

        The first one without the links that are not proven yet would cut members off.
        """
        if self._graph is not None or not any(self.updates.uses().values()):
            return False
        if not self.presence.connected:
            self._wait_until = None
            return True
        if self._wait_until is None:
            self._wait_until = now + START
        if now >= self._wait_until:
            return False
        return bool(self.presence.away(self.places.members)) or any(
            link.state in (LinkState.PROBING, LinkState.HELD) for link in self.links.status(now)
        )

    def set_params(self, params: FabricParams, now: float) -> list[Effect]:
        """Apply changed parameters; ValueError where members have another number or position."""
        old, new = self.params.members, params.members
        if params.number != self.params.number or any(
            one.datapath_id != other.datapath_id for one, other in zip(old, new, strict=False)
        ):
            raise ValueError("the fabric or a member of it would have another number")
        effects: list[Effect] = []
        left = self.params.present.keys() - params.present.keys()
        for member in sorted(left):
            effects += [*self.links.disconnected(member, now), *self.remove(member, now)]
            ports = self.ports.pop(member, None)
            numbers = [] if ports is None else [*ports.links]
            effects += self.links.remove_ports(member, numbers, now)
            self.presence.forget(member)
            self.conversations.forget_member(member)
            self.refusing.pop(member, None)
        self.params = params
        self.places.set_params(params)
        effects += self.links.set_params(params, now)
        self._follow_graph(now)
        for member in left:
            self.updates.forget(member, now)
        self.news = True
        return effects

    # Time

    def tick(self, now: float) -> list[Effect]:
        """Let time pass; due at `next_wakeup`."""
        effects = self.bridge.tick(now)
        effects += [*self.links.tick(now), *self.conversations.tick(now)]
        due = self.updates.next_wakeup()
        if due is not None and due <= now:
            self.updates.tick(now)
            self.news = True
        self._try_again(now)
        return effects + self.follow(now)

    def next_wakeup(self) -> float | None:
        """When `tick` is due; None when nothing is."""
        due = (
            self.bridge.next_wakeup(),
            self.links.next_wakeup(),
            self.conversations.next_wakeup(),
            self.updates.next_wakeup(),
            self.presence.next_wakeup(),
            self._graph_at,
            self._wait_until if self._graph is None else None,
            *self.refusing.values(),
        )
        return min((instant for instant in due if instant is not None), default=None)

    # Values

    def settled(self, links: Iterable[LinkStatus]) -> bool:
        """Whether all connected members, at least one, use a plan with all links that can be used.

        links: their status.  A link that is being proven, or a link port that may be an end of
        one, is waited for, but not for ever.
        """
        known = self._graph is not None and self._graph_at is None and self.presence.connected
        found = not any(link.state is LinkState.PROBING and link.since < START for link in links)
        return bool(known) and found and not self.refusing and self.updates.settled

    def why_paused(self) -> str:
        """Why the protocols of the bridge are paused; empty if they run."""
        if self.runs:
            return ""
        away = self.presence.away(self.places.members)
        names = ", ".join(self.params.members[member - 1].name for member in away)
        return f"not connected, and not known to be off: {names}" if away else "no member is ready"

    def link_name(self, member: int, port: int) -> str:
        """The name of a member's link port, as in `s1/eth1`; its number if it is not known."""
        known = self.ports[member].links.get(port) if member in self.ports else None
        name = str(port) if known is None else known.name
        return f"{self.params.members[member - 1].name}/{name}"

    def desired(self, member: int) -> DesiredFabric:
        """Return what a member should hold of the fabric."""
        links = tuple(sorted(self.ports[member].links)) if member in self.ports else ()
        content = self.updates.content(member)
        planned = {port for part in content.parts.values() for port in part.ports}
        proven = self.links.admitted()
        return DesiredFabric(
            self.params.number,
            member,
            links,
            tuple(
                port
                for port in links
                if End(member, port) in proven and (content.kept or port in planned)
            ),
            content,
            self.places.shared(member),
            self.params.service_tags,
        )

    def dump(self) -> dict[str, Any]:
        """The state for the next process, as JSON-serialisable data."""
        uses = self.updates.claims()
        return {
            "uses": {str(member): sorted(versions) for member, versions in sorted(uses.items())},
            "ports": self.places.numbering.dump(),
            "proven": self.links.proven(),
        }


def main_part(graph: Graph) -> set[int]:
    """The members of the largest connected part; of equal ones, that with the first member."""
    parts: list[set[int]] = []
    left = {*graph.members}
    while left:
        part, waiting = set[int](), [min(left)]
        while waiting:
            member = waiting.pop()
            if member not in part:
                part.add(member)
                waiting += [hop.member for hop in graph.hops.get(member, ())]
        parts.append(part)
        left -= part
    return max(parts, key=lambda part: (len(part), -min(part)), default=set())


def read_uses(data: Any) -> dict[int, list[int]]:
    """Read the stored versions that members may use; ValueError."""
    try:
        uses = {int(member): [int(version) for version in used] for member, used in data.items()}
    except (AttributeError, TypeError, ValueError) as error:
        raise ValueError(f"not the versions that members use: {error!r}") from error
    if not all(0 <= version < VERSIONS for used in uses.values() for version in used):
        raise ValueError(f"not the versions that members use: some is not below {VERSIONS}")
    return uses


def read_proven(data: Any) -> list[tuple[str, str]]:
    """Read the stored links that were proven; ValueError."""
    try:
        pairs = [(one, other) for one, other in data]
    except (TypeError, ValueError) as error:
        raise ValueError(f"not the links that were proven: {error!r}") from error
    if not all(isinstance(name, str) for pair in pairs for name in pair):
        raise ValueError("not the links that were proven: some port has no name")
    return pairs
