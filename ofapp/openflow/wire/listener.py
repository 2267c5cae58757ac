"""The handler of a switch's messages, as its channel knows it."""

from __future__ import annotations

from typing import Protocol

from ofapp.openflow.model.traps import Trap
from ofapp.openflow.wire.messages.flow_removed import Expired
from ofapp.openflow.wire.refusals import Refusal


class Listener(Protocol):
    """Handler of what the channel takes out of the stream."""

    def on_learned(self, samples: list[tuple[int, int, int]], expired: list[Expired]) -> None: ...

    def on_frames(self, trap: Trap, frames: list[tuple[int, bytes]]) -> None: ...

    def on_sampled(self, frames: list[tuple[int, bytes]]) -> None: ...

    def on_refused(self, refusal: Refusal) -> None: ...

    def on_deleted(self) -> None: ...

    def on_port_news(self, messages: list[bytes]) -> None: ...

    def on_lag(self, lags: bool) -> None: ...

    def on_fault(self, error: Exception) -> None: ...
