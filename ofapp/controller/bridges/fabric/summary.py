"""What is known of the members of a fabric, as one value for its bridge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from ofapp.bridge.datapath_status import AclCounters, Count, DatapathStatus, PlannedItem
from ofapp.bridge.fdb.rates import Load
from ofapp.bridge.ports.port import PortCount
from ofapp.controller.bridges import datapath

Number = Callable[[int, int], int | None]
"""The bridge's number of a member's port: (member, number of its switch); None: it has none."""


class Connections:
    """Connections of members, the first one first.  id, address: of the first."""

    def __init__(self, parts: Sequence[datapath.Connection]) -> None:
        self._parts = parts
        self.id, self.address = parts[0].id, parts[0].address

    @property
    def counters(self) -> dict[str, int]:
        """Counters of messages, by kind."""
        return dict(total(part.counters for part in self._parts))

    @property
    def round_trip(self) -> float | None:
        """Seconds until the slowest replied to the last echo request; None before the first."""
        known = (part.round_trip for part in self._parts)
        return max((seconds for seconds in known if seconds is not None), default=None)

    @property
    def dead(self) -> bool:
        """Whether all have ended."""
        return all(part.dead for part in self._parts)

    def close(self) -> None:
        """End all."""
        for part in self._parts:
            part.close()

    def hang_up(self) -> None:
        """Close all at once."""
        for part in self._parts:
            part.hang_up()

    def fail(self, error: Exception) -> None:
        """Close all after an error."""
        for part in self._parts:
            part.fail(error)


class Changes:
    """Changes in members.  parts: each with the member's name."""

    def __init__(self, parts: Sequence[tuple[str, datapath.Changes]] = ()) -> None:
        self._parts = parts

    def __len__(self) -> int:
        return sum(len(part) for _, part in self._parts)

    def counts(self) -> dict[str, int]:
        """Count the flows, groups and meters."""
        total = Counter(flows=0, groups=0, meters=0)
        for _, part in self._parts:
            total.update(part.counts())
        return dict(total)

    def lines(self) -> Iterator[str]:
        """One line for each change, in words."""
        for name, part in self._parts:
            yield from (f"{name}: {line}" for line in part.lines())


class Plan:
    """Planned changes in members.  parts: each with the member's name."""

    def __init__(self, parts: Sequence[tuple[str, datapath.Plan]]) -> None:
        self._parts = parts

    @property
    def changes(self) -> Changes:
        """Changes of flows, groups and meters."""
        return Changes([(name, part.changes) for name, part in self._parts])

    def items(self) -> Iterator[PlannedItem]:
        """Items that change, each with the member's name."""
        for name, part in self._parts:
            yield from (one._replace(item=f"{name}: {one.item}") for one in part.items())


class PortCounters:
    """Counters of the bridge's ports at members.  parts: by member, those of its switch."""

    def __init__(self, parts: Mapping[int, datapath.PortCounters], number: Number) -> None:
        self._parts = parts
        self._number = number

    @property
    def latest(self) -> Mapping[int, PortCount]:
        """Counters of the last answer, by the bridge's port number; aggregations as sums."""
        result: dict[int, PortCount] = {}
        for member, part in self._parts.items():
            for port, count in part.latest.items():
                number = self._number(member, port)
                if number is not None:
                    known = result.get(number)
                    result[number] = count if known is None else known.plus(count)
        return result

    @property
    def at(self) -> float | None:
        """The time of the oldest answer; None: a member has not answered yet."""
        times = [part.at for part in self._parts.values()]
        known = [at for at in times if at is not None]
        return min(known) if times and len(known) == len(times) else None

    def ask(self) -> None:
        """Poll the counters of all members, unless the last answer is fresh."""
        for part in self._parts.values():
            part.ask()

    def wait(self, patience: float) -> None:
        """Wait for the answers, at most so many seconds."""
        datapath.ask_all([*self._parts.values()], patience)


class RuleCounters:
    """Counters of access lists, as sums over members."""

    def __init__(self, parts: Sequence[AclCounters]) -> None:
        self._parts = parts

    def matched(self, name: str, rule: str) -> Count | None:
        """Frames that a rule of a list decided on; None before the first poll."""
        counts = [count for part in self._parts if (count := part.matched(name, rule))]
        if not counts:
            return None
        return Count(
            sum(count.packets for count in counts),
            sum(count.octets for count in counts),
            min(count.since for count in counts),
        )

    def over_rate(self, name: str, rule: str) -> int:
        """Frames above the rule's rate, which were dropped."""
        return sum(part.over_rate(name, rule) for part in self._parts)


def status(
    parts: Mapping[int, DatapathStatus], names: Callable[[int], str], number: Number
) -> DatapathStatus:
    """Return the status of the fabric.  names: gives a member's name."""
    drops = Counter[str]()
    held_back: dict[str, Counter[int]] = {}
    limited: dict[str, set[int]] = {}
    for member, part in parts.items():
        drops.update(part.drops)
        for kind, ports in part.held_back.items():
            counts = held_back.setdefault(kind, Counter())
            counts.update(_by_number(member, ports, number))
        for kind, numbers in part.limited.items():
            limited.setdefault(kind, set()).update(
                _by_number(member, dict.fromkeys(numbers, 1), number)
            )
    owners = [f"{names(member)}: {part.owner}" for member, part in parts.items() if part.owner]
    return DatapathStatus(
        in_line=bool(parts) and all(part.in_line for part in parts.values()),
        owner="; ".join(owners) or None,
        refused=_of_all({names(member): part.refused for member, part in parts.items()}),
        metered=all(part.metered for part in parts.values()),
        drops=drops,
        held_back=held_back,
        acl=RuleCounters([part.acl for part in parts.values()]),
        limited=limited,
        throttled=any(part.throttled for part in parts.values()),
        polled=min((part.polled for part in parts.values() if part.polled), default=None),
        full=_of_all({names(member): part.full for member, part in parts.items()}),
    )


def _of_all(words: Mapping[str, Iterable[str]]) -> list[str]:
    """Words of all members, with the member's name."""
    return [f"{member}: {each}" for member, given in words.items() for each in given]


def load(parts: Mapping[int, Load], seconds: float, number: Number) -> Load | None:
    """Return the load of all members; None: no member had any."""
    if not parts:
        return None
    seen, learned = Counter[int](), Counter[int]()
    for member, part in parts.items():
        seen.update(_by_number(member, part.seen, number))
        learned.update(_by_number(member, part.learned, number))
    return Load(seconds, seen, learned, sum(part.waiting for part in parts.values()))


def _by_number(member: int, ports: Mapping[int, int], number: Number) -> dict[int, int]:
    """Counts by the bridge's port numbers; ports that it has not are left out."""
    return {
        known: count for port, count in ports.items() if (known := number(member, port)) is not None
    }


def total(counts: Iterable[Mapping[str, int]]) -> Counter[str]:
    """Return the sums by name."""
    result = Counter[str]()
    for each in counts:
        result.update(each)
    return result
