"""Multicast entries: what is written is what is read back, and groups are given out once."""

import struct

import hypothesis.strategies as st
from hypothesis import given

import ofapp.common.hub  # noqa: F401

# isort: split
from ofapp.bridge.multicast import Family, SetGroup, SetUnregistered
from ofapp.openflow.pipeline import entries, flows
from ofapp.openflow.pipeline.group_numbers import ENTRY_GROUPS, is_our_group
from ofapp.openflow.wire.messages import codec
from ofapp.openflow.wire.messages.flow_stats import FlowStats, read_entry, read_flow_stats

vids = st.integers(0, 4094)
sources4 = st.none() | st.binary(min_size=4, max_size=4)
sources6 = st.none() | st.binary(min_size=16, max_size=16)
keys4 = st.builds(
    lambda vid, low, source: entries.key_of(vid, b"\xef" + low, source),
    vids,
    st.binary(min_size=3, max_size=3),
    sources4,
)
keys6 = st.builds(
    lambda vid, low, source: entries.key_of(vid, b"\xff" + low, source),
    vids,
    st.binary(min_size=15, max_size=15),
    sources6,
)
rests = st.builds(
    lambda vid, family: entries.Key(vid, family, None, None), vids, st.sampled_from(Family)
)
keys = keys4 | keys6 | rests


def held(message: bytes) -> FlowStats:
    cookie, table, priority = struct.unpack_from("!8xQ8xB5xH", message)
    rest = message[48:]
    head = struct.pack(
        "!HBxIIHHHH4xQQQ", 48 + len(rest), table, 0, 0, priority, 0, 0, 0, cookie, 0, 0
    )
    (flow,) = read_flow_stats(head + rest)
    return flow


@given(keys, st.integers(0, (1 << 24) - 1))
def test_a_flow_tells_its_entry_and_its_group(key: entries.Key, number: int) -> None:
    group = ENTRY_GROUPS + number
    assert is_our_group(group)
    assert read_entry(held(codec.add_flow(flows.entry_flow(key, group)))) == (key, group)


def test_effects_name_their_entry() -> None:
    group = bytes([239, 1, 2, 3])
    key, ports = entries.entry_of(SetGroup(7, group, None, frozenset({1})))
    assert (key, ports) == (entries.Key(7, Family.IPV4, group, None), {1})
    key, ports = entries.entry_of(SetUnregistered(7, Family.IPV6, None))
    assert (key, ports) == (entries.Key(7, Family.IPV6, None, None), None)


@given(st.lists(st.tuples(keys4, st.booleans()), max_size=40))
def test_no_two_entries_share_a_group(steps: list[tuple[entries.Key, bool]]) -> None:
    numbers = entries.GroupNumbers({entries.Key(1, Family.IPV4, None, None): ENTRY_GROUPS + 1})
    live = {entries.Key(1, Family.IPV4, None, None)}
    for key, take in steps:
        if take:
            numbers.of(key)
            live.add(key)
        else:
            assert (numbers.release(key) is not None) == (key in live)
            live.discard(key)
        assert len({numbers.of(key) for key in live}) == len(live)


def test_flows_of_others_are_no_entries() -> None:
    flow = held(
        codec.add_flow(flows.entry_flow(entries.key_of(1, bytes([239, 0, 0, 1]), None), 0x0F000000))
    )
    assert read_entry(flow._replace(cookie=5)) is None
    assert read_entry(flow._replace(match=b"")) is None
    assert read_entry(flow._replace(match=flow.match[:-2])) is None
