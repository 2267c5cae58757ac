"""How fast a bridge knows its hosts again after a flush, and what a flooding neighbour changes.

One ovs-vswitchd with its userspace datapath in a separate network namespace; a bridge under
ofapp, as it is shipped, and one with NORMAL in turn, with the same ports.  Behind port 1 are many
hosts, each of which sends a frame now and then, all together at an even rate; what port 2 sends
meanwhile to hosts among them reaches the monitor on port 3 while the bridge does not know them.

Then unknown hosts speak on port 2, one after the other, while port 1 is quiet and while
it floods with addresses that it has invented.  From port 3 a frame goes to each, sooner or later
after its first one: if it reaches port 1, too, the host was not known yet.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from ofapp.bench.frames import BROADCAST, MIN_SIZE, Flow, Side, frame, mac
from ofapp.bench.listeners import Counter
from ofapp.bench.sender import Sender
from tests.bench.bridges import PLAIN, attach, own_switch
from tests.bench.meanwhile import beside, evenly
from tests.bench.table import head, row, spread
from tests.support.lab import Host
from tests.support.ownswitch import ControllerInside, OwnSwitch
from tests.support.waiting import during

DPID = 0xCA10
NORMAL, OURS = "normal", "ofapp"
STATION = mac(Side.TX)
INVENTED = 1 << 22
"""Where the addresses begin that the flooding neighbour makes up."""
MOST, KNOWN = 0.9, 0.99
"""Shares of the hosts that must be known; the last ones are a matter of frames that are lost."""
LIMIT_SECONDS = 60
ANSWERED = 100
"""Of so many frames of the hosts one is answered by the station."""
DELAYS = tuple(
    milliseconds / 1000 for milliseconds in (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 100, 200)
)
"""Seconds after which a new host may be known."""


@dataclass(frozen=True, slots=True)
class Relearned:
    """seconds until the hosts were known, and `most` of them, or it was given up.

    flooded: frames to hosts not known, of those `sent`.
    """

    known: int
    most: float
    seconds: float
    flooded: int
    sent: int


@dataclass(frozen=True, slots=True)
class Turn:
    """What one bridge did; quiet, loud: delays in milliseconds without and beside a flood."""

    again: Relearned
    quiet: list[float]
    loud: list[float]


class Contender:
    """A bridge on these three hosts' cables."""

    def __init__(self, switch: OwnSwitch, name: str, hosts: Sequence[Host]) -> None:
        self.name = name
        self._switch = switch
        settings = {
            NORMAL: ("fail_mode=standalone", "other_config:mac-table-size=1000000"),
            OURS: ("fail_mode=secure", f"other_config:datapath-id={DPID:016x}"),
        }
        words = ["add-br", name, "--", "set", "Bridge", name, "datapath_type=netdev"]
        words += ["protocols=OpenFlow13", "other_config:disable-in-band=true", *settings[name]]
        for number, host in enumerate(hosts, 1):
            words += ["--", "add-port", name, host.plug, "--", "set", "Interface", host.plug]
            words += [f"ofport_request={number}"]
        switch.vsctl(*words)

    def known(self) -> int:
        """Addresses that it knows."""
        raise NotImplementedError

    def flush(self) -> None:
        """Let it forget them."""
        raise NotImplementedError

    def close(self) -> None:
        """Remove it."""
        self._switch.vsctl("--if-exists", "del-br", self.name)


class Normal(Contender):
    """OVS's own learning."""

    def known(self) -> int:
        said = self._switch.appctl("fdb/stats-show", self.name)
        found = re.search(r"Current/maximum.*: (\d+)/", said)
        assert found is not None, said
        return int(found[1])

    def flush(self) -> None:
        self._switch.appctl("fdb/flush", self.name)


