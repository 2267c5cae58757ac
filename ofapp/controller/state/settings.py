"""Run-time settings of each bridge, and the extent of the configuration file.

Run-time settings are stored with the file's settings of that time.  Where the file has changed when
they are read, the file takes precedence; all other run-time settings stay in force
(`RunningConfiguration.restore`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ofapp.config.loss import Extent
from ofapp.controller.state.document import Document, loaded, loads, report_damage
from ofapp.controller.state.saving import Emit
from ofapp.controller.state.storage import Storage

VERSION = 1


@dataclass(frozen=True, slots=True)
class RunTimeSettings:
    """filed, running: a bridge's settings by the file and those in force, in the file's form;
    numbers: numbers of the ports that `running` names."""

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

ACCEPTED = Document(
    "configuration",
    per_bridge=False,
    local=True,
    synced=True,
    damaged="settings that the file has lost since the last start are not noticed this time",
    limit=64 << 20,
)


def _extent(data: bytes) -> Extent:
    """The extent in a document.  Raises ValueError."""
    stored = loads(data)
    if not isinstance(stored, dict) or type(stored.get("ends_marked")) is not bool:
        raise ValueError("it does not say how the file ended")
    settings, drop_ins = stored.get("settings"), stored.get("drop_ins", [])  # since 0.3
    if not (isinstance(settings, list) and all(isinstance(place, list) for place in settings)):
        raise ValueError("it has no list of settings")
    if not isinstance(drop_ins, list):
        raise ValueError("its drop-ins are not a list")  # noqa: TRY004
    places = frozenset(tuple(map(str, place)) for place in settings)
    return Extent(stored["ends_marked"], places, frozenset(map(str, drop_ins)))


class AcceptedFile:
    """Extent of the configuration file when it was last accepted, for comparison at a start.

    It is local to this controller, as the file is.
    """

    def __init__(self, storage: Storage, emit: Emit) -> None:
        self._storage = storage
        self._emit = emit

    def load(self) -> Extent | None:
        """The stored extent; None when there is none, or it cannot be read."""
        try:
            return _extent(self._storage.read(ACCEPTED.file(), ACCEPTED.limit))
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            report_damage(self._storage, self._emit, ACCEPTED, str(error))
            return None

    def save(self, accepted: Extent) -> None:
        """Store an extent, soon."""
        data = {
            "ends_marked": accepted.ends_marked,
            "settings": sorted(accepted.settings),
            "drop_ins": sorted(accepted.drop_ins),
        }
        self._storage.put(ACCEPTED.file(), json.dumps(data).encode(), sync=ACCEPTED.synced)
