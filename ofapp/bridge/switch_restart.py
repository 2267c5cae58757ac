"""A new spanning tree for a switch that does not have the port states of its bridge's tree.

The known neighbours of its ports stay, so edge ports remain edges.  A switch without any flows has
restarted: its neighbours have not heard this bridge meanwhile. Addresses are kept then, and are
installed again as their ports open (`Learning.lost`), unless another bridge is heard behind the
port, which may have found other paths to them.

Thousands of ports take seconds, so this runs in portions, between which other tasks run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import ClosePort, Effect
from ofapp.bridge.ports.arrivals import usable
from ofapp.bridge.ports.port import LOCAL_PORT
from ofapp.bridge.stp import PortState
from ofapp.bridge.stp.on_bridge import Step

PORTION = 64
"""Ports at a time."""


def begin_anew(bridge: Bridge, lost: bool, clock: Callable[[], float]) -> Iterator[list[Effect]]:
    """Start a new tree; nothing without spanning tree, where port states do not change.

    lost: the switch has no flows any more.  Gives the effects, portion by portion.
    """
    params, now = bridge.params.stp, clock()
    if params is None:
        return
    behind = bridge.stp.behind()
    if lost:
        steps: list[Step] = [ClosePort(port) for port in bridge.relay.states]
        bridge.relay.lose()
        steps += bridge.stp.stop()
    else:
        steps = [*bridge.set_stp(None, now)]
        bridge.params = replace(bridge.params, stp=params)
    bridge.stp.remembered = behind
    try:
        ports = bridge.expect_stp(now)
        yield bridge.followed(steps, now)
        for at in range(0, len(ports), PORTION):
            now = clock()
            yield bridge.followed(bridge.span(ports[at : at + PORTION], now), now)
    finally:
        bridge.stp.remembered = {}
    local = bridge.ports.get(LOCAL_PORT)
    if lost and local is not None and usable(bridge.port_policies, local):
        now = clock()
        yield bridge.followed(bridge.relay.set_state(LOCAL_PORT, PortState.FORWARDING), now)
