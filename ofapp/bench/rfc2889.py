"""RFC 2889, the tests of a switch's address table, and flooding.

The RFC finds a table's size by a search, as its tester only sees whether anything was flooded.
Here the frames that reach the far end and not the monitor are counted, so one pass tells how many
addresses are known.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from ofapp.bench.frames import BROADCAST, FORTH, MIN_SIZE, Flow, Side, mac
from ofapp.bench.names import Measurement
from ofapp.bench.rfc2544 import find_rate
from ofapp.bench.search import Bounds, highest, loss
from ofapp.bench.station import Station, Trial
from ofapp.bench.task import At, Context, Outcome, Task

TEACHING_RATE = 20_000
"""Addresses a second where the rate is not what is measured."""
ASKING_RATE = 5_000
"""... where not one of the frames that ask may be lost."""
ROUNDS = 3
WORTH_A_ROUND = 0.01
"""The share of the hosts that a repetition must add for another one to be tried."""
LEARNED_AT_ONCE = 2_000
SETTLE_SECONDS = 0.3
OVERFILL = 1.25


def teach(station: Station, hosts: range) -> int:
    """Let the device learn hosts behind the far end, repeatedly as long as that helps.

    How many of them it does not know in the end.
    """
    rate, unknown = TEACHING_RATE, len(hosts)
    for _ in range(ROUNDS):
        station.announce(hosts, rate)
        time.sleep(SETTLE_SECONDS)
        left = station.unknown(hosts, rate)
        gained, unknown = unknown - left, min(left, unknown)
        if unknown == 0 or gained < WORTH_A_ROUND * len(hosts):
            break
        rate //= 2
    return unknown


class Flooding(Task):
    """Clauses 5.10 (broadcast): the highest rate at which every other port gets every frame."""

    test = Measurement.FLOODING
    learning = True

    def measure(self, context: Context, station: Station, at: At) -> Iterator[Outcome]:
        frames = station.frames(int(at["size"]), [Flow(BROADCAST, FORTH.source)])
        first = station.flat_out(frames, context.plan.seconds)
        values = find_rate(context, station, frames, first)
        yield at, values | {"at_monitor": _share(first)}


def _share(trial: Trial) -> float:
    """Return the share of the far end's frames that also reached the monitor."""
    return trial.monitored / trial.received if trial.received else 0.0


class Addresses(Task):
    """Forwarding (clause 5.1) to many hosts in turn, each of which the device knows."""

    test = Measurement.ADDRESSES
    learning = fills = True

    def hosts(self, context: Context) -> int:
        return max(context.plan.addresses)

    def points(self, context: Context) -> list[At]:
        return [{"addresses": count} for count in sorted(context.plan.addresses)]

    def measure(self, context: Context, station: Station, at: At) -> Iterator[Outcome]:
        hosts = range(int(at["addresses"]))
        unknown = teach(station, hosts)
        flows = [Flow(mac(Side.RX, host), FORTH.source) for host in hosts]
        frames = station.frames(MIN_SIZE, flows)
        station.paced(frames, TEACHING_RATE, len(hosts) / TEACHING_RATE)
        values = find_rate(context, station, frames, station.flat_out(frames, context.plan.seconds))
        yield at, values | {"unknown": float(unknown)}


class Caching(Task):
    """Clause 5.7: how many addresses the table holds, as it is shipped."""

    test = Measurement.CACHING
    learning = fills = True

    def points(self, context: Context) -> list[At]:
        return [{"offered": int(max(context.plan.addresses) * OVERFILL)}]

    def measure(self, context: Context, station: Station, at: At) -> Iterator[Outcome]:
        offered = int(at["offered"])
        known = offered - teach(station, range(offered))
        yield at, {"addresses": float(known), "limited": float(known == offered)}


class Learning(Task):
    """Clause 5.8: the highest rate of new addresses at which (nearly) each of 2,000 is learned."""

    test = Measurement.LEARNING
    learning = fills = True
    floor = 100

    def points(self, context: Context) -> list[At]:
        return [{"addresses": LEARNED_AT_ONCE}]

    def measure(self, context: Context, station: Station, at: At) -> Iterator[Outcome]:
        count, used = int(at["addresses"]), 0
        ceiling = station.burst(station.frames(MIN_SIZE), 20_000).sent.rate

        def learns(rate: float) -> bool:
            nonlocal used
            used += count
            hosts = range(used, used + count)
            station.announce(hosts, rate)
            time.sleep(SETTLE_SECONDS)
            unknown = station.unknown(hosts, ASKING_RATE)
            return loss(count, count - unknown) <= context.plan.loss

        bounds = Bounds(self.floor, ceiling, max(0.1, context.plan.resolution))
        result = highest(lambda rate: learns(rate) or learns(rate), TEACHING_RATE, bounds)
        yield at, {"per_second": result.value, "limited": float(result.capped)}
