"""Port numbers of a fabric's bridge for the ports of its members.

Spanning tree numbers ports in 12 bits (802.1D-2004 9.2.7), and aggregations count down from 4095.
So the ports of all members share the numbers below.  Each member prefers an equal range, in which
its port 3 is the third.  So after a restart of the controller the ports have the same numbers.
"""

from typing import Any, NamedTuple

from ofapp.bridge.lag.aggregation import MOST
from ofapp.bridge.ports.port import LOCAL_PORT, MAX_PORTS

LAST = MAX_PORTS - MOST
"""Highest number of a port that is no aggregation."""


class MemberPort(NamedTuple):
    """A port of a member, by the number that the member's switch has for it."""

    member: int
    number: int


class Numbering:
    """Numbers of the bridge's ports.

    LOCAL of the first member is the bridge's.  A name keeps its number while its port is absent, as
    long as there are others for new ports.
    """

    def __init__(self, members: int, last: int = LAST) -> None:
        self._range = max(last // members, 1)
        self._last = last
        self._places: dict[int, MemberPort] = {}
        self._numbers: dict[MemberPort, int] = {}
        self._names: dict[int, str] = {}  # of ports that are present
        self._by_name: dict[str, int] = {}  # and of those that are absent
        self._away: dict[str, None] = {}  # names; the longest first
        self._taken: set[int] = set()

    def dump(self) -> list[list[Any]]:
        """The names of ports and their numbers as JSON-serialisable data; the longest absent first.

        A numbering that is given it has the same numbers for ports of these names.
        """
        names = [*self._away, *self._names.values()]
        return [[name, self._by_name[name]] for name in names if name in self._by_name]

    def restore(self, data: Any) -> None:
        """Restore a dump before any port is present.  Raises ValueError."""
        try:
            numbers = {str(name): int(number) for name, number in data}
        except (TypeError, ValueError) as error:
            raise ValueError(f"not the numbers of ports: {error!r}") from error
        for name, number in numbers.items():
            if 0 < number <= self._last and number not in self._taken:
                self._by_name[name], self._away[name] = number, None
                self._taken.add(number)

    def put(self, place: MemberPort, name: str) -> int | None:
        """Return the number of a port that is new or has another name; None: there is none left."""
        number = self._numbers.get(place)
        if number is None:
            number = self._number_for(place, name)
            if number is None:
                return None
            before = self._places.get(number)
            if before is not None:  # the switch has given the port another number
                del self._numbers[before]
            self._places[number], self._numbers[place] = place, number
        old = self._names.get(number, name)
        if old != name and self._by_name.get(old) == number:
            del self._by_name[old]
        self._names[number] = name
        self._by_name[name] = number
        return number

    def drop(self, place: MemberPort) -> int | None:
        """Remove a port; return its number, None if it has none."""
        number = self._numbers.pop(place, None)
        if number is not None:
            del self._places[number]
            name = self._names.pop(number)
            self._away[name] = None
        return number

    def number(self, place: MemberPort) -> int | None:
        """The bridge's number of a member's port."""
        return self._numbers.get(place)

    def place(self, number: int) -> MemberPort | None:
        """The member's port that has a number in the bridge."""
        return self._places.get(number)

    def names(self, member: int) -> dict[int, str]:
        """The names of a member's ports by the switch's number."""
        return {
            place.number: self._names[number]
            for number, place in self._places.items()
            if place.member == member
        }

    def _number_for(self, place: MemberPort, name: str) -> int | None:
        if place == (1, LOCAL_PORT):
            return LOCAL_PORT
        known = self._by_name.get(name)
        if known is not None:
            self._away.pop(name, None)
            return known
        offset = 0 if place.number == LOCAL_PORT else place.number
        number = (place.member - 1) * self._range + offset
        if not (offset < self._range and 0 < number <= self._last) or number in self._taken:
            number = next((n for n in range(self._last, 0, -1) if n not in self._taken), 0)
        if not number and self._away:
            longest = next(iter(self._away))
            del self._away[longest]
            number = self._by_name.pop(longest)
        self._taken.add(number)
        return number or None
