"""The pipeline, declared: tables, the kinds of flow that each may hold, and where they lead.

Every flow this package sends is one of these rules; `check` refuses any other, so a mistake in
a builder shows in the first test and not as a complaint of a switch.  PIPELINE.md beside this
file shows the same tables with the flows of a real switch, and a test compares the two.

No frame waits for the controller: a frame from an unknown source is copied to it (`source/miss`)
and goes on to the destination table in the same pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from ofapp.openflow.cookie import Feature
from ofapp.openflow.flow import Flow


class TableId(IntEnum):
    """Numbers are apart so that later tables fit between."""

    ADMISSION = 0
    VLAN = 10
    STORM = 20
    ACL = 30
    SOURCE = 40
    DESTINATION = 60
    FLOOD = 65
    MULTICAST = 70
    SNOOP = 80
    EGRESS = 90


class Register(IntEnum):
    """What a frame carries through the tables, in Open vSwitch's registers.

    EGRESS: the port that it is about to leave by.  ISOLATED: 1 from an isolated port.  FLOODED: 1
    on its way out of a port that it floods to.  ACL: the access list of the port it came from, 0 for
    none.
    """

    EGRESS = 0
    ISOLATED = 1
    FLOODED = 2
    ACL = 3


FLOOD_GROUP = 1


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of flow.

    match: the fields it matches, all of them and no other.
    goto: the table it leads to, None for the last.
    actions: the kinds of action it may apply; none and no `goto` is a drop.
    """

    name: str
    priority: int
    match: frozenset[str]
    feature: Feature
    about: str
    goto: TableId | None = None
    actions: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Table:
    """One table; a miss is always a declared rule of priority 0."""

    id: TableId
    about: str
    rules: tuple[Rule, ...]


def _rule(
    name: str,
    priority: int,
    match: str,
    feature: Feature,
    about: str,
    goto: TableId | None = None,
    actions: str = "",
) -> Rule:
    return Rule(
        name, priority, frozenset(match.split()), feature, about, goto, frozenset(actions.split())
    )


_ADMISSION = Table(
    TableId.ADMISSION,
    "Whether a frame may enter the bridge at all.",
    (
        _rule(
            "group-source",
            1000,
            "eth_src",
            Feature.BASE,
            "A group address is nobody's source: drop.",
        ),
        _rule(
            "zero-source",
            990,
            "eth_src",
            Feature.BASE,
            "Nor is the zero address: drop.",
        ),
        _rule(
            "bpdu",
            930,
            "in_port eth_dst",
            Feature.BPDU,
            "A BPDU on a port where spanning tree runs: to the controller alone, whatever the "
            "port's state. The controller renews the flow; when it is gone, the flow goes too, and "
            "the next rule lets the neighbours' spanning trees see each other through this bridge.",
            actions="controller",
        ),
        _rule(
            "bpdu-pass",
            920,
            "in_port eth_dst",
            Feature.PORT,
            "No spanning tree runs: a BPDU is an ordinary multicast, as on the Linux bridge.",
            goto=TableId.SOURCE,
        ),
        _rule(
            "link-local",
            900,
            "eth_dst",
            Feature.BASE,
            "The rest of 01:80:c2:00:00:0x, pause frames among it, is never forwarded "
            "(802.1D-2004 7.12.6): drop.",
        ),
        _rule(
            "port",
            100,
            "in_port",
            Feature.PORT,
            "A port that forwards: its frames enter.",
            goto=TableId.SOURCE,
        ),
        _rule(
            "learning",
            100,
            "in_port",
            Feature.MISS,
            "A port in state learning: a copy to the controller, as of unknown sources; drop.",
            actions="controller",
        ),
        _rule("closed", 0, "", Feature.BASE, "A port that is discarding, down or unknown: drop."),
    ),
)

_SOURCE = Table(
    TableId.SOURCE,
    "Who sent it: known addresses pass, unknown ones are copied to the controller as they pass.",
    (
        _rule(
            "local",
            300,
            "eth_src",
            Feature.LOCAL,
            "The bridge's own address, wherever it is claimed: not learned.",
            goto=TableId.DESTINATION,
        ),
        _rule(
            "static",
            250,
            "vlan_vid eth_src",
            Feature.STATIC,
            "A static address, wherever it is seen: not learned.",
            goto=TableId.DESTINATION,
        ),
        _rule(
            "learned",
            200,
            "in_port vlan_vid eth_src",
            Feature.LEARNED,
            "A known address on the port it is known on. Its idle timeout is the ageing time; "
            "on any other port the address misses and is learned anew.",
            goto=TableId.DESTINATION,
        ),
        _rule(
            "miss",
            100,
            "in_port",
            Feature.MISS,
            "An unknown address: a truncated copy to the controller, metered by port, and on.",
            goto=TableId.DESTINATION,
            actions="controller",
        ),
    ),
)

