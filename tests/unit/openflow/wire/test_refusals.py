"""What errors are about, what stands, and what is reported it."""

import contextlib
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ofapp.common.hub  # noqa: F401

# isort: split
from os_ken.ofproto import ofproto_v1_3 as ofp

from ofapp.bridge.event import Severity
from ofapp.openflow.model.cookie import Feature
from ofapp.openflow.model.flow import Flow, Group, Match, Meter
from ofapp.openflow.model.rule import TableId
from ofapp.openflow.wire.messages import bundle, codec
from ofapp.openflow.wire.refusals import KINDS, QUIET, Refusal, Refusals, read_refusal

PORT_FLOW = Flow(TableId.ADMISSION, 100, (Match("in_port", 1),), Feature.PORT, (), TableId.SOURCE)
FULL = (ofp.OFPET_FLOW_MOD_FAILED, ofp.OFPFMFC_TABLE_FULL)
PERM = (ofp.OFPET_BAD_REQUEST, ofp.OFPBRC_EPERM)


def error(type_: int, code: int, sent: bytes) -> bytes:
    """As Open vSwitch sends it: with 64 octets of what it is about."""
    body = struct.pack("!HH", type_, code) + sent[:64]
    return struct.pack("!BBHI", 4, ofp.OFPT_ERROR, 8 + len(body), 0) + body


@pytest.mark.parametrize(
    ("sent", "part", "what", "holds"),
    [
        (codec.add_flow(PORT_FLOW), "flow_mods", "a flow of table admission (port)", True),
        (
            codec.delete_flow(PORT_FLOW),
            "flow_mods",
            "the removal of a flow of table admission (port)",
            True,
        ),
        (codec.put_group(Group(1, ()), False), "group_mods", "group 0x1", True),
        (codec.delete_group(7), "group_mods", "the removal of group 0x7", True),
        (codec.put_meter(Meter(9, 100), False), "meter_mods", "meter 0x9", True),
        (codec.send_frame((1,), bytes(60)), "packet_outs", "a frame that it should send", False),
        (bundle.wrap([b"12345678"] * 2), "bundles", "several changes at once", True),
        (b"", "others", "a message of type None", False),
    ],
)
def test_an_error_tells_what_was_sent(sent: bytes, part: str, what: str, holds: bool) -> None:
    refusal = read_refusal(error(*PERM, sent))
    assert (refusal.part, refusal.what, refusal.holds) == (part, what, holds)
    assert refusal.why == "OFPET_BAD_REQUEST(1), OFPBRC_EPERM(5)"


@pytest.mark.parametrize(
    ("error_", "sent"),
    [
        (FULL, codec.add_flow(PORT_FLOW)),
        (
            (ofp.OFPET_GROUP_MOD_FAILED, ofp.OFPGMFC_OUT_OF_GROUPS),
            codec.put_group(Group(1, ()), False),
        ),
        (
            (ofp.OFPET_METER_MOD_FAILED, ofp.OFPMMFC_OUT_OF_METERS),
            codec.put_meter(Meter(9, 1), False),
        ),
    ],
)
def test_a_switch_without_room_is_told_from_others(error_: tuple[int, int], sent: bytes) -> None:
    refusals = Refusals()
    refusals.add(read_refusal(error(*error_, sent)), 1.0)
    refusals.add(read_refusal(error(*PERM, sent)), 1.0)
    (full,) = refusals.full
    assert "full" in full
    assert len(refusals.words) == 2
    refusals.checked(2.0, 2.0)
    assert refusals.full == []


def test_what_is_refused_of_a_bundle_is_reported_and_not_only_that_something_is() -> None:
    flow = Flow(TableId.SOURCE, 200, (Match("in_port", 1),), Feature.LEARNED, serial=7)
    sent = bundle.add(bundle.LEARNED, codec.add_flow(flow))
    refusal = read_refusal(error(*FULL, sent))
    assert (refusal.part, refusal.what) == ("flow_mods", "a flow of table source (learned)")
    assert refusal.learned
    for number, learned in ((bundle.LEARNED, True), (1, False)):
        for opened_or_committed in bundle.frame(number):
            refusal = read_refusal(error(*PERM, opened_or_committed))
            assert (refusal.part, refusal.learned) == ("bundles", learned)


def test_a_full_table_is_called_so() -> None:
    assert read_refusal(error(*FULL, codec.add_flow(PORT_FLOW))).why == "the table is full"


def test_an_experimenter_error_has_what_was_sent_further_behind() -> None:
    sent = struct.pack("!I", 0x4F4E4600) + codec.add_flow(PORT_FLOW)
    refusal = read_refusal(error(0xFFFF, 2305, sent))
    assert refusal.what == "a flow of table admission (port)"
    assert refusal.why == "experimenter error 2305"


@given(st.binary(max_size=100))
def test_any_error_is_read_or_malformed(body: bytes) -> None:
    message = struct.pack("!BBHI", 4, ofp.OFPT_ERROR, 8 + len(body), 0) + body
    with contextlib.suppress(ValueError):
        assert read_refusal(message).what


FIXED = Refusal("flow_mods", "a flow of table admission (port)", "the table is full")
LEARNED = Refusal("flow_mods", "a flow of table destination (learned)", "...", learned=True)
FRAME = Refusal("packet_outs", "a frame that it should send", "...", holds=False)


def kinds(events: list) -> list[str]:  # type: ignore[type-arg]
    return [event.kind for event in events]


def test_a_refusal_is_reported_once_and_ends_with_a_look_without_it() -> None:
    refusals = Refusals()
    (event,) = refusals.add(FIXED, 1.0)
    assert (event.kind, event.severity) == ("openflow.refused", Severity.ERROR)
    assert refusals.add(FIXED, 2.0) == []
    assert not refusals.in_line
    assert refusals.checked(1.5, 2.5) == []  # refused again in this look
    assert kinds(refusals.checked(3.0, 4.0)) == ["openflow.refused.cleared"]
    assert refusals.in_line
    assert refusals.words == []


def test_what_hosts_bring_about_must_be_quiet_for_a_while() -> None:
    refusals = Refusals()
    assert kinds(refusals.add(LEARNED, 1.0)) == ["openflow.refused"]
    assert refusals.checked(2.0, 3.0) == []
    assert not refusals.in_line
    assert kinds(refusals.checked(QUIET, QUIET + 1.0)) == ["openflow.refused.cleared"]


def test_a_frame_that_was_not_sent_leaves_the_switch_in_line() -> None:
    refusals = Refusals()
    assert kinds(refusals.add(FRAME, 1.0)) == ["openflow.refused"]
    assert refusals.in_line


def test_a_switch_that_invents_errors_fills_neither_memory_nor_the_log() -> None:
    refusals = Refusals()
    events = [
        event
        for code in range(10_000)
        for event in refusals.add(FIXED._replace(why=str(code)), code / 1000)
    ]
    assert len(events) == len(refusals.words) == KINDS + 1
