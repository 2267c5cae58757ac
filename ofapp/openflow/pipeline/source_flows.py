"""What becomes of frames by who sent them: unknown sources port by port, and those held down.

The ordinary port has one flow here, the miss.  Everything else is there only where somebody asked
for it: a port that is locked, a port or a VLAN whose gate is closed, an address that is held down.
All of it follows from what the bridge knows, so it is made anew at any time.
"""

from __future__ import annotations

from collections.abc import Iterator

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import HoldDown, PutStatic
from ofapp.bridge.stp import PortState
from ofapp.openflow.model.cookie import Feature
from ofapp.openflow.model.flow import Flow, Match, ToController, vlan
from ofapp.openflow.model.rule import TableId

_TABLE = TableId.SOURCE


def port_flows(bridge: Bridge, port: int, state: PortState, copy: ToController) -> Iterator[Flow]:
    """The source table's flows of an up port that learns; copy: what tells the controller."""
    in_port = (Match("in_port", port),)
    told = (copy,) if bridge.learning.learns(port) else ()
    if state is PortState.LEARNING:
        yield Flow(_TABLE, 400, in_port, Feature.MISS, told)
        return
    for vid in (None, *bridge.learning.limits.vlans):
        if is_gated(bridge, port, vid):
            yield gate_flow(port, vid, copy)
    for static in bridge.static_entries if bridge.reach.policy(port).locked else ():
        if static.port == port:
            yield from pass_flows(bridge, static)
    if bridge.reach.policy(port).locked:
        yield Flow(_TABLE, 350, in_port, Feature.GUARD)
    yield Flow(_TABLE, 100, in_port, Feature.MISS, told, TableId.DESTINATION)


def pass_flows(bridge: Bridge, static: PutStatic) -> Iterator[Flow]:
    """What lets a static address, or the bridge's own, in by its port if that is locked."""
    port = static.port
    if port is None or not bridge.reach.policy(port).locked:
        return
    if bridge.relay.states.get(port) is not PortState.FORWARDING:
        return
    feature = Feature.LOCAL if static.vid is None else Feature.STATIC
    where = () if static.vid is None else (vlan(static.vid),)
    by = (Match("in_port", port), *where, Match("eth_src", static.mac))
    yield Flow(_TABLE, 360, by, feature, (), TableId.DESTINATION)


def is_gated(bridge: Bridge, port: int, vid: int | None) -> bool:
    """Whether frames of unknown sources are dropped on a port, in a VLAN or (None) altogether."""
    limits = bridge.learning.limits
    if not bridge.learning.learns(port):
        return False
    if vid is None:
        limit = limits.ports.get(port)
    else:
        limit = limits.vlans.get(vid) if bridge.reach.vlans(port).has(vid) else None
    return limit is not None and limit.closed


def gate_flow(port: int, vid: int | None, copy: ToController) -> Flow:
    """The closed gate of a port, or of a VLAN on it: each port has a meter of its own."""
    in_port = Match("in_port", port)
    if vid is None:
        return Flow(_TABLE, 110, (in_port,), Feature.MISS, (copy,))
    return Flow(_TABLE, 120, (in_port, vlan(vid)), Feature.MISS, (copy,))


def held_flow(hold: HoldDown) -> Flow:
    """What drops an address's frames, but for those that its learned source half lets pass."""
    by = (vlan(hold.vid), Match("eth_src", hold.mac))
    return Flow(_TABLE, 190, by, Feature.HELD, hard_timeout=hold.seconds)


def held_flows(bridge: Bridge) -> Iterator[Flow]:
    """Those of all addresses that are held down."""
    for held in bridge.learning.move_guard.held.values():
        yield held_flow(held.effect)
