"""Requests to the state of protocols that close ports: they change no settings."""

from __future__ import annotations

import time
from collections.abc import Callable

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.input_error import InputError
from ofapp.bridge.loop_protect.on_bridge import LoopProtection
from ofapp.bridge.one_way.on_bridge import OneWayLinks
from ofapp.bridge.ports.port import Port
from ofapp.bridge.stp import Guard
from ofapp.controller.audit import record_of
from ofapp.controller.bridges.dispatcher import Dispatcher
from ofapp.controller.configuration.changes.ports import refuse_local

Holder = LoopProtection | OneWayLinks


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
        """Make a port send RSTP again (mcheck, 802.1D-2004 17.19.13).  Raises InputError."""
        _check_runs(bridge, port)
        now = time.monotonic()
        self._apply(bridge, bridge.carry_out(bridge.stp.check_migration(port.number, now), now))
        record_of(bridge, f"port {port.name} sends RSTP again")


class HoldRequests:
    """Requests about ports that a protocol holds."""

    def __init__(
        self, dispatcher: Dispatcher, of: Callable[[Bridge], Holder], refusal: str, record: str
    ) -> None:
        """of: the protocol of a bridge.

        refusal, record: that it does not hold a port, and that it has freed the port, in words with
        {} for the port.
        """
        self._apply = dispatcher.apply
        self._of = of
        self._refusal = refusal
        self._record = record

    def free_port(self, bridge: Bridge, port: Port) -> None:
        """Open a port of the bridge or of the switch; InputError for one that is not held."""
        holder, now = self._of(bridge), time.monotonic()
        if holder.held(port.number) is None:
            raise InputError("port", self._refusal.format(port.name))
        effects = holder.free(port.number, "by request", now)
        self._apply(bridge, bridge.carry_out(effects, now))
        record_of(bridge, self._record.format(port.name))


def _check_runs(bridge: Bridge, port: Port) -> None:
    refuse_local(port)
    if not bridge.stp.runs:
        raise InputError("port", f"bridge {bridge.name} runs no spanning tree")
