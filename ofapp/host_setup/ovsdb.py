"""Open vSwitch's database through ovsdbapp: read as values, changed by whole rows.

What is ours is marked `external_ids:ofapp-deploy`, bridges and ports alike.  A row without the mark
is never changed or removed, also if a plan says so.
"""

from __future__ import annotations

import logging
import os
import socket
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ofapp.host_setup.state import Bond, Bridge, BridgePort, Controller, End, Switch

# ovs looks whether eventlet is in use.  It is not in these commands, and takes half a second.
_EVENTLET = sys.modules.get("eventlet")
sys.modules["eventlet"] = None  # type: ignore[assignment]
from ovsdbapp import exceptions  # noqa: E402
from ovsdbapp.backend.ovs_idl import command, connection, idlutils  # noqa: E402
from ovsdbapp.schema.open_vswitch import impl_idl  # noqa: E402

if _EVENTLET is None:
    del sys.modules["eventlet"]
else:
    sys.modules["eventlet"] = _EVENTLET

MARK = "ofapp-deploy"
TABLES = ("Open_vSwitch", "Bridge", "Port", "Interface", "Controller")
GUEST = ("vm-id", "iface-id", "xs-vm-uuid", "xs-vif-uuid")
"""Keys of external_ids by which hypervisors name the guest of an interface, and the interface."""
SECONDS = 10.0  # for one transaction, ovs-vswitchd's part included
IN_BAND, OUT_OF_BAND = "in-band", "out-of-band"

Row = Any

logging.getLogger("ovsdbapp").setLevel(logging.CRITICAL)  # what matters is raised


class OvsdbError(Exception):
    """Open vSwitch does not answer, or refuses: one line for a person."""


def default_database() -> str:
    """The database of this machine's Open vSwitch."""
    return f"unix:{os.environ.get('OVS_RUNDIR', '/var/run/openvswitch')}/db.sock"


