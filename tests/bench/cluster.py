"""Many switches on one controller, on a cluster of one member and on one of several.

    tests/bench/run cluster                               1,000 switches of 100 hosts; as Markdown
    tests/bench/run cluster --switches 50 --hosts 20 --members 0,1,3

Each switch is emulated, with a connection to every member and one set of flows.  Measured is how
long it takes until all are in line, until each is with the member that it falls to, until all hosts
are learned, and until all are in line again when a member was killed: its switches go to the
others, or to the one that is started in its place.
Echoes of some switches tell the longest stall.  All members share a core, as the emulator has the
other one: so more members show what a cluster costs, and not what more machines bring.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ofapp.bench.processes import end, free_port
from tests.bench.controllers import HERE, Running, emulator_core, launch, ofapp
from tests.bench.fleet import Fleet, Member
from tests.bench.table import head, row
from tests.support.etcd_nodes import EtcdNodes

PATIENCE = 600.0
REST = 5.0
"""Seconds in which no switch has another owner: each is with the one that it falls to."""
LISTENED = 20
"""Switches whose echoes are timed."""


@dataclass
class Row:
    """Seconds, and bytes of all members together before there were switches and with all hosts."""

    members: int
    in_line: float = 0.0
    at_rest: float = 0.0
    learned: float = 0.0
    again: float = 0.0
    moved: int = 0
    before: int = 0
    after: int = 0
    stalls: list[float] = field(default_factory=list)
    cpu: float = 0.0


class Site:
    """Controllers; 0 members: one, in no cluster."""

    def __init__(self, scratch: Path, members: int, etcd: EtcdNodes | None) -> None:
        self._scratch = scratch
        self._etcd = etcd
        self.running = [self.start(number) for number in range(1, max(1, members) + 1)]

    def start(self, number: int, port: int | None = None) -> Running:
        """One of them, the same as before where its port is given."""
        port, rest_port = port or free_port(), free_port()
        command = [*ofapp(port, rest_port)[:-1], str(HERE / "storms.yaml")]
        if self._etcd is not None:
            command.append(f"--cluster=etcd={','.join(self._etcd.endpoints)}")
            command.append(f"--member=m{number}")
        folder = self._scratch / f"m{number}"
        folder.mkdir(exist_ok=True)
        try:
            return launch(command, folder, port, rest_port)
        except RuntimeError as error:
            raise RuntimeError(f"member {number}: {error}") from error

    def memory(self) -> int:
        """Resident bytes of all."""
        return sum(one.resident() for one in self.running)


@contextlib.contextmanager
def site(members: int) -> Iterator[Site]:
    """Controllers that run; etcd has the emulator's core."""
    etcd = EtcdNodes(1) if members else None
    made = None
    try:
        with tempfile.TemporaryDirectory(prefix="ofapp-bench-") as scratch:
            made = Site(Path(scratch), members, etcd)
            yield made
    finally:
        for one in made.running if made else ():
            end(one.process)
        if etcd is not None:
            etcd.close()


def connect(fleet: Fleet, dpid: int, ports: list[int]) -> list[Member]:
    """One switch: what any member tells it is there for all of them."""
    there = [fleet.add(Member(port, dpid)) for port in ports]
    for other in there[1:]:
        _same(there[0], other)
    return there


def come_again(fleet: Fleet, network: list[list[Member]], ports: list[int]) -> int:
    """A member ends a connection when it gives a switch away: it comes again.  Gives how many.

    ports: of the members; 0 for one that has gone.
    """
    count = 0
    for connections in network:
        for at, one in enumerate(connections):
            if one.closed and ports[at]:
                count += 1
                connections[at] = fleet.add(Member(ports[at], connections[0].dpid))
                _same(one, connections[at])
                connections[at].echoing = one.echoing
                fleet.dismiss(one)
    return count


def at_rest(fleet: Fleet, network: list[list[Member]], ports: list[int]) -> None:
    """Return when no switch was given to another member for some seconds."""
    deadline, quiet = time.monotonic() + PATIENCE, time.monotonic() + REST
    while time.monotonic() < quiet:
        if time.monotonic() > deadline:
            raise RuntimeError(f"switches still change their owners after {PATIENCE:g} s")
        if come_again(fleet, network, ports):
            quiet = time.monotonic() + REST
        fleet.run(0.1)


