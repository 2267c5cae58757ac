"""A mesh of many bridges that loses its root: ofapp's spanning tree, and Open vSwitch's own.

A random network that hangs together without its root.  Four hosts say numbered broadcast frames; it
is whole again when those of a second have reached everybody.  The root is made the worst, its links
are cut, or it goes and its links stay up.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator

from tests.bench.stp_ring import DefaultRstp
from tests.support.census import Census
from tests.support.controller import Controller
from tests.support.lab import sh, vsctl
from tests.support.network import Network

EVENTS = ("demoted", "cut off", "gone")
INTERVAL = 0.04
PATIENCE = 90.0
ROOT, WORST = 4096, 61440
_CONFIG = "defaults: {stp: {enabled: true}}"


class _Counting(Census):
    """Copies are what is counted here, and no reason to stop."""

    def check(self) -> None:
        return


class Mesh:
    """The bridges and the links between them; the first bridge is the root."""

    def __init__(self, kind: str, size: int, links: int, seed: int) -> None:
        rng = random.Random(seed)
        self.network = network = Network("sw")
        self.controller: Controller | None = None
        if kind == "ofapp":
            self.controller = Controller(_CONFIG)
            self.controller.start()
            self.bridges = [network.switch() for _ in range(size)]
        else:
            self.bridges = [network.peer(DefaultRstp, 32768) for _ in range(size)]
        root, *others = self.bridges
        order = rng.sample(others, size - 1)
        ends = [(order[i], order[rng.randrange(i)]) for i in range(1, size - 1)]
        ends += [(root, other) for other in rng.sample(others, 3)]
        ends += [tuple(rng.sample(others, 2)) for _ in range(links - len(ends))]
        for pair in ends:
            network.cable(*pair)
        for home in rng.sample(others, 4):
            network.host(home)  # type: ignore[arg-type]
        if self.controller is not None:
            for switch in self.bridges:
                self.controller.connect(switch)
        self.set_priority(ROOT)

    def set_priority(self, priority: int) -> None:
        """The root's."""
        root = self.bridges[0]
        if self.controller is not None:
            path = f"/v1/bridges/{root.dpid16}/stp"
            assert self.controller.api("PATCH", path, {"priority": priority}).status == 200
        else:
            vsctl("set", "Bridge", root.name, f"other_config:rstp-priority={priority}")

    def lose_root(self, how: str) -> None:
        """One of `EVENTS`."""
        root = self.bridges[0]
        if how == "demoted":
            self.set_priority(WORST)
        elif how == "gone":
            vsctl("del-br", root.name)
        else:
            for cable in self.network.cables:
                if root in (cable.left, cable.right):
                    sh("ip", "link", "set", cable.ends[cable.right is root], "down")

    def close(self) -> None:
        self.network.close()
        if self.controller is not None:
            self.controller.close()


@contextlib.contextmanager
def _meshed(kind: str, size: int, links: int, seed: int) -> Iterator[Mesh]:
    made = Mesh(kind, size, links, seed)
    try:
        yield made
    finally:
        made.close()


def heals(kind: str, how: str, size: int, links: int, seed: int) -> tuple[float, int]:
    """Seconds until every host hears every other one again, and the frames that came too often."""
    with (
        _meshed(kind, size, links, seed) as made,
        _Counting(made.network.hosts, INTERVAL) as census,
    ):
        census.wait_whole("boot", 180, rounds=125)
        copies = len(census.surplus)
        made.lose_root(how)
        took = census.wait_whole(how, PATIENCE, rounds=25)
        return took, len(census.surplus) - copies
