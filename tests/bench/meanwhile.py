"""Work beside a measurement, in a thread or in a process; frames of new hosts and broadcasts."""

from __future__ import annotations

import gc
import itertools
import math
import os
import signal
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ofapp.bench.sender import Sender
from tests.support.lab import BROADCAST, Host, frame
from tests.support.waiting import during

TICK = 0.001
"""Seconds between bursts of frames: a burst then fits the switch's socket many times over."""
CHUNK = 20_000
"""Frames that are made at a time."""
HOUR = 3600.0
_NOT_COUNTED = 0x88B7
"""EtherType of frames that no receiver counts."""


@contextmanager
def meanwhile(work: Callable[[Callable[[], bool]], object]) -> Iterator[None]:
    """Have `work` do during the body, until the function it is given says so.

    What it raises ends the measurement: what is measured beside it would mean nothing.
    """
    over = threading.Event()
    failure: list[BaseException] = []

    def attend() -> None:
        try:
            work(over.is_set)
        except BaseException as error:
            failure.append(error)

    thread = threading.Thread(target=attend)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
    if failure:
        raise failure[0]


@contextmanager
def beside(work: Callable[[], object]) -> Iterator[None]:
    """Do the work in a separate process, which is killed at the end."""
    child = os.fork()
    if child == 0:
        try:
            gc.disable()
            work()
        finally:
            os._exit(1)
    try:
        yield
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def evenly(rate: int, send: Callable[[int], object], seconds: float = math.inf) -> None:
    """Call `send` every `TICK` with the number of frames that are due, and sleep in between.

    `Sender.paced` spins on the clock, which takes one of two cores from the switch and its
    controller: what was measured was the number of frames that the switch had no time for.
    """
    sent = 0
    for passed in during(seconds, TICK):
        due = int(rate * passed) - sent
        if due:
            send(due)
            sent += due


@contextmanager
def new_hosts(host: Host, rate: int = 0) -> Iterator[None]:
    """Frames from ever new addresses to an unknown one, `rate` a second, or flat out with 0."""

    def work() -> None:
        sender = Sender(host.namespace, "eth0")
        head, tail = b"\x02\x0a\0\0\0\x02\x02\xee", struct.pack("!H", _NOT_COUNTED) + bytes(46)
        for first in itertools.count(step=CHUNK):
            some = range(first, first + CHUNK)
            sender.load([head + number.to_bytes(4, "big") + tail for number in some])
            if rate:
                evenly(rate, sender.burst, CHUNK / rate)
            else:
                sender.burst(CHUNK)

    with beside(work):
        yield


@contextmanager
def broadcasts(host: Host) -> Iterator[None]:
    """Broadcasts of one host, flat out."""

    def work() -> None:
        sender = Sender(host.namespace, "eth0")
        sender.load([frame(BROADCAST, host.mac, ethertype=_NOT_COUNTED)])
        sender.flat_out(HOUR)

    with beside(work):
        yield
