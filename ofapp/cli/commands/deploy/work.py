"""The work and the output of the commands of `ofapp deploy`.

Separate from `ofapp.cli.commands.deploy.commands`, which every `ofapp` command imports: this
module takes half a second to import.
"""

from __future__ import annotations

import ipaddress
import time

import typer

from ofapp.cli.client import ApiError, Json
from ofapp.cli.output import print_json, print_table, say
from ofapp.cli.reversible import errors, ignore_hangup, report
from ofapp.host_setup import DIRECTORY, ping
from ofapp.host_setup.apply import Survey, apply, survey
from ofapp.host_setup.change import ApplyError
from ofapp.host_setup.checks import Problem
from ofapp.host_setup.journal import Journal, JournalError, State, Store, now
from ofapp.host_setup.model import DeployConfig
from ofapp.host_setup.ovsdb import default_database
from ofapp.host_setup.recover import confirm, put_back, revert, unfinished

PING_ANSWERS = 3  # in a row
PING_SECONDS = 60.0  # for --confirm-ping without --confirm-within


def look(config: DeployConfig, store: Store, database: str | None, confirmed_later: bool) -> Survey:
    """Survey the host and plan the steps, for `plan` and `apply`."""
    with errors():
        return survey(
            config, store, database or default_database(), confirmed_later=confirmed_later
        )


def show_plan(surveyed: Survey, json: bool) -> None:
    """Exit status 1 when something is against it."""
    if json:
        print_json(_as_json(surveyed))
    elif surveyed.steps:
        rows = [[str(number), str(step)] for number, step in enumerate(surveyed.steps, 1)]
        print_table(["STEP", "WHAT"], rows)
    elif not surveyed.errors:
        report(f"{surveyed.config.bridge}: nothing to do, everything is as wanted")
    if not json:
        print_problems(surveyed.problems)
    if surveyed.errors:
        raise typer.Exit(1)


def do_apply(
    surveyed: Survey, store: Store, confirm_within: float | None, confirm_ping: str | None
) -> None:
    """Exit status 1 when nothing was changed, or everything has been put back."""
    print_problems(surveyed.problems)
    if surveyed.errors:
        raise typer.Exit(1)
    _apply(surveyed, store, confirm_within, confirm_ping)
    if surveyed.steps and confirm_ping is not None:
        _confirm_by_ping(store, surveyed.config.bridge, confirm_ping)


def do_revert(store: Store, bridge: str | None) -> None:
    """All that is deployed, unless a bridge is named."""
    ignore_hangup()
    with errors():
        names = (bridge,) if bridge else store.names()
        if not names:
            raise JournalError(f"nothing is deployed (no journal in {store.directory})")
        for name in names:
            foreign = revert(store, name, _step)
            if foreign:
                report(
                    f"{name}: its NICs are as before; the bridge stays for ports that others have"
                    f" plugged in: {', '.join(foreign)} (ovs-vsctl del-br {name} removes it)"
                )
            else:
                report(f"{name}: reverted")


def do_recover(store: Store, bridge: str | None) -> None:
    """All journals, unless a bridge is named; what hinders one does not hinder the others."""
    ignore_hangup()
    with errors():
        names = (bridge,) if bridge else store.names()
    if not names:
        report(f"nothing is deployed (no journal in {store.directory})")
    failed = []
    for name in names:
        try:
            with errors():
                _recover(store, name)
        except ApiError as error:
            failed.append(str(error))
    if failed:
        raise ApiError("\nofapp: ".join(failed))


def show_status(store: Store, json: bool) -> None:
    """Show the state of deployments by their journals."""
    with errors():
        known = _journals(store)
    if json:
        print_json([_status(one) for one in known])
        return
    rows = [
        [one.bridge, one.state, str(_left(one) or "-"), " ".join(one.config.uplinks) or "-"]
        for one in known
    ]
    print_table(["BRIDGE", "STATE", "SECONDS LEFT", "UPLINKS"], rows)


