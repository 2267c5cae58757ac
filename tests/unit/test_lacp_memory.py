"""What is written down of LACP, and that the next process goes on with it."""

from __future__ import annotations

from pathlib import Path

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import LacpMoved
from ofapp.bridge.lag import LagParams
from ofapp.bridge.params.params import BridgeParams
from ofapp.bridge.ports.port import LOCAL_PORT, Port
from ofapp.controller.state import State
from ofapp.controller.state.lacp_memory import LacpMemory

PARAMS = BridgeParams(lags={"lag0": LagParams(("m1",))})
PORTS = [Port(LOCAL_PORT, "br1", 0x020000000001, True), Port(1, "m1", 1, True, 1000)]


def test_what_has_changed_is_written_and_the_next_process_finds_it(tmp_path: Path) -> None:
    bridge, state = Bridge(1, PARAMS), State(tmp_path)
    memory = LacpMemory(state.lacp, {1: bridge})
    effects = bridge.set_ports(PORTS, 0.0)
    moved = [effect for effect in effects if isinstance(effect, LacpMoved)]
    assert moved
    memory.handle(bridge, moved[0])
    memory.handle(Bridge(2, PARAMS), moved[0])  # one that is forgotten by then
    memory.write()
    state.finish(5.0)
    assert (tmp_path / "lacp-0000000000000001.json").exists()
    kept = State(tmp_path)
    assert kept.lacp.known() == [1]
    assert kept.snapshots.known() == []  # spanning tree's are others
    found = kept.lacp.load(1)
    assert [*found] == ["lag0"]
    again = Bridge(1, PARAMS)
    assert again.lags.revive(found) == []
    # the system keeps its address, which its partner knows
    other = [Port(LOCAL_PORT, "br1", 0x0200000000FF, True), PORTS[1]]
    again.set_ports(other, 0.0)
    (status,) = again.lags.status(0.0)
    assert status.system == 0x020000000001


def test_nothing_is_written_twice(tmp_path: Path) -> None:
    bridge, state = Bridge(1, PARAMS), State(tmp_path)
    memory = LacpMemory(state.lacp, {1: bridge})
    bridge.set_ports(PORTS, 0.0)
    memory.handle(bridge, LacpMoved())
    memory.write()
    state.finish(5.0)
    state.lacp.delete(1)
    memory.write()
    state.finish(5.0)
    assert State(tmp_path).lacp.load(1) is None
