"""Multicast snooping measured: joins and leaves, delay, forwarding; see README.md beside this file.

Joins and leaves go through the emulated switch.  Delay and forwarding are those of Open vSwitch's
userspace datapath between real namespaces, with ofapp as its controller and with its own NORMAL
action and mcast_snooping_enable, in turns.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import socket
import struct
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from ofapp.bench.sender import Sender
from tests.bench import openflow as of
from tests.bench import switch as emulated
from tests.bench.controllers import CORES, Peer, Running, emulator_core, peers, running
from tests.bench.meanwhile import HOUR, beside
from tests.bench.table import head, interval, row, spread
from tests.support import multicast_frames as mcframes
from tests.support.controller import Controller
from tests.support.lab import Host, Lab, Switch, vsctl
from tests.support.multicast_entries import family_status
from tests.support.waiting import wait_for

SNOOP_TABLE, SNOOP_COOKIE = 80, 0x0FA9_0701_0000_0000
FAST, MEMBERS = 1, 4
DPID = 0x5E10
QUERIER = {
    "mcast_querier": True,
    "mcast_querier_address4": "10.211.0.200",
    "mcast_query_response_interval": 0.1,
    "mcast_hash_max": 100_000,
    "mcast_eht_hosts_limit": 100_000,
}


# --- joins and leaves --------------------------------------------------------------------------


def _packet_in(port: int, frame: bytes) -> bytes:
    """As Open vSwitch sends it for the flow that copies IGMP to the controller."""
    match = of.match(of.oxm(0, struct.pack("!I", port)))
    head = struct.pack("!IHBBQ", 0xFFFFFFFF, len(frame), of.ACTION, SNOOP_TABLE, SNOOP_COOKIE)
    return of.message(of.PACKET_IN, 0, head + match + b"\0\0" + frame)


def _peer(folder: str) -> Peer:
    config = {
        "defaults": {
            "stp": {"enabled": False},
            "multicast": QUERIER,
        },
        "bridges": {
            f"{1:016x}": {"ports": {f"bench-p{FAST}": {"multicast": {"mcast_fast_leave": True}}}}
        },
    }
    path = Path(folder) / "ofapp.yaml"
    path.write_text(yaml.safe_dump(config))
    known = peers()["ofapp"]

    def command(port: int, rest_port: int) -> list[str]:
        words = known.command(port, rest_port)
        return [*words[: words.index("--config-file") + 1], str(path)]

    return Peer(known.name, command, 0, known.missing)


def churn(groups: int) -> dict[str, float]:
    """Groups joined, joined by a second port, and left a second, one report each, 200 unanswered.

    A new group costs ofapp an OpenFlow group and a flow, the rest a change of that group each.
    Leaves are from a port with fast leave, so the bridge has nothing to wait for.
    """
    names = [f"239.{n >> 16 & 255}.{n >> 8 & 255}.{n & 255}" for n in range(1, groups + 1)]
    with (
        tempfile.TemporaryDirectory(prefix="mi-bench-") as folder,
        running(_peer(folder)) as controller,
        emulator_core(),
    ):
        switch = emulated.Switch(controller.port)
        try:
            switch.settle()
            switch.run(time.monotonic() + 0.5)  # until it is its own querier's turn to restrict
            base = len(switch.groups)
            found: dict[str, float] = {}

            def members(count: int) -> int:
                """Groups that have so many ports."""
                return sum(
                    len(body) == 8 + 32 * count for body in list(switch.groups.values())[base:]
                )

            for what, frames, done in (
                (
                    "new groups",
                    [_packet_in(FAST, mcframes.join(1, g)) for g in names],
                    lambda: len(switch.groups) - base,
                ),
                (
                    "second members",
                    [_packet_in(2, mcframes.join(2, g)) for g in names],
                    lambda: members(2),
                ),
                (
                    "leaves",
                    [_packet_in(FAST, mcframes.leave(1, g)) for g in names],
                    lambda: groups - members(2),
                ),
            ):
                found |= _timed(what, switch, controller, frames, done)
            return found
        finally:
            switch.close()


def _timed(
    what: str, switch: emulated.Switch, controller: Running, frames: list[bytes], done: Any
) -> dict[str, float]:
    cpu, begun, sent, answered = controller.cpu_seconds(), time.perf_counter(), 0, 0
    deadline = time.monotonic() + 60
    while answered < len(frames):
        batch = frames[sent : max(sent, min(len(frames), answered + 1000))]
        if batch:
            switch._send(b"".join(batch))
            sent += len(batch)
        switch.run(time.monotonic() + 0.01)
        answered = done()
        if time.monotonic() > deadline:
            raise RuntimeError(f"{what}: {answered} of {len(frames)} handled")
    took = time.perf_counter() - begun
    cpu = controller.cpu_seconds() - cpu
    return {what: len(frames) / took, f"{what}, CPU µs": cpu / len(frames) * 1e6}


# --- the datapath ------------------------------------------------------------------------------


class Side:
    """A switch with a sender, members and one host that has not joined."""

    def __init__(self, lab: Lab, name: str, dpid: int) -> None:
        self.name = name
        self.switch: Switch = lab.switch(dpid)
        self.sender, *self.members, self.bystander = [
            lab.host(self.switch) for _ in range(MEMBERS + 2)
        ]

    def normal(self) -> None:
        """Let OVS do it alone."""
        vsctl(
            *("set", "Bridge", self.switch.name, "fail_mode=standalone"),
            *("mcast_snooping_enable=true",),
            *("other_config:mcast-snooping-disable-flood-unregistered=true",),
        )


def _wire(host: Host) -> socket.socket:
    """IPv4 frames of a host."""

    def make() -> socket.socket:
        sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        sock.bind(("eth0", 0x0800))
        return sock

    return host.open(make)


@contextlib.contextmanager
def sending(sender: Host, groups: list[str], rate: float) -> Iterator[None]:
    """Streams to all groups in turn."""

    def work() -> None:
        os.sched_setaffinity(0, {CORES[0]})
        out = Sender(sender.namespace, "eth0")
        out.load([mcframes.stream(1, group) for group in groups])
        if rate:
            out.paced(rate, 1 << 31)
        out.flat_out(HOUR)

    with beside(work):
        yield


def delay(side: Side, group: str, rate: float = 5000) -> float:
    """Milliseconds from a report to the first frame of a running stream."""
    host = side.members[0]
    wire = _wire(host)
    joining = mcframes.join(50, group)
    destination = mcframes.packed(group)
    try:
        with sending(side.sender, [group], rate):
            before = _count(side.sender, "tx_packets")
            wait_for(lambda: _count(side.sender, "tx_packets") > before, "the stream to begin")
            while True:
                try:
                    wire.recv(2048, socket.MSG_DONTWAIT)
                except BlockingIOError:
                    break
            begun = time.perf_counter()
            wire.send(joining)
            wire.settimeout(5)
            while True:
                data = wire.recv(2048)
                if data[30:34] == destination and data[23] == 17:
                    return (time.perf_counter() - begun) * 1e3
    finally:
        wire.close()


def _count(host: Host, what: str = "rx_packets") -> int:
    return int(host.run("cat", f"/sys/class/net/eth0/statistics/{what}"))


def forwarding(side: Side, groups: list[str], seconds: float) -> tuple[float, float]:
    """Thousand frames a second sent flat out, and what all members together get of them."""
    with sending(side.sender, groups, 0):
        time.sleep(0.3)
        sent, spared = _count(side.sender, "tx_packets"), _count(side.bystander)
        before, begun = sum(map(_count, side.members)), time.perf_counter()
        time.sleep(seconds)
        after, took = sum(map(_count, side.members)), time.perf_counter() - begun
        sent = _count(side.sender, "tx_packets") - sent
        leaked = _count(side.bystander) - spared
    if leaked > 100:
        raise RuntimeError(f"{side.name}: {leaked} frames to a host that has not joined")
    return sent / took / 1000, (after - before) / took / 1000


def datapath(repeat: int, streams: int, seconds: float) -> dict[str, dict[str, list[float]]]:
    """Both sides in turns."""
    lab = Lab()
    config = {
        "defaults": {
            "stp": {"enabled": False},
            "multicast": QUERIER,
        }
    }
    controller = Controller(yaml.safe_dump(config))
    found: dict[str, dict[str, list[float]]] = {}
    try:
        controller.start()
        ours, normal = Side(lab, "ofapp", DPID), Side(lab, "NORMAL", DPID + 1)
        controller.connect(ours.switch)
        normal.normal()
        wait_for(
            lambda: family_status(controller, ours.switch, 4)["forwarding"] == "restrict",
            "streams to be restricted",
        )
        groups = [f"239.100.{n >> 8}.{n & 255}" for n in range(streams)]
        for side in (ours, normal):
            found[side.name] = {"delay": [], "offered": [], "rate": []}
            for number, host in enumerate(side.members):
                with contextlib.closing(_wire(host)) as wire:
                    for group in groups:
                        wire.send(mcframes.join(10 + number, group))
        wait_for(
            lambda: (
                len(
                    controller.get(f"/v1/bridges/{ours.switch.dpid16}/mdb", group=groups[-1])[
                        "entries"
                    ]
                )
                == MEMBERS
            ),
            "the last to have joined",
        )
        fresh = (f"239.200.{n >> 8}.{n & 255}" for n in itertools.count())
        for turn in range(repeat):
            pair = (ours, normal) if turn % 2 else (normal, ours)
            for side in pair:
                offered, rate = forwarding(side, groups, seconds)
                found[side.name]["offered"].append(offered)
                found[side.name]["rate"].append(rate)
            for side in pair:
                found[side.name]["delay"] += [delay(side, next(fresh)) for _ in range(3)]
    finally:
        lab.close()
        controller.close()
    return found


# --- the command -------------------------------------------------------------------------------


def main() -> int:
    """Returns the exit status."""
    parser = argparse.ArgumentParser(prog="tests/bench/run multicast", description=__doc__)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--groups", type=int, default=4000, help="joined and left")
    parser.add_argument("--streams", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=2, help="of a forwarding run")
    parser.add_argument("--json", type=Path, metavar="FILE", help="every figure of every run")
    options = parser.parse_args()
    output: dict[str, Any] = {"churn": []}
    for turn in range(options.repeat):
        print(f"  joins and leaves, {turn + 1} of {options.repeat} ...", file=sys.stderr)
        output["churn"].append(churn(options.groups))
    print("  the datapath ...", file=sys.stderr)
    output["datapath"] = found = datapath(options.repeat, options.streams, options.seconds)

    print("## Multicast snooping\n\nMedians (least to greatest).\n")
    print(head("", "a second", "CPU µs of the controller"))
    for what in ("new groups", "second members", "leaves"):
        rates, cpu = ([run[key] for run in output["churn"]] for key in (what, f"{what}, CPU µs"))
        print(row(what, spread(rates, ",.0f"), spread(cpu)))
    print(f"\n{options.streams} streams of 60-byte frames to {MEMBERS} members each:\n")
    print(head("", "k frames/s offered", "delivered", "ms from report to first frame"))
    for name, values in found.items():
        print(row(name, *(spread(values[key], ".1f") for key in ("offered", "rate", "delay"))))
    pairs = zip(found["ofapp"]["rate"], found["NORMAL"]["rate"], strict=True)
    ratios = [one / other for one, other in pairs]
    print(f"\nForwarding beside NORMAL, by turn: {interval(ratios)}.")
    if options.json:
        options.json.write_text(json.dumps(output, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
