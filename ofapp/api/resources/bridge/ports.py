"""/v1/bridges/{dpid}/ports/{port} and /vlans: settings of ports, and their VLANs."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from flask import Response
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    StrictBool,
    WithJsonSchema,
    create_model,
    model_validator,
)

from ofapp.api.base import BridgePath, Input, NoQuery, PortPath, PortRef, filled
from ofapp.api.changes import Change, changes_of, make_change, nested
from ofapp.api.lookup import bridge_and_port, by_number, find_bridge, port_ref
from ofapp.api.openapi import APIBlueprint, Tag
from ofapp.api.problems import CHANGE, UNSAVED, documented, refused, resource
from ofapp.api.responses import answer, long
from ofapp.api.roles import operator, viewer
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.mac import format_mac
from ofapp.bridge.ports.port import LOCAL_PORT, PortCount
from ofapp.bridge.ports.port import Port as CorePort
from ofapp.bridge.ports.vlan import NO_VLAN, spoken
from ofapp.bridge.queries import learned_by_vlan, members, port_limit, vlan_limits
from ofapp.config.base import MAX_VID
from ofapp.config.port import PortSection, PortVlan, Storm, vlan_section, with_vlan, without_vlan
from ofapp.controller.bridges.datapath import ask_all
from ofapp.controller.bridges.openflow_datapath import HELD_BACK
from ofapp.controller.network import Network

PATIENCE = 5.0
"""Seconds that a switch may take to answer a port statistics request."""

TAG = Tag(name="ports", description="Policies of ports, and their VLANs.")

_PORT_FIELDS = changes_of(PortSection, leave_out=nested(PortSection))
_VID: dict[str, Any] = {"type": "integer", "minimum": 1, "maximum": MAX_VID}
_TRUNK: dict[str, Any] = {"type": "array", "minItems": 1, "items": _VID}


def _object(required: list[str], **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _whole(value: Any) -> Any:
    """Convert whole floats: in JSON 10.0 is an integer."""
    if isinstance(value, dict):
        return {key: _whole(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_whole(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _given(value: object) -> object:
    """Refuse null, which no key here can have, and an empty object."""
    if value is None:
        raise ValueError("null is no VLAN: use transparent to pass frames unchanged")
    if isinstance(value, dict):
        if not value:
            raise ValueError("nothing is given: a VID, access, trunk, or transparent")
        if nulls := [key for key, item in value.items() if item is None]:
            raise ValueError(f"{nulls[0]} is null: leave it out")
        if "native_tagged" in value and "native" not in value:
            raise ValueError("native_tagged needs native")
    return value


Vlans = Annotated[
    PortVlan,
    BeforeValidator(_given),
    WithJsonSchema(
        {
            "anyOf": [
                _VID,
                {"type": "string", "enum": ["transparent"]},
                _object(["access"], access=_VID),
                _object(["trunk"], trunk=_TRUNK),
                _object(
                    ["trunk", "native"],
                    trunk=_TRUNK,
                    native=_VID,
                    native_tagged={"type": "boolean"},
                ),
            ],
            "description": "a VID: an access port; as in the configuration file, VLANs may be "
            "given by name, and those of a trunk also as text with ranges",
        }
    ),
]


StormOrNone = Annotated[
    Storm | None,
    AfterValidator(lambda storm: storm or Storm()),
    Field(description="storm control, frames a second; null: none"),
]


class PortChange(_PORT_FIELDS, Change):  # type: ignore[misc, valid-type]
    """New values; omitted fields keep theirs."""

    vlan: Vlans = Field(PortVlan())
    storm: StormOrNone = Field(Storm())

    @model_validator(mode="before")
    @classmethod
    def _values(cls, values: Any) -> Any:
        return _whole(values)


Trust = Literal["none", "guest", "uplink", "learn"]
PortState = Literal["disabled", "discarding", "learning", "forwarding"]
if TYPE_CHECKING:
    LimitedKind = str
else:
    LimitedKind = Literal[(*HELD_BACK, "learning")]
"""Kinds of rate-limited frames, and new addresses that came faster than the switch accepts them."""


class PortQuery(Input):
    """Options for answers about ports."""

    counters: bool = Field(False, description="read the port counters from the switch")


PortCounters = create_model(
    "PortCounters",
    __doc__="Port counters of the switch; null for those that it does not have.",
    **dict.fromkeys(PortCount._fields, (int | None, ...)),  # type: ignore[call-overload]
    age=(float, Field(description="seconds since the switch reported them")),
)


class Port(BaseModel):
    """A port of a bridge."""

    number: int = Field(description="of OpenFlow; 4294967294 is LOCAL")
    name: str
    local: bool = Field(description="the port of the host that the switch runs on")
    mac: str
    up: bool
    speed_mbps: int = Field(description="0 when the switch does not say")
    full_duplex: bool
    link_changes: int | None = Field(
        description="times that the link came up or went down since the controller knows the port;"
        " null for a member of an aggregation, which counts its members' flaps"
    )
    state: PortState = Field(
        description="port state (802.1D-2004 7.4); disabled = the link is down"
    )
    learned: int = Field(description="learned entries")
    limit: int | None = Field(description="most learned entries, null = no separate limit")
    refused: int = Field(description="sightings not learned because of that limit")
    dropping: bool = Field(
        description="frames from unknown hosts are dropped now, because of that limit"
    )
    over_share: int = Field(
        description="sightings not learned because the bridge or the VLAN was full, and the port"
        " had its share of the addresses"
    )
    displaced: int = Field(
        description="learned entries that made room for those of ports with fewer entries"
    )
    packet_in_rate: int = Field(
        description="frames from unknown sources a second that it may send to the controller now"
    )
    held_back: dict[LimitedKind, int] = Field(
        description="frames not sent to the controller because of rate limits, or above the port's"
        " storm limits, by kind, as of the last statistics of the present connection;"
        " `learning`: sightings of new addresses that the switch had no time for, as of now"
    )
    held_back_age: float | None = Field(
        description="seconds since the switch reported `held_back`, without `learning`; null if it"
        " has not yet, or is not connected"
    )
    counters: PortCounters | None = Field(
        description="null unless requested, and if the switch does not answer; for an aggregation"
        " the sum of its members"
    )
    lag: str | None = Field(
        description="the aggregation that it is a member of, and so no port of the bridge by itself"
    )
    members: list[str] | None = Field(
        description="existing members of an aggregation; null for a port"
    )
    shutdown: bool = Field(description="administratively down")
    isolated: bool = Field(description="frames from it are not sent on other isolated ports")
    community: int | None = Field(description="the community that it is in; null for none")
    locked: bool = Field(description="only its static addresses may send")
    acl: str | None = Field(description="the access list for its frames")
    rate_in: int | None = Field(description="most kbit/s that may come in; null for no limit")
    rate_out: int | None = Field(description="most kbit/s that may leave; null for no limit")
    qos_trust: str = Field(description="which priorities of frames that come in are kept")
    priority: int = Field(description="the priority of frames without one that is kept")
    trust: Trust = Field(description="what the hosts behind it are, for first-hop security")


_OF_POLICY = (
    *("shutdown", "isolated", "community", "locked", "acl"),
    *("rate_in", "rate_out", "qos_trust", "priority"),
)


class PortList(BaseModel):
    """All ports of a bridge."""

    ports: list[Port]


class PortDetail(Port):
    """A port, and its settings."""

    settings: dict[str, Any] = Field(
        description="what differs from the defaults, under the keys of the configuration file"
    )


def _vid(value: object) -> object:
    if isinstance(value, str) and not (value.isascii() and value.isdigit() and value[0] != "0"):
        raise ValueError(f"{value!r} is not a VID: 1 to {MAX_VID}")
    return value


MemberVid = Annotated[int, Field(ge=1, le=MAX_VID, description="VID"), BeforeValidator(_vid)]


class MembershipPath(PortPath):
    """Path of a VLAN of a port."""

    vlan: MemberVid


class Membership(Input):
    """Membership of a port in a VLAN."""

    pvid: StrictBool = Field(False, description="received untagged frames belong to it")
    untagged: StrictBool = Field(False, description="its frames are sent untagged")


class PortVlans(BaseModel):
    """The VLANs of a port."""

    port: PortRef
    mode: Literal["transparent", "access", "trunk"]
    vlans: str = Field(description="VIDs and ranges; all: every VLAN, and untagged frames")
    pvid: int | None = Field(description="the VLAN of untagged frames, null = they are dropped")
    untagged: list[int] = Field(description="the VLANs that are sent untagged")
    takes_part: bool = Field(description="false: shut down, or only listening")


class Vlan(BaseModel):
    """A VLAN with a name, a limit, or learned entries."""

    vlan: int = Field(description="VID, 0 = untagged")
    name: str | None
    learned: int
    limit: int | None = Field(description="most learned entries, null = no separate limit")


class VlanStatus(BaseModel):
    """The VLANs of a bridge."""

    vlans: list[Vlan]
    ports: list[PortVlans]


def blueprint(network: Network) -> APIBlueprint:
    """The routes on a network."""
    api = resource("ports", TAG, "/v1/bridges/<dpid>")

    def change(bridge: Bridge, port: CorePort, values: Mapping[str, Any]) -> Response:
        make_change(network.changes.settings.change_port, bridge, port, values)
        return answer(_detail(network, bridge, port))

    @api.get("/ports", responses={200: PortList, **documented(404, 409)})
    @viewer
    def ports(path: BridgePath, query: PortQuery) -> Response:
        """A bridge's ports, and members of its aggregations, by number."""
        bridge = find_bridge(network, path.dpid)
        return long(PortList(ports=[]), PortViews(network, bridge, query.counters).all())

    @api.get("/ports/<port>", responses={200: PortDetail, **documented(404, 409)})
    @viewer
    def show(path: PortPath, query: PortQuery) -> Response:
        """A port, and its settings."""
        return answer(_detail(network, *bridge_and_port(network, path), query.counters))

    @api.patch(
        "/ports/<port>",
        responses={200: PortDetail, **CHANGE},
    )
    @operator
    def set_port(path: PortPath, query: NoQuery, body: PortChange) -> Response:
        """Change the VLANs or the policy of a port.

        It applies until the configuration file changes the same value, or a reload with `reset`
        discards it; 503, 507: it applies, but is not saved.  409: there is no VLAN, or no access
        list, of that name.
        """
        return change(*bridge_and_port(network, path), body.values())

    @api.get("/vlans", responses={200: VlanStatus, **documented(404, 409)})
    @viewer
    def vlans(path: BridgePath, query: NoQuery) -> Response:
        """The VLANs that are named, limited or in use, and those that each port is in."""
        return answer(_vlans(network, find_bridge(network, path.dpid)))

    @api.put(
        "/ports/<port>/vlans/<vlan>",
        responses={200: PortDetail, **CHANGE},
    )
    @operator
    def join(path: MembershipPath, query: NoQuery, body: Membership) -> Response:
        """Add a port to a VLAN, or change its membership, like `bridge vlan add`.

        It applies as long as what PATCH sets.  409: the VLAN would be sent untagged, but received
        untagged frames do not belong to it.
        """
        bridge, port = bridge_and_port(network, path)
        with refused(409):
            new = with_vlan(
                bridge.port_policies.port(port.number).vlans, path.vlan, body.pvid, body.untagged
            )
        return change(bridge, port, {"vlan": vlan_section(new)})

    @api.delete(
        "/ports/<port>/vlans/<vlan>",
        responses={200: PortDetail, **documented(404, 409), **UNSAVED},
    )
    @operator
    def leave(path: MembershipPath, query: NoQuery) -> Response:
        """Remove a port from a VLAN, like `bridge vlan del`.

        It applies as long as what PATCH sets.  409: the port is not in it, or in no other.
        """
        bridge, port = bridge_and_port(network, path)
        with refused(409):
            new = without_vlan(bridge.port_policies.port(port.number).vlans, path.vlan)
        return change(bridge, port, {"vlan": vlan_section(new)})

    return api


