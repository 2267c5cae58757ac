"""Requests to the state of spanning tree: they change no settings."""

from __future__ import annotations

import time

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.input_error import InputError
from ofapp.bridge.ports.port import Port
from ofapp.bridge.stp import Guard
from ofapp.controller.audit import record_of
from ofapp.controller.bridges.dispatcher import Dispatcher
from ofapp.controller.configuration.changes.ports import refuse_local


class StpRequests:
    """Requests about ports of a running spanning tree."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._apply = dispatcher.apply

    def recover_port(self, bridge: Bridge, port: Port) -> None:
        """Reopen a port that a guard closed; InputError without one, or if only root guard does."""
        _check_runs(bridge, port)
        guards = bridge.stp.guarded().get(port.number, ())
        if not guards:
            raise InputError("port", f"no guard of spanning tree holds port {port.name}")
        if guards == (Guard.ROOT_GUARD,):
            what = f"root guard holds port {port.name} until the superior BPDUs there stop"
            raise InputError("port", f"{what}: see what sends them, or set root_guard=false")
        now = time.monotonic()
        self._apply(bridge, bridge.carry_out(bridge.stp.recover(port.number, now), now))
        record_of(bridge, f"port {port.name} is freed from its guard")

    def check_migration(self, bridge: Bridge, port: Port) -> None:
        """Make a port send RSTP again (mcheck, 802.1D-2004 17.19.13); InputError."""
        _check_runs(bridge, port)
        now = time.monotonic()
        self._apply(bridge, bridge.carry_out(bridge.stp.check_migration(port.number, now), now))
        record_of(bridge, f"port {port.name} sends RSTP again")


def _check_runs(bridge: Bridge, port: Port) -> None:
    refuse_local(port)
    if not bridge.stp.runs:
        raise InputError("port", f"bridge {bridge.name} runs no spanning tree")
