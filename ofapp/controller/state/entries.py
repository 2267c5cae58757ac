"""The entries of a bridge that were set at run time, and their form on disk."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from ofapp.bridge.mac import is_group, parse_mac
from ofapp.bridge.multicast.permanent_entries import STATIC, PermanentEntry, check_addresses

VERSION = 2
FIRST_VERSION = 1
"""One file, `state.json`, for all bridges."""


def _check_place(vlan: Any, port: Any) -> None:
    if type(vlan) is not int or not 0 <= vlan <= 4094:
        raise ValueError(f"{vlan!r} is not a VID")
    if not isinstance(port, str):
        raise TypeError(f"{port!r} is not the name of a port")


@dataclass(frozen=True, slots=True)
class StaticEntry:
    """vlan: VID; mac: text form; port: the port's name."""

    vlan: int
    mac: str
    port: str

    def __post_init__(self) -> None:
        _check_place(self.vlan, self.port)
        mac = parse_mac(self.mac)
        if not mac or is_group(mac):
            raise ValueError(f"{self.mac} is not the address of one host")


@dataclass(frozen=True, slots=True)
class MdbEntry:
    """A permanent multicast entry.  vlan: VID; port: its name; addresses in text form."""

    vlan: int
    group: str
    port: str
    source: str | None = None
    exclude: tuple[str, ...] = ()
    proto: str = STATIC

    def __post_init__(self) -> None:
        _check_place(self.vlan, self.port)
        object.__setattr__(self, "exclude", tuple(self.exclude))  # a list in JSON
        entry = PermanentEntry.parse(
            self.vlan, self.group, self.port, self.source, self.exclude, self.proto
        )
        check_addresses(entry.group, entry.source, entry.exclude)


@dataclass(frozen=True, slots=True)
class Kept:
    """A bridge's static and permanent multicast entries.

    asked: a user has set or removed one of them; otherwise they were read from the switch.
    """

    static: tuple[StaticEntry, ...] = ()
    mdb: tuple[MdbEntry, ...] = ()
    asked: bool = False

    @property
    def empty(self) -> bool:
        """Whether there are no entries."""
        return not (self.static or self.mdb)


def encode(kept: Kept) -> bytes:
    """Entries as the content of a file."""
    document = {
        "version": VERSION,
        "asked": kept.asked,
        "static": [*map(asdict, kept.static)],
        "mdb": [*map(asdict, kept.mdb)],
    }
    return json.dumps(document, indent=1).encode()


def decode(data: bytes) -> Kept:
    """Entries from the content of a file; ValueError."""
    document = loaded(data, VERSION)
    if type(document.get("asked")) is not bool:
        raise ValueError("it does not say whether a user has asked for these entries")
    return _kept(document, document["asked"])


def decode_first(data: bytes) -> tuple[dict[int, Kept], list[str]]:
    """Entries of the first version's single file, by datapath id, and the mistakes in it."""
    bridges = loaded(data, FIRST_VERSION).get("bridges")
    if type(bridges) is not dict:
        raise ValueError("it has no bridges")
    found: dict[int, Kept] = {}
    wrong: list[str] = []
    for name, bridge in bridges.items():
        try:
            datapath_id = int(name, 16)
            if not 0 < datapath_id < 1 << 64:
                raise ValueError("no datapath id")
            kept = _kept(bridge, asked=False)
            found[datapath_id] = Kept(kept.static, kept.mdb, asked=not kept.empty)
        except (ValueError, TypeError) as error:
            wrong.append(f"bridge {name}: {error}")
    return found, wrong


def loads(data: bytes) -> Any:
    """JSON from a file with any content; ValueError."""
    try:
        return json.loads(data)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def loaded(data: bytes, version: int) -> dict[str, Any]:
    """The object in a document of that version; ValueError."""
    document = loads(data)
    if not isinstance(document, dict) or document.get("version") != version:
        raise ValueError(f"it is not a document of version {version}")
    return document


def _kept(bridge: Any, asked: bool) -> Kept:
    """Entries of a bridge; older versions wrote no `mdb`."""
    if type(bridge) is not dict or type(bridge.get("static")) is not list:
        raise ValueError("it has no list of static entries")
    mdb = bridge.get("mdb", [])
    if type(mdb) is not list:
        raise ValueError("mdb is not a list")
    try:
        return Kept(
            tuple(StaticEntry(**entry) for entry in bridge["static"]),
            tuple(MdbEntry(**entry) for entry in mdb),
            asked,
        )
    except (TypeError, AttributeError) as error:
        raise ValueError(f"an entry is none: {error}") from None
