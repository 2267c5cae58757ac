"""Problems: which stand, since when, and who has acknowledged them."""

from __future__ import annotations

import json
import re
import shlex
import time
from collections.abc import Container, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from string import Formatter
from types import SimpleNamespace
from typing import Any

import pytest
import typer
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

import ofapp
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.datapath_status import DatapathStatus
from ofapp.bridge.event import ERROR, INFO, WARNING, Event
from ofapp.bridge.fabric.status import LinkState
from ofapp.bridge.fdb.move_guard import QUICK
from ofapp.bridge.lag.problems import problems as lag_problems
from ofapp.bridge.lag.status import LagStatus, MemberStatus, PartyStatus
from ofapp.bridge.lldp import AgentStatus, NeighbourStatus, OwnAgents
from ofapp.bridge.lldp import BridgeParams as LldpParams
from ofapp.bridge.params.acl import STATES, first_zone
from ofapp.bridge.params.params import BridgeParams, PortParams
from ofapp.bridge.params.policy import AclRule, MoveLimit, Policies, PortPolicy
from ofapp.bridge.ports.names import identified
from ofapp.bridge.ports.port import LOCAL_PORT, Port
from ofapp.bridge.problem import Problem, ProblemKind
from ofapp.bridge.state import SharedState
from ofapp.bridge.stp import Around, PortAround, PortRole, PortState
from ofapp.bridge.stp import BridgeParams as StpParams
from ofapp.bridge.stp import PortParams as StpPortParams
from ofapp.bridge.stp.bpdu import encode
from ofapp.cli.app import app
from ofapp.cli.parameters import SettingCommand
from ofapp.config.notify import Notify
from ofapp.controller.cluster.etcd.etcd import Node
from ofapp.controller.cluster.etcd.health import EtcdHealth
from ofapp.controller.cluster.peers.members import ClusterMember
from ofapp.controller.cluster.problems import of_etcd, of_members
from ofapp.controller.problems.absent import KNOWN, AbsentSwitches
from ofapp.controller.problems.acknowledged import Acknowledgements
from ofapp.controller.problems.cables import watch
from ofapp.controller.problems.cables.cables import Cable, Cables, Socket
from ofapp.controller.problems.cables.stored import CABLES
from ofapp.controller.problems.cables.watch import CableWatch
from ofapp.controller.problems.catalogue import KINDS
from ofapp.controller.problems.certificates import Certificates
from ofapp.controller.problems.kinds import START
from ofapp.controller.problems.notifier import Notifier
from ofapp.controller.problems.overload import problems as overload
from ofapp.controller.problems.problems import OF_KIND, Problems
from ofapp.controller.problems.sources import Found, of_fabric, same_zones
from ofapp.controller.state.store import State
from ofapp.controller.topology import Surroundings
from tests.unit.api.fabrics import STATUS
from tests.unit.bridge.stp.lab import rst
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
        self.settings: Notify | None = None
        self.notifier = Notifier(lambda: self.settings, lambda: None)
        self.problems = Problems(
            _Source(self), self.acknowledged, self._emit, self.notifier, lambda: self.now
        )
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
        assert (len(bed.problems), bed.problems.listing.left_out) == (OF_KIND + 1, 5)

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


