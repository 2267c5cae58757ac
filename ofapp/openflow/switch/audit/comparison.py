"""The messages that make a switch hold what the bridge wants, and nothing else of ours.

Pure comparison; it never wipes: what is right stays untouched, with its counters, and what is
missing is added before what is superfluous goes.
"""

import struct
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TypeVar

from ofapp.bridge.effects.fabric import Content, DesiredFabric
from ofapp.common.portions import AT_ONCE, Portions
from ofapp.openflow.model.cookie import GENERATION, Feature, parse_cookie
from ofapp.openflow.model.flow import Flow, Group, Meter
from ofapp.openflow.model.rule import TableId
from ofapp.openflow.pipeline.acl import is_rule_meter
from ofapp.openflow.pipeline.chain import parts_of
from ofapp.openflow.pipeline.group_numbers import is_our_group
from ofapp.openflow.switch.program import Changes, Program, work_on
from ofapp.openflow.wire.messages import codec
from ofapp.openflow.wire.messages.flow_stats import FlowStats
from ofapp.openflow.wire.messages.oxm import sorted_match

V = TypeVar("V", Group, Meter)

Identity = tuple[int, int, bytes]
"""(table, priority, match): what makes two flows the same flow."""
Key = Identity | tuple[str, int]
"""Subject of a message: a flow, or ("group" or "meter", its number)."""
Messages = dict[Key, bytes]
"""Messages in the order in which they are to be sent."""

_NOTIFY = 1  # OFPFF_SEND_FLOW_REM; a switch may report further flags


def flow_changes(
    desired: Iterable[Flow],
    there: Iterable[FlowStats],
    portions: Portions = AT_ONCE,
    fabric: DesiredFabric | None = None,
) -> Messages:
    """Messages that add or correct the desired flows, then delete others of ours.

    there: flows of ours except the learned addresses, which a `Sweep` compares; fabric: that the
    switch is a member of, which may have flows that stay as they are.
    """
    left: dict[Identity, FlowStats] = {}
    for flow in portions.of(there):
        if parse_cookie(flow.cookie) is not None:
            left[flow.table, flow.priority, sorted_match(flow.match)] = flow
    messages: Messages = {}
    for want in portions.of(desired):
        message = codec.add_flow(want)
        identity, body = _read_flow_mod(message)
        have = left.pop(identity, None)
        if have is None or _body(have) != body:
            messages[identity] = message
    for identity, flow in portions.of(left.items()):
        if fabric is not None and _stays(fabric.content, flow):
            continue
        messages[identity] = codec.delete_raw(flow.table, flow.priority, flow.match, flow.cookie)
    return messages


def put_groups_and_meters(
    wanted: Program,
    groups: Mapping[int, Group],
    meters: Mapping[int, Meter],
    portions: Portions = AT_ONCE,
) -> Messages:
    """Messages that add or correct groups and meters; given are those that are there."""
    messages: Messages = {}
    for meter in portions.of(changed(wanted.meters, meters)):
        messages["meter", meter.id] = codec.put_meter(meter, meter.id in meters)
    for group in portions.of(changed(wanted.groups, groups), work_on):
        messages["group", group.id] = codec.put_group(group, group.id in groups)
    return messages


def superfluous(
    wanted: Program, groups: Mapping[int, Group], meters: Mapping[int, Meter]
) -> Messages:
    """Messages that delete the groups and meters of ours that no flow points to any more."""
    ours = {group for group in groups if is_our_group(group)}
    ours |= {part for group in ours for part in parts_of(groups[group])}
    messages: Messages = {
        ("group", group): codec.delete_group(group) for group in ours - wanted.groups.keys()
    }
    # The numbers of ports' meters could be anybody's; one too many does no harm.
    for meter in meters.keys() - wanted.meters.keys():
        if is_rule_meter(meter):
            messages["meter", meter] = codec.delete_meter(meter)
    return messages


def subjects(changes: Changes) -> set[Key]:
    """Objects that changes are about."""
    keys: set[Key] = set()
    for item in changes.items():
        match item:
            case Flow():
                keys.add(identity(item))
            case Group():
                keys.add(("group", item.id))
            case Meter():
                keys.add(("meter", item.id))
    return keys


def identity(flow: Flow) -> Identity:
    """Identity of a flow in a switch."""
    return _read_flow_mod(codec.add_flow(flow))[0]


def changed(wanted: Mapping[int, V], there: Mapping[int, V]) -> list[V]:
    """The groups, or meters, that are missing or are not as they should be."""
    return [item for number, item in wanted.items() if there.get(number) != item]


def _stays(content: Content, flow: FlowStats) -> bool:
    """Whether a member's flow stays though it is not desired.

    Those of hosts at other members expire.  A version may stay as an earlier controller added it.
    The flow by which frames enter stays while its version is there, and no other is to be used.
    """
    cookie = parse_cookie(flow.cookie)
    if cookie is None or cookie.generation != GENERATION:
        return False
    if cookie.feature != Feature.VERSION:
        return cookie.feature == Feature.REMOTE
    if flow.table != TableId.OUTER:
        return cookie.serial in content.kept
    unchanged = content.use is None and not content.silent
    return unchanged and cookie.serial in content.kept | content.parts.keys()


def _body(flow: FlowStats) -> tuple[int, int, int, bytes]:
    return flow.cookie, flow.idle_timeout, flow.flags & _NOTIFY, flow.instructions


@lru_cache(1 << 15)
def _read_flow_mod(message: bytes) -> tuple[Identity, tuple[int, int, int, bytes]]:
    """The same parts of a flow-mod that this package has made."""
    cookie, table, idle, priority, flags, match_length = struct.unpack_from(
        "!8xQ8xBxH2xH12xH2x2xH", message
    )
    match = sorted_match(message[52 : 48 + match_length])
    instructions = message[48 + match_length + (-match_length % 8) :]
    return (table, priority, match), (cookie, idle, flags & _NOTIFY, instructions)
