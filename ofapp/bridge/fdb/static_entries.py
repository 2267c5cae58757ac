"""Addresses that do not move: static entries, which are configured, and the bridge's own.

A static entry belongs to a port's name, not to its number: it stays when the port is removed, and
follows the port of that name.
"""

from collections.abc import Iterator, Mapping

from ofapp.bridge.effects import Effect, PutStatic, RemoveStatic
from ofapp.bridge.fdb.fdb import NO_PORT, Entry, EntryType
from ofapp.bridge.fdb.learning import Learning
from ofapp.bridge.input_error import InputError
from ofapp.bridge.mac import format_mac, is_group
from ofapp.bridge.ports.port import LOCAL_PORT, PortTable


class StaticEntries:
    """The static and local entries of a bridge.

    ports: (vid, mac) of a static entry -> the name of its port, present or not.
    """

    def __init__(self, learning: Learning, ports: PortTable) -> None:
        self.ports: dict[tuple[int, int], str] = {}
        self._learning = learning
        self._fdb = learning.fdb
        self._table = ports

    def __iter__(self) -> Iterator[PutStatic]:
        """Every address that does not move, as the datapath should have it."""
        for mac, port in self._learning.local.items():
            yield PutStatic(mac, None, port)
        for vid, mac in self.ports:
            yield self._put_static(vid, mac)

    def on(self, port: int) -> list[PutStatic]:
        """The addresses that are on a port."""
        return [static for static in self if static.port == port]

    def add(self, vid: int, mac: int, port_name: str, now: float) -> list[Effect]:
        """Fix an address to a port, whether the port is there yet or not.

        InputError when the address cannot be one host's or is the bridge's own.
        """
        if not 0 <= vid <= 4094:
            raise InputError("vlan", f"{vid} is not a VID: 0 (untagged) to 4094")
        self._learning.check_host(mac)
        effects: list[Effect] = []
        entry = self._fdb.get(vid, mac)
        if entry is not None and entry.was_learned:
            effects += self._learning.withdraw(vid, mac)
        elif entry is not None:
            self._fdb.remove(vid, mac)
        self.ports[vid, mac] = port_name
        port = self._table.named(port_name)
        self._fdb.add(vid, mac, Entry(port.number if port else NO_PORT, EntryType.STATIC, 0, now))
        return [*effects, self._put_static(vid, mac)]

    def remove(self, vid: int, mac: int) -> list[Effect]:
        """Let the address be learned again; InputError when it is not a static one."""
        if (vid, mac) not in self.ports:
            raise InputError("mac", f"{format_mac(mac)} in VLAN {vid} is not a static entry")
        del self.ports[vid, mac]
        self._fdb.remove(vid, mac)
        return [RemoveStatic(mac, vid)]

    def rename(self, old_name: str, name: str) -> None:
        """Follow a port to its new name with its entries."""
        for key, port_name in self.ports.items():
            if port_name == old_name:
                self.ports[key] = name

    def place(self, ports: Mapping[str, int]) -> list[Effect]:
        """Set the numbers of ports by name, NO_PORT for those that are gone."""
        effects: list[Effect] = []
        for (vid, mac), name in self.ports.items():
            entry = self._fdb.tables[vid][mac]
            number = ports.get(name, entry.port)
            if entry.port != number:
                entry.port = number
                effects.append(self._put_static(vid, mac))
        return effects

    def follow(self, states: Mapping[int, bool]) -> list[Effect]:
        """Send to addresses on ports that forward now, and no longer on those that do not.

        states: whether a port forwards, by number, for the ports that have another state.
        """
        effects: list[Effect] = []
        for vid, mac in self.ports:
            port = self._fdb.tables[vid][mac].port
            if port in states:
                effects.append(PutStatic(mac, vid, port, states[port]))
        return effects

    def set_local(self, mac: int | None) -> list[Effect]:
        """Set the bridge's own address on LOCAL, on every VID; it displaces a learned one."""
        effects: list[Effect] = []
        local = self._learning.local
        for old in [old for old in local if old != mac]:
            del local[old]
            effects.append(RemoveStatic(old, None))
        if mac and not is_group(mac) and mac not in local:
            local[mac] = LOCAL_PORT
            for vid in list(self._fdb.tables):
                entry = self._fdb.get(vid, mac)
                if entry is not None and entry.was_learned:
                    effects += self._learning.withdraw(vid, mac)
            effects.append(PutStatic(mac, None, LOCAL_PORT))
        return effects

    def _put_static(self, vid: int, mac: int) -> PutStatic:
        port = self._fdb.tables[vid][mac].port
        return PutStatic(mac, vid, port or None, not port or self._learning.forwards(port))
