"""The work and the output of `ofapp fabric plan`, `apply`, `confirm` and `revert`.

Separate from `ofapp.cli.commands.fabric`, which every `ofapp` command imports.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import typer

from ofapp.bridge.fabric.params import FabricParams, MemberParams
from ofapp.cli.client import ApiError, Client, Json
from ofapp.cli.output import print_json, say
from ofapp.cli.reversible import errors, ignore_hangup, report
from ofapp.common.printable import printable
from ofapp.config import ConfigError, load_config
from ofapp.fabric_setup.apply import Target, apply, put_back, revert, targets
from ofapp.fabric_setup.commands import commands, shell
from ofapp.fabric_setup.journal import Store
from ofapp.fabric_setup.observe import SwitchError
from ofapp.fabric_setup.plan import plan
from ofapp.fabric_setup.settings import Change, Controllers, Interface, Phase, Switch, Value
from ofapp.host_setup.journal import JournalError
from ofapp.host_setup.ovsdb import default_database
from ofapp.host_setup.recover import unfinished

PLACE = "BRIDGE"
"""Stands for the name of a bridge that is not known."""


def read_fabric(file: Path, name: str | None) -> FabricParams:
    """The fabric of the file's section `fabrics`.  Raises ApiError."""
    try:
        config = load_config(file)
    except ConfigError as error:
        raise ApiError("\nofapp: ".join(str(error).splitlines())) from None
    fabrics = config.fabrics
    if name is None and len(fabrics) == 1:
        (name,) = fabrics
    if not fabrics:
        raise ApiError(f"{file} has no section `fabrics`")
    if name is None:
        raise ApiError(f"{file} has several fabrics: give one of {', '.join(fabrics)}")
    if name not in fabrics:
        raise ApiError(f"{file} has no fabric {name}, but {', '.join(fabrics)}")
    return fabrics[name].params(name)


def look(
    params: FabricParams, databases: Sequence[str], controllers: tuple[str, ...]
) -> list[Target]:
    """All members: those in the databases as they are, the others by the file alone."""
    try:
        found = targets(params, databases or [default_database()], controllers)
    except SwitchError as error:
        if databases:
            raise ApiError(printable(str(error))) from None
        found = []
    seen = {target.member.name: target for target in found}
    return [
        seen.get(member.name) or _unseen(params, member, controllers)
        for member in params.present.values()
    ]


def _unseen(params: FabricParams, member: MemberParams, controllers: tuple[str, ...]) -> Target:
    """A member whose switch cannot be asked: as if it had none of the settings."""
    links = (Interface(PLACE, "internal"), *(Interface(pattern) for pattern in member.links))
    dpid = f"{member.datapath_id:016x}"
    switch = Switch(PLACE, dpid, rstp=True, interfaces=links)
    targets_ = controllers or ("tcp:CONTROLLER:6653",)
    return Target(member, plan(params, member, switch, targets_), None)


def show_plan(params: FabricParams, found: Sequence[Target], json: bool) -> None:
    """Exit status 1 when something is against it."""
    if json:
        print_json({"fabric": params.name, "members": [_as_json(target) for target in found]})
    else:
        for target in found:
            _show_target(target)
    if any(target.errors for target in found if target.database is not None):
        raise typer.Exit(1)


def do_apply(
    params: FabricParams,
    found: Sequence[Target],
    controllers: tuple[str, ...],
    store: Store,
    within: float,
) -> None:
    """Change the switches that can be reached."""
    chosen = [target for target in found if target.database is not None]
    if not chosen:
        raise ApiError(
            f"no member of {params.name} is in the database of this Open vSwitch: run this on the"
            " members, or say with --db where their databases are"
        )
    if against := [error for target in chosen for error in target.errors]:
        raise ApiError("\nofapp: ".join(against))
    names = ", ".join(target.member.name for target in chosen)
    if not any(target.plan.changes for target in chosen):
        say(f"{names}: nothing to do, everything is as wanted")
        return
    ignore_hangup()
    with errors():
        apply(store, params, chosen, controllers, within, lambda _, step: report(str(step)))
    left = [target.member.name for target in found if target.database is None]
    report(f"{names}: done, but NOT YET CONFIRMED.  Everything is put back in {within:g} s unless")
    report(f"this comes first: ofapp fabric confirm {params.name}")
    if left:
        report(f"still to be done, on their machines: {', '.join(left)}")


