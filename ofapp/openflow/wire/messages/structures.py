"""Structures of OpenFlow 1.3 (7.2) as octets: matches, actions, instructions and buckets.

os-ken serialises what it has.  What it cannot express is laid out by hand: actions of Nicira's
extension, and a controller action with a meter (`_controller2`).
"""

import struct
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

from ofapp.bridge.mac import format_mac
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
    Forwarding,
    Hash,
    Match,
    MoveBits,
    Output,
    OutputRegister,
    PopTag,
    PushEmptyTag,
    PushTag,
    Resubmit,
    Separate,
    SetBits,
    SetInPort,
    SetRegister,
    SetVid,
    ToController,
    ToGroup,
    Track,
)
from ofapp.openflow.model.rule import Register
from ofapp.osken import ofp, parser

_TPID = 0x8100
_NICIRA = 0x00002320
_CONTROLLER2 = 37  # NXAST_CONTROLLER2
_REG_MOVE, _REG_LOAD, _MULTIPATH, _BUNDLE, _BUNDLE_LOAD, _OUTPUT_REG = 6, 7, 10, 12, 13, 15
_CONNTRACK, _OUTPUT_TRUNC, _CLONE, _ENCAP, _DECAP = 35, 39, 42, 46, 47
_NOWHERE, _LEAST_OCTETS = 0xFEFF, 14
"""A port that no switch has, and the fewest octets of a frame that `_OUTPUT_TRUNC` takes."""
_COMMITS, _NO_TABLE = 1, 0xFF  # NX_CT_F_COMMIT, NX_CT_RECIRC_NONE
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
    "ip_tos": 0x00000A01,
    "mpls_label": 0x80004404,
    "arp_op": 0x00001E02,
    "ipv4_src": 0x00000E04,
    "arp_spa": 0x00002004,
    "arp_tpa": 0x00002204,
    "arp_sha": 0x00012206,
    "arp_tha": 0x00012406,
    "ipv6_src": 0x00012610,
    "ipv6_dst": 0x00012810,
    "icmpv6_type": 0x00012A01,
    "ipv6_nd_target": 0x00012E10,
    "ipv6_nd_sll": 0x00013006,
    "ipv6_nd_tll": 0x00013206,
    "nd_reserved": 0x10000204,
    "nd_options_type": 0x10000401,
}
"""Headers of fields of frames, as Open vSwitch writes them itself; the last octet is the length."""
_NXM_IN_PORT, _IN_PORT_BITS = 0x00000002, 15  # all 16 of them, from bit 0 on
_HASH_FIELDS = {"layer2": 0, "layer2+3": 6, "layer3+4": 3}
"""enum nx_hash_fields: the Ethernet source, symmetric L3, symmetric L3 and L4 with UDP."""
_HASH_BASIS = 50
_PROP_MAX_LEN, _PROP_METER_ID = 0, 5
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


def fields_of(matches: Iterable[Match]) -> bytes:
    """The OXM fields of a match, each after what it presupposes."""
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
def instructions_of(meter: int | None, actions: tuple[Action, ...], goto: int | None) -> bytes:
    """The instructions of a flow.  goto: the next table."""
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
def bucket_of(bucket: Bucket) -> bytes:
    """A bucket of a group of type ALL."""
    made = parser.OFPBucket(
        watch_port=ofp.OFPP_ANY, watch_group=ofp.OFPG_ANY, actions=_actions(bucket)
    )
    return _joined([made])


def actions_of(actions: Iterable[Action]) -> bytes:
    """Actions, as in a packet-out."""
    return _joined(_actions(actions))


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
        case Separate():
            return [_nicira("!HHI", _OUTPUT_TRUNC, _NOWHERE, _LEAST_OCTETS)]
        case SetBits(Bits(field, 0, 48), value):
            return [parser.OFPActionSetField(**{field: format_mac(value)})]
        case SetBits(Bits("mpls_tc" | "ip_dscp" as field, 0, _), value):
            return [parser.OFPActionSetField(**{field: value})]
        case SetBits(bits, value):
            return [_nicira("!HHIQ", _REG_LOAD, _run(*bits[1:]), _field(bits), value)]
        case MoveBits(source, to):
            moved = source.size, source.first, to.first, _field(source), _field(to)
            return [_nicira("!HHHHII", _REG_MOVE, *moved)]
        case Track(zone, table):
            return [_track(_REGISTERS[32](zone), table)]
        case ToController(max_len, None):
            return [parser.OFPActionOutput(ofp.OFPP_CONTROLLER, max_len)]
        case ToController(max_len, int(meter)):
            return [_controller2(max_len, meter)]
    raise TypeError(f"{action!r} is no action")


def read_action(action: Any) -> Forwarding:
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
    source = _HEADERS[field]
    bits = 8 * (source & 0xFF)
    return _nicira("!HHHHII", _REG_MOVE, bits, 0, 0, source, _REGISTERS[bits](register))


def _bundle(head: tuple[int, ...], ports: tuple[int, ...], to: Bits | None = None) -> Any:
    """NXAST_BUNDLE and NXAST_BUNDLE_LOAD, which os-ken has without the later kinds of hashes.

    head: its type, algorithm, hashed fields and basis.
    """
    where = (0, 0) if to is None else (_run(to.first, to.size), _field(to))
    body = (*head, _NXM_IN_PORT, len(ports), *where, *ports)
    padding = -2 * len(ports) % 8
    return _nicira(f"!HHHHIHHI4x{len(ports)}H{padding}x", *body)


def _track(zone: int, table: int | None) -> Any:
    """NXAST_CT, without helpers for protocols.  zone: the header of its register."""
    flags, to = (_COMMITS, _NO_TABLE) if table is None else (0, table)
    return _nicira("!HHIHB3xH", _CONNTRACK, flags, zone, _run(0, 16), to, 0)


def _clone(actions: tuple[Action, ...]) -> Any:
    """NXAST_CLONE, with the actions inside."""
    body = struct.pack("!H6x", _CLONE) + actions_of(actions)
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
