"""What must survive a restart and no switch can be asked for: entries set at run time.

One JSON file, replaced as a whole and synced, so that it is either the old or the new one.
"""

from __future__ import annotations

import json
import logging
import os
import tempfile
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ofapp.bridge.mac import parse_mac
from ofapp.bridge.multicast import parse
from ofapp.bridge.permanent import check_addresses

LOG = logging.getLogger(__name__)

_VERSION = 1


class StateError(Exception):
    """The state file cannot be read or is not one."""


@dataclass(frozen=True, slots=True)
class StaticEntry:
    """vlan: VID; mac: text form; port: the port's name."""

    vlan: int
    mac: str
    port: str

    def __post_init__(self) -> None:
        parse_mac(self.mac)
        if not isinstance(self.vlan, int) or not isinstance(self.port, str):
            raise TypeError(f"{self} is not a static entry")


@dataclass(frozen=True, slots=True)
class MdbEntry:
    """A permanent multicast entry.  vlan: VID; group, source: text form; port: its name."""

    vlan: int
    group: str
    port: str
    source: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.vlan, int) or not isinstance(self.port, str):
            raise TypeError(f"{self} is not a permanent entry")
        check_addresses(parse(self.group), None if self.source is None else parse(self.source))


class State:
    """The static and the permanent multicast entries of each bridge.

    directory None: nothing is remembered.
    """

    def __init__(self, directory: Path | None) -> None:
        path = self._path = None if directory is None else directory / "state.json"
        self.snapshots = Snapshots(directory)
        self._static: dict[int, tuple[StaticEntry, ...]] = {}
        self._mdb: dict[int, tuple[MdbEntry, ...]] = {}
        if path is not None and path.exists():
            self._static, self._mdb = _read(path)

    def static_entries(self, datapath_id: int) -> tuple[StaticEntry, ...] | None:
        """A bridge's entries; None when the bridge is not known."""
        return self._static.get(datapath_id)

    def mdb_entries(self, datapath_id: int) -> tuple[MdbEntry, ...]:
        """A bridge's permanent multicast entries."""
        return self._mdb.get(datapath_id, ())

    def remember(
        self, datapath_id: int, entries: Iterable[StaticEntry], mdb: Iterable[MdbEntry] = ()
    ) -> None:
        """Keep these as the bridge's entries.  A disk that fails is logged, not fatal."""
        new, new_mdb = tuple(entries), tuple(mdb)
        if (self._static.get(datapath_id), self.mdb_entries(datapath_id)) == (new, new_mdb):
            return
        self._static[datapath_id], self._mdb[datapath_id] = new, new_mdb
        self._save()

    def forget(self, datapath_id: int) -> None:
        """Know nothing of the bridge any more."""
        known = self._static.pop(datapath_id, None)
        self._mdb.pop(datapath_id, None)
        if known is not None:
            self._save()

    def _save(self) -> None:
        if self._path is not None:
            try:
                self._write(self._path)
            except OSError as error:
                LOG.error("static entries could not be saved: %s", error)

    def _write(self, path: Path) -> None:
        bridges: dict[str, dict[str, Any]] = {}
        for datapath_id, entries in self._static.items():
            bridge = bridges[f"{datapath_id:016x}"] = {"static": [*map(asdict, entries)]}
            if mdb := self.mdb_entries(datapath_id):
                bridge["mdb"] = [*map(asdict, mdb)]
        _replace(path, json.dumps({"version": _VERSION, "bridges": bridges}, indent=1), sync=True)


class Snapshots:
    """What a bridge's protocols knew a moment ago, for the next process to go on with.

    Written often and not synced: it serves a controller that crashed, not a machine that did.
    directory None: nothing is kept.
    """

    def __init__(self, directory: Path | None) -> None:
        self._directory = directory

    def save(self, datapath_id: int, document: Any) -> None:
        """Replace the bridge's snapshot."""
        if self._directory is not None:
            try:
                _replace(self._path(datapath_id), json.dumps(document))
            except OSError as error:
                LOG.error("the state of a bridge could not be saved: %s", error)

    def load(self, datapath_id: int) -> Any:
        """The bridge's snapshot, None without one that can be read."""
        if self._directory is None:
            return None
        try:
            return json.loads(self._path(datapath_id).read_text())
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            LOG.warning("a snapshot is ignored: %s", error)
            return None

    def delete(self, datapath_id: int) -> None:
        """Keep none of the bridge."""
        if self._directory is not None:
            try:
                self._path(datapath_id).unlink(missing_ok=True)
            except OSError as error:
                LOG.error("the state of a bridge could not be deleted: %s", error)

    def _path(self, datapath_id: int) -> Path:
        assert self._directory is not None
        return self._directory / f"bridge-{datapath_id:016x}.json"


def _replace(path: Path, text: str, sync: bool = False) -> None:
    """The file has the old or the new text, never a part."""
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as file:
        file.write(text)
        file.flush()
        if sync:
            os.fsync(file.fileno())
    os.replace(file.name, path)


def state_directory(directory: Path) -> Path | None:
    """The directory, made if need be; None when it cannot be written to."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        LOG.warning("nothing will outlive this process: %s", error)
        return None
    if not os.access(directory, os.W_OK):
        LOG.warning("nothing will outlive this process: %s is not writable", directory)
        return None
    return directory


def _read(
    path: Path,
) -> tuple[dict[int, tuple[StaticEntry, ...]], dict[int, tuple[MdbEntry, ...]]]:
    """A bridge without `mdb` has no such entries, or was written before there were any."""
    try:
        document = json.loads(path.read_text())
        if document["version"] != _VERSION:
            raise ValueError(f"version {document['version']} is not {_VERSION}")
        static, mdb = {}, {}
        for name, bridge in document["bridges"].items():
            datapath_id = int(name, 16)
            static[datapath_id] = tuple(StaticEntry(**entry) for entry in bridge["static"])
            mdb[datapath_id] = tuple(MdbEntry(**entry) for entry in bridge.get("mdb", ()))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise StateError(f"{path} is not a state file of ofapp: {error}") from error
    return static, mdb
