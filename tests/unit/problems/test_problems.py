"""Problems: which stand, since when, and who has acknowledged them."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from string import Formatter
from typing import Any

import pytest
import typer

import ofapp
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.event import ERROR, INFO, WARNING, Event
from ofapp.bridge.fabric.status import LinkState
from ofapp.bridge.params.params import BridgeParams, PortParams
from ofapp.bridge.params.policy import MoveLimit, Policies
from ofapp.bridge.ports.port import LOCAL_PORT, Port
from ofapp.bridge.problem import Problem, ProblemKind
from ofapp.bridge.stp import BridgeParams as StpParams
from ofapp.bridge.stp import PortParams as StpPortParams
from ofapp.cli.app import app
from ofapp.controller.problems.acknowledged import Acknowledgements
from ofapp.controller.problems.cables import Cable, Cables, Socket
from ofapp.controller.problems.catalogue import KINDS
from ofapp.controller.problems.kinds import START
from ofapp.controller.problems.problems import OF_KIND, Problems
from ofapp.controller.problems.sources import Found, of_fabric
from ofapp.controller.problems.stored_cables import CABLES
from tests.unit.api.fabrics import STATUS
from tests.unit.bridge.test_spanning_tree import frames

BAD = ProblemKind("test.bad", ERROR, "Bad.", "See.", "It ends.", "ofapp stp show {bridge}")
ODD = ProblemKind("test.odd", WARNING, "Odd.", "See.", "It ends.", delay=5.0)


class Storage:
    """Documents in memory."""

    def __init__(self) -> None:
        self.documents: dict[str, bytes] = {}

    def read(self, name: str, most: int) -> bytes:
        if name not in self.documents:
            raise FileNotFoundError(name)
        return self.documents[name]

    def put(self, name: str, data: bytes, sync: bool, first: bool = False) -> Any:
        self.documents[name] = data


class _Source:
    def __init__(self, bed: Bed) -> None:
        self.bed = bed

    def problems(self) -> list[Found]:
        return self.bed.wrong

    def judges(self, bridge: int | None) -> bool:
        return True


class Bed:
    """Problems of a network in which what is wrong is said, in virtual time."""

    def __init__(self, storage: Storage | None = None, now: float = 1000.0) -> None:
        self.now = now
        self.wrong: list[Found] = []
        self.events: list[Event] = []
        self.storage = storage or Storage()
        self.acknowledged = Acknowledgements(self.storage, self._emit)  # type: ignore[arg-type]
        self.problems = Problems(_Source(self), self.acknowledged, self._emit, lambda: self.now)
        self.bridge = Bridge(7, BridgeParams())
        local = Port(LOCAL_PORT, "br-a b", 9, True)
        self.bridge.set_ports([Port(1, "eth1", 1, True), local], 0.0)

    def _emit(self, bridge: int | None, event: Event) -> None:
        self.events.append(event)

    def review(self, *wrong: Problem, after: float = 1.0) -> list[str]:
        """Let time pass; gives the kinds that stand."""
        self.now += after
        self.wrong = [Found(self.bridge, problem) for problem in wrong]
        self.problems.review()
        return [each.kind.name for each in self.problems]


@pytest.fixture
def bed() -> Bed:
    return Bed()


class TestStanding:
    def test_the_worst_is_first_and_each_begins_and_ends_with_an_event(self, bed: Bed) -> None:
        odd, bad = ODD.at("odd"), BAD.at("bad", 1)
        assert bed.review(odd, bad) == ["test.bad"]
        assert bed.review(odd, bad, after=5.0) == ["test.bad", "test.odd"]
        assert bed.review(odd) == ["test.odd"]
        assert bed.review() == []
        begun = [(event.kind, event.severity) for event in bed.events]
        assert begun == [
            ("problem.began", ERROR),
            ("problem.began", WARNING),
            ("problem.ended", INFO),
            ("problem.ended", INFO),
        ]

    def test_a_condition_that_ends_before_its_delay_is_none(self, bed: Bed) -> None:
        bed.review(ODD.at("odd"))
        bed.review(after=3.0)
        assert bed.review(ODD.at("odd"), after=3.0) == []
        assert bed.events == []

    def test_the_remedy_is_a_command_for_a_shell(self, bed: Bed) -> None:
        bed.review(BAD.at("bad", 1))
        (problem,) = bed.problems
        assert (problem.port, problem.remedy) == ("eth1", "ofapp stp show 'br-a b'")

    def test_since_and_id_stay_while_the_words_change(self, bed: Bed) -> None:
        bed.review(BAD.at("2 are bad", 1))
        (before,) = bed.problems
        bed.review(BAD.at("3 are bad", 1), after=60.0)
        (now,) = bed.problems
        assert (now.id, now.since) == (before.id, before.since)
        assert now.message == "3 are bad"

    def test_subjects_and_ports_are_problems_by_themselves(self, bed: Bed) -> None:
        bed.review(BAD.at("x"), BAD.at("x", 1), BAD.at("x", subject="vlan 7"))
        assert len({each.id for each in bed.problems}) == 3

    def test_one_kind_does_not_fill_the_list(self, bed: Bed) -> None:
        bed.review(*(BAD.at("x", subject=str(n)) for n in range(OF_KIND + 5)), ODD.at("odd"))
        bed.review(*(found.problem for found in bed.wrong), after=5.0)
        assert [each.kind.name for each in bed.problems].count("test.odd") == 1
        assert (len(bed.problems), bed.problems.left_out) == (OF_KIND + 1, 5)

    def test_words_of_hosts_cannot_control_a_terminal(self, bed: Bed) -> None:
        bed.review(BAD.at("a\x1b[2Jb"))
        (problem,) = bed.problems
        assert problem.message.isprintable()


class TestAcknowledgements:
    def test_it_lasts_until_the_problem_ends_and_survives_a_restart(self, bed: Bed) -> None:
        bed.review(BAD.at("bad"))
        (problem,) = bed.problems
        bed.problems.acknowledge(problem.id, "ann", "seen")
        assert bed.problems.counts() == {}
        again = Bed(bed.storage)
        again.review(BAD.at("bad"))
        (same,) = again.problems
        assert same.acknowledged is not None
        assert (same.acknowledged.by, same.acknowledged.comment) == ("ann", "seen")
        again.review()
        again.review(BAD.at("bad"))
        assert again.problems.counts() == {ERROR: 1}

    def test_it_ends_with_a_problem_that_ended_while_no_controller_ran(self, bed: Bed) -> None:
        bed.review(BAD.at("bad"))
        (problem,) = bed.problems
        bed.problems.acknowledge(problem.id, "ann", "")
        again = Bed(bed.storage)
        again.review()
        again.review(after=START + 1)
        again.review(BAD.at("bad"))
        assert again.problems.counts() == {ERROR: 1}

    def test_it_can_be_taken_back(self, bed: Bed) -> None:
        bed.review(BAD.at("bad"))
        (problem,) = bed.problems
        bed.problems.acknowledge(problem.id, "ann", "")
        bed.problems.take_back(problem.id)
        assert bed.problems.counts() == {ERROR: 1}

    def test_what_does_not_stand_cannot_be_acknowledged(self, bed: Bed) -> None:
        with pytest.raises(KeyError):
            bed.problems.acknowledge("00000000", "ann", "")

    @pytest.mark.parametrize(
        "stored", [b"", b"[1]", b'{"version": 1}', b'{"version":1,"acknowledged":{"a":3}}']
    )
    def test_a_damaged_document_is_reported(self, stored: bytes) -> None:
        storage = Storage()
        storage.documents["acknowledged.json"] = stored
        storage.set_aside = lambda name: name  # type: ignore[attr-defined]
        storage.place = lambda name: name  # type: ignore[attr-defined]
        assert [event.kind for event in Bed(storage).events] == ["state.damaged"]


class TestCables:
    A, B, C = Socket(1, "eth1"), Socket(2, "eth1"), Socket(3, "eth1")

    def test_the_stored_form_is_read_again(self) -> None:
        cables = (Cable(self.A, self.B), Cable(self.A, self.C))
        assert CABLES.encode is not None
        assert CABLES.decode is not None
        assert CABLES.decode(CABLES.encode(cables)) == cables
        assert CABLES.decode(CABLES.encode(())) == ()

    @pytest.mark.parametrize("rows", [[1], [["a", "b"]], [["a", 2, "b"]], "ab", None])
    def test_damage_is_a_value_error(self, rows: object) -> None:
        data = json.dumps({"version": 1, "bridge": f"{1:016x}", "cables": rows}).encode()
        assert CABLES.decode is not None
        with pytest.raises(ValueError, match=r".+"):
            CABLES.decode(data)

    def test_only_a_missing_cable_can_be_forgotten(self) -> None:
        cables = Cables()
        cables.remember([Cable(self.A, self.B)])
        assert cables.forget(self.B)
        assert not cables.forget(self.B)


class TestBridges:
    def test_a_guard_that_closes_a_port(self) -> None:
        ports = {"p1": PortParams(stp=StpPortParams(bpdu_guard=True))}
        bridge, other = (
            Bridge(number, BridgeParams(stp=StpParams(), ports=ports if number == 1 else {}))
            for number in (1, 2)
        )
        effects = {}
        for each in (bridge, other):
            local = Port(
                LOCAL_PORT, f"br{each.datapath_id}", 0x020000000100 + each.datapath_id, True
            )
            effects[each] = each.set_ports([Port(1, "p1", 1, True, 1000), local], 0.0)
        assert [*bridge.problems(0.0)] == []
        (hello, *_) = frames(effects[other], 1)
        bridge.hear("bpdu", [(1, hello)], 0.1)
        (problem,) = bridge.problems(0.2)
        assert (problem.of.name, problem.port) == ("stp.bpdu-guard", 1)
        bridge.carry_out(bridge.stp.recover(1, 0.3), 0.3)
        assert [*bridge.problems(0.4)] == []

    def test_addresses_that_flap_are_one_problem_for_two_ports(self) -> None:
        bridge = Bridge(1, BridgeParams(policies=Policies(mac_move=MoveLimit(2, 10.0, 30.0))))
        bridge.set_ports([Port(number, f"p{number}", number, True) for number in (1, 2)], 0.0)
        for step in range(12):
            bridge.learning.learn([(1 + step % 2, 0, mac) for mac in (0xA0, 0xB0)], 1 + step / 10)
        (problem,) = bridge.problems(3.0)
        assert problem.of.name == "fdb.flapping"
        assert problem.data["addresses"] == 2
        bridge.tick(60.0)
        assert [*bridge.problems(60.0)] == []

    def test_a_limit_that_is_reached(self) -> None:
        bridge = Bridge(1, BridgeParams(ports={"p1": PortParams(2)}))
        bridge.set_ports([Port(1, "p1", 1, True)], 0.0)
        bridge.learning.learn([(1, 0, 0x020000000000 + n) for n in range(3)], 1.0)
        (problem,) = bridge.problems(1.0)
        assert (problem.of.name, problem.port) == ("fdb.limit", 1)
        bridge.flush()
        assert [*bridge.problems(2.0)] == []


def modules() -> Iterator[Path]:
    """All modules that declare kinds of problems."""
    for path in Path(ofapp.__file__).parent.rglob("*.py"):
        if re.search(r"^[A-Z_]+ = ProblemKind\(|: ProblemKind\($", path.read_text(), re.MULTILINE):
            yield path


class TestCatalogue:
    def test_it_has_all_that_is_declared(self) -> None:
        declared = "".join(path.read_text() for path in modules())
        names = re.findall(r'ProblemKind\(\n\s+"([a-z.-]+)"', declared)
        assert len(names) > 15
        assert sorted(names) == sorted(KINDS)

    @pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
    def test_the_remedy_is_a_command_of_ofapp(self, kind: ProblemKind) -> None:
        """It names a command, with as many words as that takes."""
        if not kind.remedy:
            return
        given = {field: "x" for _, field, _, _ in Formatter().parse(kind.remedy) if field}
        program, *words = shlex.split(kind.remedy.format(**given))
        assert program == "ofapp"
        command = typer.main.get_command(app)
        context = typer.Context(command, info_name="ofapp")
        while hasattr(command, "commands"):
            command = command.commands[words.pop(0)]
            context = typer.Context(command, parent=context, info_name=command.name)
        command.parse_args(typer.Context(command, parent=context), words)

    def test_sentences_are_whole(self) -> None:
        for kind in KINDS.values():
            for sentence in (kind.meaning, kind.advice, kind.ends):
                assert sentence[0].isupper(), kind.name
                assert sentence.endswith("."), kind.name


class TestFabrics:
    def test_a_member_that_is_disconnected_and_the_pause_that_follows(self) -> None:
        first, *others = STATUS.members
        status = replace(
            STATUS, members=(replace(first, connected=False), *others), links=(), paused="s1"
        )
        assert [problem.of.name for problem in of_fabric(status)] == [
            "fabric.member",
            "fabric.paused",
        ]

    @pytest.mark.parametrize("state", LinkState)
    def test_a_link_that_should_carry_frames_and_does_not(self, state: LinkState) -> None:
        link = replace(STATUS.links[0], state=state, reason="it is so")
        problems = [*of_fabric(replace(STATUS, links=(link,), paused=""))]
        healthy = state in (LinkState.CARRIES, LinkState.UNREACHABLE)
        assert [problem.of.name for problem in problems] == ([] if healthy else ["fabric.link"])
        for problem in problems:
            assert "it is so" in str(problem.text)
