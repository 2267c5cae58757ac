"""Changes of a fabric's plan in two phases, so that every frame meets one plan.

A new plan gets a version that no member may still use.  Every member that the controller can
program installs it.  Once all have confirmed that, each uses it for the frames that enter there.
A version that no member uses any more is removed when the frames under way have arrived.

A member that is cut off goes on with the versions that it has.  The others keep the version that
it uses.  A member that restarted holds nothing and drops all frames.  So no frame meets parts of
two plans.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ofapp.bridge.fabric.graph import Graph
from ofapp.bridge.fabric.plan import Part, Plan, plan

DRAIN_SECONDS = 1.0
"""Time in which frames under way arrive; Open vSwitch may forward by its cache for 0.5 s."""


@dataclass(frozen=True, slots=True)
class Content:
    """What a member should hold.

    parts: what to forward, by version, and no other version.
    kept: versions of an earlier controller, which stay as they are.
    use: version for frames that enter at this member; None: as it is, if that version is held.
    silent: frames that enter are dropped, so that the version becomes free; then `use` is None.
    """

    parts: Mapping[int, Part]
    kept: frozenset[int]
    use: int | None
    silent: bool = False


@dataclass(slots=True)
class _Member:
    """State of a member.

    reachable: the controller can program it.
    held: versions that it has confirmed since it became reachable.
    use: version that it is to use; uses: all that its frames may carry now.
    silent: it is to use none.
    """

    reachable: bool = False
    held: frozenset[int] = frozenset()
    use: int | None = None
    silent: bool = False
    uses: set[int] = field(default_factory=set)


class Updates:
    """The versions of a fabric's plan.

    After each call ask `content` for the members whose content has changed, and call `confirm`
    when a member has carried one out.  Store `uses` before a member gets its content.
    """

    def __init__(self, versions: int, uses: Mapping[int, Iterable[int]] | None = None) -> None:
        """Begin with this many version numbers; `uses`: as an earlier controller stored it."""
        self._versions = versions
        self._members = {member: _Member(uses=set(used)) for member, used in (uses or {}).items()}
        self._graph = Graph((), ())
        self._plans: dict[int, Plan] = {}
        self._newest: int | None = None
        self._switched = True
        self._wanted = False
        self._urgent = False
        self._remove_at: dict[int, float] = {}

    @property
    def settled(self) -> bool:
        """Whether all reachable members use the newest plan."""
        members = [self._members[member] for member in self._graph.members]
        return not self._wanted and all(
            known.uses == {self._newest} for known in members if known.reachable
        )

    @property
    def exhausted(self) -> bool:
        """Whether a new plan waits because members that are cut off may use all versions."""
        return self._wanted and self._free() is None

    def uses(self) -> Mapping[int, frozenset[int]]:
        """Versions that the frames of each member may carry."""
        return {member: frozenset(known.uses) for member, known in self._members.items()}

    def content(self, member: int) -> Content:
        """What a member should hold now."""
        parts = {
            version: parts[member] for version, parts in self._plans.items() if member in parts
        }
        known = self._members[member]
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
        known.reachable, known.held = True, frozenset()
        self._wanted |= self._newest is None or member not in self._plans[self._newest]
        self._go_on(now)

    def disconnect(self, member: int, now: float) -> None:
        """Take note that a member cannot be programmed.  It goes on with what it has."""
        known = self._members[member]
        known.reachable, known.held = False, frozenset()
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
        known.held = frozenset(content.parts)
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
            for member in self._plans[self._newest]:
                known = self._members[member]
                known.use, known.silent = self._newest, False
                known.uses.add(self._newest)

    def _make_plan(self) -> None:
        version = self._free()
        reachable = {member for member in self._graph.members if self._members[member].reachable}
        if version is None:
            self._silence_latecomers()
        if version is None or not reachable:
            return
        self._plans[version] = plan(self._graph, set(self._graph.members) - reachable)
        self._newest = version
        self._switched = self._wanted = self._urgent = False

    def _silence_latecomers(self) -> None:
        """Have members that are back, and not in the newest plan, give up their versions."""
        for known in self._members.values():
            if known.reachable and known.use != self._newest:
                known.use, known.silent = None, True

    def _is_installed(self, version: int) -> bool:
        return all(version in self._members[member].held for member in self._plans[version])

    def _remove_unused(self, now: float) -> None:
        unused = set(self._plans) - self._used() - {self._newest}
        self._remove_at = {
            version: self._remove_at.get(version, now + DRAIN_SECONDS) for version in unused
        }
        for version, due in list(self._remove_at.items()):
            if due <= now:
                del self._remove_at[version], self._plans[version]
