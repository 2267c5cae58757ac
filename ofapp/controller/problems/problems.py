"""The problems that stand: since when, and who has acknowledged them.

Twice a second, more seldom in a large network, the sources are asked for what is wrong.  A problem
has an id that depends on its kind and its object alone, so it is the same problem after a restart
of the controller.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import blake2s
from socket import gethostname
from typing import NamedTuple, Protocol

from ofapp.bridge.event import Severity
from ofapp.bridge.problem import ProblemKind
from ofapp.common import hub
from ofapp.common.printable import printable
from ofapp.controller.events import no_port
from ofapp.controller.problems.acknowledged import Acknowledgement, Acknowledgements
from ofapp.controller.problems.events import BEGAN, ENDED
from ofapp.controller.problems.kinds import START
from ofapp.controller.problems.notifier import Notifier
from ofapp.controller.problems.sources import Found
from ofapp.controller.state.saving import Emit, Ticket

INTERVAL, LONGEST = 0.5, 2.0
"""Seconds between the end of a review and the next one, the least and the most."""
SHARE = 10
"""A pause is so many times as long as the review before it: 24 bridges take 2 ms, and 100 bridges
15 to 80 ms on a busy machine [measured]."""
OF_KIND = 100
"""Most problems of one kind and bridge that are listed; further ones are only counted."""
CONTROLLER = "controller"
"""Name of what is no bridge."""


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


class Listing(NamedTuple):
    """The problems that are listed, the worst first; left_out: problems beyond `OF_KIND`."""

    problems: tuple[Standing, ...]
    left_out: int


class Source(Protocol):
    """Where problems come from."""

    def problems(self) -> Iterable[Found]:
        """All that is wrong now."""

    def judges(self, bridge: int | None) -> bool:
        """Whether what is wrong with a bridge, or (None) with controllers, is known here alone."""


class Problems:
    """The problems of one controller, the worst first.

    listing: what stands; the same object until something changes.
    """

    def __init__(
        self,
        sources: Source,
        acknowledgements: Acknowledgements,
        emit: Emit,
        notifier: Notifier,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.listing = Listing((), 0)
        self._emit = emit
        self._notifier = notifier
        self._sources = sources
        self._acknowledgements = acknowledgements
        self._clock = clock
        self._started = clock()
        self._reviewing = hub.Lock()
        self._first: dict[str, float] = {}

    def __iter__(self) -> Iterator[Standing]:
        return iter(self.listing.problems)

    def __len__(self) -> int:
        return len(self.listing.problems)

    def counts(self) -> Counter[Severity]:
        """Number of problems that are not acknowledged, by severity."""
        return Counter(each.kind.severity for each in self if each.acknowledged is None)

    def get(self, id_: str) -> Standing | None:
        """The problem with this id; None if no such problem stands."""
        return next((each for each in self if each.id == id_), None)

    def run(self) -> None:
        """Review the sources again and again; does not return."""
        while True:
            began = time.monotonic()
            self.review()
            took = time.monotonic() - began
            hub.sleep(min(LONGEST, max(INTERVAL, SHARE * took)))

    def review(self) -> None:
        """Ask the sources once, and note what has begun and ended."""
        with self._reviewing:  # the sources let other greenlets run
            self._review()

    def _review(self) -> None:
        now = self._clock()
        found = {_id(each): each for each in self._sources.problems()}
        ended = [id_ for id_ in self._first.keys() - found.keys() if self._ends_here(id_)]
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
        listed.sort(key=lambda each: (-each.kind.severity.rank, -each.since, each.id))
        listing = Listing(tuple(listed), len(lasting) - len(listed))
        if listing != self.listing:
            self._show(listing)

    def _ends_here(self, id_: str) -> bool:
        """Whether a problem has ended; else another member of the cluster has its bridge now."""
        given = self._acknowledgements.get(id_)
        return given is None or given.bridge is None or self._sources.judges(given.bridge)

    def _outlived(self, found: Container[str], now: float) -> Iterator[str]:
        """Acknowledgements of problems that ended while no controller was there to see it."""
        if now < self._started + START:
            return
        for id_, given in [*self._acknowledgements]:
            if id_ not in found and self._sources.judges(given.bridge):
                yield id_

    def _show(self, listing: Listing) -> None:
        """Replace the list, with an event for each problem that has begun or ended."""
        before, self.listing = {each.id: each for each in self}, listing
        for each in self:
            if before.pop(each.id, None) is None:
                event = BEGAN.event(each.message, data=_data(each), severity=each.kind.severity)
                self._emit(each.bridge, event)
                if each.acknowledged is None:
                    self._notifier.put(each.kind, _values(each, "began"))
        for each in before.values():
            self._emit(each.bridge, ENDED.event(f"no longer: {each.message}", data=_data(each)))
            self._notifier.put(each.kind, _values(each, "ended"))

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
        problems = tuple(replace(each, acknowledged=get(each.id)) for each in self)
        self.listing = self.listing._replace(problems=problems)

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


def _values(problem: Standing, change: str) -> dict[str, str]:
    """The values of a notification: those of `config.notify.FIELDS`."""
    return {
        "id": problem.id,
        "kind": problem.kind.name,
        "change": change,
        "severity": problem.kind.severity.value,
        "bridge": problem.name,
        "port": problem.port,
        "message": problem.message,
        "advice": problem.kind.advice,
        "remedy": problem.remedy,
        "since": f"{datetime.fromtimestamp(problem.since, UTC):%Y-%m-%dT%H:%M:%SZ}",
        "host": gethostname(),
    }


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