class Database:
    """A connection to ovsdb-server."""

    def __init__(self, url: str, seconds: float = SECONDS) -> None:
        """OvsdbError when nothing answers."""
        path = url.removeprefix("unix:")
        try:
            if path != url:
                _connect(path)
            helper = idlutils.get_schema_helper(url, "Open_vSwitch")
            for table in TABLES:
                helper.register_table(table)
            self._connection = connection.Connection(connection.OvsdbIdl(url, helper), seconds)
            # ovsdbapp keeps the first connection at the class, for good: a class for each.
            kind = type("Api", (impl_idl.OvsdbIdl,), {"_ovsdb_connection": None})
            self._api = kind(self._connection)
        except (OSError, exceptions.OvsdbAppException) as error:
            raise OvsdbError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
        except Exception as error:  # ovsdbapp raises bare ones
            raise OvsdbError(f"{path}: {error}") from None

    def close(self) -> None:
        """End the connection."""
        self._connection.stop(1)

    # --- reading

    def switch(self, *, kernel_module: bool = True) -> Switch:
        """All that is known of the switch."""
        (root,) = self._rows("Open_vSwitch")
        return Switch(
            bridges=tuple(sorted(map(_bridge, root.bridges), key=lambda bridge: bridge.name)),
            interface_types=tuple(root.iface_types),
            dpdk=bool(root.dpdk_initialized),
            kernel_module=kernel_module,
            vlan_limit=_vlan_limit(root.other_config.get("vlan-limit", "")),
        )

    # --- changing

    def put_bridge(self, bridge: Bridge) -> None:
        """Make the bridge, or have ours be like this; its ports are left alone."""
        self._do(lambda txn: self._put_bridge(txn, bridge))

    def remove_bridge(self, name: str) -> None:
        """Remove our bridge, if it is there."""

        def remove(_txn: Row) -> None:
            row = self._ours(name)
            if row is not None:
                (root,) = self._rows("Open_vSwitch")
                root.delvalue("bridges", row.uuid)

        self._do(remove)

    def put_port(self, bridge: str, port: BridgePort) -> None:
        """Plug an interface into our bridge; OvsdbError when ovs-vswitchd cannot open it."""
        self._do(lambda txn: self._put_port(txn, bridge, port))
        for known in self.switch().bridges:
            for there in known.ports:
                if there.name == port.name and there.error:
                    raise OvsdbError(f"Open vSwitch cannot use {port.name}: {there.error}")

    def remove_port(self, bridge: str, name: str) -> None:
        """Unplug an interface of ours, if it is there."""

        def remove(_txn: Row) -> None:
            row = self._ours(bridge)
            for port in row.ports if row is not None else ():
                if port.name == name and MARK in port.external_ids:
                    row.delvalue("ports", port.uuid)

        self._do(remove)

    # --- inside

    def _rows(self, table: str) -> list[Row]:
        return list(self._api.tables[table].rows.values())

    def _ours(self, name: str) -> Row:
        """Our bridge of that name or None; OvsdbError when `ofapp deploy` did not make it."""
        row = next((row for row in self._rows("Bridge") if row.name == name), None)
        if row is not None and MARK not in row.external_ids:
            raise OvsdbError(f"bridge {name} is not ours")
        return row

    def _put_bridge(self, txn: Row, bridge: Bridge) -> None:
        row = self._ours(bridge.name)
        if row is None:
            row = txn.insert(self._api.tables["Bridge"])
            row.name = bridge.name
            row.controller, row.external_ids, row.other_config = [], {}, {}
            local = self._insert_port(txn, BridgePort(bridge.name, "internal"))
            row.ports = [local]
            (root,) = self._rows("Open_vSwitch")
            root.addvalue("bridges", row.uuid)
        row.datapath_type = bridge.datapath
        row.fail_mode = bridge.fail_mode
        row.protocols = list(bridge.protocols)
        row.stp_enable, row.rstp_enable = bridge.stp, bridge.rstp
        _set_key(row, "external_ids", MARK, bridge.name)
        for key, value in (
            ("datapath-id", bridge.datapath_id),
            ("hwaddr", bridge.mac),
            ("disable-in-band", "true" if bridge.disable_in_band else None),
        ):
            _set_key(row, "other_config", key, value)
        for port in row.ports:
            for interface in port.interfaces:
                if interface.name == bridge.name:
                    interface.mtu_request = [] if bridge.mtu is None else [bridge.mtu]
        self._put_controllers(txn, row, bridge.controllers)

    def _put_controllers(self, txn: Row, row: Row, wanted: tuple[Controller, ...]) -> None:
        """Set the controllers; unchanged ones keep their row and so their connection."""
        there = {known.target: known for known in row.controller}
        rows = []
        for controller in wanted:
            known = there.get(controller.target)
            if known is None:
                known = txn.insert(self._api.tables["Controller"])
                known.target = controller.target
                known.max_backoff = [1000]  # a bridge without its controller does not learn
            known.connection_mode = [IN_BAND if controller.in_band else OUT_OF_BAND]
            for column, value in (
                ("controller_rate_limit", controller.rate_limit),
                ("controller_burst_limit", controller.burst_limit),
            ):
                setattr(known, column, [] if value is None else [value])
            rows.append(known)
        row.controller = rows

    def _put_port(self, txn: Row, bridge: str, port: BridgePort) -> None:
        row = self._ours(bridge)
        if row is None:
            raise OvsdbError(f"there is no bridge {bridge}")
        for known in self._rows("Port"):
            if known.name == port.name:
                if MARK not in known.external_ids or known not in row.ports:
                    raise OvsdbError(f"{port.name} is a port that ofapp deploy did not make")
                for interface in known.interfaces:
                    interface.type, interface.options = port.type, dict(port.options)
                return
        row.addvalue("ports", self._insert_port(txn, port).uuid)

    def _insert_port(self, txn: Row, port: BridgePort) -> Row:
        interface = txn.insert(self._api.tables["Interface"])
        interface.name, interface.type = port.name, port.type
        interface.options = dict(port.options)
        row = txn.insert(self._api.tables["Port"])
        row.name, row.interfaces = port.name, [interface]
        row.external_ids = {MARK: port.name}
        return row

    def _do(self, change: Callable[[Row], None]) -> None:
        """One transaction; returns when ovs-vswitchd has taken it in."""
        try:
            with self._api.transaction(check_error=True) as transaction:
                transaction.add(_Change(self._api, change))
        except OvsdbError:
            raise
        except Exception as error:  # ovsdbapp raises bare ones
            raise OvsdbError(f"Open vSwitch did not take a change: {error}") from None
        (root,) = self._rows("Open_vSwitch")
        if root.cur_cfg < root.next_cfg:
            raise OvsdbError(f"ovs-vswitchd did not take a change in within {SECONDS:g} s")


