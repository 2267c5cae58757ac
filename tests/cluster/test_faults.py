"""What befalls the owner of a switch, all members, and etcd: only one of them writes, no frame
between known hosts is lost, nothing that was set is forgotten, and spanning tree has not moved.

Some once in CI; OFAPP_THOROUGH has 20 turns of each, and holds times against what was aimed at.
OFAPP_TURNS is another number of turns.  FAULTS.md has the table that this prints.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress

import pytest

from tests.cluster.etcd import Etcd
from tests.cluster.site import Member, Site, ring
from tests.cluster.tally import Tally
from tests.cluster.watching import MOST_SILENCE, Watch
from tests.support.waiting import wait_for

THOROUGH = bool(os.environ.get("OFAPP_THOROUGH"))
TURNS = int(os.environ.get("OFAPP_TURNS") or (20 if THOROUGH else 1))
LEASE = 2.0
LEARNED = LEASE + 1.0
"""Seconds until a new host is learned again."""
WITHIN_THE_LEASE, AWAY, LONG = 1.0, 10.0, 60.0
"""Seconds of faults; AWAY is longer than LACP's short timeout, and the lease."""

long = pytest.mark.thorough


def turns(site: Site, tally: Tally) -> Iterator[tuple[int, Watch]]:
    """Each begins when all is as it should be, and is counted."""
    for turn in range(TURNS):
        wait_for(site.well, "each switch with its usual owner, and all bonds", seconds=90)
        watch = Watch(site)
        yield turn, watch
        tally.add(watch.seen)


@contextmanager
def killed(member: Member) -> Iterator[None]:
    member.kill9()
    yield
    member.start()


def stopped(seconds: float) -> Callable[[Member], AbstractContextManager[None]]:
    @contextmanager
    def during(member: Member) -> Iterator[None]:
        begun = time.monotonic()
        member.pause()
        yield
        time.sleep(max(0.0, begun + seconds - time.monotonic()))
        member.resume()

    return during


@contextmanager
def stopped_for_a_second(member: Member) -> Iterator[None]:
    """It goes on before its lease is over."""
    member.pause()
    time.sleep(WITHIN_THE_LEASE)
    member.resume()
    yield


def cut(*nets: str) -> Callable[[Member], AbstractContextManager[None]]:
    @contextmanager
    def during(member: Member) -> Iterator[None]:
        member.cut(*nets)
        yield
        member.heal(*nets)

    return during


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(killed, id="killed"),
        pytest.param(stopped_for_a_second, id="stopped for 1 s"),
        pytest.param(stopped(5), id="stopped for 5 s"),
        pytest.param(stopped(60), id="stopped for 60 s", marks=long),
        pytest.param(cut("et"), id="cut off from etcd"),
        pytest.param(cut("sw"), id="cut off from the switches"),
        pytest.param(cut("et", "sw"), id="cut off from both"),
    ],
)
def test_the_owner(
    ring: Site,
    fault: Callable[[Member], AbstractContextManager[None]],
    tally: Tally,
) -> None:
    for turn, watch in turns(ring, tally):
        switch = ring.switches[turn % len(ring.switches)]
        owner = ring.owner(switch)
        with watch, fault(owner):
            watch.newcomers(switch)
            if fault is not stopped_for_a_second:
                watch.taken(switch, owner)
    tally.assert_unharmed(*((LEARNED, MOST_SILENCE) if THOROUGH else ()))


@contextmanager
def without_its_leader(site: Site, etcd: Etcd) -> Iterator[None]:
    etcd.kill_leader()
    yield
    etcd.start()


@contextmanager
def without_its_majority(site: Site, etcd: Etcd) -> Iterator[None]:
    """For longer than a lease; then all goes on as it was."""
    etcd.kill_majority()
    time.sleep(AWAY)
    etcd.start()
    yield


@contextmanager
def gone(site: Site, etcd: Etcd) -> Iterator[None]:
    etcd.kill()
    time.sleep(LONG)
    etcd.start()
    yield


@contextmanager
def wiped(site: Site, etcd: Etcd) -> Iterator[None]:
    etcd.wipe()
    yield


@contextmanager
def restored(site: Site, etcd: Etcd) -> Iterator[None]:
    """From a snapshot that is older than what was set since, and than a member's lease."""
    member = site.members[0]
    snapshot = etcd.snapshot()
    member.kill9()
    member.start()
    wait_for(site.well, "all to be as it was", seconds=90)
    etcd.restore(snapshot)
    yield


