"""A switch that does not hold what its bridge's spanning tree believes: the tree begins anew.

What is known of who is behind its ports stays, so edge ports are what they were.  Where the switch
holds nothing at all it has restarted: its neighbours have not heard of this bridge meanwhile.
Addresses are kept then, and come back as their ports open (`Learning.lost`); unless another bridge
is heard behind the port, which may have found other ways to them.

Thousands of ports take seconds, so it goes by portions, between which others may work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from ofapp.bridge.arrivals import usable
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import ClosePort, Effect
from ofapp.bridge.ports import LOCAL_PORT
from ofapp.bridge.spanning_tree import Step
from ofapp.bridge.stp import PortState

PORTION = 64
"""Ports at a time."""


def begin_anew(bridge: Bridge, lost: bool, clock: Callable[[], float]) -> Iterator[list[Effect]]:
    """Nothing without spanning tree: the states of ports are what they were.

    lost: the switch holds nothing any more.  Gives what follows, portion by portion.
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
