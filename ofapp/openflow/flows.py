"""The flows of each thing a bridge has: the one place where the pipeline's rules get their values.

The base, a port and a pinned address each have a function here; reconciliation and single
changes use the same one.  Learned addresses, made by the ten thousand, are patterns of bytes
made from `learned_flows` (see `ofapp.openflow.learned`).
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from ipaddress import ip_network

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import Pin
from ofapp.bridge.ports import LOCAL_PORT
from ofapp.bridge.stp import PortState
from ofapp.openflow.cookie import Feature
from ofapp.openflow.flow import (
    Flow,
    Group,
    Match,
    Meter,
    Output,
    ToController,
    ToGroup,
    vlan,
)
from ofapp.openflow.pipeline import FLOOD_GROUP, TableId, check

GROUP_BIT = 0x010000000000
BPDU = 0x0180C2000000
LINK_LOCAL_MASK = 0xFFFFFFFFFFF0
COPY_LENGTH = 64
WHOLE_FRAME = 0xFFFF  # OFPCML_NO_BUFFER
BPDU_RATE = 100
"""BPDUs of one port, a second, that reach the controller; a neighbour sends one in two seconds."""
TRAP_HELLOS = 2
"""Hello times without a controller until BPDUs pass.  A neighbour's patience lasts three
(802.1D-2004 17.21.23); three seconds after that its auto-edge may open the port that it blocked
(17.25), unless it hears itself through this bridge before.  The switch may let a flow outlive its
time by a second, and a neighbour speaks every two: three would be too many [measured]."""
SNOOP_RATE = 500
"""IGMP, MLD and router messages of one port, a second, that reach the controller."""
_LOCAL_METER = 0xFFFF  # LOCAL's port number is no meter id; OFPP_MAX ports end below

IPV4, IPV6 = 0x0800, 0x86DD
_IGMP, _ICMPV6, _PIM = 2, 58, 103
_ICMPV6_SNOOPED = (130, 131, 132, 143, 151, 153)  # RFC 2710, 3810, 4286


class Copy(IntEnum):
    """The kinds of frames that the controller gets, each metered apart."""

    SIGHTING = 0
    BPDU = 1
    SNOOPED = 2


def base_flows() -> tuple[Flow, ...]:
    """What every bridge has, whatever its ports."""
    admission, destination = TableId.ADMISSION, TableId.DESTINATION
    group_source = (Match("eth_src", GROUP_BIT, GROUP_BIT),)
    link_local = (Match("eth_dst", BPDU, LINK_LOCAL_MASK),)
    return _checked(
        Flow(destination, 0, (), Feature.BASE, (ToGroup(FLOOD_GROUP),)),
        Flow(admission, 1000, group_source, Feature.BASE),
        Flow(admission, 990, (Match("eth_src", 0),), Feature.BASE),
        Flow(admission, 900, link_local, Feature.BASE),
        Flow(admission, 0, (), Feature.BASE),
    )


def port_flows(
    port: int, state: PortState, traps: int = 0, metered: bool = False
) -> tuple[Flow, ...]:
    """An up port's flows in a state, the innermost table first.

    traps: seconds that its BPDUs go to the controller unless that is renewed, 0 when they pass;
    metered: the switch has meters.
    """
    in_port = Match("in_port", port)
    bpdu = (in_port, Match("eth_dst", BPDU))
    admission, source = TableId.ADMISSION, TableId.SOURCE
    copy = ToController(COPY_LENGTH, meter_id(port) if metered else None)
    flows: list[Flow] = []
    if traps:
        whole = ToController(WHOLE_FRAME, meter_id(port, Copy.BPDU) if metered else None)
        flows.append(Flow(admission, 930, bpdu, Feature.BPDU, (whole,), hard_timeout=traps))
    if state is PortState.FORWARDING:
        flows += [
            Flow(source, 100, (in_port,), Feature.MISS, (copy,), TableId.DESTINATION),
            Flow(admission, 920, bpdu, Feature.PORT, (), source),
            Flow(admission, 100, (in_port,), Feature.PORT, (), source),
        ]
    elif state is PortState.LEARNING:
        flows.append(Flow(admission, 100, (in_port,), Feature.MISS, (copy,)))
    return _checked(*flows)


def possible_port_flows(port: int) -> tuple[Flow, ...]:
    """Every flow that a port can have in any state, the innermost table first."""
    return port_flows(port, PortState.FORWARDING, 1) + port_flows(port, PortState.LEARNING)


def trap_seconds(bridge: Bridge, port: int) -> int:
    """How long the port's BPDUs go to the controller unless that is renewed; 0: they pass."""
    if bridge.params.stp is None or not bridge.traps(port):
        return 0
    return round(TRAP_HELLOS * bridge.params.stp.hello_time)


