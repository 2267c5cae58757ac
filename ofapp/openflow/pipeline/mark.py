"""Priorities of frames that come in: what a port trusts of them, and what it sets in place of it.

A frame has a priority in its VLAN tag (PCP, 802.1Q-2018 9.6), and an IP packet another one (DSCP,
RFC 2474).  The upper three bits of a DSCP are such a priority, too (its class selector, RFC 2474
4.2.2).  The PCP of a frame without a tag is set as well, which changes nothing: the switch sends no
tag then.
"""

from collections.abc import Iterator

from ofapp.openflow.model.cookie import Feature
from ofapp.openflow.model.flow import (
    IPV4,
    IPV6,
    UNTAGGED,
    Action,
    Bits,
    Flow,
    Match,
    MoveBits,
    SetBits,
    in_port,
)
from ofapp.openflow.model.rule import ONWARD, TableId, rule
from ofapp.openflow.pipeline.table import Ingress, Table

_PCP = Bits("vlan_tci", 13, 3)
_DSCP = Bits("ip_dscp", 0, 6)
_CLASS, _REST = Bits("ip_tos", 5, 3), Bits("ip_tos", 2, 3)
"""The class selector of a DSCP, and its other bits."""
_IP = IPV4, IPV6

_RULES = (
    rule(
        "untagged",
        120,
        "in_port eth_type vlan_vid",
        Feature.PORT,
        "An IP packet without a tag on a port that trusts the PCP alone: the DSCP of the port's "
        "priority.",
        ONWARD,
        "address",
    ),
    rule(
        "ip",
        110,
        "in_port eth_type",
        Feature.PORT,
        "An IP packet: the PCP, the DSCP or both are set, to the port's priority or from the other "
        "of the two.",
        ONWARD,
        "address",
    ),
    rule(
        "other",
        100,
        "in_port",
        Feature.PORT,
        "Any other frame: the PCP is set to the port's priority, unless it is trusted.",
        ONWARD,
        "address",
    ),
)


def set_pcp(priority: int) -> SetBits:
    """The action that sets the priority in the tag of a frame; without a tag nothing changes."""
    return SetBits(_PCP, priority)


def set_dscp(dscp: int) -> SetBits:
    """The action that sets the DSCP of an IPv4 or IPv6 packet."""
    return SetBits(_DSCP, dscp)


def class_selector(priority: int) -> int:
    """The DSCP that stands for a priority."""
    return priority << 3


def mark_flows(ingress: Ingress) -> Iterator[Flow]:
    """The flows that set the priorities of a port's frames."""
    policy, here = ingress.port.policy, in_port(ingress.port.number)
    own = set_pcp(policy.priority)
    of_ip: tuple[Action, ...]
    other: tuple[Action, ...]
    match policy.qos_trust:
        case "dscp":
            of_ip, other = (MoveBits(_CLASS, _PCP),), (own,)
        case "pcp":
            of_ip, other = (MoveBits(_PCP, _CLASS), SetBits(_REST, 0)), ()
        case _:
            of_ip, other = (own, set_dscp(class_selector(policy.priority))), (own,)
    yield Flow(TableId.MARK, 100, (here,), Feature.PORT, other, ingress.onward)
    for version in _IP:
        packet = here, Match("eth_type", version)
        yield Flow(TableId.MARK, 110, packet, Feature.PORT, of_ip, ingress.onward)
        if policy.qos_trust == "pcp" and ingress.port.vlans.transparent:
            bare = (set_dscp(class_selector(policy.priority)),)
            yield Flow(TableId.MARK, 120, (*packet, UNTAGGED), Feature.PORT, bare, ingress.onward)


MARK = Table(
    TableId.MARK,
    "mark",
    "Priorities that a port does not trust: they are set to the port's own, or from what it "
    "trusts. Only frames of ports with `qos_trust` come here.",
    _RULES,
    port_flows=mark_flows,
    passes=lambda port, _metered: port.policy.qos_trust != "both",
)