class PortViews:
    """State of a bridge's ports; counters: with the switch's counters."""

    def __init__(self, network: Network, bridge: Bridge, counters: bool = False) -> None:
        self._bridge = bridge
        datapath = network.datapaths.get(bridge.datapath_id)
        self._held_back: Mapping[Any, Mapping[int, int]] = {}
        self._age: float | None = None
        if datapath is not None:
            status = datapath.status()
            self._held_back = status.held_back
            if status.polled is not None:
                self._age = round(time.monotonic() - status.polled, 3)
        self._members = members(bridge)
        self._home = {
            member.number: logical for logical, parts in self._members.items() for member in parts
        }
        self._switch = None
        if counters and datapath is not None:
            self._switch = datapath.port_counters
            ask_all([self._switch], PATIENCE)

    def all(self) -> Iterator[Port]:
        """All ports and members of aggregations, by number."""
        parts = [member for members in self._members.values() for member in members]
        known = sorted([*self._bridge.ports, *parts], key=lambda port: port.number)
        return map(self.of, known)

    def of(self, port: CorePort) -> Port:
        """One port."""
        bridge, held_back = self._bridge, self._held_back
        limit, parts = port_limit(bridge, port.number), self._members.get(port.number)
        lag = bridge.lags.of_member(port.number)
        policy = bridge.port_policies.policy(port.number)
        return filled(
            Port,
            port,
            local=port.number == LOCAL_PORT,
            mac=format_mac(port.mac),
            link_changes=None if lag else bridge.ports.link_changes[port.number],
            state=self._state(port),
            **limit._asdict(),
            packet_in_rate=bridge.sighting_rate(port.number),
            held_back={kind: ports.get(port.number, 0) for kind, ports in held_back.items()},
            held_back_age=self._age,
            counters=self._counters(port.number),
            lag=lag,
            members=None if parts is None else [member.name for member in parts],
            **{name: getattr(policy, name) for name in _OF_POLICY},
            trust=bridge.port_policies.port(port.number).trust,
        )

    def _state(self, port: CorePort) -> PortState:
        """State of a port; a member's is that of its aggregation, while its own link is up."""
        number = self._home.get(port.number, port.number)
        state = self._bridge.desired_port(number).state if port.up else None
        return "disabled" if state is None else state.value

    def _counters(self, number: int) -> BaseModel | None:
        counters = self._switch
        count = None if counters is None else counters.latest.get(number)
        if counters is None or counters.at is None or count is None:
            return None
        return filled(PortCounters, count, age=round(time.monotonic() - counters.at, 3))


