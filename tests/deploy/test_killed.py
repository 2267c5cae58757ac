"""A move of a host is killed at every step in turn: the host is always reachable in the end."""

from __future__ import annotations

import signal

from tests.deploy.runner import Runner
from tests.deploy.site import Site
from tests.support.waiting import wait_for


def _put_back(site: Site) -> None:
    """Wait until the watcher has done its work."""
    wait_for(lambda: not list(site.journal.glob("*.json")), "the watcher", seconds=20)


def test_apply_is_killed_at_every_step(site: Site, runner: Runner) -> None:
    before = site.layout()
    killed = 0
    while True:
        outcome = runner.apply(at=killed, within=30)
        assert outcome.said == ""
        if not outcome.signal:
            break
        assert outcome.signal == signal.SIGKILL
        _put_back(site)
        assert site.reachable(), f"after {outcome.steps[-1]}"
        assert site.layout() == before, f"after {outcome.steps[-1]}"
        assert site.bridges() == []
        killed += 1
    assert killed == len(outcome.steps) >= 15
    assert site.reachable()
    site.deploy("revert")


def test_recovery_is_killed_at_every_step(site: Site, runner: Runner) -> None:
    """And apply's watcher with it: `ofapp deploy recover` alone has to bring the host back."""
    outcome = runner.apply(at=16, watched=False)
    assert outcome.signal == signal.SIGKILL
    assert not site.answers(site.host, "10.99.0.250")  # no host is there: what "no" looks like
    killed = 0
    while (outcome := runner.recover(at=1)).signal:
        killed += 1
    assert outcome.said == ""
    assert killed >= 10
    assert site.reachable()


def test_revert_is_killed_and_goes_on(site: Site, runner: Runner) -> None:
    assert runner.apply().said == ""
    outcome = runner.revert(at=8)
    assert outcome.signal == signal.SIGKILL
    _put_back(site)
    assert site.reachable()


def test_who_hangs_is_killed_and_put_back(site: Site, runner: Runner) -> None:
    outcome = runner.apply(at=8, signal=signal.SIGSTOP.value, slack=1, settle=1)
    assert outcome.signal == signal.SIGKILL
    _put_back(site)
    assert site.reachable()
