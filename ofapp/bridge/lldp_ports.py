"""What a bridge and its ports say of themselves by LLDP: worked out from parameters and ports.

LLDP is of the switch's own ports. What is configured of an aggregation holds for its members, and
so do its VLANs.
"""

from __future__ import annotations

from typing import Protocol

from ofapp.bridge.lldp import Local, System
from ofapp.bridge.lldp.information import VlanName
from ofapp.bridge.params import BridgeParams
from ofapp.bridge.ports import LOCAL_PORT, Port

MOST_VLANS = 16
"""VLAN names that a frame tells: each is up to 39 of its 1,500 octets."""


class Named(Protocol):
    """What is asked of a bridge."""

    datapath_id: int
    params: BridgeParams

    @property
    def name(self) -> str: ...

    @property
    def address(self) -> int: ...


def system(bridge: Named) -> System | None:
    """What all ports of a bridge say alike; None where LLDP is off."""
    params = bridge.params.lldp
    if params is None:
        return None
    about = bridge.datapath_id, bridge.address, bridge.name
    return System(*about, params.tx_interval, params.management_address)


def local(params: BridgeParams, port: Port) -> Local | None:
    """What a port of the switch says of itself; None where LLDP does not run.

    A port that is shut down is silent, and so is one that only listens.
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
