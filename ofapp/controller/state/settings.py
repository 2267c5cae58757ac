"""Run-time settings of each bridge, for the next process or another member to continue with.

They are stored with the file's settings of that time.  Where the file has changed when they are
read, the file takes precedence; all other run-time settings stay in force.
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
"""Consequence of an unreadable document."""

_NAME = re.compile(r"settings-([0-9a-f]{16})\.json")


@dataclass(frozen=True, slots=True)
class KeptSettings:
    """filed, running: a bridge's settings by the file and those in force, in the file's form;
    numbers: of the ports that `running` names."""

    filed: Mapping[str, Any]
    running: Mapping[str, Any]
    numbers: Mapping[str, int]


def encode(kept: KeptSettings) -> bytes:
    """Settings as the content of a document."""
    return json.dumps({"version": VERSION, **asdict(kept)}, indent=1).encode()


def decode(data: bytes) -> KeptSettings:
    """Settings from the content of a document; ValueError."""
    document = loaded(data, VERSION)
    filed, running, numbers = map(document.get, ("filed", "running", "numbers"))
    if not (isinstance(filed, dict) and isinstance(running, dict) and isinstance(numbers, dict)):
        raise ValueError("it has no settings")  # noqa: TRY004
    if any(type(number) is not int for number in numbers.values()):
        raise ValueError("it has a port's number that is none")
    return KeptSettings(filed, running, numbers)


class SettingsStore:
    """Settings of all bridges with run-time settings, by datapath id."""

    def __init__(self, documents: Documents, reading: Reading) -> None:
        self._documents = documents
        self._reading = reading
        self._kept: dict[int, KeptSettings] = {}
        for name, _size in documents.names():
            if (named := _NAME.fullmatch(name)) is not None:
                self.take_up(int(named[1], 16))

    def get(self, datapath_id: int) -> KeptSettings | None:
        """Settings of a bridge; None where all are as in the file."""
        return self._kept.get(datapath_id)

    def remember(self, datapath_id: int, kept: KeptSettings | None) -> Ticket:
        """Store the bridge's settings, or none; wait for the ticket until they are saved."""
        name, old = _name(datapath_id), self._kept.pop(datapath_id, None)
        if kept is not None:
            self._kept[datapath_id] = kept
        if old == kept and not self._documents.pending(name):
            return done()
        if kept is None:
            return self._documents.remove(name)
        return self._documents.put(name, encode(kept), sync=True, first=True)

    def refuse(self, datapath_id: int, why: str) -> None:
        """Set aside settings that are well-formed but invalid, and log an event."""
        self._kept.pop(datapath_id, None)
        self._reading.damaged(_name(datapath_id), datapath_id, why, SO)

    def take_up(self, datapath_id: int) -> None:
        """Read the document of a bridge that this controller takes over."""
        kept = self._reading.read(_name(datapath_id), datapath_id, decode, SO)
        if kept is not None:
            self._kept[datapath_id] = kept

    def let_go(self, datapath_id: int) -> None:
        """Leave the bridge's document to another controller."""
        self._kept.pop(datapath_id, None)


def _name(datapath_id: int) -> str:
    return f"settings-{datapath_id:016x}.json"
