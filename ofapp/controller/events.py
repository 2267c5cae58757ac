"""Events: the last ones in memory, the log, and the listeners.

The events of the core, with their bridge, and those of the controller are recorded here.  A
listener that does not keep up loses its oldest events and sees a gap in the numbers; it never
delays others.

A peer can cause an event a thousand times a second.  So each kind and source, and each kind, has a
burst and a rate per second.  Events beyond it are only counted, and an event says so.  Frequent
events do not push out rare ones (`history`).

Events of severity DEBUG are a trace: every BPDU of every port, a thousand in minutes.  They are
passed on and logged.  They are not remembered, as they would push out events that are needed
tomorrow, and not counted, as they only occur while there is a listener (`wanted`).

The last records of each kind and source are kept, in bounded memory that no kind can fill alone.
What happens often (a port or a switch that flaps) would push out what happened once. So when the
history is full, the kind with the most records loses one: the oldest of its source with the most.
"""

from __future__ import annotations

import logging
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from ofapp.bridge.event import BY_ITSELF, ERROR, INFO, WARNING, Event, EventKind, FindPort, Severity
from ofapp.common import hub
from ofapp.common.buckets import Buckets
from ofapp.common.printable import printable

T = TypeVar("T")


class _Kind:
    """The numbers of one kind's records, by source; the source with the most is known at once."""

    def __init__(self) -> None:
        self.count = 0
        self._numbers: dict[Hashable, deque[int]] = {}
        # Sources by their number of records: a search through all of them took most of an event's
        # time while a thousand switches connect.
        self._with: defaultdict[int, dict[Hashable, None]] = defaultdict(dict)
        self._most = 0

    def add(self, source: Hashable, number: int) -> None:
        numbers = self._numbers.setdefault(source, deque())
        numbers.append(number)
        self.count += 1
        self._moved(source, len(numbers) - 1, len(numbers))
        self._most = max(self._most, len(numbers))

    def forget_one(self) -> int:
        """Forget the oldest record of the source with the most; gives its number."""
        source = next(iter(self._with[self._most]))
        numbers = self._numbers[source]
        oldest = numbers.popleft()
        self.count -= 1
        self._moved(source, len(numbers) + 1, len(numbers))
        if not self._with[self._most]:
            self._most -= 1
        if not numbers:
            del self._numbers[source]
        return oldest

    def _moved(self, source: Hashable, before: int, now: int) -> None:
        self._with[before].pop(source, None)
        if now:
            self._with[now][source] = None


