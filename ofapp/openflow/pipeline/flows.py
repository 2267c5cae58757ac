"""The flows of each thing a bridge has: the one place where the pipeline's rules get their values.

The base, a port and a static or local address each have a function here; reconciliation and single
changes use the same one.  Learned addresses, made by the ten thousand, are patterns of bytes
made from `learned_flows` (see `ofapp.openflow.wire.learned`).
"""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_network

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import PutStatic
from ofapp.bridge.reach import Reach
from ofapp.bridge.stp import PortState
from ofapp.bridge.vlan import NO_VLAN, blocks
from ofapp.openflow.model.cookie import Feature
from ofapp.openflow.model.flow import (
    Action,
    Flow,
    Match,
    Output,
    ToController,
    ToGroup,
    tagged,
    vlan,
)
from ofapp.openflow.pipeline import (
    egress as leaving,
)
from ofapp.openflow.pipeline import (
    ingress as entering,
)
from ofapp.openflow.pipeline import (
    source_flows as source,
)
from ofapp.openflow.pipeline.acl_flows import acl_flows
from ofapp.openflow.pipeline.egress import GROUP_BIT, way_out
from ofapp.openflow.pipeline.meters import Copy, meter_id
from ofapp.openflow.pipeline.pipeline import FLOOD_GROUP, TableId, check

BPDU = 0x0180C2000000
LINK_LOCAL_MASK = 0xFFFFFFFFFFF0
COPY_LENGTH = 64
WHOLE_FRAME = 0xFFFF  # OFPCML_NO_BUFFER
TRAP_HELLOS = 2
"""Hello times without a controller until BPDUs pass.  A neighbour's patience lasts three
(802.1D-2004 17.21.23); three seconds after that its auto-edge may open the port that it blocked
(17.25), unless it hears itself through this bridge before.  The switch may let a flow outlive its
time by a second, and a neighbour speaks every two: three would be too many [measured]."""

IPV4, IPV6 = 0x0800, 0x86DD
_IGMP, _ICMPV6, _PIM = 2, 58, 103
_IPV4_GROUPS = 0x0100_5E00_0000, 0xFFFF_FF80_0000
_IPV6_GROUPS = 0x3333_0000_0000, 0xFFFF_0000_0000
_ICMPV6_SNOOPED = (130, 131, 132, 143, 151, 153)  # RFC 2710, 3810, 4286


def base_flows() -> tuple[Flow, ...]:
    """What every bridge has, whatever its ports."""
    admission = TableId.ADMISSION
    group_source = (Match("eth_src", GROUP_BIT, GROUP_BIT),)
    link_local = (Match("eth_dst", BPDU, LINK_LOCAL_MASK),)
    return _checked(
        Flow(admission, 1000, group_source, Feature.BASE),
        Flow(admission, 990, (Match("eth_src", 0),), Feature.BASE),
        Flow(admission, 900, link_local, Feature.BASE),
        Flow(admission, 0, (), Feature.BASE),
    )


def flood_flows(bridge: Bridge, metered: bool) -> tuple[Flow, ...]:
    """How frames flood, and the tables that serve for it."""
    if not entering.floods_by_table(bridge.reach, bridge.relay.states, metered):
        flood = (ToGroup(FLOOD_GROUP),)
        return _checked(Flow(TableId.DESTINATION, 0, (), Feature.BASE, flood))
    onwards = Flow(TableId.DESTINATION, 0, (), Feature.VLAN, (), TableId.FLOOD)
    filtering = entering.filter_flows() if bridge.reach.aware else ()
    return _checked(*leaving.flood_flows(bridge.reach), *filtering, onwards)


