"""The problems that stand: since when, and who has acknowledged them.

Once a second the sources are asked for what is wrong.  A problem has an id that depends on
its kind and its object alone, so it is the same problem after a restart of the controller.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import blake2s
from typing import Protocol

from ofapp.bridge.event import ERROR, INFO, WARNING, Severity
from ofapp.bridge.problem import ProblemKind
from ofapp.common import hub
from ofapp.common.printable import printable
from ofapp.controller.events import no_port
from ofapp.controller.problems.acknowledged import Acknowledgement, Acknowledgements
from ofapp.controller.problems.events import BEGAN, ENDED
from ofapp.controller.problems.kinds import START
from ofapp.controller.problems.sources import Found
from ofapp.controller.state.saving import Emit, Ticket

INTERVAL = 1.0
"""Seconds between the end of a review and the next one."""
OF_KIND = 100
"""Most problems of one kind and bridge that are listed; further ones are only counted."""
CONTROLLER = "controller"
"""Name of what is no bridge."""
ORDER: Mapping[Severity, int] = {ERROR: 0, WARNING: 1, INFO: 2}


@dataclass(frozen=True, slots=True)
class Standing:
    """A problem that stands.

    bridge: datapath id, None for the controller; name: the bridge's name, or `controller`.
    port: name of the port, empty for none.  remedy: a command; empty if no command helps.
    since: when this controller saw it first, in seconds since the epoch.
    """

    id: str
    kind: ProblemKind
    bridge: int | None
    name: str
    port: str
    message: str
    remedy: str
    since: float
    data: Mapping[str, object]
    acknowledged: Acknowledgement | None


class Source(Protocol):
    """Where problems come from."""

    def problems(self) -> Iterable[Found]:
        """All that is wrong now."""

    def judges(self, bridge: int | None) -> bool:
        """Whether what is wrong with a bridge, or (None) with controllers, is known here alone."""


class Problems:
    """The problems of one controller, the worst first.

    left_out: problems beyond `OF_KIND`.
    """

    def __init__(
        self,
        sources: Source,
        acknowledgements: Acknowledgements,
        emit: Emit,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.left_out = 0
        self._emit = emit
        self._sources = sources
        self._acknowledgements = acknowledgements
        self._clock = clock
        self._started = clock()
        self._first: dict[str, float] = {}
        self._listed: tuple[Standing, ...] = ()

    def __iter__(self) -> Iterator[Standing]:
        return iter(self._listed)

    def __len__(self) -> int:
        return len(self._listed)

    def counts(self) -> Counter[Severity]:
        """Number of problems that are not acknowledged, by severity."""
        return Counter(each.kind.severity for each in self if each.acknowledged is None)

    def get(self, id_: str) -> Standing | None:
        """The problem with this id; None if no such problem stands."""
        return next((each for each in self if each.id == id_), None)

    def run(self) -> None:
        """Review the sources again and again; does not return."""
        while True:
            self.review()
            hub.sleep(INTERVAL)

    def review(self) -> None:
        """Ask the sources once, and note what has begun and ended."""
        now = self._clock()
        found = {_id(each): each for each in self._sources.problems()}
        ended = self._first.keys() - found.keys()
        self._first = {id_: self._first.get(id_, now) for id_ in found}
        self._acknowledgements.remove([*ended, *self._outlived(found, now)])
        lasting = {
            id_: each
            for id_, each in found.items()
            if now - self._first[id_] >= each.problem.of.delay
        }
        counts: Counter[tuple[str, int | None]] = Counter()
        listed = []
        for id_, each in lasting.items():
            standing = self._standing(id_, each)
            counts[standing.kind.name, standing.bridge] += 1
            if counts[standing.kind.name, standing.bridge] <= OF_KIND:
                listed.append(standing)
        self.left_out = len(lasting) - len(listed)
        listed.sort(key=lambda each: (ORDER[each.kind.severity], -each.since, each.id))
        self._show(tuple(listed))

    def _outlived(self, found: Container[str], now: float) -> Iterator[str]:
        """Acknowledgements of problems that ended while no controller was there to see it."""
        if now < self._started + START:
            return
        for id_, given in [*self._acknowledgements]:
            if id_ not in found and self._sources.judges(given.bridge):
                yield id_

    def _show(self, listed: tuple[Standing, ...]) -> None:
        """Replace the list, with an event for each problem that has begun or ended."""
        before, self._listed = {each.id: each for each in self}, listed
        for each in listed:
            if before.pop(each.id, None) is None:
                event = BEGAN.event(each.message, data=_data(each), severity=each.kind.severity)
                self._emit(each.bridge, event)
        for each in before.values():
            self._emit(each.bridge, ENDED.event(f"no longer: {each.message}", data=_data(each)))

    def acknowledge(self, id_: str, by: str, comment: str) -> Ticket:
        """Acknowledge a problem that stands; KeyError for another id.

        Wait for the ticket until that is saved.
        """
        problem = self.get(id_)
        if problem is None:
            raise KeyError(id_)
        given = Acknowledgement(by, self._clock(), comment, problem.bridge)
        ticket = self._acknowledgements.add(id_, given)
        self._refresh()
        return ticket

    def take_back(self, id_: str) -> Ticket | None:
        """Take an acknowledgement back; None if there is none."""
        ticket = self._acknowledgements.remove([id_])
        self._refresh()
        return ticket

    def reload(self) -> None:
        """Read the acknowledgements again after a change by another controller."""
        self._acknowledgements.reload()
        self._refresh()

    def _refresh(self) -> None:
        get = self._acknowledgements.get
        self._listed = tuple(replace(each, acknowledged=get(each.id)) for each in self)

    def _standing(self, id_: str, found: Found) -> Standing:
        bridge, problem = found
        name = CONTROLLER if bridge is None else bridge.name
        find = no_port if bridge is None else bridge.port_at
        worded = problem.worded(name, find)
        return Standing(
            id_,
            problem.of,
            None if bridge is None else bridge.datapath_id,
            name,
            worded.port,
            printable(worded.message),
            worded.remedy,
            self._first[id_],
            problem.data,
            self._acknowledgements.get(id_),
        )


def _data(problem: Standing) -> dict[str, object]:
    return {"id": problem.id, "problem": problem.kind.name, "remedy": problem.remedy}


def _id(found: Found) -> str:
    """An id of 8 hex digits, by kind and object."""
    bridge, problem = found
    where = "" if bridge is None else f"{bridge.datapath_id:016x}"
    port = None if bridge is None or problem.port is None else bridge.port_at(problem.port)
    name = problem.port if port is None else port.name
    text = f"{problem.of.name}|{where}|{name}|{problem.subject}"
    return blake2s(text.encode("utf-8", "surrogateescape"), digest_size=4).hexdigest()
