"""Flows, groups and meters as OpenFlow 1.3 messages.

Their structures recur and are kept.  Putting these together by hand is a tenth of os-ken's price,
which counts on a switch of thousands of ports.
"""

import struct
from collections.abc import Collection, Iterable
from functools import lru_cache
from typing import Any

from ofapp.openflow.model.cookie import (
    ANY_LEARNED,
    EXACT,
    EXACT_LEARNED,
    FEATURE_MASK,
    LEARNED_BIT,
    Feature,
    make_cookie,
)
from ofapp.openflow.model.flow import Action, Bucket, Flow, Group, Match, Meter, Resubmit
from ofapp.openflow.model.rule import TableId
from ofapp.openflow.pipeline.egress import through
from ofapp.openflow.wire.messages.structures import (
    actions_of,
    bucket_of,
    fields_of,
    instructions_of,
    read_action,
)
from ofapp.osken import ofp, parser

_PROTOCOL = parser.ProtocolDesc(version=ofp.OFP_VERSION)

_FLOW_MOD = struct.Struct("!BBHIQQBBHHHIIIHxxHH")
_GROUP_MOD = struct.Struct("!BBHIHBxI")
_PACKET_OUT = struct.Struct("!BBHIIIH6x")
_OUTPUT = struct.Struct("!HHIH6x")
_BARRIER = struct.pack("!BBHI", ofp.OFP_VERSION, ofp.OFPT_BARRIER_REQUEST, 8, 0)
_THROUGH = 32  # octets of what leads through an aggregation's table
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
        fields_of(flow.match),
        flow.cookie,
        priority=flow.priority,
        timeouts=(flow.idle_timeout, flow.hard_timeout),
        flags=flags | flow.notify_removal * notify | flow.recount * recount,
        instructions=instructions_of(flow.meter, flow.actions, flow.goto),
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
    match = fields_of(flow.match)
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
        fields_of(match),
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
        *(ofp.OFPFC_MODIFY_STRICT, flow.table, fields_of(flow.match), flow.cookie, FEATURE_MASK),
        priority=flow.priority,
        instructions=instructions_of(flow.meter, flow.actions, flow.goto),
    )


def delete_remote(table: int, match: Iterable[Match] = (), out_port: int | None = None) -> bytes:
    """A flow-mod that deletes all addresses of hosts at other members that fit."""
    out = ofp.OFPP_ANY if out_port is None else out_port
    cookie = make_cookie(Feature.REMOTE)
    return _flow_mod(
        *(ofp.OFPFC_DELETE, table, fields_of(match), cookie, FEATURE_MASK), out=(out, ofp.OFPG_ANY)
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
    buckets = b"".join(sorted(map(bucket_of, group.buckets)))
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


LEAST_BURST = 128
"""Kilobits that may enter at once by any port with a rate: 16,000 octets."""


@lru_cache(1 << 13)
def put_meter(meter: Meter, exists: bool) -> bytes:
    """A meter-mod that adds the meter or changes the one that is there.

    Bursts are of one second; of a fifth of a second, or some frames, where bits count.
    """
    burst = max(meter.rate // 5, LEAST_BURST) if meter.kbps else meter.rate
    band = parser.OFPMeterBandDrop(rate=meter.rate, burst_size=burst)
    flags = (ofp.OFPMF_KBPS if meter.kbps else ofp.OFPMF_PKTPS) | ofp.OFPMF_BURST
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
    return frozenset(tuple(map(read_action, bucket.actions)) for bucket in desc.buckets)


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
    actions = actions_of((*marks, Resubmit(TableId.CHECKED)))
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
        return actions_of(through(port))
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