_DESTINATION = Table(
    TableId.DESTINATION,
    "Where it goes.",
    (
        _rule(
            "local",
            300,
            "eth_dst",
            Feature.LOCAL,
            "The bridge's own address, on every VLAN.",
            actions="output",
        ),
        _rule(
            "static",
            200,
            "vlan_vid eth_dst",
            Feature.STATIC,
            "A static address.",
            actions="output",
        ),
        _rule(
            "learned",
            200,
            "vlan_vid eth_dst",
            Feature.LEARNED,
            "A learned address. No timeout of its own: it goes when its source half has gone.",
            actions="output",
        ),
        _rule(
            "multicast",
            100,
            "eth_dst",
            Feature.SNOOP,
            "Where IGMP and MLD are snooped: group addresses have a table of their own, which "
            "unicast never sees.",
            goto=TableId.MULTICAST,
        ),
        _rule(
            "flood",
            0,
            "",
            Feature.BASE,
            "Broadcast, multicast and unknown destinations: every open port but the ingress.",
            actions="group",
        ),
    ),
)

_MULTICAST = Table(
    TableId.MULTICAST,
    "Who wants it (RFC 4541), by IP addresses: 32 IPv4 groups share a MAC address. "
    "There only where multicast is snooped.",
    (
        _rule(
            "igmp",
            900,
            "eth_type ip_proto",
            Feature.SNOOP,
            "IGMP: the controller alone forwards it.",
            goto=TableId.SNOOP,
        ),
        _rule(
            "mld",
            900,
            "eth_type ip_proto icmpv6_type",
            Feature.SNOOP,
            "MLD queries, reports and leaves, multicast router discovery: likewise.",
            goto=TableId.SNOOP,
        ),
        _rule(
            "pim4",
            900,
            "eth_type ip_proto ipv4_dst",
            Feature.SNOOP,
            "PIM hellos tell where routers are (RFC 4541 2.1.1).",
            goto=TableId.SNOOP,
        ),
        _rule(
            "pim6",
            900,
            "eth_type ip_proto ipv6_dst",
            Feature.SNOOP,
            "And those of IPv6.",
            goto=TableId.SNOOP,
        ),
        _rule(
            "link-scope4",
            800,
            "eth_type ipv4_dst",
            Feature.SNOOP,
            "224.0.0.0/24 always floods (RFC 4541 2.1.2).",
            actions="group",
        ),
        _rule(
            "link-scope6",
            800,
            "eth_type ipv6_dst",
            Feature.SNOOP,
            "ff02::1 always floods (RFC 4541 3).",
            actions="group",
        ),
        _rule(
            "source4",
            700,
            "vlan_vid eth_type ipv4_dst ipv4_src",
            Feature.MULTICAST,
            "One source's stream to a group: to the ports that want this source.",
            actions="group",
        ),
        _rule(
            "source6",
            700,
            "vlan_vid eth_type ipv6_dst ipv6_src",
            Feature.MULTICAST,
            "The same for IPv6.",
            actions="group",
        ),
        _rule(
            "group4",
            600,
            "vlan_vid eth_type ipv4_dst",
            Feature.MULTICAST,
            "A group: to its members and to routers. A membership change is one group-mod.",
            actions="group",
        ),
        _rule(
            "group6",
            600,
            "vlan_vid eth_type ipv6_dst",
            Feature.MULTICAST,
            "The same for IPv6.",
            actions="group",
        ),
        _rule(
            "unregistered4",
            500,
            "vlan_vid eth_type ipv4_dst",
            Feature.MULTICAST,
            "Groups that nobody has joined, once a querier is known: to routers.",
            actions="group",
        ),
        _rule(
            "unregistered6",
            500,
            "vlan_vid eth_type ipv6_dst",
            Feature.MULTICAST,
            "The same for IPv6.",
            actions="group",
        ),
        _rule(
            "flood",
            0,
            "",
            Feature.SNOOP,
            "Broadcast, other protocols, and groups while no querier is known.",
            actions="group",
        ),
    ),
)

_SNOOP = Table(
    TableId.SNOOP,
    "Whose message it is: each port has a meter of its own.",
    (
        _rule(
            "snoop",
            100,
            "in_port",
            Feature.SNOOP,
            "The whole frame to the controller, and nowhere else.",
            actions="controller",
        ),
    ),
)

PIPELINE = (_ADMISSION, _SOURCE, _DESTINATION, _MULTICAST, _SNOOP)

_RULES = {
    (table.id, rule.priority, rule.feature, rule.match): rule
    for table in PIPELINE
    for rule in table.rules
}


class PipelineError(ValueError):
    """A flow that the pipeline does not declare."""


def check(flow: Flow) -> Rule:
    """The rule that the flow is an instance of; PipelineError when there is none."""
    fields = frozenset(match.field for match in flow.match)
    rule = _RULES.get((TableId(flow.table), flow.priority, Feature(flow.feature), fields))
    if rule is None:
        raise PipelineError(f"no rule of table {TableId(flow.table).name} declares {flow}")
    if flow.goto != rule.goto:
        raise PipelineError(f"rule {rule.name} leads to {rule.goto}, not to {flow.goto}")
    kinds = {action.kind for action in flow.actions}
    if not kinds <= rule.actions:
        raise PipelineError(f"rule {rule.name} may not apply {sorted(kinds - rule.actions)}")
    return rule
