"""How much the configuration file said when it was last accepted, for the next start to compare."""

from __future__ import annotations

import json
import logging
from functools import partial
from pathlib import Path

from ofapp.common.files import read_regular
from ofapp.config.loss import Extent
from ofapp.controller.state import disk
from ofapp.controller.state.keeper import Keeper

LOG = logging.getLogger(__name__)

MAX_BYTES = 64 << 20


class AcceptedFile:
    """directory None: nothing outlives the process."""

    def __init__(self, directory: Path | None, keeper: Keeper) -> None:
        self._path = None if directory is None else directory / "configuration.json"
        self._keeper = keeper

    def load(self) -> Extent | None:
        """None when there has been no file, or what is kept of it cannot be read."""
        if self._path is None:
            return None
        try:
            kept = json.loads(read_regular(self._path, MAX_BYTES))
            places = [tuple(map(str, place)) for place in kept["settings"]]
            return Extent(bool(kept["ends_marked"]), frozenset(places))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
            LOG.warning("what the file said before is not known: %s: %r", self._path.name, error)
            return None

    def save(self, accepted: Extent) -> None:
        """Soon."""
        if self._path is None:
            return
        kept = {"ends_marked": accepted.ends_marked, "settings": sorted(accepted.settings)}
        job = partial(disk.replace, self._path, json.dumps(kept).encode(), sync=True)
        self._keeper.put(self._path.name, job)
