"""What one input changes, collected in any order, and its effects in the order that is needed."""

from collections.abc import Callable

from ofapp.bridge.effects import Effect, ForwardFrame, StateChanged
from ofapp.bridge.first_hop.bindings.table import BindingTable

DOCUMENT = "bindings"
"""Name of the stored document."""


class Changes:
    """Changes of one input.

    frames: to be sent or forwarded, which rely on no binding; confirmed: those that are forwarded
    after the new bindings (the switch carries effects out in order); events: for people.
    stored: the document is to be written.
    now, at: the time of the input: that of the core, and the protocol's.
    """

    def __init__(self, now: float, at: float) -> None:
        self.now = now
        self.at = at
        self.frames: list[Effect] = []
        self.confirmed: list[ForwardFrame] = []
        self.events: list[Effect] = []
        self.stored = False
        self._hosts: dict[tuple[str, int, int], None] = {}

    def touch(self, port: str, vid: int, mac: int) -> None:
        """Note that the addresses of a host on a port have changed."""
        self._hosts[port, vid, mac] = None
        self.stored = True

    @property
    def touched(self) -> int:
        """Number of hosts that have changed."""
        return len(self._hosts)

    def hosts_of(self, port: str, table: BindingTable) -> None:
        """Have the switch set all hosts of a port."""
        self._hosts.update(((port, vid, mac), None) for vid, mac in table.hosts(port))

    def effects(self, table: BindingTable, guarded: Callable[[str], int | None]) -> list[Effect]:
        """All effects.

        guarded: gives the number of a port that is guarded and present.
        """
        set_hosts: list[Effect] = []
        numbers = {name: guarded(name) for name in {name for name, _, _ in self._hosts}}
        for name, vid, mac in self._hosts:
            number = numbers[name]
            if number is not None:
                set_hosts.append(table.bound(number, name, vid, mac))
        effects: list[Effect] = [*self.frames, *set_hosts, *self.confirmed, *self.events]
        return effects + ([StateChanged(DOCUMENT)] if self.stored else [])
