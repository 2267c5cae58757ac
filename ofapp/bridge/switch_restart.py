"""A switch that has restarted: it holds nothing any more, but who is behind its ports is known.

Its neighbours have not heard of this bridge meanwhile, so its spanning tree begins anew.  Addresses
are kept, and come back as their ports open (`Learning.lost`); unless another bridge is heard behind
the port, which may have found other ways to them.
"""

from __future__ import annotations

from ofapp.bridge.arrivals import usable
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import ClosePort, Effect
from ofapp.bridge.ports import LOCAL_PORT
from ofapp.bridge.spanning_tree import Step
from ofapp.bridge.stp import PortState


def switch_restarted(bridge: Bridge, now: float) -> list[Effect]:
    """Nothing without spanning tree: the states of ports are what they were."""
    if bridge.params.stp is None:
        return []
    steps: list[Step] = [ClosePort(port) for port in bridge.relay.states]
    bridge.relay.lose()
    bridge.stp.remembered = bridge.stp.behind()
    steps += bridge.begin_stp(now)
    bridge.stp.remembered = {}
    local = bridge.ports.get(LOCAL_PORT)
    if local is not None and usable(bridge.port_policies, local):
        steps += bridge.relay.set_state(LOCAL_PORT, PortState.FORWARDING)
    return bridge.followed(steps, now)