def slow(seconds: float) -> Callable[[Site, Etcd], AbstractContextManager[None]]:
    """For a while each answer takes so long."""

    @contextmanager
    def during(site: Site, etcd: Etcd) -> Iterator[None]:
        with site.wires.delayed(etcd.space, "et", seconds / 2):
            time.sleep(2 * AWAY)
        yield

    return during


@contextmanager
def invalid(site: Site, etcd: Etcd) -> Iterator[None]:
    """Keys that no member can read, while each is started again."""
    keys = "owners/zzz", "members/zzz", "drained/-", "bridge-zzz.json"
    for key in keys:
        etcd.put(f"/ofapp/default/{key}", b"x")
    for member in site.members:
        member.restart()
        wait_for(site.all_served, "an owner for each switch", seconds=60)
    yield
    for key in keys:
        etcd.delete(f"/ofapp/default/{key}")


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(without_its_leader, id="without its leader"),
        pytest.param(without_its_majority, id="without its majority for 10 s"),
        pytest.param(gone, id="gone for 60 s", marks=long),
        pytest.param(wiped, id="wiped"),
        pytest.param(restored, id="restored from a snapshot", marks=long),
        pytest.param(slow(0.4), id="slow, 0.4 s for an answer", marks=long),
        pytest.param(slow(0.8), id="slow, 0.8 s for an answer", marks=long),
        pytest.param(invalid, id="with invalid keys, and members restarted", marks=long),
    ],
)
def test_etcd(
    ring: Site,
    fault: Callable[[Site, Etcd], AbstractContextManager[None]],
    tally: Tally,
) -> None:
    assert ring.etcd is not None
    for _, watch in turns(ring, tally):
        with watch, fault(ring, ring.etcd):
            watch.newcomers(*ring.switches)
    tally.assert_unharmed()


def test_rolling_upgrade(ring: Site, tally: Tally) -> None:
    for _, watch in turns(ring, tally):
        with watch:
            for member in ring.members:
                assert member.terminate() == 0
                member.start()
                watch.settled()
            watch.newcomers(*ring.switches)
    tally.assert_unharmed()


@long
def test_cold_start_of_everything(ring: Site, tally: Tally) -> None:
    """All members and etcd are killed, and started at once."""
    assert ring.etcd is not None
    for _, watch in turns(ring, tally):
        with watch:
            for member in ring.members:
                member.kill9()
            ring.etcd.kill()
            ring.etcd.start(wait=False)
            ring.start(*ring.members)
            watch.newcomers(*ring.switches)
    tally.assert_unharmed()


@long
def test_a_second_member_of_the_same_name(ring: Site, tally: Tally) -> None:
    """It is started, and ended; who has that name goes on as before."""
    for turn, watch in turns(ring, tally):
        first = ring.owner(ring.switches[turn % len(ring.switches)])
        with closing(ring.spare(first.name)) as second, watch:
            with suppress(AssertionError):  # it may be refused
                second.start()
            time.sleep(2 * LEASE)
            if second.alive:
                second.kill9()
            time.sleep(2 * LEASE)
            watch.newcomers(*ring.switches)
            answer = first.get("/v1/cluster")["members"]
            assert {one["name"]: one["state"] for one in answer} == dict.fromkeys(
                (member.name for member in ring.members), "ready"
            )
    tally.assert_unharmed()


@long
def test_the_only_controller_killed_and_started_again_after_10_s(tally: Tally) -> None:
    with closing(ring(members=1)) as site:
        (member,) = site.members
        for _, watch in turns(site, tally):
            with watch:
                member.kill9()
                time.sleep(AWAY)
                member.start()
                watch.newcomers(*site.switches)
    tally.assert_unharmed()


@long
def test_cut_off_from_etcd_during_a_compaction(ring: Site, tally: Tally) -> None:
    """A member that owns a switch: it reads again what it missed when it is back."""
    assert ring.etcd is not None
    for turn, watch in turns(ring, tally):
        switch = ring.switches[turn % len(ring.switches)]
        owner = ring.owner(switch)
        with watch:
            owner.cut("et")
            watch.taken(switch, owner)
            ring.etcd.compact()
            owner.heal("et")
            wait_for(ring.well, "all to be as it was", seconds=90)
    tally.assert_unharmed()
