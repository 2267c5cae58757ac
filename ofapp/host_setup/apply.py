"""Surveying a host, and taking it to what is wanted, with a way back at every moment."""

from __future__ import annotations

import os
from contextlib import closing, suppress
from dataclasses import dataclass, replace

from ofapp.host_setup import change
from ofapp.host_setup.change import Progress, reversible
from ofapp.host_setup.checks import Problem, Reach, check
from ofapp.host_setup.execute import CONTROLLER_SECONDS, Executor
from ofapp.host_setup.journal import Journal, JournalError, State, Store, boot_id, now
from ofapp.host_setup.model import DeployConfig
from ofapp.host_setup.netlink import Netlink
from ofapp.host_setup.observe import observe
from ofapp.host_setup.plan import plan_apply
from ofapp.host_setup.proof import controllers_file, reach
from ofapp.host_setup.recover import put_back
from ofapp.host_setup.state import Host, Layout
from ofapp.host_setup.steps import Step
from ofapp.host_setup.wanted import (
    origin_layout,
    present_layout,
    resumed_layout,
    returned_layout,
    tap_names,
    wanted_layout,
)


@dataclass(frozen=True)
class Survey:
    """A host, what is wanted of it, and what that takes."""

    config: DeployConfig
    database: str
    host: Host
    goal: Layout
    problems: tuple[Problem, ...]
    steps: tuple[Step, ...]
    previous: Journal | None  # the confirmed deployment of this bridge

    @property
    def errors(self) -> tuple[Problem, ...]:
        """Return the errors that prevent `apply`."""
        return tuple(problem for problem in self.problems if problem.fatal)


def survey(config: DeployConfig, store: Store, database: str, *, confirmed_later: bool) -> Survey:
    """Look at everything and change nothing.

    JournalError when an earlier deployment of the bridge has not come to its end.
    """
    previous = _finished(store, config.bridge)
    with closing(Netlink()) as kernel:
        host = observe(kernel, database, _file(config, previous))
        goal = _goal(host, config, previous)
        steps = plan_apply(host, goal, config) if host.switch.problem is None else ()
        # Trying out disturbs a little, and a timer may look every minute whether all is well.
        tried = reach(kernel, host, goal, config) if steps else Reach()
    if steps:
        steps = plan_apply(host, goal, config, tried.silent)
    problems = check(host, config, tried, confirmed_later=confirmed_later or not steps)
    return Survey(config, database, host, goal, problems, steps, previous)


def apply(
    survey: Survey,
    store: Store,
    confirm_within: float | None,
    progress: Progress,
    *,
    resume: bool = False,
) -> None:
    """Take the steps of a survey without errors.

    Ends with the journal at `confirmed`, or at `applied` when it has to be confirmed.  ApplyError
    after everything has been put back; with `resume` to the host without a bridge, as what was
    found after a restart may be a host that cannot be reached.
    """
    name = survey.config.bridge
    with store.lock(name):
        journal = _begin(survey, confirm_within)
        if resume:
            away = returned_layout(survey.host, journal.origin, survey.goal)
            journal = replace(journal, fallback=away)
        with suppress(FileNotFoundError):
            store.log_path(name).unlink()
        with (
            reversible(store, journal, put_back, confirm_within) as begin,
            closing(Executor(survey.database, survey.config.api)) as executor,
        ):
            for number, step in enumerate(survey.steps):
                begin(number, step)
                progress(number, step)
                executor.do(step)


def _file(config: DeployConfig, previous: Journal | None) -> str | None:
    """The controller's file, where an aggregation is or was concerned."""
    known = previous.file if previous else None
    return controllers_file(config.api) or known if config.bond or known else None


def _goal(host: Host, config: DeployConfig, previous: Journal | None) -> Layout:
    if previous is None:
        return wanted_layout(host, config)
    if previous.config == config:
        return resumed_layout(host, config, previous.origin, previous.left_of_deployed)
    return wanted_layout(host, config, previous.origin)


def _finished(store: Store, bridge: str) -> Journal | None:
    """The journal of the bridge, on which no process works and which needs no confirmation."""
    journal = store.read(bridge)
    if journal is None or journal.state is State.CONFIRMED:
        return journal
    if journal.state is State.APPLIED and not journal.overdue:
        raise JournalError(
            f"the last change of {bridge} waits for `ofapp deploy confirm`; without it it is put"
            " back by itself"
        )
    with store.lock(bridge):  # or another process works on it
        raise JournalError(
            f"the last change of {bridge} was broken off ({journal.state}): ofapp deploy recover"
        )


def _begin(survey: Survey, confirm_within: float | None) -> Journal:
    """Create the journal: the wanted layout, and the layout to revert to."""
    config, previous = survey.config, survey.previous
    uplinks, taps = list(config.uplinks), list(tap_names(config))
    if previous is not None:
        uplinks += [name for name in previous.config.uplinks if name not in uplinks]
        taps += [name for name in tap_names(previous.config) if name not in taps]
    settling = config.settle_within + CONTROLLER_SECONDS + change.SLACK_SECONDS
    return Journal(
        bridge=config.bridge,
        state=State.APPLYING,
        config=config,
        database=survey.database,
        origin=origin_layout(survey.host, config, previous.origin if previous else None),
        fallback=present_layout(survey.host, config.bridge, uplinks, taps),
        deployed=survey.goal,
        made=now(),
        boot=boot_id(),
        process=os.getpid(),
        deadline=now() + settling + (confirm_within or 0),
        file=survey.host.file.path if survey.host.file else None,
        previous=replace(previous, previous=None) if previous else None,
    )
