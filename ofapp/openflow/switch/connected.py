"""A switch that is connected, as the code that manages it sees it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import Effect
from ofapp.openflow.wire.channel import Channel


@dataclass(frozen=True, slots=True)
class ConnectedSwitch:
    """channel: to it; bridge: what it is to be; apply: carries effects out."""

    channel: Channel
    bridge: Bridge
    apply: Callable[[list[Effect]], None]
