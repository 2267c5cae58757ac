"""Learned addresses of a fabric's bridge that are on the ports of one member."""

from collections.abc import Iterable

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import Effect, ForFabric, OnMember, RemoveDestination
from ofapp.bridge.fabric.state.conversations import AgedOut
from ofapp.bridge.fabric.state.places import Places
from ofapp.bridge.fdb.fdb import COHORTS, Entry
from ofapp.bridge.fdb.learning import Sample


def for_fabric(effects: list[Effect]) -> list[Effect]:
    """Effects of the bridge as one notice for all members."""
    return [ForFabric(tuple(effects))] if effects else []


class MemberAddresses:
    """Learned addresses of one member, in its port numbers.  Methods: see `LearnedAddresses`.

    Hosts on an aggregation are at each member that has ports in use of it.
    """

    def __init__(
        self, bridge: Bridge, places: Places, member: int, aged: AgedOut | None = None
    ) -> None:
        """aged: shared with the other members."""
        self._aged = AgedOut() if aged is None else aged
        self._all = bridge.addresses
        self._guard = bridge.learning.move_guard
        self._withdraw = bridge.learning.withdraw
        self._places = places
        self._member = member
        self.cohorts, self.some_stick = self._all.cohorts, self._all.some_stick
        self.count, self.counted = self._all.count, self._all.counted

    def learn(self, samples: Iterable[Sample], now: float) -> list[Effect]:
        """Take a batch of sightings."""
        number, member = self._places.number, self._member
        seen = [(number(member, port) or 0, vid, mac) for port, vid, mac in samples]
        return for_fabric(self._all.learn(seen, now))

    def expired(self, vid: int, mac: int, serial: int) -> list[Effect]:
        """Remove an address whose source half this member has aged out."""
        entry = self.learned(vid, mac)
        if entry is None:
            return []
        members = {place.member for place in self._places.attachments(entry.port)}
        if len(members) > 1 and entry.serial == serial:
            if not self._aged.at_all((vid, mac), serial, self._member, members):
                return []
            return for_fabric(self._all.expired(vid, mac, serial))
        return for_fabric(
            [
                OnMember(self._member, effect) if type(effect) is RemoveDestination else effect
                for effect in self._all.expired(vid, mac, serial)
            ]
        )

    def forget(self, vid: int, mac: int) -> list[Effect]:
        """Drop an entry from the FDB only."""
        return for_fabric(self._all.forget(vid, mac))

    def adopt(
        self, port: int, vid: int, mac: int, serial: int, now: float, sticky: bool = False
    ) -> tuple[Entry | None, list[Effect]]:
        """Take over an address whose flows the member holds; of two members the later is right."""
        known, number = self._all.learned(vid, mac), self._number(port)
        effects: list[Effect] = []
        if known is not None:
            if not 0 < (serial - known.serial) % COHORTS < COHORTS // 2:
                return None, effects
            effects += self._withdraw(vid, mac)
        entry, adopted = self._all.adopt(number, vid, mac, serial, now, sticky)
        return entry, for_fabric(effects + adopted)

    def adopt_held(
        self, vid: int, mac: int, ports: tuple[int, int], age: float, now: float
    ) -> list[Effect]:
        """Take over a hold-down, unless one of its ports is at another member."""
        port, elsewhere = (self._places.number(self._member, each) for each in ports)
        if port is None or elsewhere is None:
            return []
        return for_fabric(self._all.adopt_held(vid, mac, (port, elsewhere), age, now))

    def settle_held(self) -> list[Effect]:
        """End hold-downs of unknown addresses on this member's ports."""
        unknown = [
            address
            for address, held in [*self._guard.held.items()]
            if self._here(held.port) and self._all.get(*address) is None
        ]
        return for_fabric([effect for each in unknown for effect in self._guard.let_go(each)])

    def reinstall(self, vid: int, mac: int, entry: Entry, now: float) -> list[Effect]:
        """Put an address back that the member has lost."""
        return for_fabric(self._all.reinstall(vid, mac, entry, now))

    def forwards(self, port: int) -> bool:
        """Whether what is learned on the port belongs in the switch."""
        return self._all.forwards(self._number(port))

    def back(self) -> frozenset[int]:
        """The ports that are open again, whose addresses the switch has lost."""
        return self._ours(self._all.back())

    def taken_back(self, ports: Iterable[int]) -> None:
        """Note that the switch has the addresses of these ports again."""
        self._all.taken_back(map(self._number, ports))

    def cohort(self, serial: int) -> list[tuple[int, int, Entry]]:
        """The entries with a serial on this member's ports."""
        return [each for each in self._all.cohort(serial) if self._here(each[2].port)]

    def __len__(self) -> int:
        """Number of learned addresses on this member's ports."""
        return sum(self.by_port().values())

    def by_port(self) -> dict[int, int]:
        """Number of learned addresses by port."""
        return dict(self._places.out(self._member, self._all.by_port().items()))

    def lost(self) -> frozenset[int]:
        """The ports whose addresses the switch has lost."""
        return self._ours(self._all.lost())

    def learned(self, vid: int, mac: int) -> Entry | None:
        """The entry of an address that was learned at this member, or None."""
        entry = self._all.learned(vid, mac)
        return entry if entry is not None and self._here(entry.port) else None

    def port_of(self, entry: Entry) -> int:
        """The switch's number of the port where an entry is."""
        return self._places.on(self._member, entry.port) or 0

    def installed(self, vid: int, mac: int) -> bool:
        """Whether this member should have the flows of a local host."""
        entry = self._all.get(vid, mac)
        here = entry is not None and self._here(entry.port)
        return here and self._all.installed(vid, mac)

    def _number(self, port: int) -> int:
        return self._places.number(self._member, port) or 0

    def _here(self, port: int) -> bool:
        return self._places.is_attached(self._member, port)

    def _ours(self, ports: Iterable[int]) -> frozenset[int]:
        return frozenset(self._places.here(self._member, ports))
