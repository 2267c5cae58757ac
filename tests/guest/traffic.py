"""TCP between two hosts, and commands that run in a host's namespace meanwhile."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Iterator

from tests.support.lab import Host


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