def _agent(port: int, other: int, far: int) -> AgentStatus:
    """A port that is a link, and hears port `far` of bridge `other`."""
    said: Any = None
    heard = NeighbourStatus(said, (other, far), since=0.0, seen=0.0, expires=120.0)
    return AgentStatus(port, f"eth{port}", True, True, False, {}, (heard,))


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
        assert cables.forget(self.B, ())
        assert not cables.forget(self.B, ())

    def linked(self, one: int, port: int, other: int, far: int) -> dict[int, Surroundings]:
        """Bridges 1 to 3, of which two see each other by LLDP at ports that are links."""
        heard = {one: (port, other, far), other: (far, one, port)}
        return {
            number: Surroundings(
                datapath_id=number,
                name=f"br{number}",
                connected=True,
                address=number,
                tree=None,
                agents=(_agent(*heard[number]),) if number in heard else (),
                names={1: "eth1", 2: "eth2"},
                members={},
            )
            for number in (1, 2, 3)
        }

    def wrong(
        self,
        cables: Cables,
        down: Mapping[Socket, str] | None = None,
        shut: Container[Socket] = (),
    ) -> list[tuple[int, str]]:
        found = cables.problems({1: "br1", 2: "br2", 3: "br3"}, down or {}, shut)
        return [(bridge, problem.of.name) for bridge, problem in found]

    @pytest.mark.parametrize("answers", [True, False])
    def test_a_link_of_spanning_tree_alone_is_a_cable_if_both_ends_hear_a_bridge(
        self, answers: bool
    ) -> None:
        """Any host can send a BPDU with the identifiers of a bridge and of a port."""
        identifiers = [0x8000_0200_0000_0000 | number for number in (1, 2)]
        listens = PortAround(1, 1, PortRole.ROOT, PortState.FORWARDING, identifiers[0], 0x8001)
        heard = identifiers[1] if answers else 0
        sends = PortAround(1, 1, PortRole.DESIGNATED, PortState.FORWARDING, heard, None)
        trees = [Around(each, identifiers[0], ()) for each in identifiers]
        around = {
            number: replace(
                self.linked(1, 1, 2, 1)[number], agents=(), tree=tree._replace(ports=(port,))
            )
            for number, tree, port in zip((1, 2), trees, (sends, listens), strict=True)
        }
        found = {Cable(self.A, self.B)} if answers else set()
        assert Cables().observe(around, ()) == found

    def test_a_cable_whose_port_has_no_carrier_is_missing_at_once(self) -> None:
        cables = Cables()
        assert cables.observe(self.linked(1, 1, 2, 1), ()) == {Cable(self.A, self.B)}
        assert self.wrong(cables) == []
        down = {self.B: "has no carrier"}
        assert self.wrong(cables, down) == [(1, "cable.missing")]
        assert self.wrong(cables, down, shut={self.A}) == [], "it is meant"
        assert self.wrong(cables) == [], "it is back"

    def test_ends_that_are_up_and_do_not_see_each_other_are_silent(self) -> None:
        cables = Cables()
        cables.observe(self.linked(1, 1, 2, 1), ())
        assert not cables.observe({}, ())
        assert self.wrong(cables) == [(1, "cable.silent")]

    def test_an_end_that_a_guard_has_closed_is_not_silent(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """BPDU guard is the problem, and a loop through hosts may have looked like a cable."""
        guarded = PortParams(stp=StpPortParams(bpdu_guard=True))
        bridges = {
            number: Bridge(number, BridgeParams(stp=StpParams(), ports={"eth1": guarded}))
            for number in (1, 2)
        }
        for number, bridge in bridges.items():
            local = Port(LOCAL_PORT, f"br{number}", 9 + number, True)
            bridge.set_ports([Port(1, "eth1", number, True), local], 0.0)
        registry: Any = SimpleNamespace(bridges=bridges, datapaths=bridges)
        stored: Any = SimpleNamespace(load=lambda _: (), save=lambda *_: None)
        linked = self.linked(1, 1, 2, 1)
        monkeypatch.setattr(watch, "around", lambda *_: [*linked.values()])
        monkeypatch.setattr(watch, "OBSERVE", 0.0)
        cables = CableWatch(registry, stored)
        assert [*cables.problems()] == []
        linked.clear()
        assert [problem.of.name for _, problem in cables.problems()] == ["cable.silent"]
        bridges[2].hear("bpdu", [(1, encode(rst(), 0x0200_0000_AAAA))], 1.0)
        assert [*cables.problems()] == []
        bridges[2].carry_out(bridges[2].stp.recover(1, 2.0), 2.0)
        assert [problem.of.name for _, problem in cables.problems()] == ["cable.silent"]

    def test_a_cable_in_another_port_replaces_the_former_cable(self) -> None:
        cables = Cables()
        cables.observe(self.linked(1, 1, 2, 1), ())
        cables.observe(self.linked(1, 1, 2, 2), ())
        assert [*cables] == [Cable(self.A, Socket(2, "eth2"))]
        assert self.wrong(cables) == []

    def test_what_protocols_still_know_of_a_dark_port_is_no_cable(self) -> None:
        cables = Cables()
        assert cables.observe(self.linked(1, 1, 2, 1), {self.B}) == set()

    def test_cables_of_a_bridge_that_another_controller_has_are_left(self) -> None:
        cables = Cables()
        cables.remember([Cable(self.A, self.B), Cable(self.B, self.C)])
        cables.leave({1})
        assert [*cables] == [Cable(self.B, self.C)]


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

    @pytest.mark.parametrize("moves", [3, 5])
    def test_an_address_that_moves_many_times_in_a_second_is_a_loop(self, moves: int) -> None:
        bridge = Bridge(1, BridgeParams(policies=Policies(mac_move=MoveLimit(moves, 10.0, 30.0))))
        bridge.set_ports([Port(number, f"p{number}", number, True) for number in (1, 2)], 0.0)
        for step in range(12):
            bridge.learning.learn([(1 + step % 2, 0, 0xA0)], 1 + step / 10)
        (problem,) = bridge.problems(3.0)
        assert problem.of.name == ("loop.suspected" if moves >= QUICK else "fdb.flapping")
        bridge.tick(60.0)
        assert [*bridge.problems(60.0)] == []

    def test_frames_with_its_own_address_that_keep_arriving_are_a_loop(self) -> None:
        bridge = Bridge(1, BridgeParams())
        bridge.set_ports([Port(1, "p1", 1, True)], 0.0)
        frame = bytes.fromhex("ffffffffffff020000000001") + bytes(50)
        bridge.hear("own", [(1, frame)], 1.0)
        assert [*bridge.problems(3.0)] == [], "one frame is no loop"
        bridge.hear("own", [(1, frame)], 3.0)
        (problem,) = bridge.problems(3.0)
        assert (problem.of.name, problem.port) == ("loop.suspected", 1)
        assert [*bridge.problems(14.0)] == []

    @pytest.mark.parametrize("far", [1, 2])
    def test_its_own_lldp_frames_show_a_loop_while_both_ports_forward(self, far: int) -> None:
        params = BridgeParams(lldp=LldpParams())
        bridge = Bridge(1, params, SharedState(OwnAgents(b"secret")))
        ports = [Port(number, f"p{number}", number, True) for number in (1, 2, LOCAL_PORT)]
        (sent,) = frames(bridge.set_ports(ports, 0.0) + bridge.tick(5.0), 1)
        bridge.hear("lldp", [(far, sent)], 5.1)
        (problem,) = bridge.problems(5.2)
        assert (problem.of.name, problem.data["ports"]) == ("loop.suspected", [1, far])
        assert [*bridge.problems(300.0)] == []
        bridge.hear("lldp", [(far, sent)], 301.0)
        bridge.set_ports([replace(ports[0], up=False), *ports[1:]], 301.0)
        assert [*bridge.problems(301.0)] == []

    def test_a_limit_that_is_reached(self) -> None:
        bridge = Bridge(1, BridgeParams(ports={"p1": PortParams(2)}))
        bridge.set_ports([Port(1, "p1", 1, True)], 0.0)
        bridge.learning.learn([(1, 0, 0x020000000000 + n) for n in range(3)], 1.0)
        (problem,) = bridge.problems(1.0)
        assert (problem.of.name, problem.port) == ("fdb.limit", 1)
        bridge.flush()
        assert [*bridge.problems(2.0)] == []

    def test_ports_of_one_name_and_half_duplex(self) -> None:
        bridge = Bridge(1, BridgeParams())
        long = "a-very-long-nam"
        good = [Port(1, "p1", 1, True), Port(2, "p2", 2, True)]
        alike = identified([*good, Port(3, long, 3, True), Port(4, long, 4, True)])
        bridge.set_ports(alike, 0.0)
        (problem,) = bridge.problems(0.0)
        assert (problem.of.name, problem.data["numbers"]) == ("port.ambiguous", [3, 4])
        bridge.set_ports([*good, Port(3, long, 3, True, 100, full_duplex=False)], 1.0)
        (problem,) = bridge.problems(1.0)
        assert (problem.of.name, problem.port) == ("port.half-duplex", 3)
        bridge.set_ports([*good, Port(3, long, 3, False, 100, full_duplex=False)], 2.0)
        assert [*bridge.problems(2.0)] == []


class TestAggregations:
    def kinds(self, *state: str, distributing: bool = True) -> list[str]:
        partner = PartyStatus(1, 9, 9, 255, 3, state)
        given = "eth1", 1, True, 1000, "distributing" if distributing else "attached", ""
        member = MemberStatus(*given, True, distributing, partner=partner)
        lag = LagStatus("lag0", 4095, "active", "layer2", True, 1000, 1, (member,))
        return [problem.of.name for problem in lag_problems((lag,), ())]

    def test_a_partner_that_does_not_receive(self) -> None:
        assert self.kinds("synchronization") == ["lag.half-open"]
        assert self.kinds("synchronization", "collecting") == []
        assert self.kinds("synchronization", distributing=False) == ["lag.member"]


class TestSwitches:
    def status(self, **more: Any) -> DatapathStatus:
        counts = {"broadcast": {1: 7}, "learning": {1: 3}, "bpdu": {}}
        return DatapathStatus(True, None, [], True, {}, counts, None, **more)  # type: ignore[arg-type]

    def test_what_a_switch_has_too_much_of(self) -> None:
        limited = {"broadcast": {1}, "bpdu": {2}, "learning": {1}, "igmp": set()}
        found = [*overload(self.status(limited=limited, throttled=True))]
        assert [(problem.of.name, problem.port) for problem in found] == [
            ("port.storm", 1),
            ("port.held-back", 2),
            ("port.new-addresses", 1),
            ("switch.throttled", None),
        ]
        assert found[0].data == {"frames": "broadcast", "count": 7}
        assert [*overload(self.status())] == []


class TestAbsent:
    """Switches that do not come back after a restart of the controller."""

    def sources(self, folder: Path, *connected: str) -> AbsentSwitches:
        """The next process of a controller, and the bridges that are connected to it."""
        registry: Any = SimpleNamespace(
            bridges={
                number: SimpleNamespace(name=name, ports=SimpleNamespace(complete=True))
                for number, name in enumerate(connected, 1)
            }
        )
        registry.datapaths = registry.bridges
        self.state = State(folder)
        return AbsentSwitches(registry, self.state.known)

    def test_it_is_named_after_a_restart_until_it_is_back_or_forgotten(
        self, tmp_path: Path
    ) -> None:
        first = self.sources(tmp_path, "br1", "br2")
        assert [*first.problems(0.0)] == []
        self.state.finish(5.0)
        second = self.sources(tmp_path, "br1")
        (problem,) = second.problems(0.0)
        assert (problem.of.name, problem.data["name"]) == ("switch.absent", "br2")
        assert second.find("br2") == second.find(f"{2:016x}") == 2
        assert second.find("br1") is None
        assert [*self.sources(tmp_path, "br1", "br2").problems(0.0)] == []
        third = self.sources(tmp_path, "br1")
        self.state.forget(2)
        assert [*third.problems(0.0)] == []

    def test_it_is_forgotten_after_the_time_in_the_file(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert [*self.sources(tmp_path, "br1").problems(0.0)] == []
        self.state.finish(5.0)
        absent = self.sources(tmp_path)
        assert len([*absent.problems(3600.0)]) == 1
        now = time.monotonic() + 3601.0
        monkeypatch.setattr(time, "monotonic", lambda: now)
        assert [*absent.problems(3600.0)] == []

    @pytest.mark.parametrize("data", [b"{}", b'{"version": 1}', b"x", b"[]"])
    def test_damage_is_a_value_error(self, data: bytes) -> None:
        assert KNOWN.decode is not None
        with pytest.raises(ValueError, match=r".+"):
            KNOWN.decode(data)


class TestCertificates:
    @pytest.mark.parametrize(
        ("days", "kind"), [(-1, "certificate.ended"), (20, "certificate.ends-soon"), (22, None)]
    )
    def test_the_end_of_a_certificate(self, tmp_path: Path, days: int, kind: str | None) -> None:
        file = tmp_path / "api.pem"
        file.write_bytes(_certificate(days))
        found = Certificates({"the REST API": file}).problems()
        assert [problem.of.name for problem in found] == ([] if kind is None else [kind])

    def test_one_that_is_not_valid_yet(self, tmp_path: Path) -> None:
        file = tmp_path / "api.pem"
        file.write_bytes(_certificate(90, begins=1))
        (problem,) = Certificates({"the REST API": file}).problems()
        assert problem.of.name == "certificate.not-yet-valid"
        assert "is valid from 20" in str(problem.text)

    def test_a_renewed_file_ends_the_problem(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("ofapp.controller.problems.certificates.AGAIN", 0.0)
        file = tmp_path / "api.pem"
        file.write_bytes(_certificate(1))
        certificates = Certificates({"the REST API": file})
        assert [*certificates.problems()]
        file.write_bytes(_certificate(90))
        assert [*certificates.problems()] == []
        file.unlink()
        assert [*certificates.problems()] == []


def _certificate(days: int, begins: int = -30) -> bytes:
    """A certificate that ends in so many days, and begins to be valid in so many."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "ofapp")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), 1)
        .not_valid_before(now + timedelta(days=begins))
        .not_valid_after(now + timedelta(days=days))
    )
    return made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


class TestCluster:
    def test_nodes_of_etcd(self) -> None:
        health = EtcdHealth(_Nodes(), lambda *_: None, 2.0)  # type: ignore[arg-type]
        health.look()
        assert [problem.of.name for problem in of_etcd(health, [])] == [
            "cluster.etcd-node",
            "cluster.etcd-slow",
            "cluster.etcd-alarm",
        ]
        health.nodes = (Node("a", has_leader=True, seconds=0.01),)
        assert [*of_etcd(health, [])] == []
        health.nodes = (Node("a", has_leader=True, ahead=-60.0),)
        (clocks,) = of_etcd(health, [])
        assert clocks.text == "the clock of etcd's node a is 60 s behind ours"
        health.nodes = (Node("a", has_leader=True, ahead=2.0),)
        (invalid,) = of_etcd(health, [("/ofapp/x", "no such key")])
        assert invalid.of.name == "cluster.invalid-keys"

    def test_members(self) -> None:
        member = ClusterMember("a", "http://a", 1, 0.0)
        states = member, replace(member, gone=1.0), replace(member, drained=True)
        assert [problem.of.name for problem in of_members(states)] == [
            "cluster.member-gone",
            "cluster.member-drained",
        ]


class _Nodes:
    """An etcd of which a node is gone and another one is full and slow."""

    def nodes(self) -> tuple[Node, ...]:
        gone = Node("a", error="refused")
        return gone, Node("b", has_leader=True, seconds=1.5, alarms=("NOSPACE",))


class TestZones:
    """Two bridges that track connections, whose switches connect from one host."""

    def bridge(self, datapath_id: int, block: int | None, rule: AclRule) -> Bridge:
        return Bridge(
            datapath_id,
            BridgeParams(
                ct_zone_block=block,
                ports={"p1": PortParams(policy=PortPolicy(acl="a"))},
                policies=Policies(acls={"a": (rule,)}),
            ),
            name=f"br{datapath_id}",
        )

    @pytest.mark.parametrize(
        ("block", "address", "tracked", "named"),
        [
            (3, "192.0.2.1", True, ["br2"]),
            (4, "192.0.2.1", True, []),
            (3, "192.0.2.2", True, []),
            (3, "192.0.2.1", False, []),
        ],
    )
    def test_they_are_named_if_they_have_the_same_zones(
        self, block: int, address: str, tracked: bool, named: list[str]
    ) -> None:
        rule = AclRule("known", ((STATES["established"],),))
        one, other = (
            self.bridge(1, 3, rule),
            self.bridge(2, block, rule if tracked else AclRule("any")),
        )
        there: Any = [
            SimpleNamespace(bridge=bridge, channel=SimpleNamespace(address=(host, port)))
            for bridge, host, port in ((one, "192.0.2.1", 1), (other, address, 2))
        ]
        assert same_zones(one, there) == named

    def test_a_datapath_id_has_the_same_block_after_a_restart(self) -> None:
        zones = {first_zone(None, datapath_id) for datapath_id in range(500)}
        assert zones == {block * 4096 for block in range(1, 16)}
        assert first_zone(None, 0x0A0AC1000002) == 0xD000


def modules() -> Iterator[Path]:
    """All modules that declare kinds of problems."""
    for path in Path(ofapp.__file__).parent.rglob("*.py"):
        if re.search(r"^[A-Z_]+ = ProblemKind\(|: ProblemKind\($", path.read_text(), re.MULTILINE):
            yield path


def parse(words: list[str]) -> None:
    """Parse the words of a command of ofapp; click's error for what it does not know."""
    command = typer.main.get_command(app)
    context = typer.Context(command, info_name="ofapp", **command.context_settings)
    while hasattr(command, "commands"):
        command = command.commands[words.pop(0)]
        context = typer.Context(command, parent=context, info_name=command.name)
    if isinstance(command, SettingCommand):
        command = command.whole()
    command.parse_args(typer.Context(command, parent=context), words)


class TestCatalogue:
    def test_it_has_all_that_is_declared(self) -> None:
        declared = "".join(path.read_text() for path in modules())
        names = re.findall(r'ProblemKind\(\n\s+"([a-z_.-]+)"', declared)
        assert len(names) > 15
        assert sorted(names) == sorted(KINDS)

    @pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
    def test_the_remedy_is_a_command_of_ofapp(self, kind: ProblemKind) -> None:
        """It names a command, with as many words as that takes."""
        if not kind.remedy:
            return
        given = {field: "x" for _, field, _, _ in Formatter().parse(kind.remedy) if field}
        program, *words = shlex.split(kind.remedy.format(**given))
        if program == "ovs-ofctl":  # tests/vswitchd/test_problems.py types it
            return
        assert program == "ofapp"
        parse(words)

    @pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
    def test_commands_in_its_words_are_commands_of_ofapp(self, kind: ProblemKind) -> None:
        for command in re.findall(r"`(ofapp [^`]+)`", f"{kind.meaning} {kind.advice} {kind.ends}"):
            parse(shlex.split(command)[1:])

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
