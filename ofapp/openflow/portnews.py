"""What a switch tells of its ports between two turns of the loop, to be handled together.

A thousand ports may come at once, each in a message of its own, and what looks at all ports should
look once for all of them.
"""

from __future__ import annotations

from collections.abc import Callable

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import Effect
from ofapp.bridge.ports import Port


class PortNews:
    """News in their order; ports that are gone, and ports that are new or have changed."""

    def __init__(self, bridge: Bridge) -> None:
        self._bridge = bridge
        self._news: list[tuple[bool, Port]] = []

    def __bool__(self) -> bool:
        return bool(self._news)

    def add(self, port: Port, gone: bool) -> None:
        """One more, not yet heeded."""
        self._news.append((gone, port))

    def heed(self, now: float, apply: Callable[[list[Effect]], None]) -> None:
        """Tell the bridge of all of them; apply: carries its effects out, a few times in turn.

        What is told of one port again stays a second step: a link that went down and up again is
        not one that was up all the time.
        """
        news, self._news = self._news, []
        step: dict[int, Port] = {}
        for at, (gone, port) in enumerate(news):
            step[port.number] = port
            last = at + 1 == len(news)
            if last or news[at + 1][0] is not gone or news[at + 1][1].number in step:
                if gone:
                    apply(self._bridge.remove_ports(step, now))
                else:
                    apply(self._bridge.put_ports(step.values(), now))
                step = {}

    def clear(self) -> None:
        """Nobody is interested any more."""
        self._news.clear()
