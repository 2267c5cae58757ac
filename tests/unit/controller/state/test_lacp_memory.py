"""What is written down of LACP, and that the next process goes on with it."""

from __future__ import annotations

from pathlib import Path

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import StateChanged
from ofapp.bridge.lag import LagParams
from ofapp.bridge.params.params import BridgeParams
from ofapp.bridge.ports.port import LOCAL_PORT, Port
from ofapp.controller.state.protocols import StateWriter
from ofapp.controller.state.store import State

PARAMS = BridgeParams(lags={"lag0": LagParams(("m1",))})
PORTS = [Port(LOCAL_PORT, "br1", 0x020000000001, True), Port(1, "m1", 1, True, 1000)]


def test_what_has_changed_is_written_and_the_next_process_finds_it(tmp_path: Path) -> None:
    bridge, state = Bridge(1, PARAMS), State(tmp_path)
    memory = StateWriter(state.snapshots["lacp"], {1: bridge}, {})
    effects = bridge.set_ports(PORTS, 0.0)
    moved = [effect for effect in effects if effect == StateChanged("lacp")]
    assert moved
    memory.changed(bridge, StateChanged("lacp"))
    memory.changed(Bridge(2, PARAMS), StateChanged("lacp"))  # one that is forgotten by then
    memory.check()
    state.finish(5.0)
    assert (tmp_path / "lacp-0000000000000001.json").exists()
    kept = State(tmp_path)
    assert kept.snapshots["lacp"].bridges == [1]
    assert kept.snapshots["stp"].bridges == []  # spanning tree's are others
    found = kept.snapshots["lacp"].load(1)
    assert [*found] == ["lag0"]
    again = Bridge(1, PARAMS)
    assert again.lags.restore(found) == []
    # the system keeps its address, which its partner knows
    other = [Port(LOCAL_PORT, "br1", 0x0200000000FF, True), PORTS[1]]
    again.set_ports(other, 0.0)
    (status,) = again.lags.status(0.0)
    assert status.system == 0x020000000001


def test_nothing_is_written_twice(tmp_path: Path) -> None:
    bridge, state = Bridge(1, PARAMS), State(tmp_path)
    memory = StateWriter(state.snapshots["lacp"], {1: bridge}, {})
    bridge.set_ports(PORTS, 0.0)
    memory.changed(bridge, StateChanged("lacp"))
    memory.check()
    state.finish(5.0)
    state.snapshots["lacp"].forget(1)
    memory.check()
    state.finish(5.0)
    assert State(tmp_path).snapshots["lacp"].load(1) is None
