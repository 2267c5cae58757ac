"""Access lists with states: connection tracking before their rules, and after them.

The switch looks a frame up among the connections of its zone, and the frame goes on in a second
pass that knows the state.  Only frames of ports that have such a list are tracked.  What a rule
allows, and no connection is known for, is remembered: so states mean what they do in nftables.

Connections of the bridges of one ovs-vswitchd, and of its host with the kernel's datapath, are in
one table.  Zones keep them apart: `acl.first_zone`, and the VID on top of it.
"""

from collections.abc import Iterator

from ofapp.bridge.desired import Desired
from ofapp.bridge.params import acl
from ofapp.openflow.model.cookie import Feature
from ofapp.openflow.model.flow import (
    IPV4,
    IPV6,
    VID_MASK,
    Bits,
    Flow,
    Match,
    MoveBits,
    SetRegister,
    Track,
)
from ofapp.openflow.model.rule import Register, TableId, rule
from ofapp.openflow.pipeline.acl import list_rules, rule_flows
from ofapp.openflow.pipeline.table import Table

_FEATURE = Feature.ACL
_ZONE, _VID_BITS = f"reg{Register.ZONE.value}", VID_MASK.bit_length()
_VID_TO_ZONE = MoveBits(Bits("vlan_tci", 0, _VID_BITS), Bits(_ZONE, 0, _VID_BITS))
_FAMILIES = (Match("eth_type", IPV4), Match("eth_type", IPV6))
_ICMPV6 = Match("eth_type", IPV6), Match("ip_proto", 58)
_BEGINS = Match(acl.BEGINS.field, acl.BEGINS.value, acl.BEGINS.mask)


def _is_used(desired: Desired) -> bool:
    return any(map(acl.stateful, desired.lists.values()))


def _track_flows(desired: Desired, _metered: bool) -> Iterator[Flow]:
    if not _is_used(desired):
        return
    table, onward = TableId.TRACK, TableId.STATES
    for kind in acl.UNTRACKED:
        match = (*_ICMPV6, Match("icmpv6_type", kind))
        yield Flow(table, 100, match, _FEATURE, (), onward)
    zone = SetRegister(Register.ZONE, desired.first_zone)
    for family in _FAMILIES:
        actions = (zone, _VID_TO_ZONE, Track(Register.ZONE, onward))
        yield Flow(table, 50, (family,), _FEATURE, actions)
    yield Flow(table, 0, (), _FEATURE, (), onward)


def _state_flows(desired: Desired, metered: bool) -> Iterator[Flow]:
    for name, rules in desired.lists.items():
        if acl.stateful(rules):
            yield from rule_flows(desired, name, metered)


def _commit_flows(desired: Desired, _metered: bool) -> Iterator[Flow]:
    if not _is_used(desired):
        return
    table, onward = TableId.COMMIT, TableId.SOURCE
    for family in _FAMILIES:
        yield Flow(table, 100, (family, _BEGINS), _FEATURE, (Track(Register.ZONE, None),), onward)
    yield Flow(table, 0, (), _FEATURE, (), onward)


TRACK = Table(
    TableId.TRACK,
    "track",
    "Connection tracking for lists that have rules with states. `reg8` is the zone: that of the "
    "bridge, and the VID.",
    (
        rule(
            "untracked",
            100,
            "eth_type ip_proto icmpv6_type",
            _FEATURE,
            "Neighbour discovery and multicast listeners belong to no connection: onward. Open "
            "vSwitch would take them for invalid.",
            TableId.STATES,
        ),
        rule(
            "track",
            50,
            "eth_type",
            _FEATURE,
            "IPv4 and IPv6: the frame goes on in table `states` in a second pass, with the state "
            "of its connection. Fragments are put together for that.",
            actions="register address track",
        ),
        rule("rest", 0, "", _FEATURE, "Other frames have no connection: onward.", TableId.STATES),
    ),
    flows=_track_flows,
)

STATES = Table(
    TableId.STATES,
    "states",
    "Access lists that have rules with states. `reg3` selects the list.",
    list_rules(TableId.COMMIT),
    flows=_state_flows,
)

COMMIT = Table(
    TableId.COMMIT,
    "commit",
    "Frames that a list with states lets pass.",
    (
        rule(
            "commit",
            100,
            "eth_type ct_state",
            _FEATURE,
            "The first frame of a connection: the switch remembers the connection, and the frame "
            "goes on.",
            TableId.SOURCE,
            "track",
        ),
        rule("rest", 0, "", _FEATURE, "Any other frame: onward.", TableId.SOURCE),
    ),
    flows=_commit_flows,
)
