"""Flows, groups and meters as OpenFlow 1.3 messages.

os-ken serialises the parts: fields, instructions and buckets, which recur and are kept.  Putting
them together by hand is a tenth of its price, which counts on a switch of thousands of ports.  What
os-ken cannot express (a controller action with a meter, see `_controller2`) is laid out by hand.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Iterable
from functools import lru_cache
from typing import Any

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
    MPLS,
    NSH,
    TAGGED,
    VID_MASK,
    Action,
    BackOut,
    Bits,
    Bucket,
    Choose,
    ChooseInto,
    Clone,
    CopyField,
    Decapsulate,
    Encapsulate,
    Flow,
    Forwarding,
    Group,
    Hash,
    Match,
    Meter,
    MoveBits,
    Output,
    OutputRegister,
    PopTag,
    PushEmptyTag,
    PushTag,
    Resubmit,
    SetBits,
    SetInPort,
    SetRegister,
    SetVid,
    ToController,
    ToGroup,
)
from ofapp.openflow.model.rule import Register, TableId
from ofapp.openflow.pipeline.egress import through
from ofapp.osken import ofp, parser

_PROTOCOL = parser.ProtocolDesc(version=ofp.OFP_VERSION)

_FLOW_MOD = struct.Struct("!BBHIQQBBHHHIIIHxxHH")
_GROUP_MOD = struct.Struct("!BBHIHBxI")
_PACKET_OUT = struct.Struct("!BBHIIIH6x")
_OUTPUT = struct.Struct("!HHIH6x")
_BARRIER = struct.pack("!BBHI", ofp.OFP_VERSION, ofp.OFPT_BARRIER_REQUEST, 8, 0)
_THROUGH = 32  # octets of what leads through an aggregation's table
_TPID = 0x8100
_NICIRA = 0x00002320
_CONTROLLER2 = 37  # NXAST_CONTROLLER2
_REG_MOVE, _REG_LOAD, _MULTIPATH, _BUNDLE, _BUNDLE_LOAD, _OUTPUT_REG = 6, 7, 10, 12, 13, 15
_CLONE, _ENCAP, _DECAP = 42, 46, 47
_ACTIVE_BACKUP, _HRW = 0, 1  # enum nx_bd_algorithm
_SYMMETRIC_L4, _MODULO = 1, 0  # enum nx_hash_fields, enum nx_mp_algorithm
_ETHERNET_PACKET, _NEXT_PACKET = 0, 0xFFFE
_MPLS_PACKET, _NSH_PACKET = 1 << 16 | MPLS, 1 << 16 | NSH
"""Packet types (OpenFlow 1.5, 7.2.3.11): the namespace and the type; PT_USE_NEXT_PROTO."""
_MD_TYPE = (4, 1, 5, 2)
"""A property of `_ENCAP`: NSH without metadata (MD type 2)."""
_HEADERS = {
    "eth_dst": 0x00000206,
    "eth_src": 0x00000406,
    "vlan_tci": 0x00000802,
    "mpls_label": 0x80004404,
}
"""Headers of fields of frames, as Open vSwitch writes them itself."""
_NXM_IN_PORT, _IN_PORT_BITS = 0x00000002, 15  # all 16 of them, from bit 0 on
_HASH_FIELDS = {"layer2": 0, "layer2+3": 6, "layer3+4": 3}
"""enum nx_hash_fields: the Ethernet source, symmetric L3, symmetric L3 and L4 with UDP."""
_HASH_BASIS = 50
_PROP_MAX_LEN, _PROP_METER_ID = 0, 5
_COPIED = {
    "eth_src": (0x00000406, 48),
    "ipv4_src": (0x00000E04, 32),
    "ipv6_src": (0x00012610, 128),
    "arp_sha": (0x00012206, 48),
    "arp_spa": (0x00002004, 32),
    "arp_tpa": (0x00002204, 32),
    "ipv6_nd_target": (0x00012E10, 128),
    "ipv6_nd_sll": (0x00013006, 48),
    "ipv6_nd_tll": (0x00013206, 48),
}
"""Fields that are copied to registers: the NXM header, and how many bits."""
_REGISTERS: dict[int, Callable[[int], int]] = {
    32: lambda register: 0x00010004 + (register << 9),
    48: lambda register: 0x80010008 + (register // 2 << 9),
    128: lambda register: 0x0001DE10 + (register // 4 << 9),
}
"""The header of the registers that so many bits are copied to, from the first register on: one
(NXM_NX_REG), two (OXM_OF_PKT_REG) or four (NXM_NX_XXREG)."""
_FIELDS = {
    kind.name: (kind.num, kind.type.size)
    for kind in ofp.oxm_types
    if getattr(kind.type, "size", None) is not None
}
"""Number (class and field) and octets of each field that os-ken knows, by its name."""
_NO_MISS = 128  # octets of frames that match no flow: the default of Open vSwitch, without use here
_NX_MATCH = 3  # enum ofputil_frag_handling


@lru_cache(1 << 15)
def add_flow(flow: Flow) -> bytes:
    """A flow-mod that installs the flow, over one with the same match and priority if need be."""
    return _add(flow)


def add_flow_once(flow: Flow) -> bytes:
    """The same, not remembered: of flows with one match, which the memory would search through."""
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


def modify_flow(flow: Flow) -> bytes:
    """A flow-mod that changes what the flow does if the switch has it, and adds none."""
    return _flow_mod(
        *(ofp.OFPFC_MODIFY_STRICT, flow.table, _match(flow.match), flow.cookie, FEATURE_MASK),
        priority=flow.priority,
        instructions=_instructions(flow.meter, flow.actions, flow.goto),
    )


def delete_remote(table: int, match: Iterable[Match] = (), out_port: int | None = None) -> bytes:
    """A flow-mod that deletes all addresses of hosts at other members that fit."""
    out = ofp.OFPP_ANY if out_port is None else out_port
    cookie = make_cookie(Feature.REMOTE)
    return _flow_mod(
        *(ofp.OFPFC_DELETE, table, _match(match), cookie, FEATURE_MASK), out=(out, ofp.OFPG_ANY)
    )


def delete_version(version: int) -> bytes:
    """A flow-mod that deletes a version of a fabric's plan from all tables."""
    cookie = make_cookie(Feature.VERSION, version)
    return _flow_mod(ofp.OFPFC_DELETE, ofp.OFPTT_ALL, b"", cookie, EXACT)