def _detail(network: Network, bridge: Bridge, port: CorePort, counters: bool = False) -> PortDetail:
    settings = network.running.port(bridge, port)
    changed = settings.model_dump(mode="json", exclude_defaults=True)
    return PortDetail(**dict(PortViews(network, bridge, counters).of(port)), settings=changed)


def _vlans(network: Network, bridge: Bridge) -> VlanStatus:
    settings = network.running.of(bridge.datapath_id)
    limits = vlan_limits(bridge)
    learned = learned_by_vlan(bridge)
    return VlanStatus(
        vlans=[
            Vlan(
                vlan=vid,
                name=settings.vlan(vid).name,
                learned=learned.get(vid, 0),
                limit=limits[vid].limit if vid in limits else None,
            )
            for vid in sorted(learned.keys() | limits.keys() | settings.vlans.keys())
        ],
        ports=[_membership(bridge, port) for port in by_number(bridge)],
    )


def _membership(bridge: Bridge, port: CorePort) -> PortVlans:
    vlans = bridge.port_policies.port(port.number).vlans
    trunk = vlans.vids is not None and vlans.tagged
    return PortVlans(
        port=port_ref(bridge, port.number),
        mode="transparent" if vlans.vids is None else "trunk" if trunk else "access",
        vlans="all" if vlans.vids is None else spoken(vlans.vids),
        pvid=0 if vlans.vids is None else None if vlans.pvid == NO_VLAN else vlans.pvid,
        untagged=sorted(vlans.untagged),
        takes_part=bridge.port_policies.takes_part(port.number),
    )
