"""What is stored of a spanning tree, and when; which switches a new process waits for."""

from __future__ import annotations

import json
import weakref
from collections.abc import Callable
from pathlib import Path

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import Effect, SendFrame, SpokenFor, StateChanged
from ofapp.bridge.params.params import BridgeParams
from ofapp.bridge.ports.port import LOCAL_PORT, MAX_PORTS, Port
from ofapp.bridge.stp import BridgeParams as StpParams
from ofapp.bridge.stp import SetPortState
from ofapp.bridge.stp.dumped import MAX_REASON
from ofapp.common import hub
from ofapp.controller.bridges.absentees import CAUTION, Absentees
from ofapp.controller.state.protocols import SPANNING_TREE, StateWriter
from ofapp.controller.state.store import State
from tests.unit.bridge.changes import changed

STP = BridgeParams(stp=StpParams())
ADDRESS = 0x020000000001


class Switch:
    """A session: keeps what it is asked to confirm."""

    def __init__(self) -> None:
        self.asked: list[Callable[[], None]] = []

    def confirm(self, done: Callable[[], None]) -> bool:
        self.asked.append(done)
        return True


class Kept:
    """A bridge whose tree has just begun, and its keeper."""

    def __init__(self, directory: Path, ports: int = 2) -> None:
        self.bridge = Bridge(1, STP)
        self.switch = Switch()
        self.sessions: dict[int, Switch] = {1: self.switch}
        self.directory = directory
        self.state = State(directory)
        self.snapshots = self.state.snapshots["stp"]
        self.memory = StateWriter(self.snapshots, {1: self.bridge}, self.sessions)
        local = Port(LOCAL_PORT, "br1", ADDRESS, True)
        self.report(self.bridge.set_ports([local, *map(port, range(1, ports + 1))], 0.0))

    def report(self, effects: list[Effect]) -> list[Effect]:
        for effect in effects:
            if isinstance(effect, StateChanged):
                self.memory.changed(self.bridge, effect)
        return effects

    def answer(self) -> None:
        """The switch has carried out all changes."""
        self.sessions[1].asked.pop()()

    def rest(self) -> None:
        """Nothing moves until it is written down."""
        assert self.memory.check()
        assert self.memory.check()
        self.answer()
        assert not self.memory.check()

    @property
    def document(self) -> dict[str, object]:
        """What another process would find."""
        self.state.finish(5)
        loaded = State(self.directory).snapshots["stp"].load(1)
        assert isinstance(loaded, dict)
        return loaded


def port(number: int, up: bool = True) -> Port:
    return Port(number, f"p{number}", number, up, 1000)


