"""Labels of hosts: names that a user gives, by MAC address.

They are stored, in a cluster for all members.  A label is shown before any name that a host gives
itself.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ofapp.bridge.mac import MAC_MASK
from ofapp.controller.state.document import CommonDocument, Document
from ofapp.controller.state.saving import Emit, Ticket
from ofapp.controller.state.storage import Storage

LABELS = Document(
    "labels",
    per_bridge=False,
    synced=True,
    setting="labels of hosts",
    damaged="no host has a label",
    limit=8 << 20,
)
MOST = 5000
"""Most labels."""
LONGEST = 64
"""Most characters of a label."""
_SIGNS = "!-~¡-¬®-ɏͰ-ӿぁ-ヿ一-鿿가-힣"
PATTERN = f"^[{_SIGNS}]([ {_SIGNS}]{{0,{LONGEST - 2}}}[{_SIGNS}])?$"
"""Labels: printable letters, digits and signs, with spaces inside."""


class TooManyLabelsError(Exception):
    """There is no room for another label."""


@dataclass(frozen=True, slots=True)
class Label:
    """by: name of the user or token; at: seconds since the epoch."""

    name: str
    by: str
    at: float


class Labels:
    """All labels, by MAC address."""

    def __init__(self, storage: Storage, emit: Emit) -> None:
        self._stored = CommonDocument[dict[int, Label]](LABELS, storage, emit)
        self._by_mac: dict[int, Label] = {}
        self.reload()

    def __iter__(self) -> Iterator[tuple[int, Label]]:
        return iter([*self._by_mac.items()])

    def get(self, mac: int) -> Label | None:
        """The label of a host; None if it has none."""
        return self._by_mac.get(mac)

    def put(self, mac: int, name: str, by: str) -> Ticket:
        """Label a host; wait for the ticket until it is saved.  Raises TooManyLabelsError."""
        if mac not in self._by_mac and len(self._by_mac) >= MOST:
            raise TooManyLabelsError(f"there are {MOST} labels, and no more are stored")
        self._by_mac[mac] = Label(name, by, time.time())
        return self._save()

    def remove(self, mac: int) -> Ticket | None:
        """Remove the label of a host; None if it has none."""
        return None if self._by_mac.pop(mac, None) is None else self._save()

    def reload(self) -> None:
        """Read the document again after a change by another controller."""
        self._by_mac = self._stored.read(_decoded, {}, self._by_mac)

    def _save(self) -> Ticket:
        given = {f"{mac:012x}": asdict(label) for mac, label in self._by_mac.items()}
        return self._stored.save(labels=given)


def _decoded(document: Mapping[str, Any]) -> dict[int, Label]:
    """The labels of a document.  Raises ValueError, TypeError, KeyError and AttributeError."""
    labels = {int(mac, 16): Label(**fields) for mac, fields in document["labels"].items()}
    for mac, label in labels.items():
        if not 0 < mac <= MAC_MASK or not re.fullmatch(PATTERN, label.name):
            raise ValueError("it has a label that is none")
        if not isinstance(label.by, str) or not isinstance(label.at, int | float):
            raise ValueError("it has a label without its author")  # noqa: TRY004
    if len(labels) > MOST:
        raise ValueError("it has too many labels")
    return labels