class Ours(Contender):
    """ofapp's."""

    def __init__(
        self, switch: OwnSwitch, hosts: Sequence[Host], controller: ControllerInside
    ) -> None:
        super().__init__(switch, OURS, hosts)
        self._controller = controller
        attach(switch, controller, OURS, DPID)

    def known(self) -> int:
        reply = self._controller.api("GET", f"/v1/bridges/{DPID:016x}", timeout=60)
        return int(reply.body["fdb"]["learned"])

    def flush(self) -> None:
        self._controller.api("DELETE", f"/v1/bridges/{DPID:016x}/fdb", timeout=60)


class Bed:
    """The three hosts and their sockets; `rate` is what port 1 sends a second."""

    def __init__(self, switch: OwnSwitch, count: int, rate: int) -> None:
        self.hosts = [switch.host(number) for number in (1, 2, 3)]
        for host in self.hosts:
            switch.inside("sysctl", "-q", "-w", f"net.ipv4.conf.{host.plug}.arp_ignore=8")
            host.run("sysctl", "-q", "-w", "net.ipv6.conf.eth0.disable_ipv6=1")
        spaces = [host.namespace for host in self.hosts]
        self._many, self._station, self._prober = (Sender(space, "eth0") for space in spaces)
        self._first, _, self._monitor = (Counter(space, "eth0") for space in spaces)
        self._count, self._rate = count, rate
        self._next = INVENTED
        self._spoken = 0

    def _from_many(self, first: int, count: int) -> list[bytes]:
        hosts = range(first, first + count)
        return [frame(Flow(STATION, mac(Side.RX, host), Side.RX), MIN_SIZE) for host in hosts]

    def announce(self) -> None:
        """Let the station be known, so that what the hosts send it does not flood."""
        self._station.load([frame(Flow(BROADCAST, STATION), MIN_SIZE)])
        self._station.burst(1)

    def relearn(self, contender: Contender) -> Relearned:
        """All hosts speak in turn until the bridge knows them."""
        self.announce()
        self._many.load(self._from_many(0, self._count))
        order = (n * 7919 % self._count for n in range(self._count))
        self._station.load([frame(Flow(mac(Side.RX, n), STATION), MIN_SIZE) for n in order])
        asked, before, begun = self._asked(), self._monitor.settled(), time.monotonic()
        with beside(lambda: evenly(self._rate, self._speak)):
            most = self._until(contender, MOST, begun)
            took = self._until(contender, KNOWN, begun)
        flooded = self._monitor.settled() - before
        return Relearned(contender.known(), most, took, flooded, self._asked() - asked)

    def _until(self, contender: Contender, share: float, begun: float) -> float:
        """Seconds since `begun` when such a share of the hosts is known, or it is given up."""
        for _ in during(LIMIT_SECONDS, 0.05):
            if contender.known() >= share * self._count:
                break
        return time.monotonic() - begun

    def _speak(self, frames: int) -> None:
        """Hosts send this many frames; each hundredth is answered."""
        self._many.burst(frames)
        self._spoken += frames
        if questions := self._spoken // ANSWERED:
            self._station.burst(questions)
            self._spoken -= questions * ANSWERED

    def _asked(self) -> int:
        """Frames that the station has sent so far."""
        return int(self.hosts[1].run("cat", "/sys/class/net/eth0/statistics/tx_packets"))

    def delays(self, count: int) -> list[float]:
        """Milliseconds until new hosts on port 2 are known, one after the other."""
        return [self._delay() for _ in range(count)]

    def _delay(self) -> float:
        """The shortest time after its first frame at which a frame to a new host is not flooded.

        Each time is tried with its own host: one frame that is too early makes the switch
        cache where it went, and what follows goes there until the cache is looked through.
        """
        return next((wait for wait in DELAYS if not self._floods_after(wait)), math.inf) * 1000

    def _floods_after(self, wait: float) -> bool:
        self._next += 1
        new = mac(Side.TX, self._next)
        self._station.load([frame(Flow(mac(Side.RX, INVENTED), new), MIN_SIZE)])
        self._prober.load([frame(Flow(new, mac(Side.RX, INVENTED), Side.RX), MIN_SIZE)])
        before = self._first.settled()
        self._station.burst(1)
        time.sleep(wait)
        self._prober.burst(1)
        return self._first.settled() - before > 1  # the first frame floods, too

    @contextmanager
    def flooded(self) -> Iterator[None]:
        """Port 1 sends from ever new addresses meanwhile."""
        self._many.load(self._from_many(INVENTED, 1 << 18))
        with beside(lambda: evenly(self._rate, self._many.burst)):
            yield


