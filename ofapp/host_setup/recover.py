"""Confirming, putting back, reverting, and finishing what was broken off.

All of it is done again without harm: each looks at the host and does what is still missing.
"""

from __future__ import annotations

from contextlib import closing, suppress
from dataclasses import replace

from ofapp.host_setup.change import Progress, RecoverError, StepError, undo
from ofapp.host_setup.execute import Executor
from ofapp.host_setup.journal import Journal, JournalError, R, Records, State, Store, boot_id
from ofapp.host_setup.netlink import Netlink
from ofapp.host_setup.observe import observe
from ofapp.host_setup.plan import foreign_ports, steps_towards
from ofapp.host_setup.state import Layout
from ofapp.host_setup.wanted import returned_layout, wanted_layout

ROUNDS = 3
REVERT_SECONDS = 120.0


def confirm(store: Records[R], bridge: str) -> None:
    """Keep what was applied; JournalError when there is nothing to confirm, or it is too late."""
    with store.lock(bridge, wait=True):
        journal = store.read(bridge)
        if journal is None or journal.state is not State.APPLIED:
            raise JournalError(f"nothing of {bridge} waits for a confirmation")
        if journal.overdue:
            raise JournalError(f"too late: {bridge} is being put back")
        store.write(journal.confirmed())


def put_back(store: Records[Journal], journal: Journal, progress: Progress | None = None) -> None:
    """Take the host to the journal's `fallback`; the lock is held.  RecoverError.

    The journal is then that of the deployment before, or gone.
    """
    with suppress(JournalError):  # a full disk is no reason to stay as it is
        store.write(journal)
    goal = journal.fallback
    if journal.boot != boot_id():
        goal = _after_reboot(journal)
    _converge(journal, goal, progress)
    if journal.previous is not None and journal.state is State.RESTORING:
        store.write(journal.previous)
    else:
        store.remove(journal.bridge)


def revert(store: Store, bridge: str, progress: Progress) -> tuple[str, ...]:
    """Undo the deployment; ports of others that keep the bridge.  JournalError, RecoverError."""
    with store.lock(bridge):
        journal = store.read(bridge)
        if journal is None:
            raise JournalError(f"nothing is deployed on {bridge} (no journal in {store.directory})")
        if journal.state.unfinished:
            raise JournalError(f"the last change of {bridge} was broken off: ofapp deploy recover")
        with closing(Netlink()) as kernel:
            host = observe(kernel, journal.database, journal.file)
        if host.switch.problem is not None:
            raise JournalError(f"Open vSwitch does not run: {host.switch.problem}")
        layout = returned_layout(host, journal.origin, journal.left_of_deployed)
        journal = replace(journal, fallback=layout, previous=None)
        undo(store, journal, put_back, REVERT_SECONDS, progress)
    return foreign_ports(host, bridge)


def unfinished(store: Records[R], bridge: str) -> R | None:
    """The journal when it has to be put back now; the lock is held."""
    journal = store.read(bridge)
    if journal is None or journal.state is State.CONFIRMED:
        return None
    if journal.state is State.APPLIED:
        if not journal.overdue:
            return None
        return replace(journal, state=State.RESTORING, reason="not confirmed in time")
    if journal.state is State.APPLYING:
        return replace(journal, state=State.RESTORING, reason="apply was broken off")
    return journal


def _after_reboot(journal: Journal) -> Layout:
    """The system has set up its links again: only what Open vSwitch remembers is to be undone."""
    if journal.previous is None:
        return replace(journal.fallback, links=())
    with closing(Netlink()) as kernel:
        host = observe(kernel, journal.database, journal.file)
    return wanted_layout(host, journal.previous.config, journal.previous.origin)


def _converge(journal: Journal, goal: Layout, progress: Progress | None) -> None:
    """Go on after a step that fails: others may bring the host back all the same."""
    failed: list[str] = []
    for _ in range(ROUNDS):
        failed = []
        with closing(Netlink()) as kernel:
            host = observe(kernel, journal.database, journal.file)
        left = tuple(steps_towards(host, goal))
        if not left:
            break
        with closing(Executor(journal.database, journal.config.api)) as executor:
            for number, step in enumerate(left):
                if progress is not None:
                    progress(number, step)
                try:
                    executor.do(step)
                except StepError as error:
                    failed.append(str(error))
    else:
        raise RecoverError("; ".join(failed) or "links do not stay as they are set")
    if host.switch.problem is not None:
        raise RecoverError(f"Open vSwitch does not run: {host.switch.problem}")
