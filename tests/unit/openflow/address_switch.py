"""A bridge's switch, which takes messages, read as tables of addresses and ports."""

from collections.abc import Iterable, Iterator
from functools import lru_cache

import ofapp.common.hub  # noqa: F401

# isort: split
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import NOTICES, Effect, LookAgain
from ofapp.openflow.model.cookie import Feature
from ofapp.openflow.model.flow import Flow, Output
from ofapp.openflow.model.rule import TableId
from ofapp.openflow.pipeline.destination import learned_destination
from ofapp.openflow.pipeline.group_numbers import FLOOD_GROUP
from ofapp.openflow.pipeline.source import learned_source
from ofapp.openflow.switch.audit.sweep import HeldHalf, Occasion, Sweep
from ofapp.openflow.wire.messages import codec
from ofapp.openflow.wire.messages.oxm import AddressMatch, read_address_match
from tests.support.message_switch import Held, bucket_ports, used
from tests.unit.openflow.shell import Shell

_ADMITTED, _GATES, _HELD, _STATIC, _LOCAL = 100, (110, 120), 190, 250, 300
"""Priorities in table `source`, and of the flow that admits a port's frames."""
Address = tuple[int, int]
"""VID and MAC address."""


class AddressSwitch:
    """The switch of a bridge without VLANs, which holds all that the bridge's effects say.

    gates: closed, (port, None) or (None, VID); pins: port by (MAC address, VID or None), None
    where the port does not forward.
    """

    def __init__(self, bridge: Bridge) -> None:
        self.bridge = bridge
        self._shell = Shell(bridge, metered=False)
        self._shell.program()

    def apply(self, effects: Iterable[Effect]) -> None:
        """Carry effects out."""
        kept = [each for each in effects if type(each) not in NOTICES and each != LookAgain()]
        self._shell.send(kept, ahead=False)

    # What it holds

    @property
    def sources(self) -> dict[tuple[int, int, int], int]:
        """Serials by port, VID and MAC address."""
        return {
            (match.port, match.vid, match.source): held.cookie & 0xFFFFFFFF
            for _, match, held in self._flows(TableId.SOURCE)
            if held.learned
        }

    @property
    def destinations(self) -> dict[Address, tuple[int, int]]:
        """Port and serial by VID and MAC address."""
        return {
            (match.vid, match.destination): (_port(held), held.cookie & 0xFFFFFFFF)
            for _, match, held in self._flows(TableId.DESTINATION)
            if held.learned
        }

    @property
    def sticky(self) -> set[Address]:
        """Addresses that do not age."""
        flows = self._flows(TableId.SOURCE)
        return {(m.vid, m.source) for _, m, held in flows if held.feature == Feature.STICKY}

    @property
    def gates(self) -> set[tuple[int | None, int | None]]:
        port, vlan = _GATES
        flows = [*self._flows(TableId.SOURCE)]
        ports = {(match.port, None) for priority, match, _ in flows if priority == port}
        return ports | {(None, match.vid) for priority, match, _ in flows if priority == vlan}

    @property
    def held(self) -> set[Address]:
        """Addresses that are held down."""
        flows = self._flows(TableId.SOURCE)
        return {(match.vid, match.source) for priority, match, _ in flows if priority == _HELD}

    @property
    def pins(self) -> dict[tuple[int, int | None], int | None]:
        found: dict[tuple[int, int | None], int | None] = {}
        for priority, match, _ in self._flows(TableId.SOURCE):
            if priority in (_STATIC, _LOCAL):
                found[match.source, match.vid if priority == _STATIC else None] = None
        for _, match, held in self._flows(TableId.DESTINATION):
            if held.feature in (Feature.STATIC, Feature.LOCAL) and used(held.instructions).ports:
                vid = match.vid if held.feature == Feature.STATIC else None
                found[match.destination, vid] = _port(held)
        return found

    @property
    def open(self) -> set[int]:
        """Ports whose frames are admitted."""
        flows = self._flows(TableId.ADMISSION)
        return {
            match.port
            for priority, match, held in flows
            if priority == _ADMITTED and held.feature == Feature.PORT
        }

    @property
    def flood(self) -> frozenset[int]:
        """Ports of the flood group."""
        return bucket_ports(self._shell.switch.groups[FLOOD_GROUP])

    # What happens to it by itself, or by other programs

    def add_source(self, port: int, vid: int, mac: int, serial: int) -> None:
        """Add the source half of an address."""
        self._take(codec.add_flow(learned_source(port, vid, mac, serial, 300)))

    def add_destination(self, port: int, vid: int, mac: int, serial: int) -> None:
        """Add the destination half of an address."""
        self._take(codec.add_flow(_destination(port, vid, mac, serial)))

    def age(self, port: int, vid: int, mac: int) -> int:
        """End a source half, as its idle timeout does; gives its serial."""
        serial = self.sources[port, vid, mac]
        self._take(codec.delete_flow(learned_source(port, vid, mac, serial, 300)))
        return serial

    def lose_destinations(self) -> None:
        """Delete all destination halves."""
        for (vid, mac), (port, serial) in self.destinations.items():
            for sticky in (True, False):
                self._take(codec.delete_flow(_destination(port, vid, mac, serial, sticky)))

    def bring_in_line(self, bridge: Bridge, number: int, occasion: Occasion, now: float) -> None:
        """Do what a session does: compare the fixed part, and sweep the learned part."""
        if bridge is not self.bridge:
            learned = [
                (table, key, held)
                for table, flows in self._shell.switch.tables.items()
                for key, held in flows.items()
                if held.learned
            ]
            self.bridge, self._shell = bridge, Shell(bridge, metered=False)
            self._shell.program()
            for table, key, held in learned:
                self._shell.switch.tables[table][key] = held
        sweep, sticky = Sweep(bridge, number, occasion, now), self.sticky
        for (port, vid, mac), serial in self.sources.items():
            half = HeldHalf(port, vid, mac, serial, 0, (vid, mac) in sticky)
            self.apply(sweep.source(half, now))
        for (vid, mac), (port, serial) in self.destinations.items():
            half = HeldHalf(port, vid, mac, serial, 0, (vid, mac) in sticky)
            self.apply(sweep.destination(half, now))
        self.apply(sweep.finish(now))
        self._shell.compare()

    def _flows(self, table: TableId) -> Iterator[tuple[int, AddressMatch, Held]]:
        """Priority, match and rest of each flow that matches ports and addresses alone."""
        for (_, priority, match), held in self._shell.switch.tables[table].items():
            found = _read(match)
            if found is not None:
                yield priority, found, held

    def _take(self, message: bytes) -> None:
        for _ in self._shell.switch.take(message):
            pass


_read = lru_cache(1 << 14)(read_address_match)


def _port(held: Held) -> int:
    (port,) = used(held.instructions).ports
    return port


def _destination(port: int, vid: int, mac: int, serial: int, sticky: bool = False) -> Flow:
    return learned_destination(vid, mac, serial, sticky, (Output(port),))