def port_flows(
    bridge: Bridge, port: int, state: PortState, traps: int = 0, metered: bool = False
) -> tuple[Flow, ...]:
    """An up port's flows in a state, the innermost table first.

    traps: seconds that its BPDUs go to the controller unless that is renewed, 0 when they pass;
    metered: the switch has meters.
    """
    in_port = Match("in_port", port)
    bpdu = (in_port, Match("eth_dst", BPDU))
    admission = TableId.ADMISSION
    copy = sighting(port, metered)
    flows: list[Flow] = []
    if traps:
        flows.append(trap_flow(port, traps, metered))
    if state is PortState.DISCARDING:
        return _checked(*flows)
    flows += source.port_flows(bridge, port, state, copy)
    flows += entering.flows(bridge.reach, port, metered)
    marks = entering.marks(bridge, port)
    goto = entering.stages(bridge.reach, port, metered)[0]
    if state is PortState.FORWARDING:
        flows += [
            Flow(admission, 920, bpdu, Feature.PORT, marks, goto),
            Flow(admission, 100, (in_port,), Feature.PORT, marks, goto),
        ]
    elif goto is TableId.SOURCE:
        flows.append(Flow(admission, 100, (in_port,), Feature.MISS, (copy,)))
    else:
        flows.append(Flow(admission, 100, (in_port,), Feature.MISS, marks, goto))
    return _checked(*flows)


def sighting(port: int, metered: bool) -> ToController:
    """What tells the controller of a frame from an unknown source on the port."""
    return ToController(COPY_LENGTH, meter_id(port) if metered else None)


def trap_flow(port: int, seconds: int, metered: bool) -> Flow:
    """What brings a port's BPDUs to the controller, for so long."""
    whole = ToController(WHOLE_FRAME, meter_id(port, Copy.BPDU) if metered else None)
    bpdu = (Match("in_port", port), Match("eth_dst", BPDU))
    return Flow(TableId.ADMISSION, 930, bpdu, Feature.BPDU, (whole,), hard_timeout=seconds)


def trap_seconds(bridge: Bridge, port: int) -> int:
    """How long the port's BPDUs go to the controller unless that is renewed; 0: they pass."""
    if bridge.params.stp is None or not bridge.traps(port):
        return 0
    return round(TRAP_HELLOS * bridge.params.stp.hello_time)


def snooping_flows(by_table: bool = False) -> tuple[Flow, ...]:
    """What every bridge that snoops multicast has; by_table: how its frames flood."""
    table, to_controller = TableId.MULTICAST, TableId.SNOOP
    flood = () if by_table else (ToGroup(FLOOD_GROUP),)
    goto = TableId.FLOOD if by_table else None

    def ip(eth_type: int, *more: Match) -> tuple[Match, ...]:
        return (Match("eth_type", eth_type), *more)

    def address(text: str, length: int) -> Match:
        network = ip_network(f"{text}/{length}")
        whole = length == network.max_prefixlen
        mask = None if whole else int(network.netmask)
        return Match(f"ipv{network.version}_dst", int(network.network_address), mask)

    proto = [Match("ip_proto", number) for number in (_IGMP, _ICMPV6, _PIM)]
    cut_short = (proto[1], Match("icmpv6_type", 0), address("ff02::", 16))
    trapped = [
        ip(IPV4, proto[0]),
        *(ip(IPV6, proto[1], Match("icmpv6_type", type_)) for type_ in _ICMPV6_SNOOPED),
        ip(IPV4, proto[2], address("224.0.0.13", 32)),
        ip(IPV6, proto[2], address("ff02::d", 128)),
        ip(IPV6, *cut_short),
    ]
    damaged = [
        ip(IPV4, Match("eth_dst", *_IPV4_GROUPS), Match("ip_proto", 0), address("0.0.0.0", 32)),
        ip(IPV6, Match("eth_dst", *_IPV6_GROUPS), Match("ip_proto", 0)),
    ]
    link_scope = [ip(IPV4, address("224.0.0.0", 24)), ip(IPV6, address("ff02::1", 128))]
    group_bit = (Match("eth_dst", GROUP_BIT, GROUP_BIT),)
    return _checked(
        Flow(table, 0, (), Feature.SNOOP, flood, goto),
        *(Flow(table, 400, ip(eth_type), Feature.SNOOP, flood, goto) for eth_type in (IPV4, IPV6)),
        *(Flow(table, 800, match, Feature.SNOOP, flood, goto) for match in link_scope),
        *(Flow(table, 900, match, Feature.SNOOP, (), to_controller) for match in trapped),
        *(Flow(table, 890, match, Feature.SNOOP, (), to_controller) for match in damaged),
        Flow(TableId.DESTINATION, 100, group_bit, Feature.SNOOP, (), table),
    )


