"""Open vSwitch's database and flows as its tools print them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ofapp.migrate.command import Answer, Command, answer
from ofapp.migrate.setting import ImportFault

Row = Mapping[str, Any]
"""A row: maps as dict, sets as list, one value or none as the value or None."""

TABLES = ("Bridge", "Port", "Interface", "Mirror", "Controller")
PACKAGE = "openvswitch-switch"


@dataclass(frozen=True, slots=True)
class Ovs:
    """What was read.  rows: rows of each table, by UUID; flows, fdb: by bridge; where: by table."""

    rows: Mapping[str, Mapping[str, Row]]
    flows: Mapping[str, Answer]
    fdb: Mapping[str, Answer]
    where: Mapping[str, str]

    def row(self, table: str, uuid: str) -> Row:
        """A row that another one refers to; ImportFault."""
        try:
            return self.rows[table][uuid]
        except KeyError:
            what = f"no row {uuid}; save all tables at the same time"
            raise ImportFault(f"{self.where[table]}: {what}") from None


def read_ovs(
    directory: Path | None = None, database: str | None = None, only: Sequence[str] = ()
) -> Ovs:
    """Read the running Open vSwitch, or what was saved in a directory; ImportFault."""
    options = () if database is None else (f"--db={database}",)
    answers = {table: answer(_table(table, options), directory) for table in TABLES}
    rows = {table: _rows(given) for table, given in answers.items()}
    names = [str(row["name"]) for row in rows["Bridge"].values()]
    for name in only:
        if name not in names:
            known = ", ".join(sorted(names)) or "none"
            what = f"no bridge {name} there; bridges are: {known}"
            raise ImportFault(f"{answers['Bridge'].where}: {what}")
    wanted = [*(only or sorted(names))]
    if not wanted:
        raise ImportFault(f"{answers['Bridge'].where}: no bridge there")
    return Ovs(
        {**rows, "Bridge": {k: row for k, row in rows["Bridge"].items() if row["name"] in wanted}},
        {name: answer(flows_of(name), directory) for name in wanted},
        {name: answer(fdb_of(name), directory) for name in wanted},
        {table: given.where for table, given in answers.items()},
    )


def _table(name: str, options: tuple[str, ...]) -> Command:
    words = ("ovs-vsctl", *options, "--format=json", "list", name)
    return Command(f"ovs-{name.lower()}.json", words, PACKAGE, name in ("Mirror", "Controller"))


def flows_of(bridge: str) -> Command:
    """The command that shows the flows of a bridge, with names of ports."""
    versions = "OpenFlow10,OpenFlow13,OpenFlow14,OpenFlow15"
    words = ("ovs-ofctl", "-O", versions, "--names", "--no-stats", "dump-flows", bridge)
    return Command(f"ovs-flows-{bridge}.txt", words, PACKAGE, True)


def fdb_of(bridge: str) -> Command:
    """The command that shows the addresses of a bridge, static ones included."""
    return Command(f"ovs-fdb-{bridge}.txt", ("ovs-appctl", "fdb/show", bridge), PACKAGE, True)


def _rows(given: Answer) -> dict[str, Row]:
    table = given.json()
    if table == []:
        return {}
    try:
        rows = [dict(zip(table["headings"], row, strict=True)) for row in table["data"]]
        return {row["_uuid"][1]: {k: _value(v) for k, v in row.items()} for row in rows}
    except (KeyError, TypeError, ValueError, IndexError):
        what = "not a table of Open vSwitch's database: save it by `ovs-vsctl --format=json list`"
        raise ImportFault(f"{given.where}: {what}") from None


def _value(value: Any) -> Any:
    """A value of OVSDB's JSON (RFC 7047 5.1) in plain types."""
    match value:
        case ["uuid", uuid]:
            return uuid
        case ["set", items]:
            return [_value(item) for item in items]
        case ["map", pairs]:
            return {_value(key): _value(item) for key, item in pairs}
    return value


@dataclass(frozen=True, slots=True, eq=False)
class Flow:
    """One line of `ovs-ofctl dump-flows`; fields: without cookie, table and priority."""

    line: int
    text: str
    table: int
    priority: int
    fields: Mapping[str, str]
    actions: str


_STATISTICS = {"cookie", "duration", "n_packets", "n_bytes", "idle_age", "hard_age"}
_FLAGS = {"send_flow_rem", "reset_counts", "check_overlap", "no_packet_counts", "no_byte_counts"}


def flows(given: Answer) -> list[Flow]:
    """The flows of a dump; ImportFault."""
    return [
        _flow(given.where, number, line)
        for number, line in enumerate(given.text.splitlines(), 1)
        if line.strip() and not line.startswith(("NXST_FLOW", "OFPST_FLOW"))
    ]


def _flow(where: str, number: int, line: str) -> Flow:
    match, separator, actions = line.partition("actions=")
    if not separator:
        what = "not a flow: save the output of `ovs-ofctl --names --no-stats dump-flows`"
        raise ImportFault(f"{where}:{number}: {what}")
    fields: dict[str, str] = {}
    for part in filter(None, re.split(r",\s*|\s+", match)):
        key, _, value = part.partition("=")
        if key not in _STATISTICS | _FLAGS:
            fields[key] = value
    table, priority = fields.pop("table", "0"), fields.pop("priority", "32768")
    return Flow(number, line.strip(), int(table or 0), int(priority), fields, actions.strip())