def check_address(text: str) -> None:
    """ApiError unless it is an IP address."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        raise ApiError(f"--confirm-ping {text}: an IP address, please") from None


def _apply(
    surveyed: Survey, store: Store, confirm_within: float | None, confirm_ping: str | None
) -> None:
    name = surveyed.config.bridge
    if not surveyed.steps:
        report(f"{name}: nothing to do, everything is as wanted")
        return
    ignore_hangup()
    count = len(surveyed.steps)
    with errors():
        apply(
            surveyed,
            store,
            confirm_within,
            lambda number, step: report(f"{number + 1:>2}/{count} {step}"),
        )
    if confirm_within is None:
        report(f"{name}: done")
    elif confirm_ping is not None:
        report(f"{name}: done; {confirm_ping} has {confirm_within:g} s to answer")
    else:
        where = f" --journal {store.directory}" if store.directory != DIRECTORY else ""
        report(
            f"{name}: done, but NOT YET CONFIRMED.  Everything is put back in {confirm_within:g} s"
            " unless this comes first, from a new session:"
        )
        for line in ("", f"    ofapp deploy confirm{where}", ""):
            report(line)


def _confirm_by_ping(store: Store, bridge: str, address: str) -> None:
    """Confirm when the address answers; otherwise wait until everything has been put back."""
    in_row = 0
    with errors():
        while (journal := store.read(bridge)) is not None and journal.state is State.APPLIED:
            begun = time.monotonic()
            in_row = in_row + 1 if ping.answers(address) else 0
            if in_row == PING_ANSWERS:
                confirm(store, bridge)
                report(f"{bridge}: {address} answers: confirmed")
                return
            time.sleep(max(0.0, begun + 0.3 - time.monotonic()))
        while (journal := store.read(bridge)) is not None and journal.state is State.RESTORING:
            time.sleep(0.1)
        if journal is None or journal.previous is None:
            raise ApplyError(f"{address} did not answer over {bridge}")


def _recover(store: Store, name: str) -> None:
    with store.lock(name, wait=True):  # a watcher, say, that does this very work
        journal = store.read(name)
        left = unfinished(store, name)
        if left is not None:
            put_back(store, left, _step)
            report(f"{name}: put back ({left.reason})")
            return
    if journal is None:
        report(f"{name}: nothing is deployed")
    elif journal.state is State.APPLIED:
        report(f"{name}: waits for `ofapp deploy confirm`, {_left(journal)} s are left")
    else:
        present = survey(journal.config, store, journal.database, confirmed_later=True)
        print_problems(present.errors)
        if present.errors:
            raise ApplyError(f"{name} cannot be restored")
        if present.steps:
            apply(present, store, None, _step, resume=True)
        report(f"{name}: as it was confirmed")


def print_problems(problems: tuple[Problem, ...]) -> None:
    for problem in problems:
        kind = "error" if problem.fatal else "warning"
        say(f"ofapp: {kind}: {problem}", err=True)


def _as_json(surveyed: Survey) -> Json:
    return {
        "bridge": surveyed.config.bridge,
        "steps": [{"kind": type(step).__name__, "what": str(step)} for step in surveyed.steps],
        "problems": [
            {"fatal": problem.fatal, "problem": problem.text, "fix": problem.fix}
            for problem in surveyed.problems
        ],
    }


def _status(journal: Journal) -> Json:
    return {
        "bridge": journal.bridge,
        "state": journal.state.value,
        "seconds_left": _left(journal),
        "step": journal.step or None,
        "config": journal.config.model_dump(mode="json"),
    }


def _journals(store: Store) -> list[Journal]:
    return [journal for name in store.names() if (journal := store.read(name))]


def _waits(journal: Journal) -> bool:
    return journal.state is State.APPLIED


def _left(journal: Journal) -> int | None:
    if not _waits(journal) or journal.deadline is None:
        return None
    return max(0, round(journal.deadline - now()))


def _step(_number: int, step: object) -> None:
    report(f"   {step}")
