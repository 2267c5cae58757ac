"""Changing the switches of a fabric, with a way back at every moment."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from ofapp.bridge.fabric.params import FabricParams, MemberParams
from ofapp.fabric_setup.commands import Words, back, commands, joined, passing
from ofapp.fabric_setup.journal import Changed, Journal, Store
from ofapp.fabric_setup.observe import SwitchError, observe, run
from ofapp.fabric_setup.plan import Plan, plan
from ofapp.fabric_setup.settings import Phase, Switch
from ofapp.host_setup.change import SLACK_SECONDS, Progress, RecoverError, reversible, undo
from ofapp.host_setup.journal import JournalError, Records, State, boot_id, now

SETTLING = 10.0
"""Seconds in which an interface takes on its MTU."""


@dataclass(frozen=True)
class Target:
    """A member, the plan for its switch, and its database; None: it cannot be reached from here."""

    member: MemberParams
    plan: Plan
    database: str | None

    @property
    def errors(self) -> list[str]:
        """What prevents `apply`."""
        return [f"{self.member.name}: {one.text}" for one in self.plan.problems if one.fatal]


def targets(
    params: FabricParams, databases: Iterable[str], controllers: tuple[str, ...]
) -> list[Target]:
    """Find the members' bridges in these databases and plan for each.  Raises SwitchError.

    Members that are in none of them are left out.
    """
    known: dict[str, tuple[str, Switch]] = {}
    for database in databases:
        for switch in observe(database):
            known.setdefault(switch.datapath_id, (database, switch))
    found = []
    for member in params.present.values():
        if (there := known.get(f"{member.datapath_id:016x}")) is not None:
            database, switch = there
            found.append(Target(member, plan(params, member, switch, controllers), database))
    return found


def apply(
    store: Store,
    params: FabricParams,
    chosen: Sequence[Target],
    controllers: tuple[str, ...],
    within: float,
    progress: Progress,
) -> None:
    """Change the switches; all of it is put back unless it is confirmed `within` seconds.

    ApplyError after everything has been put back; JournalError before anything is changed.
    """
    name = params.name
    with store.lock(name):
        journal = _begin(store.read(name), name, chosen, within)
        with reversible(store, journal, put_back, within) as begin:
            for number, (target, phase, words) in enumerate(_steps(chosen)):
                step = f"{target.member.name}: {phase}"
                begin(number, step)
                progress(number, step)
                assert target.database is not None
                run(target.database, words)
            _await(params, chosen, controllers)


def put_back(store: Records[Journal], journal: Journal, progress: Progress | None = None) -> None:
    """Undo the last change, or all of them if they are reverted; the lock is held.  RecoverError.

    A switch that cannot be reached does not keep the others from being put back.
    """
    with suppress(JournalError):  # a full disk is no reason to stay as it is
        store.write(journal)
    reverting = journal.state is State.REVERTING
    failed = []
    for number, changed in enumerate(journal.all if reverting else journal.changed):
        if progress is not None:
            progress(number, f"{changed.member}: as it was before")
        try:
            _undo(changed)
        except SwitchError as error:
            failed.append(f"{changed.member}: {error}")
    if failed:
        raise RecoverError("; ".join(failed))
    if journal.kept and not reverting:
        store.write(replace(journal, state=State.CONFIRMED, changed=(), deadline=None, reason=""))
    else:
        store.remove(journal.bridge)


def revert(store: Store, name: str, progress: Progress) -> None:
    """Undo everything that was changed for a fabric.  JournalError, RecoverError."""
    with store.lock(name):
        journal = store.read(name)
        if journal is None:
            raise JournalError(f"nothing is applied for {name} (no journal in {store.directory})")
        undo(store, journal, put_back, SLACK_SECONDS, progress)


def _begin(earlier: Journal | None, name: str, chosen: Sequence[Target], within: float) -> Journal:
    if earlier is not None and earlier.state is not State.CONFIRMED:
        raise JournalError(
            f"the last change for {name} waits for `ofapp fabric confirm`, or to be put back"
        )
    return Journal(
        bridge=name,
        state=State.APPLYING,
        boot=boot_id(),
        process=os.getpid(),
        deadline=now() + SLACK_SECONDS + within,
        changed=tuple(
            Changed(
                target.member.name,
                target.plan.bridge,
                target.database,
                tuple(change.before for change in reversed(target.plan.changes)),
            )
            for target in chosen
            if target.database is not None and target.plan.changes
        ),
        kept=earlier.kept if earlier is not None else (),
    )


def _steps(chosen: Sequence[Target]) -> list[tuple[Target, Phase, Words]]:
    """The transactions: a phase on all members before the next one begins."""
    return [
        (target, phase, joined(commands(change.after for change in changes)))
        for phase in Phase
        for target in chosen
        if (changes := target.plan.phase(phase))
    ]


def _await(params: FabricParams, chosen: Sequence[Target], controllers: tuple[str, ...]) -> None:
    """Wait until nothing is left to be changed; SwitchError: an MTU, say, is too much for a NIC."""
    databases = list(dict.fromkeys(filter(None, (target.database for target in chosen))))
    deadline = time.monotonic() + SETTLING
    while True:
        left = [
            (target.member.name, change)
            for target in targets(params, databases, controllers)
            for change in target.plan.changes
        ]
        if not left:
            return
        if time.monotonic() > deadline:
            member, change = left[0]
            refused = shlex.join(joined(commands([change.after])))
            raise SwitchError(f"{member}: Open vSwitch does not take on: {refused}")
        time.sleep(0.1)


def _undo(changed: Changed) -> None:
    """Put one switch back; its bridge may be gone."""
    if changed.bridge not in {switch.bridge for switch in observe(changed.database)}:
        return
    for words in (passing(changed.before), back(changed.before)):
        if words:
            run(changed.database, joined(words))
