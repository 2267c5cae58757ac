"""Reading and changing the database of an Open vSwitch by ovs-vsctl.

ovs-vsctl reaches databases of other machines, too, and what is run is what `plan` has shown.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from typing import Any

from ofapp.fabric_setup.commands import Words
from ofapp.fabric_setup.settings import Controller, Interface, Switch
from ofapp.host_setup.change import StepError

SECONDS = 15
KEPT = (
    *("connection_mode", "max_backoff", "inactivity_probe"),
    *("controller_rate_limit", "controller_burst_limit"),
)
"""Columns of a controller that are put back."""

Row = Mapping[str, Any]


class SwitchError(StepError):
    """Open vSwitch does not answer, or refuses: one line for a person."""


def run(database: str, words: Words) -> str:
    """The output of ovs-vsctl, when ovs-vswitchd has taken the change in.  Raises SwitchError."""
    command = ["ovs-vsctl", f"--timeout={SECONDS}", f"--db={database}", *words]
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True)
    except OSError as error:
        raise SwitchError(f"cannot run ovs-vsctl: {error.strerror}") from None
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"{database}: no answer within {SECONDS} s"]
        raise SwitchError(lines[-1].removeprefix("ovs-vsctl: "))
    return done.stdout


def observe(database: str) -> list[Switch]:
    """All bridges of an Open vSwitch.  Raises SwitchError."""
    interfaces = {row["_uuid"]: row for row in _rows(database, "Interface", _INTERFACE)}
    ports = {row["_uuid"]: row for row in _rows(database, "Port", ("_uuid", "name", "interfaces"))}
    controllers = {
        row["_uuid"]: row for row in _rows(database, "Controller", ("_uuid", "target", *KEPT))
    }
    return [
        Switch(
            bridge=row["name"],
            datapath_id=str(_one(row["datapath_id"]) or ""),
            fail_mode=str(_one(row["fail_mode"]) or "standalone"),
            protocols=tuple(sorted(row["protocols"])),
            rstp=row["rstp_enable"],
            stp=row["stp_enable"],
            other_config=row["other_config"],
            controllers=tuple(_controller(controllers[each]) for each in row["controller"]),
            interfaces=tuple(
                _interface(interfaces[each], len(ports[port]["interfaces"]) > 1)
                for port in row["ports"]
                for each in ports[port]["interfaces"]
            ),
        )
        for row in _rows(database, "Bridge", _BRIDGE)
    ]


_BRIDGE = (
    *("name", "datapath_id", "fail_mode", "protocols", "rstp_enable", "stp_enable"),
    *("other_config", "controller", "ports"),
)
_INTERFACE = ("_uuid", "name", "type", "mtu", "mtu_request", "bfd", "error")
_SETS = {"protocols", "controller", "ports", "interfaces"}


def _rows(database: str, table: str, columns: tuple[str, ...]) -> list[Row]:
    words = ["--format=json", f"--columns={','.join(columns)}", "list", table]
    text = run(database, words)
    if not text.strip():
        return []
    found = json.loads(text)
    names = found["headings"]
    return [
        {name: _value(cell, name in _SETS) for name, cell in zip(names, row, strict=True)}
        for row in found["data"]
    ]


def _value(cell: Any, is_set: bool = False) -> Any:
    """A value in the notation of RFC 7047, section 5.1; a set with one element may be that."""
    if isinstance(cell, list):
        kind, value = cell
        if kind == "set":
            return [_value(each) for each in value]
        if kind == "map":
            return dict(value)
        return [value] if is_set else value
    return [cell] if is_set else cell


def _one(value: Any) -> Any:
    """A column that may be empty."""
    if isinstance(value, list):
        return value[0] if value else None
    return value


def _controller(row: Row) -> Controller:
    columns = {name: _one(row[name]) for name in KEPT}
    return Controller(
        row["target"], {name: str(value) for name, value in columns.items() if value is not None}
    )


def _interface(row: Row, bonded: bool) -> Interface:
    return Interface(
        name=row["name"],
        type="" if row["type"] == "system" else row["type"],
        mtu=_one(row["mtu"]),
        mtu_request=_one(row["mtu_request"]),
        bfd=row["bfd"],
        error=_one(row["error"]) or None,
        bonded=bonded,
    )