def measure(
    switch: OwnSwitch, controller: ControllerInside, bed: Bed, options: argparse.Namespace
) -> dict[str, Turn]:
    """One turn of each bridge."""
    found: dict[str, Turn] = {}
    for name in (NORMAL, OURS):
        print(f"  {name} ...", file=sys.stderr, flush=True)
        contender: Contender
        if name == NORMAL:
            contender = Normal(switch, NORMAL, bed.hosts)
        else:
            contender = Ours(switch, bed.hosts, controller)
        try:
            bed.relearn(contender)
            contender.flush()
            again = bed.relearn(contender)
            contender.flush()
            bed.announce()
            quiet = bed.delays(options.probes)
            with bed.flooded():
                time.sleep(1)
                loud = bed.delays(options.probes)
        finally:
            contender.close()
        found[name] = Turn(again, quiet, loud)
    return found


def main() -> int:
    """Returns the exit status."""
    parser = argparse.ArgumentParser(prog="tests/bench/run relearn", description=__doc__)
    parser.add_argument("--hosts", type=int, default=100_000)
    parser.add_argument("--rate", type=int, default=25_000, help="frames a second on port 1")
    parser.add_argument("--probes", type=int, default=20, help="new hosts on port 2")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", type=Path, metavar="FILE", help="every figure of every run")
    options = parser.parse_args()
    turns = []
    with own_switch(PLAIN) as switch, closing(ControllerInside(switch.namespace)) as controller:
        controller.configure(
            "defaults: {fdb_max_learned: 400000, stp: {enabled: true}}\n"
            f"bridges: {{'{DPID:016x}': {{ports: {{'*': {{stp: {{admin_edge: true}}}}}}}}}}"
        )
        controller.start()
        bed = Bed(switch, options.hosts, options.rate)
        for _ in range(options.repeat):
            turns.append(measure(switch, controller, bed, options))
    print(f"## {options.hosts:,} hosts behind one port, {options.rate:,} frames a second\n")
    print(f"Load {os.getloadavg()[0]:.1f}.  Medians of {options.repeat} (least to greatest).\n")
    print(
        f"Relearned: {MOST:.0%} and {KNOWN:.0%} of them; {LIMIT_SECONDS} s where it was given up.\n"
    )
    columns = (
        "most, s",
        "relearned, s",
        "flooded of what was asked",
        "delay, ms",
        "beside a flood",
    )
    print(head("bridge", *columns))
    for name in (NORMAL, OURS):
        mine = [turn[name] for turn in turns]
        cells = [
            spread([one.again.most for one in mine], ".1f"),
            spread([one.again.seconds for one in mine], ".1f"),
            spread([one.again.flooded for one in mine], ",.0f")
            + f" of {median(one.again.sent for one in mine):,.0f}",
            spread([delay for one in mine for delay in one.quiet], ".1f"),
            spread([delay for one in mine for delay in one.loud], ".1f"),
        ]
        print(row(name, *cells))
    ratios = [turn[NORMAL].again.seconds / turn[OURS].again.seconds for turn in turns]
    print(f"\nofapp's speed beside NORMAL's: {spread(ratios, '.2f')}")
    if options.json:
        plain = [{name: asdict(one) for name, one in turn.items()} for turn in turns]
        options.json.write_text(json.dumps(plain, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
