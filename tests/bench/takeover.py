"""How long a member of a cluster takes to serve a switch that it takes over, by its hosts.

    tests/bench/run takeover                                 some minutes
    tests/bench/run takeover --hosts 10,10000 --turns 5

An ovs-vswitchd without a kernel (dummy ports) has learned so many hosts from its owner, which is
then killed.  From the other member's claim on, which is made when the lease of the owner has ended,
it takes so long until the switch is in line: all of its flows have been read and compared.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from datetime import datetime

from tests.bench.table import head, row, spread
from tests.support import frames
from tests.support.controller import Controller
from tests.support.etcd_nodes import EtcdNodes
from tests.support.ovs import Bridge, VSwitchd
from tests.support.waiting import wait_for

AT_ONCE = 500
"""Frames of new hosts that arrive together."""

CONFIG = "defaults: {packet_in_rate: 1000000, ageing_time: 65535, fdb_max_learned: 200000}"
"""So that no frame is held back, and none ages out while the clock is put forward."""


@dataclass(frozen=True, slots=True)
class Takeover:
    """Seconds.  silent: from the owner's end to the claim; in_line: from then on."""

    silent: float
    in_line: float


@contextmanager
def members(etcd: EtcdNodes) -> Iterator[dict[str, Controller]]:
    """Two, by name."""
    with ExitStack() as stack:
        made = {}
        for name in ("a", "b"):
            options = (f"--cluster=etcd={','.join(etcd.endpoints)}", f"--member={name}")
            made[name] = stack.enter_context(
                closing(Controller(CONFIG, options=options))  # type: ignore[type-var]
            )
            made[name].start()
        yield made


def serves(member: Controller, name: str, bridge: Bridge) -> bool:
    """Whether the switch is this member's, and in line."""
    claims = member.get("/v1/cluster")["bridges"]
    if not any(
        claim["datapath_id"] == bridge.dpid16 and claim["owner"] == name for claim in claims
    ):
        return False
    reply = member.api("GET", f"/v1/bridges/{bridge.dpid16}", timeout=60)
    return reply.status == 200 and bool(reply.body["in_line"])


def teach(owner: Controller, bridge: Bridge, count: int) -> None:
    """Have so many hosts learned."""

    def known() -> int:
        return int(owner.bridge(bridge)["fdb"]["learned"])

    while known() < count:
        for first in range(0, count, AT_ONCE):
            new = range(first + 1, min(first + AT_ONCE, count) + 1)
            bridge.inject(1, *(frames.ethernet(frames.BROADCAST, frames.host(n)) for n in new))
            bridge.switch.appctl("time/warp", "20")
        print(f"  {known():,} of {count:,} hosts are known", file=sys.stderr, flush=True)
        before = -1
        while before != (before := known()) and before < count:
            time.sleep(0.5)


def moment(member: Controller, kind: str, bridge: Bridge) -> float:
    """When that happened last, in seconds since the epoch."""
    events = [event for event in member.events(kind) if event.get("datapath_id") == bridge.dpid16]
    return datetime.fromisoformat(events[-1]["time"]).timestamp()


def turn(switch: VSwitchd, made: dict[str, Controller], count: int) -> Takeover:
    """One takeover."""
    bridge = switch.add_bridge(ports=3)
    switch.vsctl("set-controller", bridge.name, *(one.target for one in made.values()))
    for uuid in switch.vsctl("--bare", "--columns=_uuid", "list", "Controller").split():
        words = ("inactivity_probe=0", "max_backoff=1000", "connection_mode=out-of-band")
        switch.vsctl("set", "Controller", uuid, *words)
    try:
        owner = wait_for(
            lambda: next((name for name, one in made.items() if serves(one, name, bridge)), None),
            "an owner",
            tick=switch.step,
            seconds=60,
        )
        (name,) = (name for name in made if name != owner)
        former, other = made[str(owner)], made[name]
        teach(former, bridge, count)
        ended = datetime.now().timestamp()
        former.kill9()
        wait_for(lambda: serves(other, name, bridge), "the takeover", tick=switch.step, seconds=120)
        claimed = moment(other, "cluster.owner", bridge)
        ready = moment(other, "bridge.ready", bridge)
        former.start()
        return Takeover(claimed - ended, ready - claimed)
    finally:
        bridge.destroy()


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests/bench/run takeover", description=__doc__)
    parser.add_argument("--hosts", default="10,10000,100000", metavar="COUNTS")
    parser.add_argument("--turns", type=int, default=3)
    arguments = parser.parse_args()
    print(head("hosts", "s until the claim", "s until in sync", "turns"))
    switch = VSwitchd()
    with closing(EtcdNodes()) as etcd, closing(switch), members(etcd) as made:
        switch.start()
        for count in map(int, arguments.hosts.split(",")):
            turns = [turn(switch, made, count) for _ in range(arguments.turns)]
            columns = zip(*((t.silent, t.in_line) for t in turns), strict=True)
            cells = (spread(times, ".2f") for times in columns)
            print(row(f"{count:,}", *cells, len(turns)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