def _same(one: Member, other: Member) -> None:
    other._flows, other.groups, other.meters = one._flows, one.groups, one.meters


def served(connections: list[Member]) -> Member | None:
    """The connection whose controller has looked at all that the switch holds."""
    return next((one for one in connections if one.in_line is not None and not one.closed), None)


def measure(members: int, switches: int, hosts: int) -> Row:
    """One found."""
    found = Row(members)
    with site(members) as controllers, emulator_core():
        found.before = controllers.memory()
        fleet = Fleet()
        begun = time.monotonic()
        ports = [one.port for one in controllers.running]
        network = []
        for dpid in range(1, switches + 1):
            network.append(connect(fleet, dpid, ports))
            fleet.run(0)
        for connections in network[:LISTENED]:
            connections[0].echoing = True

        waiting = set(range(switches))

        def in_line() -> bool:
            """Whether each was; one that is given to another member is away for a moment."""
            waiting.difference_update([at for at in waiting if served(network[at])])
            come_again(fleet, network, ports)
            return not waiting

        _until(fleet, in_line, "all to be in line")
        found.in_line = time.monotonic() - begun
        at_rest(fleet, network, ports)
        found.at_rest = time.monotonic() - begun - REST

        begun = time.monotonic()
        owners = [owner for connections in network if (owner := served(connections))]
        for owner in owners:
            owner.send(owner.sightings(1, hosts))
        _until(fleet, lambda: all(len(own.learned) >= hosts for own in owners), "all hosts")
        found.learned = time.monotonic() - begun
        fleet.run(5)
        found.after = controllers.memory()
        found.cpu = sum(one.cpu_seconds() for one in controllers.running)
        found.stalls = [trip for own in network[:LISTENED] for trip in own[0].echoes()]

        victim = controllers.running[0]
        gone = [own for own in network if (owner := served(own)) and owner is own[0]]
        found.moved = len(gone)
        victim.process.kill()
        victim.process.wait()
        begun = time.monotonic()
        if members > 1:
            ports[0] = 0
        else:
            controllers.running[0] = controllers.start(1, victim.port)
            fleet.close()
            fleet = Fleet()
            network = [connect(fleet, dpid, ports) for dpid in range(1, switches + 1)]
            gone = network
        for own in gone:
            own[0].in_line = None
        waiting.update(network.index(own) for own in gone)
        _until(fleet, in_line, "all to be in line again")
        found.again = time.monotonic() - begun
        fleet.close()
    return found


def _until(fleet: Fleet, condition, what: str) -> None:  # type: ignore[no-untyped-def]
    """Serve the switches; the condition costs something, and is not asked all the time."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise RuntimeError(f"waited {PATIENCE:g} s in vain for {what}")
        fleet.run(0.1)


def main() -> int:
    """Prints a table."""
    parser = argparse.ArgumentParser(prog="tests/bench/run cluster", description=__doc__)
    parser.add_argument("--switches", type=int, default=1000)
    parser.add_argument("--hosts", type=int, default=100, help="of each switch")
    parser.add_argument("--members", default="0,1,3", help="0 = one controller in no cluster")
    options = parser.parse_args()
    gc.disable()
    print(
        f"{options.switches:,} switches, {options.hosts} hosts each; load {os.getloadavg()[0]:.1f}"
    )
    times = (
        "in sync, s",
        "at rest, s",
        "hosts learned, s",
        "KiB a switch",
        "one killed: in sync, s",
    )
    print(head("members", *times, "moved", "longest stall, ms", "CPU, s"))
    for members in map(int, options.members.split(",")):
        found = measure(members, options.switches, options.hosts)
        each = (found.after - found.before) / options.switches / 1024
        stall = 1000 * max(found.stalls, default=0)
        seconds = [f"{value:.1f}" for value in (found.in_line, found.at_rest, found.learned)]
        rest = (
            f"{each:.0f}",
            f"{found.again:.1f}",
            found.moved,
            f"{stall:.0f}",
            f"{found.cpu:.1f}",
        )
        print(row(found.members or "no cluster", *seconds, *rest), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
