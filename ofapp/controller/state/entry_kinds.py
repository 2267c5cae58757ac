"""The kinds of entries that users add to a bridge, in the file or at run time.

A kind is one class here, which `KINDS` names, and the list of the file that has its name.  Entries
of the file follow the file (`configuration.run_time_entries`); the others are stored (`entries`).
An instance is the stored form of an entry: text and numbers of JSON.  Those that were read from a
document need a `check`; those of the configuration and of a bridge are correct.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

from ofapp.bridge import multicast, queries
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import Effect
from ofapp.bridge.effects.content import BoundAddress
from ofapp.bridge.first_hop.binding import Binding, Origin
from ofapp.bridge.mac import format_mac, is_group, parse_mac
from ofapp.bridge.multicast.permanent_entries import STATIC, PermanentEntry, check_addresses
from ofapp.config.bridge import Bridge as Settings


class UserEntry(ABC):
    """An entry of a user.

    list_name: name of the list of such entries, in the file and in the stored document.
    """

    __slots__ = ("_encoded",)
    list_name: ClassVar[str]
    _encoded: str

    @property
    def encoded(self) -> str:
        """The stored form as JSON, kept since all of a bridge are written when one changes."""
        if not hasattr(self, "_encoded"):
            names = (field.name for field in fields(self))  # type: ignore[arg-type]
            values = {name: getattr(self, name) for name in names}
            object.__setattr__(self, "_encoded", json.dumps(values))
        return self._encoded

    @classmethod
    @abstractmethod
    def filed(cls, settings: Settings) -> Iterable[Self]:
        """The entries of this kind in the file, VLANs by VID."""

    @classmethod
    @abstractmethod
    def present(cls, bridge: Bridge) -> Iterable[Self]:
        """The entries of this kind that users have added to a bridge."""

    @property
    @abstractmethod
    def key(self) -> Hashable:
        """The part that is unique among the entries of a kind."""

    @abstractmethod
    def check(self) -> None:
        """Check the values; ValueError, TypeError or AttributeError."""

    @abstractmethod
    def put(self, bridge: Bridge, from_file: bool, now: float) -> list[Effect]:
        """Add it to a bridge, in place of the one with its key.  Raises InputError."""

    @abstractmethod
    def remove(self, bridge: Bridge, now: float) -> list[Effect]:
        """Remove it from a bridge.  Raises InputError."""


def _check_place(vlan: Any, port: Any) -> None:
    if type(vlan) is not int or not 0 <= vlan <= 4094:
        raise ValueError(f"{vlan!r} is not a VID")
    if not isinstance(port, str):
        raise TypeError(f"{port!r} is not the name of a port")


def _check_host(text: str) -> None:
    mac = parse_mac(text)
    if not mac or is_group(mac):
        raise ValueError(f"{text} is not the address of one host")


@dataclass(frozen=True, slots=True)
class StaticEntry(UserEntry):
    """An address that neither moves nor ages.  vlan: VID; mac: text form; port: its name."""

    list_name = "static"

    vlan: int
    mac: str
    port: str

    def check(self) -> None:
        """See `UserEntry`."""
        _check_place(self.vlan, self.port)
        _check_host(self.mac)

    @classmethod
    def filed(cls, settings: Settings) -> Iterator[StaticEntry]:
        """See `UserEntry`."""
        for entry in settings.static:
            yield cls(settings.vid(entry.vlan), entry.mac, entry.port)

    @classmethod
    def present(cls, bridge: Bridge) -> Iterator[StaticEntry]:
        """See `UserEntry`."""
        for (vid, mac), port in queries.static_entries(bridge).items():
            yield cls(vid, format_mac(mac), port)

    @property
    def key(self) -> Hashable:
        """See `UserEntry`."""
        return self.vlan, parse_mac(self.mac)

    def put(self, bridge: Bridge, from_file: bool, now: float) -> list[Effect]:
        """See `UserEntry`."""
        return bridge.add_static(self.vlan, parse_mac(self.mac), self.port, now)

    def remove(self, bridge: Bridge, now: float) -> list[Effect]:
        """See `UserEntry`."""
        return bridge.remove_static(self.vlan, parse_mac(self.mac))


@dataclass(frozen=True, slots=True)
class MdbEntry(UserEntry):
    """A permanent multicast entry.  vlan: VID; port: its name; addresses in text form."""

    list_name = "mdb"

    vlan: int
    group: str
    port: str
    source: str | None = None
    exclude: tuple[str, ...] = ()
    proto: str = STATIC

    def __post_init__(self) -> None:
        object.__setattr__(self, "exclude", tuple(self.exclude))  # a list in JSON

    def check(self) -> None:
        """See `UserEntry`."""
        _check_place(self.vlan, self.port)
        entry = self._permanent()
        check_addresses(entry.group, entry.source, entry.exclude)

    def _permanent(self) -> PermanentEntry:
        return PermanentEntry.parse(
            self.vlan, self.group, self.port, self.source, self.exclude, self.proto
        )

    @classmethod
    def filed(cls, settings: Settings) -> Iterator[MdbEntry]:
        """See `UserEntry`."""
        for entry in settings.mdb:
            place = settings.vid(entry.vlan), entry.group, entry.port
            yield cls(*place, entry.source, entry.exclude, entry.proto)

    @classmethod
    def present(cls, bridge: Bridge) -> Iterator[MdbEntry]:
        """See `UserEntry`."""
        for entry in queries.permanent_entries(bridge):
            yield cls(
                entry.vid,
                multicast.text(entry.group),
                entry.port,
                None if entry.source is None else multicast.text(entry.source),
                tuple(map(multicast.text, entry.exclude)),
                entry.proto,
            )

    @property
    def key(self) -> Hashable:
        """See `UserEntry`."""
        return self._permanent().key

    def put(self, bridge: Bridge, from_file: bool, now: float) -> list[Effect]:
        """See `UserEntry`."""
        return bridge.multicast.add_permanent(self._permanent(), now)

    def remove(self, bridge: Bridge, now: float) -> list[Effect]:
        """See `UserEntry`."""
        return bridge.multicast.remove_permanent(self._permanent(), now)


@dataclass(frozen=True, slots=True)
class BindingEntry(UserEntry):
    """A binding of a user.  vlan: VID; mac, address: text form; port: its name.

    shared: see `Binding`.
    """

    list_name = "bindings"

    vlan: int
    mac: str
    port: str
    address: str
    shared: bool = False

    def check(self) -> None:
        """See `UserEntry`."""
        _check_place(self.vlan, self.port)
        _check_host(self.mac)
        BoundAddress.parse(self.address)
        if not isinstance(self.shared, bool):
            raise TypeError(f"{self.shared!r} is neither true nor false")

    @classmethod
    def filed(cls, settings: Settings) -> Iterator[BindingEntry]:
        """See `UserEntry`."""
        for entry in settings.bindings:
            vid = settings.vid(entry.vlan)
            yield cls(vid, entry.mac, entry.port, entry.address, entry.shared)

    @classmethod
    def of(cls, binding: Binding) -> BindingEntry:
        """The stored form of a binding."""
        place = binding.vid, format_mac(binding.mac), binding.port
        return cls(*place, str(binding.address), binding.shared)

    @classmethod
    def present(cls, bridge: Bridge) -> Iterator[BindingEntry]:
        """See `UserEntry`."""
        bindings = bridge.first_hop.bindings()
        return (cls.of(binding) for binding in bindings if not binding.origin.dynamic)

    @property
    def key(self) -> Hashable:
        """See `UserEntry`."""
        sharer = (self.port, parse_mac(self.mac)) if self.shared else None
        return self.vlan, BoundAddress.parse(self.address), sharer

    def put(self, bridge: Bridge, from_file: bool, now: float) -> list[Effect]:
        """See `UserEntry`; InputError also if another user's binding has the address."""
        first_hop, new = bridge.first_hop, self._binding
        origin = Origin.FILE if from_file else Origin.API
        effects: list[Effect] = []
        for old in first_hop.bindings_of(new.vid, new.address) if from_file else ():
            replaced = not (new.shared and old.shared) or (old.port, old.mac) == (new.port, new.mac)
            if old.origin is origin and replaced:
                effects += first_hop.remove(old.vid, old.address, now, [(old.port, old.mac)])
        place = new.port, new.vid, new.mac, new.address
        return [*effects, *first_hop.add(*place, origin, now, new.shared)]

    def remove(self, bridge: Bridge, now: float) -> list[Effect]:
        """See `UserEntry`."""
        own = self._binding
        return bridge.first_hop.remove(own.vid, own.address, now, [(own.port, own.mac)])

    @property
    def _binding(self) -> Binding:
        place = self.port, self.vlan, parse_mac(self.mac)
        return Binding(*place, BoundAddress.parse(self.address), Origin.API, shared=self.shared)


KINDS: tuple[type[UserEntry], ...] = (StaticEntry, MdbEntry, BindingEntry)
"""All kinds, in the order in which they are added."""
