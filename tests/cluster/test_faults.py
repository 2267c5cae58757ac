"""What befalls the owner of a switch, and etcd: nobody but one writes, no frame between known hosts
is lost, and spanning tree has not moved.

Each once in CI; OFAPP_THOROUGH has 20 turns of each, and holds times against what was aimed at.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest

from tests.cluster.site import Member, Site
from tests.cluster.tally import Tally
from tests.cluster.watching import MOST_SILENCE, Watch
from tests.support.waiting import wait_for

THOROUGH = bool(os.environ.get("OFAPP_THOROUGH"))
TURNS = int(os.environ.get("OFAPP_TURNS") or (20 if THOROUGH else 1))
LEASE = 2.0
LEARNED = LEASE + 1.0
"""Seconds until a new host is learned again."""


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
    time.sleep(1)
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
        pytest.param(stopped_for_a_second, id="stopped-1s"),
        pytest.param(stopped(5), id="stopped-5s"),
        pytest.param(stopped(60), id="stopped-60s", marks=pytest.mark.thorough),
        pytest.param(cut("et"), id="cut-from-etcd"),
        pytest.param(cut("sw"), id="cut-from-switches"),
        pytest.param(cut("et", "sw"), id="cut-from-both"),
    ],
)
def test_the_owner(
    site: Site,
    fault: Callable[[Member], AbstractContextManager[None]],
    tally: Tally,
) -> None:
    for turn in range(TURNS):
        switch = site.switches[turn % len(site.switches)]
        wait_for(site.balanced, "each switch to be with its usual owner", seconds=60)
        owner = site.owner(switch)
        watch = Watch(site)
        with watch, fault(owner):
            watch.newcomers(switch)
            if fault is not stopped_for_a_second:
                watch.taken(switch, owner)
        tally.add(watch.seen)
    tally.assert_unharmed(*((LEARNED, MOST_SILENCE) if THOROUGH else ()))


def test_etcd_without_its_leader(site: Site, tally: Tally) -> None:
    assert site.etcd is not None
    for _ in range(TURNS):
        watch = Watch(site)
        with watch:
            site.etcd.kill_leader()
            watch.newcomers(*site.switches)
            site.etcd.start()
        tally.add(watch.seen)
    tally.assert_unharmed()


def test_all_of_etcd_gone_and_back(site: Site, tally: Tally) -> None:
    """Nobody writes while it is away for longer than a lease; then all goes on as it was."""
    assert site.etcd is not None
    for _ in range(TURNS):
        watch = Watch(site)
        with watch:
            site.etcd.kill()
            time.sleep(60 if THOROUGH else 2 * LEASE)
            site.etcd.start()
            watch.newcomers(*site.switches)
        tally.add(watch.seen)
    tally.assert_unharmed()


def test_rolling_upgrade(site: Site, tally: Tally) -> None:
    for _ in range(TURNS):
        watch = Watch(site)
        with watch:
            for member in site.members:
                assert member.terminate() == 0
                member.start()
                watch.settled()
            watch.newcomers(*site.switches)
        tally.add(watch.seen)
    tally.assert_unharmed()
