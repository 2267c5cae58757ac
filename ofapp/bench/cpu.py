"""CPU usage of the kernel, of the device's programs and of all other programs.

A frame's cost is mostly the kernel's, in the context in which it happens to run, so the kernel's
time is taken as a whole.  This program spins and so do those that it starts and waits for: their
user time never counts.  /proc/stat counts in hundredths of a second: too coarse for less than half
a second.  What the device's programs use is exact, to the nanosecond.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_HZ = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Usage:
    """CPU usage during a period, in cores.

    device: the kernel, generator's sending included, and the device's programs; programs: those
    alone, with what they do in the kernel; others: programs that have no part in it, without what
    they do in the kernel; interrupts: the kernel's interrupts and softirqs.  seconds: the period.
    """

    device: float
    programs: float
    others: float
    interrupts: float
    seconds: float


@dataclass(frozen=True, slots=True)
class _Reading:
    at: float
    user: float
    kernel: float
    interrupts: float
    device: float
    programs: float
    own: float


class Meter:
    """Runs from when it is made."""

    def __init__(self, programs: Sequence[int] = ()) -> None:
        self._programs = programs
        self._begun = self._read()

    def usage(self) -> Usage:
        """Since it was made."""
        now, begun = self._read(), self._begun
        wall = max(now.at - begun.at, 1e-9)
        device, own = now.device - begun.device, now.own - begun.own
        others = now.user - begun.user - device - own
        return Usage(
            (now.kernel - begun.kernel + device) / wall,
            (now.programs - begun.programs) / wall,
            max(0.0, others) / wall,
            (now.interrupts - begun.interrupts) / wall,
            wall,
        )

    def _read(self) -> _Reading:
        mine = os.times()
        words = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
        user, nice, system, _, _, irq, softirq = (int(word) / _HZ for word in words[:7])
        return _Reading(
            time.monotonic(),
            user + nice,
            system + irq + softirq,
            irq + softirq,
            sum(_user_time(program) for program in self._programs),
            sum(run_time(program) for program in self._programs),
            mine.user + mine.children_user,
        )


def _user_time(process: int) -> float:
    """Seconds in user mode of all its threads; 0 when it is gone."""
    try:
        text = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return 0.0
    return int(text.rsplit(")", 1)[1].split()[11]) / _HZ


def run_time(process: int) -> float:
    """Seconds on a processor of all its threads that live, as the scheduler counts them."""
    total = 0
    for task in Path(f"/proc/{process}/task").glob("*/schedstat"):
        with contextlib.suppress(OSError):
            total += int(task.read_text().split()[0])
    return total / 1e9
