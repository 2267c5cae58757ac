"""`perf`: which counters the machine has, and samples of all processors during a trial.

The clock is sampled on every machine.  Its samples cannot fall where interrupts are off: they come
when those are on again, which is mostly in a function that releases a lock.
"""

from __future__ import annotations

import os
import re
import select
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

from ofapp.bench import BenchError
from ofapp.bench.machine import is_virtual
from ofapp.bench.processes import end, run
from ofapp.bench.profile.parts import Sampled

CLOCK = "cpu-clock"
COUNTERS: Mapping[str, str] = MappingProxyType(
    {"cycles": "cycles", "cache-references": "references", "cache-misses": "misses"}
)
"""The processor's counters, and the names of their figures."""
UNITS: Mapping[str, str] = MappingProxyType({CLOCK: "ns", **COUNTERS})
_DEVICES = Path("/sys/bus/event_source/devices")
_PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")
_ANSWER_SECONDS = 20
_KERNEL_HALF = 1 << 63
"""From here on addresses are the kernel's, on all processors of 64 bits that Linux runs on."""
_LINE = re.compile(
    r"\s*(?P<program>\S.*?)\s+(?P<process>-?\d+)\s+(?P<period>\d+)\s+(?P<event>\S+?):"
    r"\s+(?P<address>[0-9a-f]+)\s+(?P<symbol>\S.*?)\s+\((?P<binary>.*)\)\s*"
)


@dataclass(frozen=True, slots=True)
class Counters:
    """Events that this machine can count, and why it lacks the others (empty: it has all)."""

    events: tuple[str, ...]
    lacks: str = ""


@cache
def counters() -> Counters:
    """Try the processor's counters; BenchError when perf is not there or may not be used."""
    try:
        said = count(COUNTERS)
    except BenchError as error:
        if "not installed" in str(error):
            raise BenchError("perf is not installed: apt install linux-perf") from error
        said = str(error)
    return available(said, why_not())


def count(events: Iterable[str]) -> str:
    """Return what `perf stat -x ;` counts of these events on all processors, for a moment."""
    listed = ",".join(events)
    return run("perf", "stat", "--log-fd", 1, "-a", "-x", ";", "-e", listed, "--", "sleep", "0.02")


def plain(event: str) -> str:
    """Return an event's name without its unit and modifiers: `cpu_core/cycles/u` is `cycles`."""
    return (event.split("/")[1] if "/" in event else event).partition(":")[0]


def available(said: str, reason: str) -> Counters:
    """What `perf stat -x ;` could count."""
    counted = set()
    for line in said.splitlines():
        value, *fields = line.split(";")
        if value.replace(".", "").isdigit() and len(fields) > 1:
            counted.add(plain(fields[1]))
    events = tuple(event for event in COUNTERS if event in counted)
    missing = [event for event in COUNTERS if event not in counted]
    lacks = f"{', '.join(missing)}: not counted on this machine, as {reason}" if missing else ""
    return Counters(events, lacks)


def why_not(devices: Path = _DEVICES, paranoid: Path = _PARANOID) -> str:
    """Why counters of the processor may be missing."""
    if not any(devices.glob("cpu*")):
        where = "this virtual machine" if is_virtual() else "the kernel"
        return f"{where} has no performance monitoring unit ({devices}/cpu is missing)"
    level = paranoid.read_text().strip() if paranoid.exists() else "unknown"
    return (
        "the performance monitoring unit does not have them, or access is refused"
        f" (kernel.perf_event_paranoid is {level})"
    )


class Recording:
    """Samples of all processors, taken while it is switched on."""

    def __init__(self, folder: Path, events: tuple[str, ...], per_second: int) -> None:
        self._data, self._log = folder / "perf.data", folder / "log"
        control, self._control = os.pipe()
        self._answer, answer = os.pipe()
        words = [
            # Without build ids, whose search takes seconds and leaves files in the home directory.
            *("perf", "record", "-q", "-B", "-N", "-a"),
            *("-F", str(per_second), "-e", ",".join(events)),
            *("-D", "-1", "--control", f"fd:{control},{answer}", "-o", str(self._data)),
        ]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=(control, answer)
            )
        os.close(control)
        os.close(answer)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Sample meanwhile; BenchError when perf has ended."""
        self._command("enable")
        yield
        self._command("disable")

    def samples(self) -> list[Sampled]:
        """Return all samples, once; the recording is ended by that."""
        self._command("stop")
        try:
            self._process.wait(_ANSWER_SECONDS)
        except subprocess.TimeoutExpired as error:
            raise BenchError(f"perf record does not end within {_ANSWER_SECONDS} s") from error
        fields = "comm,pid,period,event,ip,sym,dso"
        return parse(run("perf", "script", "-i", self._data, "-F", fields))

    def close(self) -> None:
        """End perf, whose data is of no use then."""
        os.close(self._control)
        os.close(self._answer)
        if self._process.poll() is None:
            end(self._process)

    def _command(self, command: str) -> None:
        with suppress(BrokenPipeError):
            os.write(self._control, f"{command}\n".encode())
        ready, _, _ = select.select([self._answer], [], [], _ANSWER_SECONDS)
        if not ready or not os.read(self._answer, 64):
            log = self._log.read_text(errors="replace").strip()
            raise BenchError(f"perf record: {log[-300:] or 'no answer'}")


@contextmanager
def recording(events: tuple[str, ...], per_second: int) -> Iterator[Recording]:
    """Make a recording of these events, paused, of so many samples a second and processor."""
    with tempfile.TemporaryDirectory(prefix="ofapp-bench-") as folder:
        made = Recording(Path(folder), events, per_second)
        try:
            yield made
        finally:
            made.close()


def parse(said: str) -> list[Sampled]:
    """The samples of `perf script`; BenchError with the line that is not understood."""
    samples = []
    for line in said.splitlines():
        if not line.strip():
            continue
        match = _LINE.fullmatch(line)
        if match is None or plain(match["event"]) not in UNITS:
            raise BenchError(f"perf script: a line that is no sample: {line.strip()[:100]}")
        samples.append(
            Sampled(
                plain(match["event"]),
                match["program"],
                int(match["process"]),
                match["symbol"],
                match["binary"],
                int(match["address"], 16) >= _KERNEL_HALF,
                int(match["period"]),
            )
        )
    return samples
