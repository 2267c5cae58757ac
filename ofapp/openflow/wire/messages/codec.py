"""Flows, groups and meters as OpenFlow 1.3 messages.

os-ken serialises the parts: fields, instructions and buckets, which recur and are kept.  Putting
them together by hand is a tenth of its price, which counts on a switch of thousands of ports.  What
os-ken cannot express (a controller action with a meter, see `_controller2`) is laid out by hand.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Iterable
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address
from typing import Any

from os_ken.ofproto import ofproto_protocol
from os_ken.ofproto import ofproto_v1_3 as ofp
from os_ken.ofproto import ofproto_v1_3_parser as parser

from ofapp.bridge.mac import format_mac
from ofapp.openflow.model.cookie import (
    ANY_LEARNED,
    EXACT,
    EXACT_LEARNED,
    FEATURE_MASK,
    LEARNED_BIT,
    Feature,
    make_cookie,
)
from ofapp.openflow.model.flow import (
    TAGGED,
    VID_MASK,
    Action,
    BackOut,
    Bucket,
    Choose,
    Flow,
    Forwarding,
    Group,
    Match,
    Meter,
    Output,
    PopTag,
    PushTag,
    Resubmit,
    SetInPort,
    SetRegister,
    SetVid,
    ToController,
    ToGroup,
)
from ofapp.openflow.model.rule import Register
from ofapp.openflow.pipeline.egress import through

_PROTOCOL = ofproto_protocol.ProtocolDesc(version=ofp.OFP_VERSION)

_FLOW_MOD = struct.Struct("!BBHIQQBBHHHIIIHxxHH")
_GROUP_MOD = struct.Struct("!BBHIHBxI")
_PACKET_OUT = struct.Struct("!BBHIIIH6x")
_OUTPUT = struct.Struct("!HHIH6x")
_THROUGH = 32  # octets of what leads through an aggregation's table
_TPID = 0x8100
_NICIRA = 0x00002320
_CONTROLLER2 = 37  # NXAST_CONTROLLER2
_REG_LOAD, _BUNDLE, _HRW = 7, 12, 1
_NXM_IN_PORT, _IN_PORT_BITS = 0x00000002, 15  # all 16 of them, from bit 0 on
_HASH_FIELDS = {"layer2": 0, "layer2+3": 6, "layer3+4": 3}
"""enum nx_hash_fields: the Ethernet source, symmetric L3, symmetric L3 and L4 with UDP."""
_PROP_MAX_LEN, _PROP_METER_ID = 0, 5


@lru_cache(1 << 14)
def add_flow(flow: Flow) -> bytes:
    """A flow-mod that installs the flow, over one with the same match and priority if need be."""
    return _add(flow)


def claim_flow(flow: Flow) -> bytes:
    """A flow-mod that installs the flow unless one of the same priority overlaps it."""
    return _add(flow, ofp.OFPFF_CHECK_OVERLAP)


def _add(flow: Flow, flags: int = 0) -> bytes:
    notify, recount = ofp.OFPFF_SEND_FLOW_REM, ofp.OFPFF_RESET_COUNTS
    return _flow_mod(
        ofp.OFPFC_ADD,
        flow.table,
        _match(flow.match),
        flow.cookie,
        priority=flow.priority,
        timeouts=(flow.idle_timeout, flow.hard_timeout),
        flags=flags | flow.notify_removal * notify | flow.recount * recount,
        instructions=_instructions(flow.meter, flow.actions, flow.goto),
    )


def delete_flow(flow: Flow, any_serial: bool = False) -> bytes:
    """A flow-mod that deletes exactly this flow; never one that another feature put there.

    A learned address's is deleted whether it is sticky or not.  any_serial: with any serial in
    its cookie.
    """
    if flow.cookie & LEARNED_BIT:
        mask = ANY_LEARNED if any_serial else EXACT_LEARNED
    else:
        mask = FEATURE_MASK if any_serial else EXACT
    match = _match(flow.match)
    return _flow_mod(
        ofp.OFPFC_DELETE_STRICT, flow.table, match, flow.cookie, mask, priority=flow.priority
    )


def delete_learned(
    table: int,
    match: Iterable[Match] = (),
    out_port: int | None = None,
    out_group: int | None = None,
    sticky: bool = False,
) -> bytes:
    """A flow-mod that deletes all learned addresses in a table that fit, or sticky ones as well."""
    return _flow_mod(
        ofp.OFPFC_DELETE,
        table,
        _match(match),
        make_cookie(Feature.LEARNED),
        ANY_LEARNED if sticky else FEATURE_MASK,
        out=(
            ofp.OFPP_ANY if out_port is None else out_port,
            ofp.OFPG_ANY if out_group is None else out_group,
        ),
    )


def delete_raw(table: int, priority: int, match: bytes, cookie: int) -> bytes:
    """A flow-mod that deletes a flow known only from the switch: `match` is its OXM fields."""
    return _flow_mod(ofp.OFPFC_DELETE_STRICT, table, match, cookie, EXACT, priority=priority)


def put_group(group: Group, exists: bool) -> bytes:
    """A group-mod that adds the group or changes the one that is there."""
    buckets = b"".join(sorted(map(_bucket, group.buckets)))
    command = ofp.OFPGC_MODIFY if exists else ofp.OFPGC_ADD
    return (
        _GROUP_MOD.pack(
            ofp.OFP_VERSION,
            ofp.OFPT_GROUP_MOD,
            _GROUP_MOD.size + len(buckets),
            0,
            command,
            ofp.OFPGT_ALL,
            group.id,
        )
        + buckets
    )


@lru_cache(1 << 13)
def put_meter(meter: Meter, exists: bool) -> bytes:
    """A meter-mod that adds the meter or changes the one that is there; bursts of one second."""
    band = parser.OFPMeterBandDrop(rate=meter.rate, burst_size=meter.rate)
    flags = ofp.OFPMF_PKTPS | ofp.OFPMF_BURST
    command = ofp.OFPMC_MODIFY if exists else ofp.OFPMC_ADD
    return serialize(parser.OFPMeterMod(_PROTOCOL, command, flags, meter.id, [band]))


def make_meter(meter: Meter) -> bytes:
    """Meter-mods that add a meter which no flow of ours uses yet.

    A former owner of the switch may have left one of that number, and a switch refuses to add one
    that there is (OFPMMFC_METER_EXISTS); to delete one that there is not is no error.
    """
    return delete_meter(meter.id) + put_meter(meter, exists=False)


def delete_meter(meter: int) -> bytes:
    """A meter-mod that deletes a meter (and, in OVS, the flows that use it)."""
    return serialize(parser.OFPMeterMod(_PROTOCOL, ofp.OFPMC_DELETE, 0, meter, []))


def delete_group(group: int) -> bytes:
    """A group-mod that deletes a group (and the flows that point to it)."""
    return serialize(parser.OFPGroupMod(_PROTOCOL, ofp.OFPGC_DELETE, ofp.OFPGT_ALL, group, []))


def read_buckets(desc: Any) -> frozenset[Bucket]:
    """The buckets of a group as the switch describes it (os-ken's OFPGroupDescStats)."""
    return frozenset(tuple(map(_read_action, bucket.actions)) for bucket in desc.buckets)


def send_frame(ports: Iterable[int], frame: bytes, lags: Collection[int] = ()) -> bytes:
    """The packet-outs that send a whole frame out of ports: one, but for thousands of ports.

    lags: ports that are aggregations' and not the switch's own.  None for a frame that fits no
    packet-out, of some 65,470 octets.
    """
    room = (0xFFFF - _PACKET_OUT.size - len(frame)) // (_THROUGH if lags else _OUTPUT.size)
    to = sorted(ports)
    messages: list[bytes] = []
    for first in range(0, len(to), room) if room > 0 else ():
        outputs = b"".join([_output(port, port in lags) for port in to[first : first + room]])
        head = _PACKET_OUT.pack(
            ofp.OFP_VERSION,
            ofp.OFPT_PACKET_OUT,
            _PACKET_OUT.size + len(outputs) + len(frame),
            0,
            ofp.OFP_NO_BUFFER,
            ofp.OFPP_CONTROLLER,
            len(outputs),
        )
        messages += (head, outputs, frame)
    return b"".join(messages)


@lru_cache(4096)
def _output(port: int, aggregated: bool) -> bytes:
    """The action, or the actions, in a packet-out."""
    if aggregated:
        return _joined(_actions(through(port)))
    return _OUTPUT.pack(ofp.OFPAT_OUTPUT, _OUTPUT.size, port, 0)


def serialize(message: Any) -> bytes:
    """Any os-ken message to bytes, with transaction id 0 unless it has one."""
    if message.xid is None:
        message.set_xid(0)
    message.serialize()
    return bytes(message.buf)


_TEXT: dict[str, Callable[[int], str]] = {
    "eth_src": format_mac,
    "eth_dst": format_mac,
    "ipv4_src": lambda address: str(IPv4Address(address)),
    "ipv4_dst": lambda address: str(IPv4Address(address)),
    "ipv6_src": lambda address: str(IPv6Address(address)),
    "ipv6_dst": lambda address: str(IPv6Address(address)),
}
"""Conversions of the values of fields for which os-ken wants no numbers."""


def _flow_mod(
    command: int,
    table: int,
    match: bytes,
    cookie: int,
    cookie_mask: int = 0,
    *,
    priority: int = ofp.OFP_DEFAULT_PRIORITY,
    timeouts: tuple[int, int] = (0, 0),
    flags: int = 0,
    out: tuple[int, int] = (ofp.OFPP_ANY, ofp.OFPG_ANY),
    instructions: bytes = b"",
) -> bytes:
    """Encode a flow-mod.

    match: OXM fields; timeouts: idle, hard; out: the port and the group that deletes ask for.
    """
    length = 4 + len(match)
    head = _FLOW_MOD.pack(
        ofp.OFP_VERSION,
        ofp.OFPT_FLOW_MOD,
        _FLOW_MOD.size - 4 + length + -length % 8 + len(instructions),
        0,
        cookie,
        cookie_mask,
        table,
        command,
        *timeouts,
        priority,
        ofp.OFP_NO_BUFFER,
        *out,
        flags,
        ofp.OFPMT_OXM,
        length,
    )
    return b"".join((head, match, bytes(-length % 8), instructions))


def _match(matches: Iterable[Match]) -> bytes:
    """The OXM fields, each after what it presupposes."""
    return b"".join([oxm for _, oxm in sorted(map(_oxm, matches))])


@lru_cache(1 << 15)
def _oxm(match: Match) -> tuple[tuple[bool, int], bytes]:
    """One field, and where it belongs among others; a bridge has the same ones again and again."""
    value: Any = match.value
    mask: Any = match.mask
    if text := _TEXT.get(match.field):
        value = text(match.value)
        mask = None if match.mask is None else text(match.mask)
    field = match.field, value if mask is None else (value, mask)
    number, plain, its_mask = ofp.oxm_from_user(*ofp.oxm_normalize_user(*field))
    oxm = bytearray()
    ofp.oxm_serialize(number, plain, its_mask, oxm, 0)
    # By number, as os-ken does; but so `ip_frag` would come before what it presupposes.
    order = number[0] if isinstance(number, tuple) else number
    return (match.field == "ip_frag", order), bytes(oxm)


@lru_cache(1 << 12)
def _instructions(meter: int | None, actions: tuple[Action, ...], goto: int | None) -> bytes:
    instructions = []
    if meter is not None:
        instructions.append(parser.OFPInstructionMeter(meter))
    if actions:
        made = _actions(actions)
        instructions.append(parser.OFPInstructionActions(ofp.OFPIT_APPLY_ACTIONS, made))
    if goto is not None:
        instructions.append(parser.OFPInstructionGotoTable(goto))
    return _joined(instructions)


@lru_cache(1 << 14)
def _bucket(bucket: Bucket) -> bytes:
    made = parser.OFPBucket(
        watch_port=ofp.OFPP_ANY, watch_group=ofp.OFPG_ANY, actions=_actions(bucket)
    )
    return _joined([made])


def _joined(parts: Iterable[Any]) -> bytes:
    """Encode os-ken's objects that are parts of messages, one after the other."""
    data = bytearray()
    for part in parts:
        part.serialize(data, len(data))
    return bytes(data)


def _actions(actions: Iterable[Action]) -> list[Any]:
    return [made for action in actions for made in _action(action)]


def _action(action: Action) -> list[Any]:
    match action:
        case Output(port):
            return [parser.OFPActionOutput(port, 0)]
        case BackOut():
            return [parser.OFPActionOutput(ofp.OFPP_IN_PORT, 0)]
        case PushTag(vid):
            return [parser.OFPActionPushVlan(_TPID), *_action(SetVid(vid))]
        case SetVid(vid):
            return [parser.OFPActionSetField(vlan_vid=TAGGED | vid)]
        case PopTag():
            return [parser.OFPActionPopVlan()]
        case SetRegister(register, value):
            return [parser.OFPActionSetField(**{f"reg{register.value}": value})]
        case Resubmit(table):
            return [parser.NXActionResubmitTable(ofp.OFPP_IN_PORT & 0xFFFF, table)]
        case ToGroup(group):
            return [parser.OFPActionGroup(group)]
        case SetInPort(port):
            body = struct.pack("!HHIQ", _REG_LOAD, _IN_PORT_BITS, _NXM_IN_PORT, port)
            return [parser.OFPActionExperimenterUnknown(_NICIRA, body)]
        case Choose(ports, fields, basis):
            return [_bundle(ports, _HASH_FIELDS[fields], basis)]
        case ToController(max_len, None):
            return [parser.OFPActionOutput(ofp.OFPP_CONTROLLER, max_len)]
        case ToController(max_len, int(meter)):
            return [_controller2(max_len, meter)]
    raise TypeError(f"{action!r} is no action")


def _read_action(action: Any) -> Forwarding:
    """Read an action that a bucket of ours may have; any other becomes an output to no port."""
    match action:
        case parser.OFPActionOutput():
            return BackOut() if action.port == ofp.OFPP_IN_PORT else Output(action.port)
        case parser.OFPActionPopVlan():
            return PopTag()
        case parser.OFPActionSetField() if action.key.startswith("reg"):
            return SetRegister(Register(int(action.key[3:])), action.value)
        case parser.OFPActionSetField() if action.key == "vlan_vid":
            return SetVid(action.value & VID_MASK)
        case parser.OFPActionGroup():
            return ToGroup(action.group_id)
        case parser.NXActionResubmitTable():
            return Resubmit(action.table_id)
    return Output(ofp.OFPP_ANY)


def _bundle(ports: tuple[int, ...], fields: int, basis: int) -> Any:
    """NXAST_BUNDLE, which os-ken has without the fields that came later than its first two."""
    head = _BUNDLE, _HRW, fields, basis, _NXM_IN_PORT, len(ports)
    body = struct.pack(f"!HHHHIH10x{len(ports)}H", *head, *ports)
    return parser.OFPActionExperimenterUnknown(_NICIRA, body + bytes(-len(body) % 8))


def _controller2(max_len: int, meter: int) -> Any:
    """NXAST_CONTROLLER2: its meter drops the copy to the controller, not the frame itself.

    os-ken has the action but not its meter property.  Lengths count the padding to 8 bytes, as OVS
    itself writes them, so that a flow read back compares equal.
    """
    body = struct.pack("!H6x", _CONTROLLER2)
    if max_len != ofp.OFPCML_NO_BUFFER:  # the default, which OVS leaves out
        body += struct.pack("!HHH2x", _PROP_MAX_LEN, 8, max_len)
    body += struct.pack("!HHI", _PROP_METER_ID, 8, meter)
    return parser.OFPActionExperimenterUnknown(_NICIRA, body)
