"""What a bridge's protocols knew a moment ago, for the next process to go on with."""

from __future__ import annotations

import json
import logging
import re
from functools import partial
from pathlib import Path
from typing import Any

from ofapp.bridge.event import Event, Severity
from ofapp.common.files import read_regular
from ofapp.controller.state import disk
from ofapp.controller.state.entries import loads
from ofapp.controller.state.keeper import Keeper, Tell
from ofapp.controller.state.marks import Marks

LOG = logging.getLogger(__name__)

MAX_SNAPSHOTS = 1024
"""Kept; whoever reaches the OpenFlow port can invent any number of datapath ids."""

MAX_BYTES = 4 << 20
"""Of one: some 3,000 ports."""

MAX_TOTAL = 256 << 20
"""Bytes of all."""


class Snapshots:
    """Written often and not synced: it serves a controller that crashed, not a machine that did.

    One that is struck does not count from that very moment (`marks`).

    directory None: nothing is kept.
    kind: what the files' names begin with.
    """

    def __init__(
        self, directory: Path | None, keeper: Keeper, tell: Tell, kind: str = "bridge"
    ) -> None:
        self._directory = directory
        self._kind = kind
        self._keeper = keeper
        self._tell = tell
        self._sizes = {} if directory is None else _found(directory, kind)  # the oldest first
        marks = "marks" if kind == "bridge" else f"{kind}-marks"
        path = None if directory is None else directory / marks
        self._marks = Marks(path, MAX_SNAPSHOTS, self._sizes)

    def known(self) -> list[int]:
        """The datapath ids of the bridges of which there are snapshots."""
        return [*self._sizes]

    def strike(self, datapath_id: int, document: Any) -> None:
        """What was saved does not count any more, from now on; this does, soon."""
        self._save(datapath_id, document, struck=True)

    def save(self, datapath_id: int, document: Any) -> None:
        """Replace the bridge's snapshot, soon."""
        self._save(datapath_id, document, struck=False)

    def _save(self, datapath_id: int, document: Any, struck: bool) -> None:
        if self._directory is None:
            return
        mark = self._marks.of(datapath_id)
        if mark is None:
            self._make_room(datapath_id)
        if mark is None or struck:
            mark = self._marks.renew(datapath_id)
        data = json.dumps({"mark": mark, "snapshot": document}).encode()
        if len(data) > MAX_BYTES:
            LOG.warning("the snapshot of %016x is too large to keep: %d", datapath_id, len(data))
            self.delete(datapath_id)
            return
        self._sizes.pop(datapath_id, None)
        self._sizes[datapath_id] = len(data)
        path = self._path(datapath_id)
        self._keeper.put(path.name, partial(disk.replace, path, data, sync=False), first=True)
        while sum(self._sizes.values()) > MAX_TOTAL:
            self.delete(next(iter(self._sizes)))

    def _make_room(self, datapath_id: int) -> None:
        while len(self._sizes) + (datapath_id not in self._sizes) > MAX_SNAPSHOTS:
            self.delete(next(known for known in self._sizes if known != datapath_id))

    def load(self, datapath_id: int) -> Any:
        """The bridge's snapshot, None without one that can be read and counts."""
        if self._directory is None:
            return None
        try:
            kept = loads(read_regular(self._path(datapath_id), MAX_BYTES))
            if "mark" not in kept:
                return None  # of an earlier version
            return kept["snapshot"] if kept["mark"] == self._marks.of(datapath_id) else None
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, KeyError) as error:
            self.refuse(datapath_id, str(error))
            return None

    def refuse(self, datapath_id: int, why: str) -> None:
        """The bridge's snapshot is none: set it aside and tell."""
        if self._directory is None:
            return
        self._marks.drop(datapath_id)
        path = self._path(datapath_id)
        message = f"{path.name} is no snapshot, its protocols begin anew: {why}"
        try:
            message += f"; it is {disk.set_aside(path).name} now"
        except OSError as error:
            message += f"; it stays: {error.strerror}"
        self._sizes.pop(datapath_id, None)
        event = Event("state.damaged", message, Severity.WARNING, data={"file": str(path)})
        self._tell(datapath_id, event)

    def delete(self, datapath_id: int) -> None:
        """Keep none of the bridge."""
        self._marks.drop(datapath_id)
        if self._directory is not None and self._sizes.pop(datapath_id, None) is not None:
            path = self._path(datapath_id)
            self._keeper.put(path.name, partial(disk.remove, path))

    def _path(self, datapath_id: int) -> Path:
        assert self._directory is not None
        return self._directory / f"{self._kind}-{datapath_id:016x}.json"


def _found(directory: Path, kind: str) -> dict[int, int]:
    """Sizes by datapath id."""
    name = re.compile(rf"{kind}-([0-9a-f]{{16}})\.json")
    found: list[tuple[float, int, int]] = []
    try:
        for path in directory.iterdir():
            if (named := name.fullmatch(path.name)) is not None:
                status = path.stat()
                found.append((status.st_mtime, int(named[1], 16), status.st_size))
    except OSError as error:
        LOG.warning("not every snapshot was found: %s", error)
    return {datapath_id: size for _, datapath_id, size in sorted(found)}
