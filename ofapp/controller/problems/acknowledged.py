"""Acknowledgements of problems: who has seen a problem, when, and what the person says about it.

They are stored, in a cluster for all members, and end with their problem.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ofapp.controller.state.document import CommonDocument, Document
from ofapp.controller.state.saving import Emit, Ticket
from ofapp.controller.state.storage import Storage

ACKNOWLEDGED = Document(
    "acknowledged",
    per_bridge=False,
    synced=True,
    setting="acknowledgements of problems",
    damaged="no problem is acknowledged",
    limit=4 << 20,
)
MOST = 1000
"""Most acknowledgements; the oldest one makes room."""


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """by: name of the user or token; at: seconds since the epoch; comment: may be empty.

    bridge: datapath id of the problem's bridge, None for the controller.
    """

    by: str
    at: float
    comment: str = ""
    bridge: int | None = None


class Acknowledgements:
    """All acknowledgements, by the problem's id."""

    def __init__(self, storage: Storage, emit: Emit) -> None:
        self._stored = CommonDocument[dict[str, Acknowledgement]](ACKNOWLEDGED, storage, emit)
        self._by_id: dict[str, Acknowledgement] = {}
        self.reload()

    def __iter__(self) -> Iterator[tuple[str, Acknowledgement]]:
        return iter(self._by_id.items())

    def get(self, id_: str) -> Acknowledgement | None:
        """The acknowledgement of a problem; None if there is none."""
        return self._by_id.get(id_)

    def add(self, id_: str, acknowledgement: Acknowledgement) -> Ticket:
        """Acknowledge a problem, also again; wait for the ticket until it is saved."""
        self._by_id.pop(id_, None)
        self._by_id[id_] = acknowledgement
        while len(self._by_id) > MOST:
            del self._by_id[next(iter(self._by_id))]
        return self._save()

    def remove(self, ids: Iterable[str]) -> Ticket | None:
        """Remove acknowledgements; None if there were none."""
        known = [id_ for id_ in ids if self._by_id.pop(id_, None) is not None]
        return self._save() if known else None

    def reload(self) -> None:
        """Read the document again after a change by another controller."""
        self._by_id = self._stored.read(_decoded, {}, self._by_id)

    def _save(self) -> Ticket:
        return self._stored.save(acknowledged={id_: asdict(own) for id_, own in self})


def _decoded(document: Mapping[str, Any]) -> dict[str, Acknowledgement]:
    """The acknowledgements of a document.  Raises TypeError, KeyError and AttributeError."""
    given = document["acknowledged"].items()
    return {str(id_): Acknowledgement(**fields) for id_, fields in given}
