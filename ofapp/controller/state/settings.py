"""Run-time settings of each bridge, and the extent of the configuration file.

Run-time settings are stored with the file's settings of that time.  Where the file has changed when
they are read, the file takes precedence; all other run-time settings stay in force
(`RunningConfiguration.restore`).
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ofapp.config.loss import Extent
from ofapp.controller.state.document import Document, loaded, loads
from ofapp.controller.state.storage import Storage

LOG = logging.getLogger(__name__)

VERSION = 1


@dataclass(frozen=True, slots=True)
class RunTimeSettings:
    """filed, running: a bridge's settings by the file and those in force, in the file's form;
    numbers: of the ports that `running` names."""

    filed: Mapping[str, Any]
    running: Mapping[str, Any]
    numbers: Mapping[str, int]


def _encode(settings: RunTimeSettings) -> bytes:
    return json.dumps({"version": VERSION, **asdict(settings)}, indent=1).encode()


def _decode(data: bytes) -> RunTimeSettings:
    document = loaded(data, VERSION)
    filed, running, numbers = map(document.get, ("filed", "running", "numbers"))
    if not (isinstance(filed, dict) and isinstance(running, dict) and isinstance(numbers, dict)):
        raise ValueError("it has no settings")  # noqa: TRY004
    if any(type(number) is not int for number in numbers.values()):
        raise ValueError("it has a port's number that is none")
    return RunTimeSettings(filed, running, numbers)


SETTINGS = Document(
    "settings",
    synced=True,
    setting="settings",
    damaged="what was set at run time is lost, and the file holds",
    limit=64 << 20,
    encode=_encode,
    decode=_decode,
)

ACCEPTED = Document("configuration", per_bridge=False, local=True, synced=True, limit=64 << 20)


class AcceptedFile:
    """Extent of the configuration file when it was last accepted, for comparison at a start.

    It is local to this controller, as the file is.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def load(self) -> Extent | None:
        """The stored extent; None when there is none, or it cannot be read."""
        name = ACCEPTED.file()
        try:
            stored = loads(self._storage.read(name, ACCEPTED.limit))
            places = [tuple(map(str, place)) for place in stored["settings"]]
            drop_ins = frozenset(map(str, stored.get("drop_ins", ())))  # since 0.3
            return Extent(bool(stored["ends_marked"]), frozenset(places), drop_ins)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            LOG.warning(
                "the extent of the previous configuration file is unknown: %s: %r", name, error
            )
            return None

    def save(self, accepted: Extent) -> None:
        """Store an extent, soon."""
        data = {
            "ends_marked": accepted.ends_marked,
            "settings": sorted(accepted.settings),
            "drop_ins": sorted(accepted.drop_ins),
        }
        self._storage.put(ACCEPTED.file(), json.dumps(data).encode(), sync=ACCEPTED.synced)
