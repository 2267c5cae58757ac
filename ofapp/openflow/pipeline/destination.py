"""Forwarding by destination: to the port of a known address, or flooding."""

from collections.abc import Iterator

from ofapp.bridge.desired import Desired
from ofapp.bridge.effects import PutStatic
from ofapp.bridge.ports.vlan import NO_VLAN, blocks
from ofapp.bridge.relay.policies import PortPolicies
from ofapp.openflow.model.cookie import Feature
from ofapp.openflow.model.flow import (
    ARP,
    IPV6,
    TO_ALL,
    TO_GROUP,
    TO_HOST,
    TO_SOLICITED_NODE,
    Action,
    Flow,
    Match,
    Resubmit,
    SetRegister,
    ToController,
    ToGroup,
    in_port,
    register,
    tagged,
    vlan,
)
from ofapp.openflow.model.rule import Register, TableId, rule
from ofapp.openflow.model.traps import ADDRESS, SNOOPED, UNKNOWN_UNICAST
from ofapp.openflow.pipeline.answer import ASK, ask_flows
from ofapp.openflow.pipeline.egress import way_out
from ofapp.openflow.pipeline.flood import floods_by_table
from ofapp.openflow.pipeline.group_numbers import FLOOD_GROUP
from ofapp.openflow.pipeline.meters import ADDRESS_METER, meter_id
from ofapp.openflow.pipeline.table import Ingress, Table

_RULES = (
    rule(
        "arp",
        400,
        "eth_type reg4",
        ADDRESS.feature,
        "A few ARP frames a second of hosts that were let in: a copy to the controller, which "
        "so knows their IP addresses; then once more, as if this rule did not exist. Open "
        "vSwitch's cached flows tell Ethernet types apart in any case.",
        actions="controller register resubmit",
    ),
    rule(
        "solicitation",
        400,
        "eth_dst eth_type icmpv6_type ip_proto reg4",
        ADDRESS.feature,
        "The same for neighbour solicitations to a solicited-node address (RFC "
        "4861). Solicitations to one host are not copied: all IPv6 would be cached "
        "by its protocol.",
        actions="controller register resubmit",
    ),
    rule(
        "asked",
        ASK,
        "vlan_vid eth_dst eth_type arp_op reg7",
        Feature.BINDING,
        "An ARP request by broadcast in a VLAN with `arp_suppress`: tables `answer` and `vouch` "
        "look whether the switch can answer. If not, it comes here again.",
        actions="register resubmit",
    ),
    rule(
        "asked6",
        ASK,
        "vlan_vid eth_dst eth_type ip_proto icmpv6_type nw_ttl reg7",
        Feature.BINDING,
        "The same for neighbour solicitations to a solicited-node address in a VLAN with "
        "`nd_suppress`.",
        actions="register resubmit",
    ),
    rule(
        "local",
        300,
        "eth_dst",
        Feature.LOCAL,
        "The bridge's own address, on every VLAN.",
        actions="output group",
    ),
    rule(
        "local-vlan",
        300,
        "vlan_vid eth_dst",
        Feature.LOCAL,
        "The same, on the VLANs of a LOCAL port with VLANs.",
        actions="output group",
    ),
    rule(
        "static",
        200,
        "vlan_vid eth_dst",
        Feature.STATIC,
        "A static address; frames to it are dropped while its port does not forward, and in a VLAN "
        "that the port is no member of.",
        actions="output group",
    ),
    rule(
        "learned",
        200,
        "vlan_vid eth_dst",
        Feature.LEARNED,
        "A learned address. It has no timeout: it goes when its source half has gone. "
        "The port's own group takes the tag off where the VLAN leaves the port untagged, and "
        "leads through the egress table where more is asked of the port.",
        actions="output group",
    ),
    rule(
        "sticky",
        200,
        "vlan_vid eth_dst",
        Feature.STICKY,
        "The same for an address that does not age.",
        actions="output group",
    ),
    rule(
        "remote",
        200,
        "vlan_vid eth_dst",
        Feature.REMOTE,
        "A host at another member of a fabric: `reg14` has that member, `reg15` a hash of the "
        "frame. Deletes find it by its output, to a port that never exists. It ends when no frame "
        "has used it for the ageing time; the controller does not hear of that.",
        TableId.ENTER,
        "output address hash",
    ),
    rule(
        "broadcast",
        110,
        "eth_dst",
        SNOOPED.feature,
        "A broadcast floods where IGMP and MLD are snooped, also if its IP address is a group's: "
        "wake-up tools send such frames, and the Linux bridge and Open vSwitch flood them, too.",
        (None, TableId.FLOOD),
        "group",
    ),
    rule(
        "multicast",
        100,
        "eth_dst",
        SNOOPED.feature,
        "Where IGMP and MLD are snooped: group addresses have a separate table, which "
        "unicast never sees.",
        goto=TableId.MULTICAST,
    ),
    rule(
        "unknown-unicast",
        10,
        "in_port eth_dst",
        Feature.STORM,
        "Unknown unicast of a port with storm control: what is above the rate is dropped.",
        goto=(TableId.FLOOD, TableId.UNKNOWN),
    ),
    rule(
        "flood-vlan",
        0,
        "",
        Feature.VLAN,
        "Broadcast, multicast and unknown destinations, where VLANs differ or unknown unicast "
        "is metered, and in a fabric. Otherwise:",
        goto=(TableId.FLOOD, TableId.UNKNOWN),
    ),
    rule(
        "flood",
        0,
        "",
        Feature.BASE,
        "Broadcast, multicast and unknown destinations: every open port but the ingress.",
        actions="group",
    ),
)

