"""What was set of each bridge at run time, for the next process or another member to go on with.

Beside it is what the file said then.  Where the file says something else by the time this is read,
somebody has changed it since, and the file counts; all else holds as it was set.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ofapp.controller.state.documents import Documents
from ofapp.controller.state.entries import loaded
from ofapp.controller.state.keeper import Ticket, done
from ofapp.controller.state.reading import Reading

VERSION = 1

SO = "what was set at run time is lost, and the file holds"
"""What follows from a document that cannot be read."""

_NAME = re.compile(r"settings-([0-9a-f]{16})\.json")


@dataclass(frozen=True, slots=True)
class KeptSettings:
    """filed, running: what the file said of a bridge and what held, both in the file's form;
    numbers: of the ports that `running` names."""

    filed: Mapping[str, Any]
    running: Mapping[str, Any]
    numbers: Mapping[str, int]


def encode(kept: KeptSettings) -> bytes:
    """As a document has it."""
    return json.dumps({"version": VERSION, **asdict(kept)}, indent=1).encode()


def decode(data: bytes) -> KeptSettings:
    """What a document has; ValueError."""
    document = loaded(data, VERSION)
    filed, running, numbers = map(document.get, ("filed", "running", "numbers"))
    if not (isinstance(filed, dict) and isinstance(running, dict) and isinstance(numbers, dict)):
        raise ValueError("it has no settings")  # noqa: TRY004
    if any(type(number) is not int for number in numbers.values()):
        raise ValueError("it has a port's number that is none")
    return KeptSettings(filed, running, numbers)


class SettingsStore:
    """Those of all bridges of which something was set, by datapath id."""

    def __init__(self, documents: Documents, reading: Reading) -> None:
        self._documents = documents
        self._reading = reading
        self._kept: dict[int, KeptSettings] = {}
        for name, _size in documents.names():
            if (named := _NAME.fullmatch(name)) is not None:
                self.take_up(int(named[1], 16))

    def get(self, datapath_id: int) -> KeptSettings | None:
        """A bridge's; None where all is as the file says."""
        return self._kept.get(datapath_id)

    def remember(self, datapath_id: int, kept: KeptSettings | None) -> Ticket:
        """Keep these as the bridge's, or none; who needs them saved waits for the ticket."""
        name, old = _name(datapath_id), self._kept.pop(datapath_id, None)
        if kept is not None:
            self._kept[datapath_id] = kept
        if old == kept and not self._documents.pending(name):
            return done()
        if kept is None:
            return self._documents.remove(name)
        return self._documents.put(name, encode(kept), sync=True, first=True)

    def refuse(self, datapath_id: int, why: str) -> None:
        """The bridge's are none, although they have the form: set them aside, and tell."""
        self._kept.pop(datapath_id, None)
        self._reading.damaged(_name(datapath_id), datapath_id, why, SO)

    def take_up(self, datapath_id: int) -> None:
        """There is a document of the bridge: read it."""
        kept = self._reading.read(_name(datapath_id), datapath_id, decode, SO)
        if kept is not None:
            self._kept[datapath_id] = kept

    def let_go(self, datapath_id: int) -> None:
        """It is somebody else's business now."""
        self._kept.pop(datapath_id, None)


def _name(datapath_id: int) -> str:
    return f"settings-{datapath_id:016x}.json"
