"""Models of multicast snooping.  Parameters are those of the configuration file."""

from __future__ import annotations

from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, BeforeValidator, Field

from ofapp.api.base import BridgePath, DatapathId, PortPath, PortRef, Vid, json_number
from ofapp.api.changes import Change, changes_of
from ofapp.config.multicast import MulticastBridge, MulticastPort, MulticastPortVlan, MulticastVlan

RouterReason = Literal[
    "permanent", "query", "pim_hello", "mrd_advertisement", "restored", "topology-change"
]


class MulticastVlanPath(BridgePath):
    """Path of a VLAN of a bridge."""

    vlan: Vid


class MulticastVlanChange(Change, changes_of(MulticastVlan)):  # type: ignore[misc]
    """Parameters of a VLAN; omitted ones keep their values."""


class MulticastVlanPart(MulticastVlanChange):
    """Parameters of one of the VLANs."""

    vlan: Annotated[int, BeforeValidator(json_number)] = Field(
        ge=0, le=4094, description="VID, 0 = untagged"
    )

    def values(self) -> dict[str, Any]:
        """The parameters that are given."""
        return {name: value for name, value in super().values().items() if name != "vlan"}


class MulticastBridgeChange(
    Change,
    changes_of(MulticastBridge, leave_out=("vlans",)),  # type: ignore[misc]
):
    """Parameters of a bridge and of its VLANs; omitted ones keep their values."""

    vlans: list[MulticastVlanPart] = Field(  # null is refused, as for the others
        default=cast(Any, None),
        description="parameters of VLANs that must change together with the bridge's",
    )


class MulticastPortChange(
    Change,
    changes_of(MulticastPort, leave_out=("vlans",)),  # type: ignore[misc]
):
    """Parameters of a port; omitted ones keep their values."""


class MulticastPortVlanPath(PortPath):
    """Path of a VLAN of a port."""

    vlan: Vid


class MulticastPortVlanChange(Change, changes_of(MulticastPortVlan)):  # type: ignore[misc]
    """Parameters of a port in one VLAN; omitted ones keep their values."""


# Answers


class EntryCounts(BaseModel):
    """Entries in the datapath for groups that hosts have joined."""

    used: int
    limit: int = Field(description="mcast_hash_max")


class QuerierStatus(BaseModel):
    """The querier."""

    enabled: bool = Field(description="this bridge sends queries unless another querier does")
    state: Literal["none", "self", "other"]
    address: str | None
    version: int = Field(description="of IGMP or MLD")
    port: PortRef | None = Field(description="where another querier is heard")
    timer: float | None = Field(
        description="seconds until another querier times out, or until this bridge's next query"
    )
    proxies: list[PortRef] = Field(
        description="ports with queries from 0.0.0.0 or ::, without a querier that has an address:"
        " not router ports, but they get every report and group as well"
    )


class RouterPort(BaseModel):
    """A port that gets every group."""

    port: PortRef
    reasons: list[RouterReason] = Field(
        description="restored: found in the switch; topology-change: a router may have moved"
    )
    timer: float | None = Field(description="seconds left; null for a permanent one")
    routers: list[str] = Field(description="addresses of the routers")


class FamilyStatus(BaseModel):
    """IPv4 or IPv6 in one VLAN."""

    forwarding: Literal["flood", "restrict"] = Field(
        description="whether groups go to all ports or only to those with members"
    )
    reason: str = Field(description="why")
    unregistered: list[PortRef] | None = Field(
        description="ports that get unregistered groups; null = all"
    )
    groups: int = Field(description="groups with members or permanent entries")
    querier: QuerierStatus
    router_ports: list[RouterPort]


class MulticastVlanStatus(BaseModel):
    """A VLAN with multicast snooping."""

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
        description="rx_ and tx_: messages by kind; drop_: messages ignored, by reason;"
        " limit_: refusals, by limit"
    )
    parameters: MulticastPort


class TopologyChanges(BaseModel):
    """Topology changes that snooping was notified of."""

    heard: int
    delayed: int = Field(description="with delayed queries, as they followed others too soon")


class MulticastStatus(BaseModel):
    """Multicast snooping of a bridge."""

    datapath_id: DatapathId
    bridge: str = Field(description="the bridge's name")
    enabled: bool
    entries: EntryCounts
    vlans_refused: int = Field(
        description="messages in VLANs without snooping, as there are too many VLANs"
    )
    topology_changes: TopologyChanges
    parameters: MulticastBridge
    vlans: list[MulticastVlanStatus]
    ports: list[MulticastPortStatus]