def delete_entry() -> bytes:
    """A flow-mod that deletes the flow by which frames enter a fabric, of any version."""
    cookie = make_cookie(Feature.VERSION)
    return _flow_mod(ofp.OFPFC_DELETE, TableId.OUTER, b"", cookie, FEATURE_MASK)


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


def forward_frame(port: int, marks: tuple[Action, ...], frame: bytes) -> bytes:
    """A packet-out by which a frame enters table `checked` as if it had come in by the port.

    marks: what its registers are set to before.  It is behind a barrier: the switch has carried
    out all earlier messages by then.
    """
    actions = _joined(_actions((*marks, Resubmit(TableId.CHECKED))))
    length = _PACKET_OUT.size + len(actions) + len(frame)
    if length > 0xFFFF:
        return b""
    head = _PACKET_OUT.pack(
        *(ofp.OFP_VERSION, ofp.OFPT_PACKET_OUT, length, 0, ofp.OFP_NO_BUFFER, port, len(actions))
    )
    return b"".join((_BARRIER, head, actions, frame))


def read_fragments(on: bool) -> bytes:
    """A message by which the switch shows the ports and types of first fragments, or none.

    Otherwise what has only its first fragment refused would pass.
    """
    handling = _NX_MATCH if on else ofp.OFPC_FRAG_NORMAL
    return serialize(parser.OFPSetConfig(_PROTOCOL, handling, _NO_MISS))


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


_PRESUPPOSE = frozenset({"ip_frag", "nw_ttl"})
"""Fields of Nicira's extension that are valid after `eth_type` only."""


