"""What-if questions to a controller with 50 real switches and 90 links.

    tests/bench/run questions [--bridges 50] [--links 90] [--seconds 20]

The switches are bridges of one Open vSwitch with dummy ports, joined by patch ports. By turns
no token asks, one asks, and several ask at the same time. The time of each answer, the
lateness of hellos by the switch's own records of frames, and the controller's memory are printed.
"""

from __future__ import annotations

import argparse
import os
import re
import struct
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import httpx
import yaml

from ofapp.bench.figures import percentile
from tests.bench.table import head, row
from tests.page.site import Ticking
from tests.support.controller import Controller
from tests.support.ovs import Bridge
from tests.support.waiting import wait_for

HELLO = 1.0
HOST = 1000
"""Port of each bridge with a host; its frames are recorded."""
MOST = 4
"""Tokens that ask at the same time."""


class Mesh:
    """The switches with their controller."""

    def __init__(self, bridges: int, links: int, seed: int = 1) -> None:
        stp = {"enabled": True, "hello_time": HELLO}
        self.controller = Controller(yaml.safe_dump({"defaults": {"stp": stp, "lldp": {}}}))
        self.switch = Ticking()
        self.links = _random_links(Random(seed), bridges, links)
        self.controller.start()
        self.switch.start()
        self.bridges = [self.switch.add_bridge() for _ in range(bridges)]
        for bridge in self.bridges:
            bridge.add_port(HOST)
        for number, (one, other) in enumerate(self.links, 1):
            self._join(number, self.bridges[one], self.bridges[other])
        for bridge in self.bridges:
            bridge.set_controller(self.controller.target)
        wait_for(lambda: self._known() == links, "all links to be known", seconds=240)

    def _join(self, number: int, *ends: Bridge) -> None:
        names = [f"{bridge.name}-{number}" for bridge in ends]
        words: list[str] = []
        for bridge, name, peer in zip(ends, names, names[::-1], strict=True):
            bridge.names[number] = name
            words += ["--", "add-port", bridge.name, name, "--", "set", "Interface", name]
            words += ["type=patch", f"options:peer={peer}", f"ofport_request={number}"]
        self.switch.vsctl(*words[1:])

    def _known(self) -> int:
        return len(self.controller.get("/v1/topology")["links"])

    def question(self, random: Random) -> dict[str, Any]:
        """A cable is cut."""
        number = random.randrange(len(self.links))
        one, _ = self.links[number]
        return {"cut": [f"{self.bridges[one].dpid16}/{number + 1}"], "seconds": 60}

    def ask(self, random: Random, token: str) -> tuple[float, int]:
        """Seconds that an answer takes, and its status."""
        began = time.monotonic()
        reply = httpx.post(
            f"http://127.0.0.1:{self.controller.api_port}/v1/what-if",
            json=self.question(random),
            headers={"Authorization": f"Bearer {token}"},
            timeout=60,
            trust_env=False,
        )
        return time.monotonic() - began, reply.status_code

    def token(self, name: str) -> str:
        """A new token."""
        place = f"unix:{self.controller.dir}/state/api.sock"
        done = self.controller.ofapp("token", "create", name, "--role", "viewer", "--api", place)
        return str(done.stdout).strip().splitlines()[-1]

    def lateness(self, since: float) -> list[float]:
        """How much later than `HELLO` each BPDU has left by the ports of hosts."""
        found: list[float] = []
        for bridge in self.bridges:
            sent = _times(self.switch.dir / f"{bridge.name}-{HOST}.pcap")
            times = [at for at in sent if at >= since]
            found += [later - earlier - HELLO for earlier, later in pairwise(times)]
        return found

    def resident(self) -> int:
        """The controller's resident memory, octets."""
        status = Path(f"/proc/{self.controller.pid}/status").read_text()
        return int(re.findall(r"VmRSS:\s+(\d+)", status)[0]) * 1024

    def close(self) -> None:
        self.switch.close()
        self.controller.close()


def _random_links(random: Random, bridges: int, links: int) -> list[tuple[int, int]]:
    """Pairs of bridges: a tree, and more."""
    pairs = [(random.randrange(at), at) for at in range(1, bridges)]
    while len(pairs) < links:
        one, other = random.sample(range(bridges), 2)
        pairs.append((one, other))
    return pairs


def _times(path: Path) -> Iterator[float]:
    """When each BPDU left that is recorded in a file of pcap."""
    data, at = path.read_bytes(), 24
    while at + 16 <= len(data):
        seconds, micro, length = struct.unpack_from("<III", data, at)
        if data[at + 16 : at + 22] == bytes.fromhex("0180c2000000"):
            yield seconds + micro / 1e6
        at += 16 + length


@contextmanager
def asking(mesh: Mesh, tokens: Sequence[str], answers: list[tuple[float, int]]) -> Iterator[None]:
    """With each token, one question after the other is asked during the body."""
    over = threading.Event()

    def work(token: str) -> None:
        random = Random(token)
        while not over.is_set():
            answers.append(mesh.ask(random, token))

    threads = [threading.Thread(target=work, args=(token,)) for token in tokens]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="tests/bench/run questions", description=__doc__)
    parser.add_argument("--bridges", type=int, default=50)
    parser.add_argument("--links", type=int, default=90)
    parser.add_argument("--seconds", type=float, default=20, help="of each part")
    given = parser.parse_args()
    with closing(Mesh(given.bridges, given.links)) as mesh:
        tokens = [mesh.token(f"t{number}") for number in range(MOST)]
        print(
            head(
                "", "answers", "median s", "longest s", "hellos", "p99 late ms", "latest ms", "MiB"
            )
        )
        for clients in (0, 1, MOST):
            answers: list[tuple[float, int]] = []
            since = time.time()
            with asking(mesh, tokens[:clients], answers):
                time.sleep(given.seconds)
            late = mesh.lateness(since)
            took = [seconds for seconds, status in answers if status == 200]
            print(
                row(
                    f"{clients} tokens ask",
                    f"{len(took)} of {len(answers)}",
                    f"{percentile(took, 0.5):.2f}",
                    f"{percentile(took, 1):.2f}",
                    len(late),
                    f"{1000 * percentile(late, 0.99):.0f}",
                    f"{1000 * percentile(late, 1):.0f}",
                    f"{mesh.resident() / (1 << 20):.1f}",
                ),
                flush=True,
            )
        print(f"\nload {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
