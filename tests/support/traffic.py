"""How fast two hosts are with each other, and commands that run in a host's namespace meanwhile."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from tests.support.lab import Host
from tests.support.waiting import wait_for


@contextlib.contextmanager
def running(host: Host, *command: str) -> Iterator[subprocess.Popen[str]]:
    """A command that runs in a host's namespace meanwhile; what it has started ends with it."""
    process = subprocess.Popen(
        ["ip", "netns", "exec", host.namespace, *command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if process.stdout:
            process.stdout.close()


def tcp_mbps(client: Host, server: Host) -> float:
    """Mbit/s of one TCP stream during a second."""
    with running(server, "iperf3", "-s", "-1", "--forceflush") as daemon:
        assert any("listening" in line for line in daemon.stdout or ())
        said = client.run("iperf3", "-c", server.ip, "-t", 1, "-J")
        return float(json.loads(said)["end"]["sum_received"]["bits_per_second"]) / 1e6


def small_frames(one: Host, other: Host) -> float:
    """Frames of 60 bytes a second that arrive at the other while one sends all it can."""
    frame = f"/tmp/{one.namespace}.trafgen"
    Path(frame).write_text(f"{{ eth(da={other.mac}, sa={one.mac}, type=0x88b5), fill(0, 46) }}")
    sender = ("trafgen", "--in", frame, "--dev", "eth0", "--cpus", "1", "--num", "0")
    try:
        with running(one, *sender):
            begun = _received(other)
            wait_for(lambda: _received(other) > begun + 1000, "frames to arrive")
            counts, times = zip(*(_count_after(other, pause) for pause in (0.2, 0.8)), strict=True)
            return float((counts[1] - counts[0]) / (times[1] - times[0]))
    finally:
        Path(frame).unlink()


def _count_after(host: Host, pause: float) -> tuple[int, float]:
    time.sleep(pause)  # the length of the measurement itself
    return _received(host), time.monotonic()


def _received(host: Host) -> int:
    return int(host.run("cat", "/sys/class/net/eth0/statistics/rx_packets"))
