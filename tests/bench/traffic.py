"""New hosts on an emulated switch, and what the controller does about them.

The same traffic for every controller.  Host i has its own MAC, sits on port 1 + i mod P, and
sends one 64-byte unicast frame to host i-1, whose frame was sent just before (the very first host
of a connection broadcasts).  So each frame has an unknown source and a known destination, and each
controller does its whole job for each: learn the source, install what lets the datapath forward.
A classic learning switch installs one flow, (src, dst) -> port, and sends the frame on itself;
ofapp installs a source and a destination flow, and its datapath has forwarded the frame already.

A host counts as *learned* when the first flow-mod about it arrives and as *complete* when all have
(how many those are is found out first, with a few hosts one at a time).
"""

from __future__ import annotations

import ctypes
import struct
import time
from dataclasses import dataclass

from tests.bench import openflow as of
from tests.bench.switch import Switch

_SOURCE = b"\2\0" + bytes(4)  # the hot loop writes the last four bytes
BROADCAST = b"\xff" * 6
_ETH_DST_AT, _ETH_SRC_AT = 0, 6


def _frame(destination: bytes) -> bytes:
    """64 bytes of IPv4/UDP with a made-up payload, or a broadcast ARP request."""
    if destination == BROADCAST:
        arp = struct.pack("!HHBBH6s4s6s4s", 1, 0x800, 6, 4, 1, b"", b"\n\0\0\1", b"", b"\n\0\0\2")
        return (destination + _SOURCE + b"\x08\x06" + arp).ljust(64, b"\0")
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 50, 0, 0, 64, 17, 0, b"\n\0\0\1", b"\n\0\0\2")
    udp = struct.pack("!HHHH", 4000, 4001, 30, 0)
    return (destination + _SOURCE + b"\x08\x00" + ip + udp).ljust(64, b"\0")


def mac(host: int) -> str:
    """The MAC address of a host, as people write it."""
    return (b"\2\0" + host.to_bytes(4, "big")).hex(":")


@dataclass(frozen=True, slots=True)
class Taught:
    """The outcome of teaching hosts."""

    hosts: int
    sent: int
    learned: int
    complete: int
    seconds: float
    """From the first packet-in to the first flow-mod of the last host learned."""
    seconds_complete: float
    """... to the last flow-mod of the last host completed."""
    flow_mods: int
    packet_outs: int
    generator_busy: float
    """Share of the time that the emulator's thread was on a CPU."""
    delays: list[float]
    """Packet-in to first flow-mod, seconds, a host."""
    delays_complete: list[float]