def snooping_flows() -> tuple[Flow, ...]:
    """What every bridge that snoops multicast has, whatever its ports."""
    table, to_controller = TableId.MULTICAST, TableId.SNOOP
    flood = (ToGroup(FLOOD_GROUP),)

    def ip(eth_type: int, *more: Match) -> tuple[Match, ...]:
        return (Match("eth_type", eth_type), *more)

    def address(text: str, length: int) -> Match:
        network = ip_network(f"{text}/{length}")
        whole = length == network.max_prefixlen
        mask = None if whole else int(network.netmask)
        return Match(f"ipv{network.version}_dst", int(network.network_address), mask)

    proto = [Match("ip_proto", number) for number in (_IGMP, _ICMPV6, _PIM)]
    trapped = [
        ip(IPV4, proto[0]),
        *(ip(IPV6, proto[1], Match("icmpv6_type", type_)) for type_ in _ICMPV6_SNOOPED),
        ip(IPV4, proto[2], address("224.0.0.13", 32)),
        ip(IPV6, proto[2], address("ff02::d", 128)),
    ]
    link_scope = [ip(IPV4, address("224.0.0.0", 24)), ip(IPV6, address("ff02::1", 128))]
    group_bit = (Match("eth_dst", GROUP_BIT, GROUP_BIT),)
    return _checked(
        Flow(table, 0, (), Feature.SNOOP, flood),
        *(Flow(table, 800, match, Feature.SNOOP, flood) for match in link_scope),
        *(Flow(table, 900, match, Feature.SNOOP, (), to_controller) for match in trapped),
        Flow(TableId.DESTINATION, 100, group_bit, Feature.SNOOP, (), table),
    )


def snoop_flows(port: int, metered: bool) -> tuple[Flow, ...]:
    """What brings a port's IGMP and MLD to the controller."""
    copy = ToController(WHOLE_FRAME, meter_id(port, Copy.SNOOPED) if metered else None)
    return _checked(Flow(TableId.SNOOP, 100, (Match("in_port", port),), Feature.SNOOP, (copy,)))


def pin_flows(pin: Pin) -> tuple[Flow, ...]:
    """A static or local address's flows; without a port there is nowhere to send to."""
    feature = Feature.LOCAL if pin.vid is None else Feature.STATIC
    where = () if pin.vid is None else (vlan(pin.vid),)
    to, by = (*where, Match("eth_dst", pin.mac)), (*where, Match("eth_src", pin.mac))
    priority = 300 if pin.vid is None else 250
    flows = [Flow(TableId.SOURCE, priority, by, feature, (), TableId.DESTINATION)]
    if pin.port is not None:
        priority = 300 if pin.vid is None else 200
        out = (Output(pin.port),)
        flows.insert(0, Flow(TableId.DESTINATION, priority, to, feature, out))
    return _checked(*flows)


def learned_flows(
    port: int, vid: int, mac: int, serial: int, ageing_time: int
) -> tuple[Flow, Flow]:
    """A learned address: destination half, source half.

    In that order on the wire: a source half alone would end the host's packet-ins, and so the
    chance to put the destination half right.
    """
    by = (Match("in_port", port), vlan(vid), Match("eth_src", mac))
    destination = Flow(
        TableId.DESTINATION,
        200,
        (vlan(vid), Match("eth_dst", mac)),
        Feature.LEARNED,
        (Output(port),),
        serial=serial,
    )
    source = Flow(
        TableId.SOURCE,
        200,
        by,
        Feature.LEARNED,
        (),
        TableId.DESTINATION,
        serial,
        ageing_time,
        notify_removal=True,
    )
    check(destination)
    check(source)
    return destination, source


def desired_flows(bridge: Bridge, metered: bool) -> Iterator[Flow]:
    """All that a switch should hold but learned addresses and multicast groups, innermost first."""
    for pin in bridge.pinned:
        yield from pin_flows(pin)
    if bridge.multicasting is not None:
        for port in sorted(bridge.relay.states):
            yield from snoop_flows(port, metered)
        yield from snooping_flows()
    yield from base_flows()
    for port, state in sorted(bridge.relay.states.items()):
        yield from port_flows(port, state, trap_seconds(bridge, port), metered)


def desired_meters(bridge: Bridge) -> Iterator[Meter]:
    """The meters that the flows point to."""
    for port in sorted(bridge.relay.states):
        yield from port_meters(bridge, port)


def port_meters(bridge: Bridge, port: int) -> Iterator[Meter]:
    """One for a port's sightings and one for its BPDUs: neither can crowd out the other."""
    yield Meter(meter_id(port), bridge.params.packet_in_rate)
    if bridge.traps(port):
        yield Meter(meter_id(port, Copy.BPDU), BPDU_RATE)
    if bridge.multicasting is not None:
        yield Meter(meter_id(port, Copy.SNOOPED), SNOOP_RATE)


def desired_groups(bridge: Bridge) -> Iterator[Group]:
    """The groups that the flows point to."""
    yield Group(FLOOD_GROUP, bridge.relay.flood_ports)


def meter_id(port: int, copy: Copy = Copy.SIGHTING) -> int:
    """The meter of a port's copies of one kind: the port's number, above it the kind."""
    return copy << 16 | (_LOCAL_METER if port == LOCAL_PORT else port)


def metered(meter: int) -> tuple[int, Copy] | None:
    """The port and the kind of copies that a meter is for; None for somebody else's meter."""
    port, kind = meter & 0xFFFF, meter >> 16
    if kind > max(Copy):
        return None
    return (LOCAL_PORT if port == _LOCAL_METER else port), Copy(kind)


def _checked(*flows: Flow) -> tuple[Flow, ...]:
    for flow in flows:
        check(flow)
    return flows
