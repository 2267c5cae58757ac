"""Reading of documents at a start: they may have any content, and none prevents the start."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ofapp.bridge.event import Event, Severity
from ofapp.controller.state.documents import Documents
from ofapp.controller.state.keeper import Tell

MAX_BYTES = 64 << 20
"""Most octets of a document."""

T = TypeVar("T")


class Reading:
    """Reader of documents; invalid ones are set aside and logged."""

    def __init__(self, documents: Documents, tell: Tell) -> None:
        self._documents = documents
        self._tell = tell

    def read(
        self, name: str, bridge: int | None, decoded: Callable[[bytes], T], so: str
    ) -> T | None:
        """Read a document with `decoded` (ValueError); None if it is missing or invalid.

        so: the consequence for the user, in words.
        """
        try:
            return decoded(self._documents.read(name, MAX_BYTES))
        except (OSError, ValueError) as error:
            self.damaged(name, bridge, str(error), so)
            return None

    def damaged(self, name: str, bridge: int | None, why: str, so: str) -> None:
        """Set a document aside, and log an event."""
        message = f"{name} is not what ofapp has saved: {why}; {so}"
        try:
            message += f"; the file is {self._documents.set_aside(name)} now"
        except OSError as error:
            message += f"; it cannot be set aside: {error.strerror}"
        data = {"file": self._documents.place(name)}
        self._tell(bridge, Event("state.damaged", message, Severity.ERROR, data=data))