class Traffic:
    """Sends hosts through one settled switch; hosts keep counting up over calls."""

    def __init__(self, switch: Switch) -> None:
        self.switch = switch
        self.next_host = 1
        self.expect = 0
        self._keep: list[object] = []  # what the C side points into

    @property
    def hosts_sent(self) -> int:
        """How many hosts the controller has heard of."""
        return self.next_host - 1

    def _templates(self, ports: list[int], destination: bytes) -> None:
        """One packet-in a port, as the flow for unknown sources on that port would send it."""
        made = []
        frame = _frame(destination)
        for port in ports:
            flow = self.switch.miss_flow(port)
            fields = [of.oxm(0, struct.pack("!I", port))]
            if flow is None:  # as a switch before OpenFlow 1.3 reports a miss
                made.append(of.packet_in(of.NO_COOKIE, 0, of.NO_MATCH, of.match(*fields), frame))
                continue
            copy = of.to_controller(flow)
            assert copy is not None
            fields += [o for o in flow.oxms if o[:2] != b"\x80\0" or o[2] >> 1 == 2]
            made.append(
                of.packet_in(flow.cookie, flow.table, copy.reason, of.match(*fields), frame)
            )
        length = len(made[0])
        assert all(len(one) == length for one in made)
        pump = self.switch.pump
        buffer = ctypes.create_string_buffer(b"".join(made), length * len(made))
        self._keep = [buffer]
        pump.templates = ctypes.addressof(buffer)
        pump.n_ports, pump.template_len = len(made), length
        pump.dst_at = length - len(frame) + _ETH_DST_AT
        pump.src_at = length - len(frame) + _ETH_SRC_AT

    def _reset(self, hosts: int, tracked: int) -> list[ctypes.Array[ctypes.c_int64]]:
        pump = self.switch.pump
        pump.first_host, pump.n_hosts, pump.tracked = self.next_host, hosts, tracked
        pump.sent = pump.learned = pump.complete = 0
        pump.started_ns = pump.flow_mods = pump.packet_outs = 0
        pump.echo_every_ns = pump.echoes = pump.interval_ns = 0
        pump.expect, pump.wait_complete, pump.spin = self.expect, 0, 0
        times = [(ctypes.c_int64 * max(1, tracked))() for _ in range(3)]
        mods = (ctypes.c_uint8 * max(1, tracked))()
        self._keep += [times, mods]
        pump.sent_ns, pump.first_ns, pump.last_ns = (ctypes.addressof(t) for t in times)
        pump.mods = ctypes.addressof(mods)
        self.next_host += hosts
        return times

    def introduce(self, calibrate: int = 20) -> int:
        """Settle, let one host broadcast, and find out how many flow-mods a host gets.

        Raises RuntimeError when the controller does not answer packet-ins with flow-mods.
        """
        self.switch.settle()
        self._templates(self.switch.ports[-1:], BROADCAST)
        self._reset(1, 1)
        self.switch.pump.unicast, self.switch.pump.window = 0, 1
        self._run(0.3, stall=0.3)
        self._templates(self.switch.ports, b"\2\0\0\0\0\0")
        counts = []
        for _ in range(calibrate):
            self._reset(1, 1)
            self.switch.pump.unicast, self.switch.pump.window = 1, 1
            self.switch.pump.expect = 0
            self._run(5, stall=5)  # ends at the first flow-mod ...
            before = self.switch.pump.learned
            if not before:
                raise RuntimeError("no flow-mod for a packet-in: nothing to measure")
            self.switch.pump.expect = 255
            self._run(1, stall=0.02)  # ... and then until silence
            counts.append(ctypes.cast(self.switch.pump.mods, ctypes.POINTER(ctypes.c_uint8))[0])
        self.expect = max(set(counts), key=counts.count)
        return self.expect

    def _run(self, seconds: float, stall: float) -> int:
        self.switch.pump.stall_ns = int(stall * 1e9)
        return self.switch.run(time.monotonic() + seconds)

    def teach(self, hosts: int, *, window: int, seconds: float, spin: bool = False) -> Taught:
        """Up to `hosts` new hosts in at most `seconds`, with `window` unanswered at a time.

        A window of 1 waits for all of a host's flow-mods and so gives delays without queueing.
        """
        times = self._reset(hosts, hosts)
        pump = self.switch.pump
        pump.unicast, pump.window, pump.spin = 1, window, int(spin)
        pump.wait_complete = int(window == 1)
        wall, cpu = time.monotonic(), time.thread_time()
        self._run(seconds, stall=3)
        busy = (time.thread_time() - cpu) / (time.monotonic() - wall)
        sent, first, last = (list(t[: pump.sent]) for t in times)
        origin = sent[0]
        return Taught(
            hosts=hosts,
            sent=pump.sent,
            learned=pump.learned,
            complete=pump.complete,
            seconds=(max(first) - origin) / 1e9,
            seconds_complete=(max(last) - origin) / 1e9,
            flow_mods=pump.flow_mods,
            packet_outs=pump.packet_outs,
            generator_busy=busy,
            delays=[(f - s) / 1e9 for s, f in zip(sent, first, strict=True) if f],
            delays_complete=[(f - s) / 1e9 for s, f in zip(sent, last, strict=True) if f],
        )

    def recent(self, count: int) -> list[bytes]:
        """The MACs of the first `count` hosts of the last batch."""
        first = self.switch.pump.first_host
        return [b"\2\0" + host.to_bytes(4, "big") for host in range(first, first + count)]

    def flood(self, seconds: float, rate: float = 0) -> tuple[int, list[float]]:
        """New hosts from one port for `seconds`, flat out or at `rate` a second.

        Returns the packet-ins sent and the round trips, in seconds, of an echo request each 20 ms
        that shares the connection; one still unanswered counts with the time it has waited.
        """
        templates = self._keep
        self._templates(self.switch.ports[:1], BROADCAST)
        self._keep += templates
        self._reset(1 << 30, 0)
        pump = self.switch.pump
        capacity = int(seconds * 50) + 10
        sent_at, round_trip = (ctypes.c_int64 * capacity)(), (ctypes.c_int64 * capacity)()
        self._keep += [sent_at, round_trip]
        pump.unicast, pump.interval_ns = 0, int(1e9 / rate) if rate else 0
        pump.echo_every_ns, pump.echo_cap = 20_000_000, capacity
        pump.echo_next_ns = 0
        pump.echo_sent_ns = ctypes.addressof(sent_at)
        pump.echo_rtt_ns = ctypes.addressof(round_trip)
        self._run(seconds, stall=0)
        sent = pump.sent
        self.next_host += sent - (1 << 30)
        pump.n_hosts = sent  # no more; what is unanswered gets a second to be
        pump.echo_cap = pump.echoes
        self._run(3, stall=0.5)
        end = time.monotonic_ns()
        trips = zip(sent_at[: pump.echoes], round_trip[: pump.echoes], strict=True)
        return sent, [(rtt if rtt >= 0 else end - at) / 1e9 for at, rtt in trips]
