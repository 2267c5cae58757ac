"""Objects in their order, and which comes next (RFC 3416 4.2.2).

A section is what belongs to one prefix. It is made when it is asked for, so that a walk
through the ports does not read a hundred thousand addresses.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from ofapp.snmp.values import Oid, Value

Row = tuple[Oid, Value]
Json = dict[str, Any]


class Subtree(NamedTuple):
    """prefix: prefix of all names in it; rows: makes them, sorted by name."""

    prefix: Oid
    rows: Callable[[], Sequence[Row]]


class Objects:
    """All of a bridge.  sections: none has the prefix of another one."""

    def __init__(self, sections: Iterable[Subtree]) -> None:
        self._sections = sorted(sections, key=lambda section: section.prefix)

    def get(self, name: Oid) -> Value | None:
        """The object of this very name."""
        for section in self._sections:
            if name[: len(section.prefix)] == section.prefix:
                rows = section.rows()
                at = bisect_left(rows, name, key=_name)
                return rows[at][1] if at < len(rows) and rows[at][0] == name else None
        return None

    def next(self, name: Oid, include: bool, end: Oid) -> Row | None:
        """The first one behind a name, or (include) of the name, that is before `end`."""
        find = bisect_left if include else bisect_right
        for section in self._sections:
            last = (*section.prefix, 1 << 33)
            if last <= name or (end and section.prefix >= end):
                continue
            rows = section.rows()
            at = find(rows, name, key=_name)
            if at < len(rows):
                return rows[at] if not end or rows[at][0] < end else None
        return None


def table(prefix: Oid, columns: Iterable[tuple[int, Iterable[tuple[Oid, Value]]]]) -> Iterator[Row]:
    """The rows of a table, column by column: each gives its number, and values by their index."""
    for number, cells in columns:
        for index, value in cells:
            yield (*prefix, 1, number, *index), value


def column(ports: Iterable[Json], of: Callable[[Json], Value]) -> list[tuple[Oid, Value]]:
    """The cells of a column, by the numbers of ports."""
    return [((port["number"],), of(port)) for port in ports]


def scalars(prefix: Oid, values: Iterable[tuple[int, Value]]) -> Iterator[Row]:
    """Objects that there is one of each."""
    return (((*prefix, number, 0), value) for number, value in values)


def ordered(*rows: Iterable[Row]) -> list[Row]:
    """All of them, by name."""
    return sorted((row for some in rows for row in some), key=_name)


def _name(row: Row) -> Oid:
    return row[0]
