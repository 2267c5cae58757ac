"""From one set of parameters to another, on a running bridge.

Each part of the bridge is told what differs for it.  What the datapath should hold follows from
the new state as a whole (`Reprogram`); only learned addresses, which are not part of that, are
moved one by one: those in a VLAN that their port has left are forgotten, and those of a port that
is reached in another way now are installed again, without a gap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ofapp.bridge.effects import Effect, InstallDestination, InstallSticky, Reprogram
from ofapp.bridge.event import Event
from ofapp.bridge.fdb import NO_PORT
from ofapp.bridge.params import BridgeParams
from ofapp.bridge.reach import Reach

if TYPE_CHECKING:
    from ofapp.bridge.bridge import Bridge


def reconfigure(bridge: Bridge, params: BridgeParams, now: float) -> list[Effect]:
    """Make the bridge what `params` say; nothing for parameters that say what it is."""
    old, before = bridge.params, bridge.reach
    if params == old:
        return []
    bridge.params = params
    effects: list[Effect] = []
    if params.stp != old.stp:
        effects += bridge.set_stp(params.stp, now)
    if (params.multicast, params.multicast_vlans) != (old.multicast, old.multicast_vlans):
        effects += bridge.set_multicast(params.multicast, params.multicast_vlans, now)
    for port in bridge.ports:
        new, was = params.port(port.name, port.number), old.port(port.name, port.number)
        if new.stp != was.stp:
            effects += bridge.set_port_stp(port, new.stp, now)
        if new.multicast != was.multicast:
            effects += bridge.set_port_multicast(port, new.multicast, now)
    bridge.params = params  # and not with those of single ports written out
    effects += bridge.learning.set_policies(params, bridge.ports, now)
    changed = [effect for effect in bridge.set_reach(now) if not isinstance(effect, Reprogram)]
    strays, direct, guarded = _learned(bridge, before)
    effects += [*strays, *changed, *direct, Reprogram(), *guarded]
    effects.append(Event("bridge.configured", "the configuration has changed"))
    return effects


def _learned(bridge: Bridge, before: Reach) -> tuple[list[Effect], list[Effect], list[Effect]]:
    """What becomes of learned addresses: forgotten, led straight out, led by the port's group."""
    reach = bridge.reach
    ports = [
        port.number
        for port in bridge.ports
        if _ways(reach, port.number) != _ways(before, port.number)
    ]
    gone: dict[tuple[int, int], None] = {}
    direct: list[Effect] = []
    guarded: list[Effect] = []
    for vid, mac, entry in bridge.fdb if ports else ():
        port = entry.port
        if port not in ports or not entry.was_learned:
            continue
        if not reach.vlans(port).has(vid):
            gone[port, vid] = None
        elif before.straight(port, vid) is not (straight := reach.straight(port, vid)):
            put: Effect = InstallDestination(port, vid, mac, entry.serial)
            if entry.is_sticky:
                put = InstallSticky(port, vid, mac, entry.serial, NO_PORT)
            if bridge.learning.forwards(port):
                (direct if straight else guarded).append(put)
    flushed = [effect for port, vid in gone for effect in bridge.flush(port=port, vid=vid)]
    return flushed, direct, guarded


def _ways(reach: Reach, port: int) -> object:
    return reach.vlans(port), reach.guarded(port)
