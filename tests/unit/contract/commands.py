"""The keys that `--json` of each command prints, seen by running it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import replace
from functools import partial
from io import StringIO
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import typer
from typer.main import get_command

from ofapp.cli.app import app
from ofapp.cli.commands import fabric_setup
from ofapp.cli.commands.deploy import work
from ofapp.fabric_setup.apply import Target
from ofapp.host_setup.apply import Survey
from ofapp.host_setup.checks import Reach, check
from ofapp.host_setup.journal import Store
from ofapp.host_setup.plan import plan_apply
from ofapp.host_setup.wanted import wanted_layout
from tests.unit.api import live
from tests.unit.api.network import mac
from tests.unit.fabric_setup.test_plan import MEMBER, PARAMS, PLAIN, planned
from tests.unit.host_setup.hosts import host, ours
from tests.unit.host_setup.test_journal import CONFIG, journal

ASKED = (
    ("acl", "acl show", ""),
    ("cabled", "topology show", ""),
    ("closed", "token list", ""),
    ("fabric", "fabric show", ""),
    ("fabric", "fabric show", "mesh"),
    ("fabric", "fabric trace", f"{mac(1)} {mac(2)}"),
    ("first-hop", "binding show", ""),
    ("first-hop", "first-hop show", ""),
    ("first-hop", "doctor", "eth1"),
    ("guarded", "fdb held", ""),
    ("lag", "lag show", ""),
    ("lldp", "lldp show", ""),
    ("lldp", "lldp links", ""),
    ("looped", "loop-protect show", ""),
    ("mcast", "mdb show", ""),
    ("mcast", "multicast show", ""),
    ("mcast", "mdb flush", "br0"),
    ("some", "bridge show", ""),
    ("some", "cluster show", ""),
    ("some", "config show", ""),
    ("some", "config reload", "--dry-run"),
    ("some", "events", ""),
    ("some", "fdb show", ""),
    ("some", "fdb flush", "br0"),
    ("some", "host show", ""),
    ("some", "port show", ""),
    ("some", "vlan show", ""),
    ("stp", "stp show", ""),
    ("stp", "doctor", ""),
)
"""Networks of `tests/unit/api/network.py`, commands, and their arguments."""

ANSWERS = {
    "auth show": "PortAccessStatus, a list",
    "binding refused": "items of RefusedList.refused with `bridge`",
    "config diff": "ConfigDifference",
    "config history": "VersionList",
    "config plan": "Reloaded",
    "config push": "Pushed",
    "config rollback": "Reloaded",
    "problems show": "items of ProblemList.problems",
    "problems kinds": "KindList.kinds",
    "what-if": "Answer",
    "stp trace": "EventItem in each line",
    "fdb monitor": "EventItem in each line",
}
"""Commands that print an answer of the API: two need a file, one does not end, one needs a
switch that refuses frames, and two print lists as they are."""

TEXT_ONLY = {"deploy apply"}
"""Has the options of `deploy plan`; it prints text."""

HOST = host(bridges=(ours(fail_mode="standalone"),))
"""This host, for commands that look at it."""


def lines() -> Iterator[str]:
    """`COMMAND: KEY`, where `[]` is any item of a list, and `*` any key that is a user's."""
    run = get_command(app)
    for network, commands in groupby(ASKED, itemgetter(0)):
        with live.running(network) as (url, tokens), _surroundings(url, tokens) as access:
            for _, command, arguments in commands:
                line = f"{command} {arguments} --json {access}"
                shown = partial(run, line.split(), standalone_mode=False)
                yield from _keys(command, _printed(shown))
    for command, show in LOCAL.items():
        yield from _keys(command, _printed(show))
    yield from (f"{command}: the API's {answer}" for command, answer in ANSWERS.items())


@contextmanager
def _surroundings(url: str, tokens: dict[str, str]) -> Iterator[str]:
    """Have `HOST` as this host and the controller at `url`; gives the options for a token."""
    with (
        TemporaryDirectory() as folder,
        patch.dict(os.environ, OFAPP_API=url),
        patch("ofapp.host_setup.netlink.Netlink"),
        patch("ofapp.host_setup.observe.observe", lambda *_: HOST),
    ):
        file = Path(folder, "token")
        file.write_text(tokens.get("admin", ""))
        yield f"--api-token-file {file}" if tokens else ""


def _printed(show: Callable[[], object]) -> Any:
    """What is printed as JSON, in one line or in a line for each item."""
    with redirect_stdout(StringIO()) as out, suppress(typer.Exit):
        show()
    items = [json.loads(line) for line in out.getvalue().splitlines()]
    return items if len(items) > 1 else items[0]


def _keys(command: str, printed: Any) -> Iterator[str]:
    assert printed, f"ofapp {command} printed {printed}, which has no keys"
    yield from {f"{command}: {path}" for path in _paths(printed, "")}


def _paths(value: Any, path: str) -> Iterator[str]:
    """Names of keys with the keys above them: `[].port.name`."""
    if isinstance(value, list):
        for below in value:
            yield from _paths(below, f"{path}[]")
    elif isinstance(value, dict):
        for key, below in value.items():
            name = f"{path}.{'*' if USERS.fullmatch(key) else key}".lstrip(".")
            yield name
            if key not in CHANGING:
                yield from _paths(below, name)


USERS = re.compile(r"(eth|lag|br)[0-9]+|[0-9a-f.:]*[0-9][0-9a-f.:]*")
"""Keys that are names of ports, VIDs or addresses."""

CHANGING = {"timers"}
"""Keys with others below them that come and go with time."""


def _show_deploy_plan() -> None:
    seen, goal = host(), wanted_layout(host(), CONFIG)
    problems = check(seen, CONFIG, Reach(), confirmed_later=False)
    steps = plan_apply(seen, goal, CONFIG)
    work.show_plan(Survey(CONFIG, "unix:db", seen, goal, problems, steps, None), json=True)


def _show_deploy_status() -> None:
    with TemporaryDirectory() as folder:
        store = Store(Path(folder))
        store.write(journal())
        work.show_status(store, json=True)


def _show_fabric_plan() -> None:
    target = Target(MEMBER, planned(replace(PLAIN, controllers=())), "unix:db")
    fabric_setup.show_plan(PARAMS, [target], json=True)


LOCAL: dict[str, Callable[[], None]] = {
    "deploy plan": _show_deploy_plan,
    "deploy status": _show_deploy_status,
    "fabric plan": _show_fabric_plan,
}
"""Commands that ask the host, and are shown a made-up one."""
