"""The LLDP information of a bridge and its ports, from parameters and ports.

LLDP runs on the switch's physical ports. The configuration and the VLANs of an aggregation hold for
its members.
"""

from __future__ import annotations

from typing import Protocol

from ofapp.bridge.lldp import Local, System
from ofapp.bridge.lldp.information import VlanName
from ofapp.bridge.params.params import BridgeParams
from ofapp.bridge.ports.port import LOCAL_PORT, Port

MOST_VLANS = 16
"""Most VLAN names in a frame: each takes up to 39 of its 1,500 octets."""


class Named(Protocol):
    """The attributes of a bridge that are used here."""

    datapath_id: int
    params: BridgeParams

    @property
    def name(self) -> str: ...

    @property
    def address(self) -> int: ...


def system(bridge: Named) -> System | None:
    """What all ports of a bridge send alike; None where LLDP is off."""
    params = bridge.params.lldp
    if params is None:
        return None
    about = bridge.datapath_id, bridge.address, bridge.name
    return System(*about, params.tx_interval, params.management_address)


def local(params: BridgeParams, port: Port) -> Local | None:
    """What a port of the switch sends; None where LLDP does not run.

    A port that is shut down does not send, nor does the destination of a mirror.
    """
    if params.lldp is None or port.number == LOCAL_PORT:
        return None
    lag = params.lag_of(port.name)
    own = params.port(port.name, port.number) if lag is None else params.port(lag)
    mirrors = params.policies.mirrors
    listens = own.policy.monitor or (lag or port.name) in (mirror.to for mirror in mirrors)
    if not own.lldp.enabled or own.policy.shutdown or listens:
        return None
    pvid, vlans = None, tuple[VlanName, ...]()
    if not own.vlans.transparent:
        pvid = own.vlans.pvid
        names = sorted(params.vlan_names.items())
        vlans = tuple(VlanName(vid, name) for vid, name in names if own.vlans.has(vid))
    about = port.number, port.name, port.mac, port.up, own.lldp.link
    return Local(*about, pvid, vlans[:MOST_VLANS])