class History(Generic[T]):
    """At most `size` records, in the order in which they came."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._records: dict[int, T] = {}
        self._kinds: dict[Hashable, _Kind] = {}
        self._last = 0

    def __iter__(self) -> Iterator[T]:
        return iter(self._records.values())

    def add(self, kind: Hashable, source: Hashable, record: T) -> T | None:
        """Add the newest record; gives the one that was dropped for it."""
        self._last += 1
        self._records[self._last] = record
        numbers = self._kinds.get(kind)
        if numbers is None:
            numbers = self._kinds[kind] = _Kind()
        numbers.add(source, self._last)
        return self._forget_one() if len(self._records) > self._size else None

    def _forget_one(self) -> T:
        kind, numbers = max(self._kinds.items(), key=_count)
        record = self._records.pop(numbers.forget_one())
        if not numbers.count:
            del self._kinds[kind]
        return record


def _count(item: tuple[Hashable, _Kind]) -> int:
    return item[1].count


SOURCE_BURST, SOURCE_RATE = 200, 1
"""Events of one kind, bridge and port: burst, and rate per second."""

KIND_BURST, KIND_RATE = 2000, 20
"""Likewise of one kind from all sources: sources such as datapath ids are easily invented."""

CALM = 10.0
"""Seconds without a suppressed event after which the limit counts as over."""

EVENTS_LIMITED = EventKind(
    "events.limited",
    WARNING,
    "There are too many events of a kind: some are only counted.",
    BY_ITSELF,
    "kind last",
)
EVENTS_LIMITED_CLEARED = EventKind(
    "events.limited.cleared", INFO, "All events are logged again.", fields="kind held_back"
)
EVENTS_MISSED = EventKind(
    "events.missed",
    WARNING,
    "A client of the stream missed events.",
    "Read faster, or ask for fewer kinds.",
)
SERVICE_FAULT = EventKind(
    "service.fault", ERROR, "A defect in ofapp was detected.", "Report it with the log."
)

LOG = logging.getLogger("ofapp")

_LEVELS = {
    Severity.DEBUG: logging.DEBUG,
    Severity.INFO: logging.INFO,
    Severity.WARNING: logging.WARNING,
    Severity.ERROR: logging.ERROR,
}


@dataclass(frozen=True, slots=True)
class Record:
    """A recorded event.

    number: counts up by one; time: seconds since the epoch; bridge: datapath id or None.
    """

    number: int
    time: float
    bridge: int | None
    event: Event


@dataclass(frozen=True, slots=True)
class Interest:
    """The events that a listener subscribes to.

    kinds: kinds, or their prefixes up to a dot: `stp` covers `stp.role`; none = every kind.
    bridge: datapath id, None = every bridge.  severity: the least.
    """

    kinds: tuple[str, ...] = ()
    bridge: int | None = None
    severity: Severity = Severity.DEBUG

    def covers(self, bridge: int | None, kind: EventKind, severity: Severity) -> bool:
        """Whether such an event is wanted."""
        return (
            self.bridge in (None, bridge)
            and _LEVELS[severity] >= _LEVELS[self.severity]
            and (bool(self.kinds) or not kind.on_request)
            and self.covers_kind(kind.name)
        )

    def covers_kind(self, kind: str) -> bool:
        """Whether events of this kind are wanted, of some bridge and severity."""
        return not self.kinds or any(f"{kind}.".startswith(f"{each}.") for each in self.kinds)


EVERYTHING = Interest()


def no_port(number: int) -> None:
    """Find no port: for events without a bridge."""


class EventLog:
    """The last `size` events and a count of each kind.

    last: number of the newest event; life: unique for each run of the controller, as each run
    numbers its events from one.
    audience_changed: called when the answers of `wanted` may have changed.
    """

    def __init__(self, size: int = 1000) -> None:
        self.last = 0
        self.life = f"{time.time_ns() // 1_000_000:x}"
        self.audience_changed: Callable[[], None] = lambda: None
        self._records: History[Record] = History(size)
        self._forgotten: dict[str, int] = {}  # number of the newest, by kind
        self._listeners: set[tuple[Any, Interest]] = set()
        self._size = size
        self._counts: Counter[str] = Counter()
        self._held_back: Counter[str] = Counter()
        self._sources = Buckets(SOURCE_BURST, SOURCE_RATE)
        self._kinds = Buckets(KIND_BURST, KIND_RATE)
        self._limited: dict[str, int] = {}  # suppressed at the last check, by kind

    @property
    def counts(self) -> Mapping[str, int]:
        """Number of events of each kind since the start, suppressed ones too."""
        return self._counts

    @property
    def held_back(self) -> Mapping[str, int]:
        """Number of events of each kind that the rate limit suppressed."""
        return self._held_back

    def wanted(self, bridge: int | None, kind: EventKind, severity: Severity) -> bool:
        """Whether the log or a listener wants such events."""
        logged = LOG.isEnabledFor(_LEVELS[severity]) and not kind.on_request
        return logged or any(
            interest.covers(bridge, kind, severity) for _queue, interest in self._listeners
        )

    def emit(
        self,
        bridge: int | None,
        event: Event,
        name: str | None = None,
        find: FindPort = no_port,
    ) -> None:
        """Record an event, log it and pass it on.

        name: the bridge's; find: gives its ports, for their names.  An event that is only counted
        gets no message.
        """
        remembered = event.severity is not Severity.DEBUG
        if remembered:
            self._counts[event.kind] += 1
            if not self._is_allowed(bridge, event):
                self._hold_back(bridge, event, find)
                return
        event = event.worded(find)
        if not event.message.isprintable():
            event = replace(event, text=printable(event.message))
        self.last += 1
        record = Record(self.last, time.time(), bridge, event)
        if remembered:
            gone = self._records.add(event.kind, (bridge, event.port), record)
            if gone is not None:
                self._forgotten[gone.event.kind] = gone.number
        level = _LEVELS[event.severity]
        if LOG.isEnabledFor(level):
            about = "" if bridge is None else f"bridge {printable(name or f'{bridge:016x}')}: "
            known = {"event": record, "bridge_name": name}
            LOG.log(level, "%s%s [%s]", about, event.message, event.kind, extra=known)
        for queue, interest in self._listeners:
            if interest.covers(bridge, event.of, event.severity):
                if queue.qsize() >= self._size:
                    queue.get_nowait()
                queue.put(record)

    def _is_allowed(self, bridge: int | None, event: Event) -> bool:
        now = time.monotonic()
        source = event.kind, bridge, event.port
        return self._sources.take(source, now) and self._kinds.take(event.kind, now)

    def _hold_back(self, bridge: int | None, event: Event, find: FindPort) -> None:
        kind = event.kind
        self._held_back[kind] += 1
        if kind in self._limited:
            return
        self._limited[kind] = 0
        message = f"there are too many events {kind}: some are only counted from now on"
        data = {"kind": kind, "last": printable(event.worded(find).message)}
        limited = EVENTS_LIMITED.event(message, event.port, data)
        self.emit(bridge, limited)
        if len(self._limited) == 1:
            hub.keep(self.fault, self._watch_limits)

    def _watch_limits(self) -> None:
        while self._limited:
            hub.sleep(CALM)
            for kind, before in list(self._limited.items()):
                count = self._held_back[kind]
                if count > before:
                    self._limited[kind] = count
                    continue
                del self._limited[kind]
                message = f"every event {kind} is logged again; {count} were not since the start"
                data = {"kind": kind, "held_back": count}
                self.emit(None, EVENTS_LIMITED_CLEARED.event(message, data=data))

    def fault(self, error: Exception) -> None:
        """Log an unexpected exception that ended an activity."""
        message = f"a defect of ofapp: {error!r}; the activity was aborted, or starts again"
        self.emit(None, SERVICE_FAULT.event(message))

    def since(self, number: int, interest: Interest = EVERYTHING) -> list[Record]:
        """The remembered events with a higher number, oldest first."""
        return [
            record
            for record in self._records
            if record.number > number
            and interest.covers(record.bridge, record.event.of, record.event.severity)
        ]

    def before(self, moment: float) -> int:
        """Number of the last event before a moment, in seconds since the epoch."""
        later = (record.number for record in self._records if record.time >= moment)
        return next(later, self.last + 1) - 1

    def moment(self, number: int) -> float:
        """Time of that event, or of the last before it; 0 where none of these is remembered."""
        earlier = (record.time for record in self._records if record.number <= number)
        return max(earlier, default=0.0)

    def has_forgotten(self, number: int, interest: Interest = EVERYTHING) -> bool:
        """Whether events of such kinds with a higher number are no longer in memory."""
        return any(
            newest > number and interest.covers_kind(kind)
            for kind, newest in self._forgotten.items()
        )

    def follow(
        self, number: int, patience: float, interest: Interest = EVERYTHING
    ) -> Iterator[Record | None]:
        """Events with a higher number as they come, None after at most `patience` s of silence.

        All followers of the same patience wake at the same time: 40 separate wake-ups a second of
        twenty streams took 25 ms of processor time, as the controller's loop got less done in each.
        """
        queue: Any = hub.Queue()
        for record in self.since(number, interest):
            queue.put(record)
        listener = queue, interest
        self._listeners.add(listener)
        self.audience_changed()
        try:
            while True:
                try:
                    yield queue.get(timeout=patience - time.monotonic() % patience)
                except hub.QueueEmpty:
                    yield None
        finally:
            self._listeners.discard(listener)
            self.audience_changed()
