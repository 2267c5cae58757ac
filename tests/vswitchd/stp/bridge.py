"""What the bridge says of itself, and what its switch does."""

from __future__ import annotations

import itertools
from typing import Any

from tests.support import frames
from tests.support.controller import Controller
from tests.support.ovs import Bridge
from tests.support.waiting import wait_for
from tests.vswitchd.stp.neighbour import alongside

SPEED = 2
"""How much faster the controller's clock is than the switch's and the neighbours'."""
FORWARD_DELAY = 4
RECOVERY = 5
"""Seconds for which BPDU guard shuts a port: a busy machine has to look at it meanwhile."""


def status(controller: Controller, bridge: Bridge, port: int) -> dict[str, Any]:
    found = controller.get(f"/v1/bridges/{bridge.dpid16}/stp")["ports"]
    return next(entry for entry in found if entry["number"] == port)


def in_datapath(bridge: Bridge, port: int) -> str:
    """The port's state by the switch's own flows; "changing" while its flood group says other."""
    actions = [
        flow.actions
        for flow in bridge.flows()
        if flow.table == 0 and flow.priority == 100 and flow.match == f"in_port={port}"
    ]
    forwards = bool(actions) and "goto_table" in actions[0]
    if (port in bridge.groups()[1]) != forwards:
        return "changing"
    return "forwarding" if forwards else "learning" if actions else "discarding"


def wait_state(
    controller: Controller, bridge: Bridge, port: int, state: str, seconds: float = 15
) -> None:
    wait_for(
        lambda: status(controller, bridge, port)["state"] == state,
        f"port {port} to be {state}",
        seconds=seconds,
        tick=alongside(bridge),
    )
    wait_for(lambda: in_datapath(bridge, port) == state, f"port {port} to be {state} in the switch")


def wait_received(controller: Controller, bridge: Bridge, port: int, count: int) -> None:
    wait_for(
        lambda: status(controller, bridge, port)["received"]["rst"] == count,
        f"{count} BPDUs to be counted on port {port}",
        tick=alongside(bridge),
    )


def guard_events(controller: Controller, bridge: Bridge, guard: str) -> list[bool]:
    """Whether a guard struck (True) or let go (False), in order."""
    return [
        event["data"]["active"]
        for event in controller.events(f"stp.{guard}")
        if event["datapath_id"] == bridge.dpid16
    ]


def crosses(bridge: Bridge, port: int, other: int) -> tuple[bool, bool]:
    """Whether frames of unknown hosts get from a port to another one, and back."""
    numbers = next(_fresh)
    one, two = frames.host(numbers), frames.host(numbers + 1)
    there = other in bridge.send(port, frames.ethernet(frames.BROADCAST, one))
    back = port in bridge.send(other, frames.ethernet(frames.host(0xFFFF), two))
    return there, back


_fresh = itertools.count(0x5000, 2)