class TestTreeWriter:
    def test_a_tree_is_written_when_it_rests_and_the_switch_says_so(self, tmp_path: Path) -> None:
        kept = Kept(tmp_path)
        assert kept.document == {"behind": {}, "address": ADDRESS}
        assert kept.memory.check()  # it has just moved
        assert not kept.switch.asked
        assert kept.memory.check()
        kept.answer()
        assert "tree" in kept.document
        assert not kept.memory.check()

    def test_one_of_many_ports_is_written_in_portions_if_it_does_not_move_meanwhile(
        self, tmp_path: Path
    ) -> None:
        kept = Kept(tmp_path, ports=300)
        for moves in (True, False):
            assert kept.memory.check()
            assert kept.memory.check()
            kept.answer()
            for _ in range(3):
                hub.sleep(0)
            assert kept.bridge.stp.unwritten() is not None, "others have their turn"
            if moves:
                kept.report(kept.bridge.put_port(port(2, up=False), 1.0))
            for _ in range(30):
                hub.sleep(0)
            assert ("tree" in kept.document) is not moves
        ports = kept.document["tree"]["ports"]  # type: ignore[index]
        assert len(ports) == 300

    def test_one_of_as_many_ports_as_there_may_be_is_kept(self, tmp_path: Path) -> None:
        kept = Kept(tmp_path, ports=MAX_PORTS - 1)
        kept.report(kept.bridge.tick(3.5))
        document = kept.bridge.stp.dump()
        kept.snapshots.save(1, document)
        loaded = kept.document
        assert len(loaded["tree"]["ports"]) == MAX_PORTS - 1  # type: ignore[index]
        assert (tmp_path / "bridge-0000000000000001.json").stat().st_size < SPANNING_TREE.limit / 8
        again = Bridge(1, STP)
        again.stp.restore(loaded)
        assert again.stp.dump() == document

    def test_so_it_is_where_no_port_is_like_another(self, tmp_path: Path) -> None:
        kept = Kept(tmp_path)
        document = kept.bridge.stp.dump()
        assert document is not None
        alike, first = document["tree"]["alike"], document["tree"]["ports"][0]
        most = len(json.dumps({**alike, **first})) + MAX_REASON
        assert most * MAX_PORTS < SPANNING_TREE.limit

    def test_a_connection_that_ended_before_its_switch_confirmed_is_not_kept(
        self, tmp_path: Path
    ) -> None:
        """It would have kept what the switch had said, megabytes, for as long as the bridge."""
        kept = Kept(tmp_path)
        assert kept.memory.check()
        assert kept.memory.check()
        over = weakref.ref(kept.switch)
        kept.switch = kept.sessions[1] = Switch()
        assert over() is None
        assert kept.memory.check(), "its successor is asked"
        kept.answer()
        assert "tree" in kept.document

    def test_it_is_struck_out_before_it_moves(self, tmp_path: Path) -> None:
        kept = Kept(tmp_path)
        kept.rest()
        effects = kept.bridge.tick(3.5)  # no BPDU was heard: edges
        assert isinstance(effects[0], StateChanged)
        assert any(isinstance(effect, SetPortState) for effect in effects)
        kept.report(effects)
        assert kept.document == {"behind": {"p1": 0, "p2": 0}, "address": ADDRESS}

    def test_a_hello_is_no_move(self, tmp_path: Path) -> None:
        kept = Kept(tmp_path)
        kept.report(kept.bridge.tick(3.5))
        kept.report(kept.bridge.tick(5.6))
        kept.rest()
        for now in (8.0, 10.0, 12.0):
            effects = kept.bridge.tick(now)
            assert [type(effect) for effect in effects] == [SendFrame, SendFrame]

    def test_what_moves_while_the_switch_is_asked_is_not_written(self, tmp_path: Path) -> None:
        kept = Kept(tmp_path)
        assert kept.memory.check()
        assert kept.memory.check()
        kept.report(kept.bridge.put_port(port(2, up=False), 1.0))
        kept.answer()
        assert "tree" not in kept.document

    def test_a_switch_that_is_slow_is_asked_once(self, tmp_path: Path) -> None:
        kept = Kept(tmp_path)
        for _ in range(10):
            assert kept.memory.check()
        assert len(kept.switch.asked) == 1
        kept.sessions[1] = Switch()  # it comes again: the first answer never will
        assert kept.memory.check()
        kept.answer()
        assert "tree" in kept.document

    def test_a_switch_that_is_away_is_not_asked(self, tmp_path: Path) -> None:
        kept = Kept(tmp_path)
        del kept.sessions[1]
        assert not kept.memory.check()
        assert not kept.memory.check()
        assert "tree" not in kept.document

    def test_a_tree_that_is_stopped_is_not_remembered(self, tmp_path: Path) -> None:
        kept = Kept(tmp_path)
        kept.report(kept.bridge.tick(3.5))
        kept.rest()
        kept.report(kept.bridge.set_params(changed(kept.bridge, stp=None), 9.0))
        assert kept.document == {"behind": {}, "address": ADDRESS}
        assert not kept.memory.check()

    def test_the_bridges_of_which_there_are_snapshots(self, tmp_path: Path) -> None:
        state = State(tmp_path)
        state.snapshots["stp"].save(0xAB, {})
        state.finish(5)
        assert State(tmp_path).snapshots["stp"].bridges == [0xAB]
        assert State(None).snapshots["stp"].bridges == []

    def test_what_is_struck_is_gone_before_any_file_is_written(self, tmp_path: Path) -> None:
        state = State(tmp_path)
        state.snapshots["stp"].save(1, {"tree": 1})
        state.snapshots["stp"].save(2, {"tree": 2})
        state.finish(5)
        state.snapshots["stp"].invalidate(1, {"behind": {}})  # and the process is killed
        again = State(tmp_path).snapshots["stp"]
        assert (again.load(1), again.load(2)) == (None, {"tree": 2})

    def test_marks_that_are_lost_leave_nothing_to_go_by(self, tmp_path: Path) -> None:
        state = State(tmp_path)
        state.snapshots["stp"].save(1, {"tree": 1})
        state.finish(5)
        (tmp_path / "marks").write_bytes(b"?")
        assert State(tmp_path).snapshots["stp"].load(1) is None

    def test_without_marks_nothing_is_remembered(self, tmp_path: Path) -> None:
        (tmp_path / "marks").mkdir()
        state = State(tmp_path)
        state.snapshots["stp"].save(1, {"tree": 1})
        state.finish(5)
        assert State(tmp_path).snapshots["stp"].load(1) is None


