"""Changes of a fabric's plan in two phases, so that every frame meets one plan.

A new plan gets a version that no member may still use.  Every member that the controller can
program installs it.  Once all with links have confirmed that, each uses it for the frames that
enter there.  A version that no member uses any more is removed when the frames under way have
arrived.

A member that is cut off goes on with the versions that it has.  The others keep the version that
it uses.  A new plan does not lead through that member: neighbours give it its copies of all frames
(`plan`), so it is not waited for.  Only where connected members would lose each other without it,
the new plan waits: by the old plan the switches go around failed links.  A member that restarted
holds nothing and drops all frames.  So no frame meets parts of two plans.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ofapp.bridge.effects.fabric import Content, Part
from ofapp.bridge.fabric.plans.graph import Graph
from ofapp.bridge.fabric.plans.plan import Plan, plan

DRAIN_SECONDS = 1.0
"""Time in which frames under way arrive; Open vSwitch may forward by its cache for 0.5 s."""


@dataclass(slots=True)
class _Member:
    """State of a member.

    reachable: the controller can program it.
    held: what it has confirmed last since it became reachable, by version.
    use: version that it is to use; uses: all that its frames may carry now.
    silent: it is to use none.
    """

    reachable: bool = False
    held: Mapping[int, Part] = field(default_factory=dict)
    use: int | None = None
    silent: bool = False
    uses: set[int] = field(default_factory=set)


class Updates:
    """The versions of a fabric's plan.

    After each call ask `content` for the members whose content has changed, and call `confirm`
    when a member has carried one out.  Store `claims` before a member gets its content.
    """

    def __init__(self, versions: int, uses: Mapping[int, Iterable[int]] | None = None) -> None:
        """Begin with this many version numbers; `uses`: as an earlier controller stored it."""
        self._versions = versions
        self._members = {member: _Member(uses=set(used)) for member, used in (uses or {}).items()}
        self._graph = Graph((), ())
        self._plans: dict[int, Plan] = {}
        self._newest: int | None = None
        self._before: int | None = None  # the newest that members have used
        self._switched = True
        self._wanted = False
        self._urgent = False
        self._remove_at: dict[int, float] = {}

    @property
    def settled(self) -> bool:
        """Whether all reachable members use the newest plan."""
        return not self._wanted and all(
            self.is_current(member)
            for member in self._graph.members
            if self._members[member].reachable
        )

    def is_current(self, member: int) -> bool:
        """Whether all frames that enter at a member use the newest plan."""
        known = self._members.get(member)
        return known is not None and known.uses == {self._newest}

    @property
    def exhausted(self) -> bool:
        """Whether a new plan waits because members that are cut off may use all versions."""
        return self._wanted and self._free() is None

    def uses(self) -> Mapping[int, frozenset[int]]:
        """Versions that the frames of each member may carry."""
        return {member: frozenset(known.uses) for member, known in self._members.items()}

    def claims(self) -> Mapping[int, frozenset[int]]:
        """The same, and the versions that they will carry when a change under way is over.

        So a version is stored before any member may use it.
        """
        newest = set() if self._newest is None else {self._newest}
        parts = {} if self._newest is None else self._plans[self._newest]
        return {
            member: frozenset(known.uses | (newest if member in parts else set()))
            for member, known in self._members.items()
        }

    def held(self, member: int) -> frozenset[int]:
        """Versions that a member has confirmed since it became reachable."""
        known = self._members.get(member)
        return frozenset() if known is None else frozenset(known.held)

    def plan_of(self, member: int) -> Plan:
        """The plan that frames use which enter at a member; empty if it is not known."""
        known = self._members.get(member)
        used = None if known is None or len(known.uses) != 1 else next(iter(known.uses))
        return {} if used is None else self._plans.get(used, {})

    def content(self, member: int) -> Content:
        """What a member should hold now."""
        parts = {
            version: parts[member] for version, parts in self._plans.items() if member in parts
        }
        known = self._members.get(member, _Member())
        return Content(parts, frozenset(self._used() - set(self._plans)), known.use, known.silent)

    def set_graph(self, graph: Graph, now: float) -> None:
        """Take the members, cut off or not, and the links that may carry frames."""
        self._graph = graph
        for member in graph.members:
            self._members.setdefault(member, _Member())
        self._wanted = self._urgent = True
        self._go_on(now)

    def connect(self, member: int, now: float) -> None:
        """Take note that a member can be programmed; what it holds is not known.

        A plan with it waits until the present change is over: of a hundred members that connect
        at a time, each would begin another one.
        """
        known = self._members.setdefault(member, _Member())
        known.reachable, known.held = True, {}
        self._wanted |= self._newest is None or member not in self._plans[self._newest]
        self._go_on(now)

    def disconnect(self, member: int, now: float) -> None:
        """Take note that a member cannot be programmed, or refuses what it should hold.

        It goes on with what it has.
        """
        known = self._members[member]
        known.reachable, known.held = False, {}
        # A change that needs its confirmation starts again without it.
        if not self._switched:
            self._wanted = self._urgent = True
        self._go_on(now)

    def forget(self, member: int, now: float) -> None:
        """Take note that a member is gone for good, and with it the versions that it used."""
        self._members.pop(member, None)
        self._go_on(now)

    def confirm(self, member: int, content: Content, now: float) -> None:
        """Take note that a member holds a content that was asked for."""
        known = self._members.get(member)
        if known is None or not known.reachable:
            return
        known.held = content.parts
        if content.silent and known.silent:
            known.uses = set()
        elif content.use is not None and content.use == known.use:
            known.uses = {content.use}
        self._go_on(now)

    def next_wakeup(self) -> float | None:
        """When `tick` is due; None: after the next input."""
        return min(self._remove_at.values(), default=None)

    def tick(self, now: float) -> None:
        """Remove versions that no frame carries any more."""
        self._go_on(now)

    def _used(self) -> set[int]:
        return {version for known in self._members.values() for version in known.uses}

    def _free(self) -> int | None:
        taken = self._used() | set(self._plans)
        return next((number for number in range(self._versions) if number not in taken), None)

    def _go_on(self, now: float) -> None:
        self._remove_unused(now)
        self._switch_over()
        if self._wanted and (self._urgent or self._switched):
            self._make_plan()
            self._switch_over()

    def _switch_over(self) -> None:
        if not self._switched and self._newest is not None and self._is_installed(self._newest):
            self._switched = True
            for known in map(self._members.get, self._plans[self._newest]):
                if known is None:  # it is gone for good
                    continue
                known.use, known.silent = self._newest, False
                known.uses.add(self._newest)

    def _make_plan(self) -> None:
        self._drop_unused_newest()
        version = self._free()
        reachable = {member for member in self._graph.members if self._members[member].reachable}
        if version is None:
            self._silence_latecomers()
        if version is None or not reachable or self._would_divide(reachable):
            return
        self._before, self._newest = self._newest, version
        self._plans[version] = plan(self._graph, set(self._graph.members) - reachable)
        self._switched = self._wanted = self._urgent = False

    def _would_divide(self, reachable: set[int]) -> bool:
        """Whether a plan would cut reachable members off from others that they can reach now.

        No new plan leads through members that cannot be programmed.  The present one does, and the
        switches go around failed links by it.
        """
        if not all(self._members[member].uses for member in reachable):
            return False
        cut_off = set(self._graph.members) - reachable
        now, after = self._graph.parts, self._graph.without(members=cut_off).parts
        pairs = {(now[member], after[member]) for member in reachable}
        near = {hop.member for member in reachable for hop in self._graph.hops[member]}
        beyond = {now[member] for member in cut_off - near}
        parts = {part for part, _ in pairs}
        return len(pairs) > len(parts) or not beyond.isdisjoint(parts)

    def _drop_unused_newest(self) -> None:
        """Drop the newest plan if no member has used it, as another one replaces it.

        So many changes in a short time take one version together.  Its number may have other parts
        at once: members confirm parts, not only numbers.
        """
        if self._switched or self._newest is None or self._newest in self._used():
            return
        del self._plans[self._newest]
        self._newest = self._before if self._before in self._plans else None
        self._switched = True

    def _silence_latecomers(self) -> None:
        """Have members that are back, and not in the newest plan, give up their versions."""
        newest = {} if self._newest is None else self._plans[self._newest]
        for member, known in self._members.items():
            if known.reachable and member not in newest:
                known.use, known.silent = None, True

    def _is_installed(self, version: int) -> bool:
        """Whether a version may be used.  A member without links sends no frame, and gets none.

        It may have no power, and its connection is silent for many seconds before it ends.
        """
        parts = self._plans[version]
        linked = {member: part for member, part in parts.items() if part.ports}
        return all(
            self._members[member].held.get(version) == part
            for member, part in (linked or parts).items()
            if member in self._members
        )

    def _remove_unused(self, now: float) -> None:
        unused = set(self._plans) - self._used() - {self._newest}
        self._remove_at = {
            version: self._remove_at.get(version, now + DRAIN_SECONDS) for version in unused
        }
        for version, due in list(self._remove_at.items()):
            if due <= now:
                del self._remove_at[version], self._plans[version]
