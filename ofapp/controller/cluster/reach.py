"""Whether this member still reaches the switches that it looks after.

A member that is cut off from a switch, and not from etcd, keeps its claim; and os-ken takes a
connection for dead after fifteen seconds of silence (`wire.echoes`), for which time nobody would
speak for the switch.  So each second the switches that have said nothing are asked for an echo, and
who does not answer for as long as a lease lives is let go of: others may reach it.  If it was just
busy, nothing is won by that; so it is waited for twice as long each time that it happens again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ofapp.controller.cluster.tenure import clock
from ofapp.openflow.wire.channel import Channel
from ofapp.openflow.wire.echoes import GIVEN_UP
from ofapp.openflow.wire.requests import echo

TICK = 1.0
"""Seconds between looks."""

MEMORY = 60.0
"""Seconds for which it is remembered that a switch was let go of."""


@dataclass(slots=True)
class _Asked:
    """ticks: at which the question was without an answer."""

    answered: bool = False
    ticks: int = 0

    def answer(self) -> None:
        self.answered = True


class Reach:
    """patience: seconds; silent: told of a connection on which nothing was said for so long."""

    def __init__(self, patience: float, silent: Callable[[Channel, float], None]) -> None:
        self._patience = patience
        self._silent = silent
        self._asked: dict[Channel, _Asked] = {}
        self._given_up: dict[int, list[float]] = {}

    def tick(self, channels: Iterable[Channel]) -> None:
        """To be called every `TICK` seconds, with all connections that there are."""
        before, self._asked = self._asked, {}
        for channel in channels:
            asked = before.get(channel)
            if asked is None or asked.answered or channel.behind:
                asked = _Asked()
                echo(channel, asked.answer)
            else:
                asked.ticks += 1
            self._asked[channel] = asked
            if asked.ticks * TICK >= self._patience_with(channel.id):
                self._given_up.setdefault(channel.id, []).append(clock())
                self._silent(channel, asked.ticks * TICK)

    def _patience_with(self, datapath_id: int) -> float:
        since = clock() - MEMORY
        times = [own for own in self._given_up.pop(datapath_id, []) if own > since]
        if times:
            self._given_up[datapath_id] = times
        return min(self._patience * (1 << len(times)), max(GIVEN_UP, self._patience))
