"""Switches that an earlier process of this controller served, and that have not come back.

The document `known` of a bridge has its name.  It is written when the switch is connected, and
deleted when the bridge is forgotten.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

from ofapp.bridge.event import ERROR
from ofapp.bridge.problem import Problem, ProblemKind
from ofapp.controller.bridges.registry import Registry
from ofapp.controller.problems.kinds import START
from ofapp.controller.state.document import Document, Store, loaded

VERSION = 1
MOST = 1024
"""Most bridges that are stored; the longest absent one makes room."""

ABSENT = ProblemKind(
    "switch.absent",
    ERROR,
    "A switch that was connected before the controller started has not connected since.",
    "See on its host whether Open vSwitch runs and reaches the controller. If the switch was"
    " removed for good, the command forgets it.",
    "The switch connects, its bridge is forgotten, or `forget_after` has passed.",
    "ofapp bridge forget {datapath_id}",
    START,
)


def _encode(name: str) -> bytes:
    return json.dumps({"version": VERSION, "name": name}).encode()


def _decode(data: bytes) -> str:
    try:
        return str(loaded(data, VERSION)["name"])
    except KeyError as error:
        raise ValueError("it has no name") from error


KNOWN = Document(
    "known",
    damaged="the switch is not missed if it stays absent",
    encode=_encode,
    decode=_decode,
)


class AbsentSwitches:
    """The switches that are stored.  stored: names of bridges."""

    def __init__(self, registry: Registry, stored: Store[str]) -> None:
        self._registry = registry
        self._stored = stored
        self._began = time.monotonic()

    def find(self, name: str) -> int | None:
        """The absent switch with this datapath id (16 hex digits) or name; None for none."""
        for datapath_id in self.all():
            if name in (f"{datapath_id:016x}", self._stored.load(datapath_id)):
                return datapath_id
        return None

    def all(self) -> list[int]:
        """Datapath ids of the switches that have not come back."""
        return [known for known in self._stored.bridges if known not in self._registry.bridges]

    def problems(self, patience: float) -> Iterator[Problem]:
        """Absent switches; stores those that are connected.

        patience: seconds after which an absent switch is forgotten; 0: never.
        """
        for datapath_id, bridge in self._registry.bridges.items():
            connected = datapath_id in self._registry.datapaths and bridge.ports.complete
            if connected and self._stored.load(datapath_id) != bridge.name:
                self._stored.save(datapath_id, bridge.name)
        absent, stored = self.all(), len(self._stored.bridges)
        overdue = patience and time.monotonic() >= self._began + patience
        for datapath_id in absent if overdue else absent[: max(0, stored - MOST)]:
            self._stored.forget(datapath_id)
        for datapath_id in self.all():
            given = f"{datapath_id:016x}"
            name = self._stored.load(datapath_id)
            text = f"switch {name} ({given}) has not connected since the controller started"
            yield ABSENT.at(text, subject=given, data={"datapath_id": given, "name": name})
