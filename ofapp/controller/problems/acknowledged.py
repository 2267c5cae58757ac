"""Acknowledgements of problems: who has seen a problem, when, and what the person says about it.

They are stored, in a cluster for all members, and end with their problem.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass

from ofapp.controller.state.document import Document, loaded, report_damage
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
VERSION = 1


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
        self._storage = storage
        self._emit = emit
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
        try:
            data = self._storage.read(ACKNOWLEDGED.file(), ACKNOWLEDGED.limit)
            given = loaded(data, VERSION)["acknowledged"]
            self._by_id = {str(id_): Acknowledgement(**fields) for id_, fields in given.items()}
        except FileNotFoundError:
            self._by_id = {}
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            report_damage(self._storage, self._emit, ACKNOWLEDGED, str(error))

    def _save(self) -> Ticket:
        given = {id_: asdict(each) for id_, each in self._by_id.items()}
        data = json.dumps({"version": VERSION, "acknowledged": given}).encode()
        return self._storage.put(ACKNOWLEDGED.file(), data, ACKNOWLEDGED.synced)
