"""A device that is up, as a tester sees it: frames go in at one end and are counted at others."""

from __future__ import annotations

import contextlib
import os
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ofapp.bench import BenchError
from ofapp.bench.bed import Bed
from ofapp.bench.cpu import Meter, Usage
from ofapp.bench.devices import Device, Up
from ofapp.bench.frames import BROADCAST, FORTH, MIN_SIZE, Flow, Side, frame, mac
from ofapp.bench.guests import guests
from ofapp.bench.listeners import Counter
from ofapp.bench.search import loss
from ofapp.bench.sender import FASTEST, Among, Sender, Sent, paced_both, sparse
from ofapp.bench.shells import LOOP, Shell, shell

READY_SECONDS = 20


@dataclass(frozen=True, slots=True)
class Trial:
    """Result of a trial: frames sent, received at the far end and at the monitor; CPU time."""

    sent: Sent
    received: int
    monitored: int
    usage: Usage

    @property
    def loss(self) -> float:
        """The share that did not arrive at the far end."""
        return loss(self.sent.frames, self.received)

    @property
    def cpu_us(self) -> float:
        """CPU time of the kernel and the device for each received frame, microseconds."""
        return self.usage.device * self.sent.seconds / max(self.received, 1) * 1e6

    @property
    def programs_us(self) -> float:
        """CPU time of the device's programs alone, for each received frame."""
        return self.usage.programs * self.sent.seconds / max(self.received, 1) * 1e6

    @property
    def delivered(self) -> float:
        """Frames a second that arrived."""
        return self.received / self.sent.seconds


