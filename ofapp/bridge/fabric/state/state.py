"""The state that a fabric and the views of its members share.

Every change of links or members ends with `follow`: it makes plans, pauses the bridge's protocols
and lets them run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import replace
from typing import Any

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import Effect
from ofapp.bridge.effects.fabric import Content, DesiredFabric
from ofapp.bridge.fabric.address import VERSIONS
from ofapp.bridge.fabric.events import MEMBER_REFUSED, MEMBER_REFUSED_CLEARED
from ofapp.bridge.fabric.links import Links
from ofapp.bridge.fabric.params import FabricParams
from ofapp.bridge.fabric.plans.graph import End
from ofapp.bridge.fabric.plans.update import Updates
from ofapp.bridge.fabric.state.conversations import AgedOut, Conversations
from ofapp.bridge.fabric.state.entries import FoundEntries
from ofapp.bridge.fabric.state.graphs import START, Graphs, main_part
from ofapp.bridge.fabric.state.places import Places
from ofapp.bridge.fabric.state.ports import MemberPorts
from ofapp.bridge.fabric.state.presence import Presence
from ofapp.bridge.fabric.state.split import Split
from ofapp.bridge.fabric.state.stored import read_address, read_proven, read_uses
from ofapp.bridge.fabric.status import LinkState, LinkStatus
from ofapp.bridge.lldp.own import OwnAgents
from ofapp.bridge.ports.port import LOCAL_PORT, Port

REFUSED_AGAIN = 60.0
"""Seconds after which a member that has refused its content is part of a plan again."""


class FabricState:
    """places, split, conversations, links, graphs, updates, presence, found, aged: its parts.

    ports: ports of each member's switch.
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
        self.agents = agents
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
        self.graphs = Graphs()
        self.ports: dict[int, MemberPorts] = {}
        self.news = False
        self.refusing: dict[int, float | None] = {}
        self.runs = False
        self._address = read_address(stored.get("address"))
        self._admitted: frozenset[End] = frozenset()  # as last seen

    def take(self, other: FabricState) -> None:
        """Take the links, plans and members of another fabric, which goes on independently."""
        shared = {id(each): each for each in (other.params, other.agents)}
        parts = other.links, other.updates, other.presence, other.graphs
        self.links, self.updates, self.presence, self.graphs = deepcopy(parts, shared)
        self.refusing, self.runs, self.news = {**other.refusing}, other.runs, True
        self.places.partial, self._admitted = other.places.partial, other._admitted

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
        members, graph, found = self.places.members, self.graphs.planned, self.graphs.found
        for member in self.presence.look(members, self.links.is_alone, graph, now, found):
            effects += self.remove(member, now)
        if self.presence.connected and not self.presence.disconnected(self.places.members):
            return effects + self._go_on(now)
        self._pause(now)
        return effects

    def _follow_cuts(self, now: float) -> list[Effect]:
        """Take ports of members that most others do not reach out of aggregations."""
        effects: list[Effect] = []
        main = main_part(self.graphs.working) if self.graphs.found else {*self.places.members}
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

    def put_local(self, now: float) -> list[Effect]:
        """Add LOCAL, which is down, before ports of other members than the first.

        The bridge's address is LOCAL's, and the tree begins with it: it does not change if the
        first member connects later, or has left.
        """
        known = self._address is not None or 1 not in self.places.members
        if not known or self.bridge.ports.get(LOCAL_PORT) is not None:
            return []
        return self.bridge.put_port(self._local(), now)

    def _local(self) -> Port:
        """LOCAL of the bridge while its member is gone, or after that has left."""
        known = self.bridge.ports.get(LOCAL_PORT)
        if known is not None:
            return replace(known, up=False)
        address = self._address or self.params.datapath_id & 0xFFFF_FFFF_FFFF
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
        """Have plans made of another graph."""
        held = any(self.updates.uses().values())
        if self.graphs.follow(self.links, self.presence, self.places.members, held, now):
            self.news = True
            self.updates.set_graph(self.graphs.planned, now)

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
            self.graphs.next_wakeup(),
            *self.refusing.values(),
        )
        return min((instant for instant in due if instant is not None), default=None)

    # Values

    def settled(self, links: Iterable[LinkStatus]) -> bool:
        """Whether all connected members, at least one, use a plan with all links that can be used.

        links: their status.  A link that is being proven, or a link port that may be an end of
        one, is waited for, but not for ever.
        """
        known = self.graphs.found and not self.graphs.waits and self.presence.connected
        found = not any(link.state is LinkState.PROBING and link.since < START for link in links)
        return bool(known) and found and not self.refusing and self.updates.settled

    def why_paused(self) -> str:
        """Why the protocols of the bridge are paused; empty if they run."""
        if self.runs:
            return ""
        disconnected = self.presence.disconnected(self.places.members)
        names = ", ".join(self.params.members[member - 1].name for member in disconnected)
        return f"not connected, and not known to be off: {names}" if names else "no member is ready"

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
            self.bridge.port_policies.communities,
        )

    def dump(self) -> dict[str, Any]:
        """The state for the next process, as JSON-serialisable data."""
        uses, local = self.updates.claims(), self.bridge.ports.get(LOCAL_PORT)
        return {
            "address": self._address if local is None else local.mac,
            "uses": {str(member): sorted(versions) for member, versions in sorted(uses.items())},
            "ports": self.places.numbering.dump(),
            "proven": self.links.proven(),
        }