def snoop_flows(port: int, metered: bool) -> tuple[Flow, ...]:
    """What brings a port's IGMP and MLD to the controller."""
    copy = ToController(WHOLE_FRAME, meter_id(port, Copy.SNOOPED) if metered else None)
    return _checked(Flow(TableId.SNOOP, 100, (Match("in_port", port),), Feature.SNOOP, (copy,)))


def static_flows(reach: Reach, static: PutStatic) -> tuple[Flow, ...]:
    """A static or local address's flows; without a port there is nowhere to send to."""
    feature = Feature.LOCAL if static.vid is None else Feature.STATIC
    where = () if static.vid is None else (vlan(static.vid),)
    priority = 300 if static.vid is None else 250
    by = (*where, Match("eth_src", static.mac))
    flows = [Flow(TableId.SOURCE, priority, by, feature, (), TableId.DESTINATION)]
    if static.port is not None:
        flows = [*_static_destinations(reach, static, static.port), *flows]
    return _checked(*flows)


def _static_destinations(reach: Reach, static: PutStatic, port: int) -> Iterator[Flow]:
    table, to, vlans = TableId.DESTINATION, Match("eth_dst", static.mac), reach.vlans(port)
    if static.vid is not None:
        out = way_out(reach, port, static.vid) if vlans.has(static.vid) else ()
        yield Flow(table, 200, (vlan(static.vid), to), Feature.STATIC, out)
    elif vlans.vids is None:
        yield Flow(table, 300, (to,), Feature.LOCAL, way_out(reach, port, NO_VLAN))
    else:
        for vid in vlans.untagged:
            out = way_out(reach, port, vid)
            yield Flow(table, 300, (tagged(vid), to), Feature.LOCAL, out)
        for vid, mask in blocks(vlans.vids - vlans.untagged):
            out = way_out(reach, port, vid)
            yield Flow(table, 300, (tagged(vid, mask), to), Feature.LOCAL, out)


def learned_flows(
    port: int,
    vid: int,
    mac: int,
    serial: int,
    ageing_time: int | None,
    out: tuple[Action, ...] = (),
) -> tuple[Flow, Flow]:
    """A learned address: destination half, source half.

    ageing_time: seconds, 0 for never, None for a sticky address; out: what sends a frame there.

    In that order on the wire: a source half alone would end the host's packet-ins, and so the
    chance to put the destination half right.
    """
    by = (Match("in_port", port), vlan(vid), Match("eth_src", mac))
    feature = Feature.STICKY if ageing_time is None else Feature.LEARNED
    destination = Flow(
        TableId.DESTINATION,
        200,
        (vlan(vid), Match("eth_dst", mac)),
        feature,
        out or (Output(port),),
        serial=serial,
        notify_removal=False,
    )
    source_half = Flow(
        TableId.SOURCE,
        200,
        by,
        feature,
        (),
        TableId.DESTINATION,
        serial,
        ageing_time or 0,
        notify_removal=ageing_time is not None,
    )
    _checked(destination, source_half)
    return destination, source_half


def desired_flows(bridge: Bridge, metered: bool) -> Iterator[Flow]:
    """All that a switch should hold but learned addresses and multicast groups, innermost first."""
    yield from leaving.egress_flows(bridge)
    for static in bridge.static_entries:
        yield from static_flows(bridge.reach, static)
    if bridge.multicasting is not None:
        for port in sorted(bridge.relay.states):
            yield from snoop_flows(port, metered)
        by_table = entering.floods_by_table(bridge.reach, bridge.relay.states, metered)
        yield from snooping_flows(by_table)
    yield from flood_flows(bridge, metered)
    yield from acl_flows(bridge, metered)
    yield from base_flows()
    yield from source.held_flows(bridge)
    for port, state in sorted(bridge.relay.states.items()):
        yield from port_flows(bridge, port, state, trap_seconds(bridge, port), metered)


def _checked(*flows: Flow) -> tuple[Flow, ...]:
    for flow in flows:
        check(flow)
    return flows
