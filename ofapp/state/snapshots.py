"""What a bridge's protocols knew a moment ago, for the next process to go on with."""

from __future__ import annotations

import json
import logging
import re
from functools import partial
from pathlib import Path
from typing import Any

from ofapp.bridge.event import Event, Severity
from ofapp.files import read_regular
from ofapp.state import disk
from ofapp.state.entries import loads
from ofapp.state.keeper import Keeper, Tell

LOG = logging.getLogger(__name__)

MAX_SNAPSHOTS = 1024
"""Kept; whoever reaches the OpenFlow port can invent any number of datapath ids."""

MAX_BYTES = 4 << 20
"""Of one: some 3,000 ports."""

MAX_TOTAL = 256 << 20
"""Bytes of all."""

_NAME = re.compile(r"bridge-([0-9a-f]{16})\.json")


class Snapshots:
    """Written often and not synced: it serves a controller that crashed, not a machine that did.

    directory None: nothing is kept.
    """

    def __init__(self, directory: Path | None, keeper: Keeper, tell: Tell) -> None:
        self._directory = directory
        self._keeper = keeper
        self._tell = tell
        self._sizes = {} if directory is None else _found(directory)  # the oldest first

    def save(self, datapath_id: int, document: Any) -> None:
        """Replace the bridge's snapshot, soon."""
        if self._directory is None:
            return
        data = json.dumps(document).encode()
        if len(data) > MAX_BYTES:
            LOG.warning("the snapshot of %016x is too large to keep: %d", datapath_id, len(data))
            self.delete(datapath_id)
            return
        self._sizes.pop(datapath_id, None)
        self._sizes[datapath_id] = len(data)
        path = self._path(datapath_id)
        self._keeper.put(path.name, partial(disk.replace, path, data, sync=False), first=True)
        while len(self._sizes) > MAX_SNAPSHOTS or sum(self._sizes.values()) > MAX_TOTAL:
            self.delete(next(iter(self._sizes)))

    def load(self, datapath_id: int) -> Any:
        """The bridge's snapshot, None without one that can be read."""
        if self._directory is None:
            return None
        try:
            return loads(read_regular(self._path(datapath_id), MAX_BYTES))
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            self.refuse(datapath_id, str(error))
            return None

    def refuse(self, datapath_id: int, why: str) -> None:
        """The bridge's snapshot is none: set it aside and tell."""
        if self._directory is None:
            return
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
        if self._directory is not None and self._sizes.pop(datapath_id, None) is not None:
            path = self._path(datapath_id)
            self._keeper.put(path.name, partial(disk.remove, path))

    def _path(self, datapath_id: int) -> Path:
        assert self._directory is not None
        return self._directory / f"bridge-{datapath_id:016x}.json"


def _found(directory: Path) -> dict[int, int]:
    """Sizes by datapath id."""
    found: list[tuple[float, int, int]] = []
    try:
        for path in directory.iterdir():
            if (named := _NAME.fullmatch(path.name)) is not None:
                status = path.stat()
                found.append((status.st_mtime, int(named[1], 16), status.st_size))
    except OSError as error:
        LOG.warning("not every snapshot was found: %s", error)
    return {datapath_id: size for _, datapath_id, size in sorted(found)}