class TestAbsentees:
    def made(self, remembered: list[int]) -> tuple[Absentees, dict[int, Bridge], list[int]]:
        bridges: dict[int, Bridge] = {}
        calmed: list[int] = []
        absentees = Absentees(
            bridges, lambda bridge, _effects: calmed.append(bridge.datapath_id), remembered, 100.0
        )
        return absentees, bridges, calmed

    def met(
        self, absentees: Absentees, bridges: dict[int, Bridge], number: int, now: float = 100.0
    ) -> Bridge:
        bridge = bridges[number] = Bridge(number, STP)
        absentees.greet(bridge, now)
        return bridge

    def test_who_comes_waits_for_the_others_but_not_for_ever(self) -> None:
        absentees, bridges, calmed = self.made([1, 2])
        one, two = (self.met(absentees, bridges, number) for number in (1, 2))
        assert one.stp.cautious_until == 100.0 + CAUTION
        absentees.back(one, 101.0)
        assert calmed == []
        absentees.back(two, 102.0)
        assert calmed == [1, 2]
        assert one.stp.cautious_until == 102.0
        assert self.met(absentees, bridges, 3).stp.cautious_until == 102.0

    def test_bpdus_may_be_under_way_however_long_a_switch_was_absent(self) -> None:
        """They were forwarded by switches without a controller until one was back."""
        absentees, bridges, _ = self.made([])
        absentees.expect(1, 100.0)
        late = 100.0 + 2 * CAUTION
        assert self.met(absentees, bridges, 1, late).stp.cautious_until == late

    def test_nobody_waits_where_nobody_was(self) -> None:
        absentees, bridges, calmed = self.made([])
        assert self.met(absentees, bridges, 1).stp.cautious_until <= 100.0
        absentees.back(bridges[1], 101.0)
        assert calmed == []

    def test_only_the_neighbours_of_who_goes_beware(self) -> None:
        absentees, bridges, _ = self.made([])
        gone, other = (self.met(absentees, bridges, number) for number in (1, 2))
        stranger = self.met(absentees, bridges, 3)
        for bridge in (gone, other, stranger):
            bridge.set_ports([port(1)], 100.0)
            assert SpokenFor() in bridge.go_on(100.0)
        hello = next(e for e in gone.tick(104.5) if isinstance(e, SendFrame))
        other.hear("bpdu", [(1, hello.frame)], 104.5)
        absentees.gone(gone, 105.0)
        assert other.stp.cautious_until == 105.0 + CAUTION
        assert stranger.stp.cautious_until < 105.0