class Station:
    """The sockets on a bed around a device; a context manager."""

    def __init__(self, bed: Bed, device: Device, up: Up, kernel: Path | None = None) -> None:
        """kernel: directory with the kernel of guests; None for none."""
        self._kernel = kernel
        self.bed, self.device, self.up = bed, device, up
        self.monitored = device.learns and bed.monitored
        self.others: list[float] = []
        """Cores that programs without a part in it used, a trial."""
        with contextlib.ExitStack() as stack:
            tx, rx = bed.ends["tx"], bed.ends["rx"]
            self._senders = {
                side: stack.enter_context(contextlib.closing(Sender(*end.place)))
                for side, end in ((Side.TX, tx), (Side.RX, rx))
            }
            counters = {"tx": tx, "rx": rx}
            if self.monitored:
                counters["mon"] = bed.ends["mon"]
            self._counters = {
                name: stack.enter_context(contextlib.closing(Counter(*end.place)))
                for name, end in counters.items()
            }
            self._stack = stack.pop_all()

    def __enter__(self) -> Station:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def forth(self) -> Flow:
        """From the first host to the first host behind the device, or to the router."""
        return Flow(self.up.gateway or FORTH.destination, FORTH.source)

    @contextlib.contextmanager
    def shells(self) -> Iterator[Mapping[Side, Shell]]:
        """Shells of two hosts with addresses: in the ends' namespaces, or in guests there."""
        if self._kernel is not None:
            yield self._guests
            return
        ends = self.bed.ends["tx"], self.bed.ends["rx"]
        with self.bed.addressed(self.up.gateway is not None), contextlib.ExitStack() as stack:
            made = [stack.enter_context(shell(end.run("sh", "-c", LOOP))) for end in ends]
            yield dict(zip(Side, made, strict=True))

    @cached_property
    def _guests(self) -> Mapping[Side, Shell]:
        """Virtual machines, from when they are first asked for."""
        return self._stack.enter_context(guests(self.bed, self._kernel or Path("/")))

    def wait_ready(self) -> None:
        """Return when frames pass both ways, which teaches a bridge the two first hosts."""
        flood = [Flow(BROADCAST, mac(side), side) for side in Side]
        deadline = time.monotonic() + READY_SECONDS
        while True:
            arrived = [self._passes(flow) for flow in (flood if self.device.learns else [])]
            if all(arrived) and self._passes(self.forth):
                return
            if time.monotonic() > deadline:
                raise BenchError(
                    f"{self.device.label}: no frame passes {READY_SECONDS} s after it was set up"
                )

    def frames(self, size: int, flows: Sequence[Flow] = ()) -> list[bytes]:
        """One frame a flow, by default of the one between the first hosts."""
        return [frame(flow, size) for flow in flows or [self.forth]]

    def paced(
        self,
        frames: Sequence[bytes],
        rate: float,
        seconds: float,
        among: Among | None = None,
        during: AbstractContextManager[object] | None = None,
    ) -> Trial:
        """At `rate` frames a second, or slower where the generator does not keep up.

        during: entered just before the first frame, left after the last.
        """
        sender = self._loaded(Side.TX, frames)
        count = max(1, int(rate * seconds))
        return self._trial(lambda: sender.paced(rate, count, among), during)

    def duplex(
        self,
        frames: Mapping[Side, Sequence[bytes]],
        rate: float,
        seconds: float,
        during: AbstractContextManager[object] | None = None,
    ) -> Trial:
        """Both ends send, in turn, `rate` frames a second together; both ends count."""
        one, other = (self._loaded(side, frames[side]) for side in Side)
        count = max(2, int(min(rate, FASTEST) * seconds))
        return self._trial(lambda: paced_both(one, other, rate, count), during, ("rx", "tx"))

    def probes(
        self, among: Among, rate: float, during: AbstractContextManager[object] | None = None
    ) -> Trial:
        """Probes alone, at a rate that leaves time to sleep between them."""
        return self._trial(lambda: sparse(among, rate), during)

    def flat_out(self, frames: Sequence[bytes], seconds: float) -> Trial:
        """Send at the generator's highest rate."""
        sender = self._loaded(Side.TX, frames)
        return self._trial(lambda: sender.flat_out(seconds))

    def burst(self, frames: Sequence[bytes], count: int) -> Trial:
        """So many frames back to back."""
        sender = self._loaded(Side.TX, frames)
        return self._trial(lambda: sender.burst(count))

    def announce(self, hosts: range, rate: float, side: Side = Side.RX) -> Sent:
        """One frame from each of these hosts to the first one of the other side."""
        other = Side.TX if side is Side.RX else Side.RX
        flows = [Flow(mac(other), mac(side, host), side) for host in hosts]
        sender = self._loaded(side, self.frames(MIN_SIZE, flows))
        with self._pinned():
            sent = sender.paced(rate, len(flows))
        self._counters["tx" if side is Side.RX else "rx"].settled()
        return sent

    def unknown(self, hosts: range, rate: float) -> int:
        """How many of these hosts behind the far end the device does not seem to know: a frame is
        sent to each, in its own order, and a host is known whose frame reaches the far end
        and not the monitor, too.  So a frame that is lost makes a host unknown, not known.
        """
        flows = [Flow(mac(Side.RX, host), FORTH.source) for host in hosts]
        random.Random(len(flows)).shuffle(flows)
        trial = self.paced(self.frames(MIN_SIZE, flows), rate, len(flows) / rate)
        return len(flows) - max(0, trial.received - trial.monitored)

    @contextlib.contextmanager
    def _pinned(self) -> Iterator[None]:
        """On the first core where the device does not spin, for the time of a trial."""
        cores = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {min(cores - self.up.spinning or cores)})
        try:
            yield
        finally:
            os.sched_setaffinity(0, cores)

    def _loaded(self, side: Side, frames: Sequence[bytes]) -> Sender:
        sender = self._senders[side]
        sender.load(frames)
        return sender

    def _trial(
        self,
        send: Callable[[], Sent],
        during: AbstractContextManager[object] | None = None,
        ends: Sequence[str] = ("rx",),
    ) -> Trial:
        names = [*ends, "mon"] if self.monitored else ends
        before = {name: self._counters[name].now() for name in names}
        with self._pinned(), during or contextlib.nullcontext():
            meter = Meter(self.up.programs)
            sent = send()
            usage = meter.usage()
        after = {name: self._counters[name].settled() for name in names}
        self.others.append(usage.others)
        arrived = {name: after[name] - before[name] for name in names}
        return Trial(sent, sum(arrived[name] for name in ends), arrived.get("mon", 0), usage)

    def _passes(self, flow: Flow) -> bool:
        """Whether one frame of the flow arrives at all other ends."""
        names = [name for name in self._counters if name != flow.sender.name.lower()]
        if flow.destination != BROADCAST:
            names = ["rx"]
        before = {name: self._counters[name].settled() for name in names}
        self._loaded(flow.sender, self.frames(MIN_SIZE, [flow])).burst(1)
        deadline = time.monotonic() + 0.2
        while time.monotonic() < deadline:
            if all(self._counters[name].now() > before[name] for name in names):
                return True
            time.sleep(0.002)
        return False
