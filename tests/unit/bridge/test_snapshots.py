"""Snapshots that were damaged: refused, or nothing that comes after them raises."""

import json
import math
import os
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import SendFrame
from ofapp.bridge.params.params import BridgeParams
from ofapp.bridge.ports.port import Port
from ofapp.bridge.stp import BridgeParams as StpParams
from tests.unit.bridge.changes import changed

Keys = tuple[str | int, ...]


def port(number: int, bridge: int = 2) -> Port:
    return Port(number, f"eth{number}", bridge << 8 | number, True)


def make(datapath_id: int, priority: int) -> Bridge:
    bridge = Bridge(datapath_id, BridgeParams(stp=StpParams(priority=priority)))
    bridge.set_ports([port(number, datapath_id) for number in (1, 2, 3)], 0.0)
    return bridge


def frames(effects: list[Any]) -> list[bytes]:
    return [e.frame for e in effects if isinstance(e, SendFrame) and 1 in e.ports]


def lived(seconds: int) -> Iterator[Bridge]:
    """A bridge below a root on its port 1, each half second of its life."""
    bridge, root = make(2, 32768), make(1, 4096)
    for half in range(2 * seconds):
        now = half / 2
        said, heard = bridge.tick(now), root.tick(now)
        while said or heard:
            effects = [e for frame in frames(said) for e in root.hear("bpdu", [(1, frame)], now)]
            said = [e for frame in frames(heard) for e in bridge.hear("bpdu", [(1, frame)], now)]
            heard = effects
        yield bridge


@cache
def taken() -> str:
    *_, bridge = lived(6)
    return json.dumps(bridge.stp.dump())


def revived(text: str) -> Bridge:
    bridge = Bridge(2, BridgeParams(stp=StpParams()))
    bridge.stp.restore(json.loads(text))
    return bridge


def test_every_moment_of_a_bridge_can_be_gone_on_with() -> None:
    for bridge in lived(6):
        text = json.dumps(bridge.stp.dump())
        assert json.dumps(revived(text).stp.dump()) == text


def test_what_an_earlier_version_has_written_is_read() -> None:
    document = json.loads(taken())
    tree = document["tree"]
    tree["format"], alike = 2, tree.pop("alike")
    tree["ports"] = [{**alike, **port} for port in tree["ports"]]
    bridge = revived(json.dumps(document))
    assert json.dumps(bridge.stp.dump()) == taken()


def places(value: Any, above: Keys = ()) -> Iterator[Keys]:
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in inner:
        yield (*above, key)
        if isinstance(item, dict | list):
            yield from places(item, (*above, key))


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([0, 1, -1, 2, 5, 6, 4095, 65536, 1 << 32, 1 << 48, 1 << 64, 10**400]),
    st.sampled_from([0.5, -1.0, 1e12, 1e300, math.inf, -math.inf, math.nan]),
    st.sampled_from(["", "a", "1", "root", "designated", "disabled", "forwarding", "mine"]),
    st.sampled_from([[], {}, [[]], [0, 0, 0, 0], ["a", "b", "c", "d"], [None] * 4, {"a": 1}]),
)
changes = st.lists(st.tuples(st.integers(0, 10**6), VALUES, st.booleans()), min_size=1, max_size=3)


def damaged(text: str, steps: list[tuple[int, Any, bool]]) -> Any:
    """The document with a value, or several, exchanged or removed."""
    document = json.loads(text)
    for at, value, removed in steps:
        known = [*places(document)]
        if not known:
            break
        *above, key = known[at % len(known)]
        inside = document
        for step in above:
            inside = inside[step]
        if removed:
            del inside[key]
        else:
            inside[key] = deepcopy(value)
    return document


@settings(max_examples=5000 if os.environ.get("OFAPP_THOROUGH") else 400)
@given(changes)
def test_a_damaged_snapshot_is_refused_or_serves(steps: list[tuple[int, Any, bool]]) -> None:
    bridge = Bridge(2, BridgeParams(stp=StpParams()))
    try:
        bridge.stp.restore(damaged(taken(), steps))
    except ValueError:
        assert not bridge.stp.runs
        return
    serve(bridge)


def serve(bridge: Bridge) -> None:
    bridge.resume(1000.0)
    bridge.set_ports([port(number) for number in (1, 2, 3)], 1000.0)
    heard = frames(make(1, 4096).tick(0.0))
    wakings = 0
    now = 1000.0
    while now < 1030.0:
        due = bridge.next_wakeup()
        now = 1030.0 if due is None else min(max(due, now), 1030.0)
        bridge.tick(now)
        wakings += 1
        assert wakings < 1000, "it is always due"
        for frame in heard:
            bridge.hear("bpdu", [(1, frame)], now)
    status = bridge.stp.status(now)
    assert status is not None
    json.dumps(bridge.stp.dump())
    bridge.remove_port(2, now)
    bridge.set_params(changed(bridge, stp=None), now)


@settings(max_examples=2000 if os.environ.get("OFAPP_THOROUGH") else 100)
@given(
    st.recursive(
        VALUES, lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=5), inner)
    )
)
@pytest.mark.parametrize("under", ["", "tree"])
def test_so_is_any_other_document(under: str, value: Any) -> None:
    document = {**json.loads(taken()), under: value} if under else value
    with pytest.raises(ValueError, match=r"\w"):
        Bridge(2, BridgeParams(stp=StpParams())).stp.restore(document)
