"""Slow Protocols frames: what is read, what is refused and counted; and nothing ever raises."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from os_ken.lib.packet import packet, slow

from ofapp.bridge.lag.lacp.information import Information, State, System, operational_key
from ofapp.bridge.lag.lacp.slow import (
    Lacpdu,
    Marker,
    SlowError,
    decode,
    encode_lacpdu,
    encode_marker,
)
from tests.unit.bridge.lag.lacp.lab import pair

ACTOR = Information(System(1, 0x020000000001), 17, 128, 5, State(0x3D))
PARTNER = Information(System(0xFFFF, 0x0200000000FF), 0xFFFF, 0xFFFF, 0xFFFF, State(0xFF))
FRAME = encode_lacpdu(ACTOR, PARTNER, 0x0200000000AA)
MARKER = encode_marker(Marker(5, 0x020000000001, 0xDEADBEEF), 0x0200000000AA)

shorts = st.integers(0, 0xFFFF)
informations = st.builds(
    Information,
    st.builds(System, shorts, st.integers(0, 0xFFFFFFFFFFFF)),
    shorts,
    shorts,
    shorts,
    st.integers(0, 255).map(State),
)


@given(informations, informations)
def test_round_trip(actor: Information, partner: Information) -> None:
    assert decode(encode_lacpdu(actor, partner, 1)) == Lacpdu(actor, partner)


@given(
    st.builds(Marker, shorts, st.integers(0, 2**48 - 1), st.integers(0, 2**32 - 1), st.booleans())
)
def test_markers_round_trip(marker: Marker) -> None:
    assert decode(encode_marker(marker, 1)) == marker


def test_as_others_read_it() -> None:
    read = packet.Packet(FRAME).get_protocol(slow.lacp)
    assert len(FRAME) == 124
    assert (read.actor_system_priority, read.actor_system) == (1, "02:00:00:00:00:01")
    assert (read.actor_key, read.actor_port_priority, read.actor_port) == (17, 128, 5)
    assert (read.actor_state_activity, read.actor_state_timeout) == (1, 0)
    assert (read.actor_state_distributing, read.actor_state_expired) == (1, 0)
    assert (read.partner_system_priority, read.partner_key) == (0xFFFF, 0xFFFF)
    assert (read.collector_max_delay, read.version) == (0, 1)


def test_as_others_write_it() -> None:
    written = slow.lacp(
        actor_system_priority=7, actor_system="02:00:00:00:00:09", actor_key=3, actor_port=2,
        actor_port_priority=1, actor_state_activity=1, actor_state_timeout=0,
        actor_state_aggregation=1, actor_state_synchronization=0, actor_state_collecting=0,
        actor_state_distributing=0, actor_state_defaulted=1, actor_state_expired=0,
        partner_system_priority=0, partner_system="00:00:00:00:00:00", partner_key=0,
        partner_port_priority=0, partner_port=0, partner_state_activity=0,
        partner_state_timeout=1, partner_state_aggregation=0, partner_state_synchronization=0,
        partner_state_collecting=0, partner_state_distributing=0, partner_state_defaulted=0,
        partner_state_expired=0,
    )  # fmt: skip
    read = decode(FRAME[:14] + written.serialize(None, None))
    assert isinstance(read, Lacpdu)
    assert read.actor == Information(
        System(7, 9 | 2 << 40), 3, 1, 2, State.ACTIVITY | State.AGGREGATION | State.DEFAULTED
    )
    assert read.partner.state == State.TIMEOUT
    assert read.actor.state.names == ["activity", "aggregation", "defaulted"]


def put(frame: bytes, at: int, *octets: int) -> bytes:
    """With other octets at that offset after the Ethernet header."""
    return frame[: 14 + at] + bytes(octets) + frame[14 + at + len(octets) :]


@pytest.mark.parametrize(
    ("frame", "kind", "reason"),
    [
        (b"", "illegal", "truncated"),
        (FRAME[:14], "illegal", "truncated"),
        (FRAME[:123], "illegal", "truncated"),
        (FRAME[:60], "illegal", "truncated"),
        (MARKER[:60], "illegal", "truncated"),
        (b"\xff" * 6 + FRAME[6:], "unknown", "not-slow-protocols"),
        (FRAME[:12] + b"\x08\x00" + FRAME[14:], "unknown", "not-slow-protocols"),
        (put(FRAME, 0, 0), "illegal", "subtype"),
        (put(FRAME, 0, 3), "unknown", "subtype"),  # OAM
        (put(FRAME, 0, 10), "unknown", "subtype"),  # organization specific
        (put(FRAME, 0, 11), "illegal", "subtype"),
        (put(FRAME, 3, 19), "illegal", "length"),
        (put(FRAME, 3, 21), "illegal", "length"),  # in version 1
        (put(FRAME, 23, 0), "illegal", "length"),
        (put(FRAME, 1, 2, 1, 255), "illegal", "truncated"),
        (put(MARKER, 2, 0), "illegal", "type"),
        (put(MARKER, 3, 15), "illegal", "length"),
    ],
)
def test_what_is_refused(frame: bytes, kind: str, reason: str) -> None:
    with pytest.raises(SlowError) as refused:
        decode(frame)
    assert (refused.value.kind, refused.value.reason) == (kind, reason)


@pytest.mark.parametrize(
    "frame",
    [
        put(FRAME, 1, 0),  # the version, the types and what is reserved are not looked at
        put(FRAME, 2, 77),
        put(FRAME, 22, 77),
        put(FRAME, 19, 1, 2, 3),
        put(FRAME, 1, 2),
        FRAME + bytes(1000),
    ],
)
def test_what_is_not_looked_at(frame: bytes) -> None:
    read = decode(frame)
    assert isinstance(read, Lacpdu)
    assert (read.actor, read.partner) == (ACTOR, PARTNER)


def test_a_later_version_may_have_longer_tlvs() -> None:
    longer = put(FRAME, 1, 2, 1, 24)
    frame = longer[: 14 + 22] + b"\x11\x22\x33\x44" + longer[14 + 22 :]
    read = decode(frame)
    assert isinstance(read, Lacpdu)
    assert (read.actor, read.partner, read.version) == (ACTOR, PARTNER, 2)


@given(st.binary(max_size=300).map(lambda end: FRAME[:14] + end) | st.binary(max_size=200))
@example(FRAME)
@example(MARKER)
def test_whatever_comes_is_taken(frame: bytes) -> None:
    lab = pair(2)
    lab.run(5)
    for port in (1, 2, 99):
        effects = lab.actor("a").receive(port, frame, lab.now)
        assert len(effects) <= 10
    lab.apply("a", effects)


@given(
    st.lists(st.tuples(st.integers(0, 109), st.integers(0, 255)), max_size=20),
    st.sampled_from([FRAME, MARKER]),
)
def test_whatever_is_changed_in_a_good_one_is_taken(
    changes: list[tuple[int, int]], frame: bytes
) -> None:
    for at, octet in changes:
        frame = put(frame, at, octet)
    lab = pair(1)
    lab.run(5)
    assert len(lab.actor("a").receive(1, frame, lab.now)) <= 10
    lab.actor("a").status()


def test_counts_and_one_event_a_reason() -> None:
    lab = pair(1)
    lab.run(5)
    for frame in (put(FRAME, 0, 3), put(FRAME, 0, 0), FRAME[:60], MARKER, MARKER[:60]):
        for _ in range(3):
            lab.apply("a", lab.actor("a").receive(1, frame, lab.now))
    member = lab.member(("a", 1))
    assert {key: n for key, n in member.received.items() if key != "lacpdu"} == {
        "unknown": 3,
        "illegal": 9,
        "marker": 3,
    }
    assert member.drops == {"subtype": 6, "truncated": 6}
    assert [event.data["reason"] for event in lab.events_of("lacp.dropped")] == [
        "subtype",
        "truncated",
    ]


def test_markers_are_answered_and_responses_are_not() -> None:
    lab = pair(1)
    lab.run(5)
    marker = Marker(5, 9, 1234)
    (answer,) = lab.actor("a").receive(1, encode_marker(marker, 3), lab.now)
    assert decode(answer.frame) == Marker(5, 9, 1234, response=True)
    assert lab.actor("a").receive(1, answer.frame, lab.now) == []
    answers = [lab.actor("a").receive(1, encode_marker(marker, 3), lab.now) for _ in range(100)]
    assert sum(map(len, answers)) == 4  # five a second
    assert lab.member(("a", 1)).drops == {"marker-rate": 96}
    lab.unplug(("a", 1))
    assert lab.actor("a").receive(1, encode_marker(marker, 3), lab.now + 9) == []


def test_keys_by_speed() -> None:
    speeds = (0, 10, 100, 1000, 2500, 5000, 10_000, 20_000, 25_000, 40_000, 50_000, 100_000)
    keys = [operational_key(4095, speed) for speed in (*speeds, 200_000, 400_000, 800_000, 10**7)]
    assert keys == [*range(0xFFF0, 0x10000)]
