"""Marks of snapshots in a cluster: the switch stores them (see `openflow.switch.marks`)."""

from __future__ import annotations

import secrets
from collections.abc import Callable

Write = Callable[[int, int | None], None]


def _ignore(_datapath_id: int, _mark: int | None) -> None:
    return


class SwitchMarks:
    """Marks by switch.  write: set or delete the mark in a connected switch, before later writes
    to it."""

    def __init__(self) -> None:
        self.write: Write = _ignore
        self._marks: dict[int, int] = {}

    def read(self, datapath_id: int, mark: int | None) -> None:
        """Record the mark that the switch had when it was taken over."""
        self._marks.pop(datapath_id, None)
        if mark is not None:
            self._marks[datapath_id] = mark

    def repeat(self, datapath_id: int) -> None:
        """Set the mark again, as the switch reconnected and may not have received the last."""
        self.write(datapath_id, self._marks.get(datapath_id))

    def of(self, datapath_id: int) -> int | None:
        """See `state.marks.Marks`, also for what follows."""
        return self._marks.get(datapath_id)

    def renew(self, datapath_id: int) -> int:
        mark = self._marks[datapath_id] = secrets.randbits(32)
        self.write(datapath_id, mark)
        return mark

    def drop(self, datapath_id: int) -> None:
        if self._marks.pop(datapath_id, None) is not None:
            self.write(datapath_id, None)


class Always:
    """Any stored document counts: none can be worse than knowing nothing (LACP)."""

    def of(self, datapath_id: int) -> int | None:
        """See `state.marks.Marks`, also for what follows."""
        del datapath_id
        return 1

    def renew(self, datapath_id: int) -> int:
        del datapath_id
        return 1

    def drop(self, datapath_id: int) -> None:
        """Do nothing: the mark goes with its document."""