def do_revert(store: Store, name: str | None, client: Client | None) -> None:
    """All that was applied, unless a fabric is named.  client: asked whether it still runs."""
    with errors():
        names = [name] if name else store.names()
        if not names:
            raise JournalError(f"nothing is applied (no journal in {store.directory})")
    for each in names:
        if client is not None and _runs(client, each):
            raise ApiError(
                f"fabric {each} is in force at the controller, and its links need these settings:"
                " take it out of the file and reload first (or --force)"
            )
        with errors():
            revert(store, each, lambda _, step: report(str(step)))
        report(f"{each}: reverted")


def do_recover(store: Store) -> None:
    """Put back what was broken off, or not confirmed before the machine went down."""
    for name in store.names():
        with errors(), store.lock(name, wait=True):
            left = unfinished(store, name)
            if left is not None:
                put_back(store, left)
                report(f"{name}: put back ({left.reason})")


def _runs(client: Client, name: str) -> bool:
    """Whether the controller has the fabric; False when it does not answer."""
    try:
        return any(one["name"] == name for one in client.get("/v1/fabrics")["fabrics"])
    except ApiError:
        return False


def _show_target(target: Target) -> None:
    at = "not seen from here, by the file alone" if target.database is None else target.plan.bridge
    say(f"{target.member.name} ({at})", bold=True)
    for problem in target.plan.problems:
        say(f"  {'error' if problem.fatal else 'warning'}: {problem.text}: {problem.fix}")
    if not target.plan.changes:
        say("  nothing to do, everything is as wanted")
    if target.database is None:
        dpid = f"{target.member.datapath_id:016x}"
        say(f"  # {PLACE} is: ovs-vsctl --bare --columns=name find Bridge datapath_id={dpid}")
        for pattern in filter(_has_wildcard, target.member.links):
            say(f"  # for each port that is called {pattern}")
    for phase in Phase:
        changes = target.plan.phase(phase)
        for change in changes:
            say(f"  # {_change(change)}")
        if changes:
            for line in _shell(target, changes).splitlines():
                say(f"  {line}")


def _has_wildcard(pattern: str) -> bool:
    return any(one in pattern for one in "*?[")


def _shell(target: Target, changes: Sequence[Change]) -> str:
    remote = target.database if target.database != default_database() else None
    return shell(commands(change.after for change in changes), remote)


def _change(change: Change) -> str:
    where = getattr(change.after, "row", None) or getattr(change.after, "bridge", "")
    return f"{where}: {_words(change.before)} > {_words(change.after)}: {change.why}"


def _words(value: Value) -> str:
    if isinstance(value, Controllers):
        return " ".join(one.target for one in value.controllers) or "no controller"
    return f"{value.column}={value.value}" if value.value is not None else f"no {value.column}"


def _as_json(target: Target) -> Json:
    return {
        "member": target.member.name,
        "bridge": target.plan.bridge if target.database is not None else None,
        "database": target.database,
        "changes": [
            {
                "phase": change.phase,
                "before": _words(change.before),
                "after": _words(change.after),
                "why": change.why,
            }
            for change in target.plan.changes
        ],
        "commands": [
            _shell(target, changes) for phase in Phase if (changes := target.plan.phase(phase))
        ],
        "problems": [
            {"fatal": problem.fatal, "problem": problem.text, "fix": problem.fix}
            for problem in target.plan.problems
        ],
    }
