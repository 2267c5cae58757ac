"""What is asked of multicast snooping, and answered.  Parameters are those of the file."""

from __future__ import annotations

from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, BeforeValidator, Field

from ofapp.api.base import BridgePath, DatapathId, PortRef, Vid, json_number
from ofapp.api.changes import Change, changes_of
from ofapp.config.multicast import MulticastBridge, MulticastPort, MulticastVlan

RouterReason = Literal[
    "permanent", "query", "pim_hello", "mrd_advertisement", "restored", "topology-change"
]


class MulticastVlanPath(BridgePath):
    """Which VLAN of which bridge."""

    vlan: Vid


class MulticastVlanChange(Change, changes_of(MulticastVlan)):  # type: ignore[misc]
    """Parameters of a VLAN; what is not given stays as it is."""


class MulticastVlanPart(MulticastVlanChange):
    """Parameters of one of the VLANs."""

    vlan: Annotated[int, BeforeValidator(json_number)] = Field(
        ge=0, le=4094, description="VID, 0 = untagged"
    )

    def values(self) -> dict[str, Any]:
        """What is given of it."""
        return {name: value for name, value in super().values().items() if name != "vlan"}


class MulticastBridgeChange(
    Change,
    changes_of(MulticastBridge, leave_out=("vlans",)),  # type: ignore[misc]
):
    """Parameters of a bridge and of its VLANs; what is not given stays as it is."""

    vlans: list[MulticastVlanPart] = Field(  # null is refused, as for the others
        default=cast(Any, None),
        description="of VLANs, for what only goes together with the bridge's",
    )


class MulticastPortChange(Change, changes_of(MulticastPort)):  # type: ignore[misc]
    """Parameters of a port; what is not given stays as it is."""


# What is answered


class EntryCounts(BaseModel):
    """Entries that hosts have caused in the datapath."""

    used: int
    limit: int = Field(description="mcast_hash_max")


class QuerierStatus(BaseModel):
    """Who asks for members."""

    enabled: bool = Field(description="this bridge asks unless another querier does")
    state: Literal["none", "self", "other"]
    address: str | None
    version: int = Field(description="of IGMP or MLD")
    port: PortRef | None = Field(description="where another querier is heard")
    timer: float | None = Field(
        description="seconds until another counts as gone, or until this bridge asks next"
    )
    proxies: list[PortRef] = Field(
        description="where somebody asks from 0.0.0.0 or ::, while nobody better asks: no router"
        " ports, but they get every report and group as well"
    )


class RouterPort(BaseModel):
    """A port that gets every group."""

    port: PortRef
    reasons: list[RouterReason] = Field(
        description="restored: the switch had it so; topology-change: a router may have moved"
    )
    timer: float | None = Field(description="seconds left; null for a permanent one")
    routers: list[str] = Field(description="addresses heard here")


class FamilyStatus(BaseModel):
    """IPv4 or IPv6 in one VLAN."""

    forwarding: Literal["flood", "restrict"] = Field(
        description="whether groups go to all ports or to those that want them"
    )
    reason: str = Field(description="why")
    unregistered: list[PortRef] | None = Field(
        description="ports that get groups nobody joined; null = all"
    )
    groups: int = Field(description="groups with members or permanent entries")
    querier: QuerierStatus
    router_ports: list[RouterPort]


class MulticastVlanStatus(BaseModel):
    """A VLAN that is looked after."""

    vlan: int = Field(description="VID, 0 = untagged")
    ipv4: FamilyStatus
    ipv6: FamilyStatus
    mac_groups: int = Field(description="MAC addresses with permanent entries")


class MulticastPortStatus(BaseModel):
    """A port."""

    number: int = Field(description="of OpenFlow")
    name: str
    groups: int = Field(description="memberships that hosts have reported here")
    counters: dict[str, int] = Field(
        description="rx_ and tx_: messages by kind; drop_: messages not heeded, by reason;"
        " limit_: what was refused, by limit"
    )
    parameters: MulticastPort


class TopologyChanges(BaseModel):
    """Topology changes that snooping was told of."""

    heard: int
    delayed: int = Field(description="too soon after others to be asked about at once")


class MulticastStatus(BaseModel):
    """Multicast snooping of a bridge."""

    datapath_id: DatapathId
    bridge: str = Field(description="the bridge's name")
    enabled: bool
    entries: EntryCounts
    vlans_refused: int = Field(
        description="messages in VLANs that are not looked after: there are too many"
    )
    topology_changes: TopologyChanges
    parameters: MulticastBridge
    vlans: list[MulticastVlanStatus]
    ports: list[MulticastPortStatus]
