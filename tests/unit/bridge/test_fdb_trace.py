"""Learned addresses as events, while a listener asks for them."""

from collections.abc import Iterable
from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import Effect
from ofapp.bridge.event import Event
from ofapp.bridge.fdb.learned_addresses import TRACE
from ofapp.bridge.mac import parse_mac
from ofapp.bridge.params.params import BridgeParams
from ofapp.bridge.ports.port import Port
from tests.unit.bridge.test_bridge import A, B, learn, make

KINDS = {kind.name for kind in TRACE}
MACS = [0x020000000010 + number for number in range(6)]

Table = dict[tuple[int, int], int]

ports = st.integers(1, 3)
vids = st.sampled_from((0, 10))
macs = st.sampled_from(MACS)
steps = st.one_of(
    st.tuples(st.just("learn"), ports, vids, macs),
    st.tuples(st.just("expire"), vids, macs),
    st.tuples(st.just("flush"), st.none() | ports, st.none() | vids, st.none() | macs),
    st.tuples(st.just("static"), ports, vids, macs),
    st.tuples(st.just("link"), ports, st.booleans()),
    st.tuples(st.just("remove"), ports),
)


def reported(effects: Iterable[Effect]) -> list[tuple[str, str]]:
    events = (effect for effect in effects if isinstance(effect, Event))
    return [(event.kind, event.message) for event in events if event.kind in KINDS]


def test_each_change_is_one_event() -> None:
    bridge = make(BridgeParams(fdb_max_learned=2))
    bridge.addresses.set_trace(True)
    assert reported(learn(bridge, 1, A)) == [("fdb.learned", "02:00:00:00:00:0a learned on port 1")]
    assert reported(learn(bridge, 1, A, now=9.0)) == []  # its flows are put back
    moved = learn(bridge, 2, A, now=20.0)
    message = "02:00:00:00:00:0a moved to port 2, before on port 1"
    assert reported(moved) == [("fdb.moved", message)]
    (event,) = (each for each in moved if isinstance(each, Event))
    assert event.data == {"mac": "02:00:00:00:00:0a", "vlan": 0, "from": 1}
    entry = bridge.fdb.get(0, A)
    assert entry is not None
    aged = bridge.addresses.expired(0, A, entry.serial)
    assert reported(aged) == [("fdb.aged", "02:00:00:00:00:0a aged out on port 2")]
    learn(bridge, 1, A, 10), learn(bridge, 1, B, 10)
    message = "02:00:00:00:00:0a in VLAN 10 displaced from port 1"
    assert reported(learn(bridge, 2, A, 20))[0] == ("fdb.deleted", message)
    message = "02:00:00:00:00:0b in VLAN 10 deleted from port 1"
    assert reported(bridge.flush(mac=B)) == [("fdb.deleted", message)]
    assert reported(bridge.flush()) == [("fdb.flushed", "1 address flushed from port 2")]
    assert reported(bridge.flush()) == []


def test_without_a_listener_nothing_is_reported() -> None:
    bridge = make()
    bridge.addresses.set_trace(True)
    bridge.addresses.set_trace(False)
    assert reported([*learn(bridge, 1, A), *learn(bridge, 2, A, now=9.0), *bridge.flush()]) == []


@given(st.lists(steps, max_size=30))
def test_who_follows_knows_the_table(history: list[tuple[object, ...]]) -> None:
    bridge = make(BridgeParams(fdb_max_learned=4))
    bridge.addresses.set_trace(True)
    table: Table = {}
    for number, step in enumerate(history):
        _follow(table, _carry_out(bridge, step, 10.0 * (number + 1)))
        assert table == {
            (vid, mac): entry.port for vid, mac, entry in bridge.fdb if entry.was_learned
        }


def _carry_out(bridge: Bridge, step: tuple[object, ...], now: float) -> list[Effect]:
    what, values = step[0], cast("list[Any]", step[1:])
    if what == "learn":
        port, vid, mac = values
        return learn(bridge, port, mac, vid, now)
    if what == "expire":
        entry = bridge.fdb.get(*values)
        return [] if entry is None else bridge.addresses.expired(*values, entry.serial)
    if what == "flush":
        return bridge.flush(*values)
    if what == "static":
        port, vid, mac = values
        return bridge.add_static(vid, mac, f"p{port}", now)
    if what == "remove":
        return bridge.remove_port(*values, now)
    number, up = values
    return bridge.put_port(Port(number, f"p{number}", number, bool(up)), now)


def _follow(table: Table, effects: list[Effect]) -> None:
    """Change the table as the events say."""
    for event in effects:
        if not isinstance(event, Event) or event.kind not in KINDS:
            continue
        data: dict[str, object] = dict(event.data)
        assert event.port is not None
        if event.kind == "fdb.flushed":
            gone = [
                key
                for key, port in table.items()
                if port == event.port and data["vlan"] in (None, key[0])
            ]
            assert len(gone) == data["addresses"]
            for key in gone:
                del table[key]
            continue
        key = int(str(data["vlan"])), parse_mac(str(data["mac"]))
        if event.kind == "fdb.learned":
            assert key not in table
            table[key] = event.port
        elif event.kind == "fdb.moved":
            assert table[key] == data["from"]
            table[key] = event.port
        else:
            assert table.pop(key) == event.port
