"""What is reported, kept for a test to look at."""

from __future__ import annotations

from ofapp.bridge.event import Event
from ofapp.common import hub
from tests.support.waiting import wait_for


class RecordedEvents(list[Event]):
    """Events as they are emitted; called like the emitter."""

    def __call__(self, _bridge: int | None, event: Event) -> None:
        self.append(event)

    @property
    def kinds(self) -> list[str]:
        return [event.kind for event in self]

    def wait_for(self, kind: str) -> None:
        wait_for(lambda: kind in self.kinds, f"{kind} among {self.kinds}", sleep=hub.sleep)