@lru_cache(1 << 15)
def _oxm(match: Match) -> tuple[tuple[bool, int], bytes]:
    """One field, and where it belongs among others; a bridge has the same ones again and again."""
    number, size = _FIELDS[match.field]
    value = match.value.to_bytes(size, "big")
    mask = None
    if match.mask is not None:
        value = (match.value & match.mask).to_bytes(size, "big")
        mask = match.mask.to_bytes(size, "big")
    # By number, as os-ken does; but so Nicira's would come before what they presuppose.
    late = match.field in _PRESUPPOSE
    if isinstance(number, tuple):
        oxm = bytearray()
        ofp.oxm_serialize(number, value, mask, oxm, 0)
        return (late, number[0]), bytes(oxm)
    length = size if mask is None else 2 * size
    head = (number << 9 | (mask is not None) << 8 | length).to_bytes(4, "big")
    return (late, number), b"".join((head, value, mask or b""))


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
        case PushEmptyTag():
            return [parser.OFPActionPushVlan(_TPID)]
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
            return [_nicira("!HHIQ", _REG_LOAD, _IN_PORT_BITS, _NXM_IN_PORT, port)]
        case CopyField(field, register):
            return [_copy(field, register)]
        case Choose(ports, fields, basis):
            return [_bundle((_BUNDLE, _HRW, _HASH_FIELDS[fields], basis), ports)]
        case ChooseInto(ports, basis, register):
            algorithm = _ACTIVE_BACKUP if basis is None else _HRW
            to = Bits(f"reg{register.value}", 0, 32)
            return [_bundle((_BUNDLE_LOAD, algorithm, 0, basis or 0), ports, to)]
        case OutputRegister(register):
            source = _run(0, 32), _REGISTERS[32](register)
            return [_nicira("!HHIH6x", _OUTPUT_REG, *source, 0)]
        case Hash(register, values):
            how = _SYMMETRIC_L4, _HASH_BASIS, _MODULO, values - 1
            to = Bits(f"reg{register.value}", 0, values.bit_length() - 1)
            return [_nicira("!HHH2xHHI2xHI", _MULTIPATH, *how, 0, _run(*to[1:]), _field(to))]
        case Encapsulate(labelled):
            outside = _nicira("!HHI", _ENCAP, 0, _ETHERNET_PACKET)
            if labelled:
                return [_nicira("!HHIHBBB3x", _ENCAP, 0, _NSH_PACKET, *_MD_TYPE), outside]
            return [_nicira("!HHI", _ENCAP, 0, _MPLS_PACKET), outside]
        case Decapsulate():
            kinds = _NEXT_PACKET, _ETHERNET_PACKET
            return [_nicira("!H2xI", _DECAP, kind) for kind in kinds]
        case Clone(actions):
            return [_clone(actions)]
        case SetBits(Bits(field, 0, 48), value):
            return [parser.OFPActionSetField(**{field: format_mac(value)})]
        case SetBits(Bits("mpls_tc", 0, 3), value):
            return [parser.OFPActionSetField(mpls_tc=value)]
        case SetBits(bits, value):
            return [_nicira("!HHIQ", _REG_LOAD, _run(*bits[1:]), _field(bits), value)]
        case MoveBits(source, to):
            moved = source.size, source.first, to.first, _field(source), _field(to)
            return [_nicira("!HHHHII", _REG_MOVE, *moved)]
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


def _copy(field: str, register: Register) -> Any:
    """NXAST_REG_MOVE of a whole field, by the headers that Open vSwitch writes itself."""
    source, bits = _COPIED[field]
    return _nicira("!HHHHII", _REG_MOVE, bits, 0, 0, source, _REGISTERS[bits](register))


def _bundle(head: tuple[int, ...], ports: tuple[int, ...], to: Bits | None = None) -> Any:
    """NXAST_BUNDLE and NXAST_BUNDLE_LOAD, which os-ken has without the later kinds of hashes.

    head: its type, algorithm, hashed fields and basis.
    """
    where = (0, 0) if to is None else (_run(to.first, to.size), _field(to))
    body = (*head, _NXM_IN_PORT, len(ports), *where, *ports)
    padding = -2 * len(ports) % 8
    return _nicira(f"!HHHHIHHI4x{len(ports)}H{padding}x", *body)


def _clone(actions: tuple[Action, ...]) -> Any:
    """NXAST_CLONE, with the actions inside."""
    body = struct.pack("!H6x", _CLONE) + _joined(_actions(actions))
    return parser.OFPActionExperimenterUnknown(_NICIRA, body)


def _run(first: int, size: int) -> int:
    """A run of bits in a field, as Nicira's actions have it (ofs_nbits)."""
    return first << 6 | size - 1


def _field(bits: Bits) -> int:
    """The header of a field or a register, as Open vSwitch writes it itself."""
    if bits.field in _HEADERS:
        return _HEADERS[bits.field]
    return _REGISTERS[32](int(bits.field.removeprefix("reg")))


def _nicira(layout: str, *values: int) -> Any:
    """An action of Nicira's extension; the layout begins with its type."""
    return parser.OFPActionExperimenterUnknown(_NICIRA, struct.pack(layout, *values))


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