class _Change(command.BaseCommand):  # type: ignore[misc]
    """Any change of rows as ovsdbapp's unit of work; it may be tried more than once."""

    def __init__(self, api: Any, change: Callable[[Row], None]) -> None:
        super().__init__(api)
        self._change = change

    def run_idl(self, txn: Row) -> None:
        self._change(txn)


def observe_switch(url: str, *, kernel_module: bool = True) -> Switch:
    """The switch at a database; `problem` says what is wrong when it does not run."""
    try:
        database = Database(url, seconds=3)
    except OvsdbError as error:
        return Switch(problem=str(error))
    try:
        switch = database.switch(kernel_module=kernel_module)
    finally:
        database.close()
    if reason := _daemon_problem(url):
        return Switch(problem=reason, bridges=switch.bridges)
    return switch


def _daemon_problem(url: str) -> str | None:
    """Why ovs-vswitchd, which keeps its control socket beside the database's, seems away."""
    directory = Path(url.removeprefix("unix:")).parent
    try:
        number = (directory / "ovs-vswitchd.pid").read_text().strip()
        _connect(str(directory / f"ovs-vswitchd.{number}.ctl"))
    except OSError as error:
        return f"ovs-vswitchd does not answer in {directory} ({error.strerror})"
    return None


def _connect(path: str) -> None:
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(3)
        probe.connect(path)


def _set_key(row: Row, column: str, key: str, value: str | None) -> None:
    if value is None:
        values = dict(getattr(row, column))
        if values.pop(key, None) is not None:
            setattr(row, column, values)
    else:
        row.setkey(column, key, value)


def _vlan_limit(text: str) -> int:
    """The limit in use: Open vSwitch takes a value that is no number for 1."""
    return int(text) if text.isdecimal() else 1


def _bridge(row: Row) -> Bridge:
    config = row.other_config
    local = next((port for port in row.ports if port.name == row.name), None)
    return Bridge(
        row.name,
        datapath=row.datapath_type or "system",
        datapath_id=config.get("datapath-id"),
        mac=config.get("hwaddr"),
        mtu=_first(local.interfaces[0].mtu_request) if local else None,
        fail_mode=_first(row.fail_mode) or "standalone",
        protocols=tuple(sorted(row.protocols)),
        disable_in_band=config.get("disable-in-band") == "true",
        stp=row.stp_enable,
        rstp=row.rstp_enable,
        controllers=tuple(sorted(map(_controller, row.controller), key=lambda one: one.target)),
        ports=tuple(_port(port) for port in row.ports if port.name != row.name),
        ours=MARK in row.external_ids,
        in_use_id=_first(row.datapath_id),
    )


def _port(row: Row) -> BridgePort:
    (first, *_) = row.interfaces
    return BridgePort(
        row.name,
        type="" if first.type == "system" else first.type,
        options=tuple(sorted(first.options.items())),
        ours=MARK in row.external_ids,
        bond=_bond(row) if len(row.interfaces) > 1 else None,
        lacp=_first(row.lacp),
        ends=tuple(map(_end, row.interfaces)),
        number=_first(first.ofport),
        error=_first(first.error),
        mtu=_first(first.mtu),
        bfd=first.bfd.get("enable") == "true",
        guest=tuple(first.external_ids[key].lower() for key in GUEST if key in first.external_ids),
    )


def _bond(row: Row) -> Bond:
    names = sorted(interface.name for interface in row.interfaces)
    return Bond(tuple(names), _first(row.bond_mode) or "active-backup")


_HALF = (10_000_000, 100_000_000, 1_000_000_000)
"""Bit/s at which Open vSwitch knows half duplex.  It says half for 2.5, 5, 20, 25, 50, 200 and 400
Gbit/s as well, for which it has no bit.
"""


def _end(row: Row) -> End:
    speed = _first(row.link_speed)
    return End(row.name, speed, _first(row.duplex) == "half" and speed in _HALF)


def _controller(row: Row) -> Controller:
    status: Mapping[str, str] = row.status
    return Controller(
        row.target,
        in_band=_first(row.connection_mode) == IN_BAND,
        out_of_band=_first(row.connection_mode) == OUT_OF_BAND,
        rate_limit=_first(row.controller_rate_limit),
        burst_limit=_first(row.controller_burst_limit),
        connected=row.is_connected,
        error=status.get("last_error"),
    )


def _first(values: Any) -> Any:
    """A column that may be empty: the IDL gives it as a list."""
    with suppress(IndexError):
        return values[0]
    return None
