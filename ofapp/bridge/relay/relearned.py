"""Learned addresses on a bridge whose configuration changes.

What the datapath should hold follows from the new state as a whole (`Reprogram`). Only learned
addresses, which are not part of that, are updated one by one: those in a VLAN that their port has
left are forgotten. Those of a port with another output path are installed again without a gap.
"""

from typing import NamedTuple

from ofapp.bridge.effects import Effect, InstallDestination, InstallSticky
from ofapp.bridge.fdb.fdb import NO_PORT
from ofapp.bridge.fdb.learning import Learning
from ofapp.bridge.ports.port import PortTable
from ofapp.bridge.relay.policies import PortPolicies
from ofapp.bridge.relay.relay import Relay


class Relearned(NamedTuple):
    """Learned addresses that are forgotten, output directly, or output by the port's group."""

    forgotten: list[Effect]
    direct: list[Effect]
    guarded: list[Effect]


def relearned(
    ports: PortTable, before: PortPolicies, policies: PortPolicies, learning: Learning, relay: Relay
) -> Relearned:
    """Update the learned addresses of ports whose VLANs or output path have changed."""
    moved = {
        port.number for port in ports if _ways(policies, port.number) != _ways(before, port.number)
    }
    gone: dict[tuple[int, int], None] = {}
    direct: list[Effect] = []
    guarded: list[Effect] = []
    for vid, mac, entry in learning.fdb if moved else ():
        port = entry.port
        if port not in moved or not entry.was_learned:
            continue
        if not policies.vlans(port).has(vid):
            gone[port, vid] = None
        elif before.straight(port, vid) is not (straight := policies.straight(port, vid)):
            put: Effect = InstallDestination(port, vid, mac, entry.serial)
            if entry.lasts:
                put = InstallSticky(port, vid, mac, entry.serial, NO_PORT)
            if learning.forwards(port):
                (direct if straight else guarded).append(put)
    forgotten = [effect for port, vid in gone for effect in relay.flush(port=port, vid=vid)]
    return Relearned(forgotten, direct, guarded)


def _ways(policies: PortPolicies, port: int) -> object:
    return policies.vlans(port), policies.guarded(port)