_TABLE = TableId.DESTINATION


def _address_flows() -> Iterator[Flow]:
    unseen, copy = register(Register.SAMPLED, 0), ToController(ADDRESS.octets, ADDRESS_METER.id)
    again = (copy, SetRegister(Register.SAMPLED, 1), Resubmit(_TABLE))
    arp = (Match("eth_type", ARP), unseen)
    types = zip(("eth_type", "ip_proto", "icmpv6_type"), (IPV6, 58, 135), strict=True)
    solicitation = (TO_SOLICITED_NODE, *(Match(*each) for each in types), unseen)
    for match in (arp, solicitation):
        yield Flow(_TABLE, 400, match, ADDRESS.feature, again)


_ADDRESSES = tuple(_address_flows())
"""The flows that show the controller IP addresses of known hosts; they need meters."""
_GROUPS = Flow(_TABLE, 100, (TO_GROUP,), SNOOPED.feature, (), TableId.MULTICAST)
_BY_TABLE = Flow(_TABLE, 0, (), Feature.VLAN, (), TableId.FLOOD)
_IN_FABRIC = Flow(_TABLE, 0, (), Feature.VLAN, (), TableId.UNKNOWN)
_BY_GROUP = Flow(_TABLE, 0, (), Feature.BASE, (ToGroup(FLOOD_GROUP),))
"""For an unknown destination, which floods: see `flood.floods_by_table`."""


def _bridge_flows(desired: Desired, metered: bool) -> Iterator[Flow]:
    by_table = floods_by_table(desired, metered)
    if desired.snoops:
        yield _GROUPS
        to: tuple[Action, ...] = () if by_table else (ToGroup(FLOOD_GROUP),)
        goto = TableId.FLOOD if by_table else None
        yield Flow(_TABLE, 110, (TO_ALL,), SNOOPED.feature, to, goto)
    if metered:
        yield from _ADDRESSES
    yield from ask_flows(desired)
    if desired.protocols.get("fabric") is not None:
        yield _IN_FABRIC
    else:
        yield _BY_TABLE if by_table else _BY_GROUP


def storm_flow(ingress: Ingress) -> Iterator[Flow]:
    """The flow that meters a port's frames to unknown hosts, if it has storm control for them."""
    port = ingress.port
    if ingress.metered and port.policy.storm.unknown_unicast is not None:
        meter = meter_id(port.number, UNKNOWN_UNICAST)
        match = (in_port(port.number), TO_HOST)
        goto = TableId.UNKNOWN if port.wanted("fabric") else TableId.FLOOD
        yield Flow(_TABLE, 10, match, Feature.STORM, (), goto, meter=meter)


def static_destinations(policies: PortPolicies, static: PutStatic, port: int) -> Iterator[Flow]:
    """The flows that send frames to a static address, or the bridge's own, to its port."""
    to, vlans = Match("eth_dst", static.mac), policies.vlans(port)
    if static.vid is not None:
        passes = static.forwards and vlans.has(static.vid)
        out = way_out(policies, port, static.vid) if passes else ()
        yield Flow(_TABLE, 200, (vlan(static.vid), to), Feature.STATIC, out)
    elif vlans.vids is None:
        yield Flow(_TABLE, 300, (to,), Feature.LOCAL, way_out(policies, port, NO_VLAN))
    else:
        for vid in vlans.untagged:
            out = way_out(policies, port, vid)
            yield Flow(_TABLE, 300, (tagged(vid), to), Feature.LOCAL, out)
        for vid, mask in blocks(vlans.vids - vlans.untagged):
            out = way_out(policies, port, vid)
            yield Flow(_TABLE, 300, (tagged(vid, mask), to), Feature.LOCAL, out)


def learned_destination(
    vid: int, mac: int, serial: int, sticky: bool, out: tuple[Action, ...]
) -> Flow:
    """The destination half of a learned address; out: what sends a frame there."""
    return Flow(
        _TABLE,
        200,
        (vlan(vid), Match("eth_dst", mac)),
        Feature.STICKY if sticky else Feature.LEARNED,
        out,
        serial=serial,
        notify_removal=False,
    )


DESTINATION = Table(
    TableId.DESTINATION,
    "destination",
    "Destination addresses.",
    _RULES,
    flows=_bridge_flows,
    port_flows=storm_flow,
)
