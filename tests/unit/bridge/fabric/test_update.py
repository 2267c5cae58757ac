"""Updates of a fabric: also if messages are lost or late, no frame meets parts of two plans."""

import copy
import random
from collections.abc import Iterator, Set
from dataclasses import dataclass, field

import pytest

from ofapp.bridge.effects.fabric import Content, Part
from ofapp.bridge.fabric.plans import update
from ofapp.bridge.fabric.plans.graph import Graph
from ofapp.bridge.fabric.plans.plan import Plan, plan
from ofapp.bridge.fabric.plans.update import DRAIN_SECONDS, Updates
from ofapp.common.portions import Portions
from tests.unit.bridge.fabric.graphs import graph

PLAN_OF: dict[int, Plan] = {}
"""The plan of a part, by the identity of the part."""


@pytest.fixture(autouse=True)
def recorded_plans(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Record which plan each part belongs to."""

    def recorded(whole: Graph, cut_off: Set[int], portions: Portions) -> Plan:
        made = plan(whole, cut_off, portions)
        PLAN_OF.update((id(part), made) for part in made.values())
        return made

    monkeypatch.setattr(update, "plan", recorded)
    yield
    PLAN_OF.clear()


RING = graph(4, [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)])


@dataclass
class Switch:
    """A member: what it holds, and the contents that are on their way to it."""

    connected: bool = False
    parts: dict[int, Part] = field(default_factory=dict)
    use: int | None = None
    coming: list[Content] = field(default_factory=list)

    def carry_out(self, content: Content) -> None:
        kept = {version: part for version, part in self.parts.items() if version in content.kept}
        self.parts = kept | dict(content.parts)
        if content.use is not None:
            self.use = content.use
        if content.silent or self.use not in self.parts:
            self.use = None


class Network:
    """A controller and its members, over channels that keep the order."""

    def __init__(self, whole: Graph, versions: int = 8) -> None:
        self.graph, self.now, self.versions = whole, 0.0, versions
        self.updates = Updates(versions)
        self.switches = {member: Switch() for member in whole.members}
        self.asked: dict[int, Content] = {}
        self.updates.set_graph(whole, self.now)

    def send(self) -> None:
        """Send each member that is connected the content that has changed."""
        for member, switch in self.switches.items():
            content = self.updates.content(member)
            if switch.connected and self.asked.get(member) != content:
                self.asked[member] = content
                switch.coming.append(content)

    def act(self, kind: str, number: int) -> None:
        """Let something happen to a member or, by its number, to a link."""
        member = number % len(self.switches)
        switch = self.switches[member]
        if kind == "carry out" and switch.coming:
            content = switch.coming.pop(0)
            switch.carry_out(content)
            self.updates.confirm(member, content, self.now)
        elif kind == "connect" and not switch.connected:
            switch.connected = True
            self.updates.connect(member, self.now)
        elif kind == "cut off" and switch.connected:
            switch.connected = False
            switch.coming.clear()
            self.asked.pop(member, None)
            self.updates.disconnect(member, self.now)
        elif kind == "restart" and not switch.connected:
            switch.parts, switch.use = {}, None
        elif kind == "time":
            self.now += DRAIN_SECONDS
            self.updates.tick(self.now)
        elif kind == "link":
            failed = [self.graph.links[number % len(self.graph.links)]]
            self.updates.set_graph(self.graph.without(links=failed), self.now)
        elif kind == "mended":
            self.updates.set_graph(self.graph, self.now)
        elif kind == "controller":  # another one takes over, with what was stored
            self.updates = Updates(self.versions, self.updates.uses())
            self.asked.clear()
            for other in self.switches.values():
                other.connected = False
                other.coming.clear()
            self.updates.set_graph(self.graph, self.now)
        self.send()

    def check(self) -> None:
        """Follow the frames of every member: each forwards by one plan, and none loops."""
        for entry, switch in self.switches.items():
            if switch.use is None:
                continue
            assert switch.use in self.updates.uses()[entry], "a version in use is not known"
            for to in self.switches:
                if to != entry:
                    self._follow(entry, to, switch.use)
            self._flood(entry, switch.use)

    def _follow(self, entry: int, to: int, version: int) -> None:
        member, seen, plans = entry, set(), set()
        while member != to:
            assert member not in seen, "loop"
            seen.add(member)
            part = self.switches[member].parts.get(version)
            if part is None or to not in part.towards:
                return  # silent
            plans.add(id(PLAN_OF[id(part)]))
            assert len(plans) == 1, "parts of two plans"
            member = part.towards[to].green[0].member

    def _flood(self, root: int, version: int) -> None:
        arrived, waiting = {root}, [(root, None)]
        while waiting:
            member, entry = waiting.pop()
            part = self.switches[member].parts.get(version)
            branch = part and part.trees.get(root)
            if not branch or branch.entry != entry:
                continue
            for hop in branch.hops:
                assert hop.member not in arrived, "duplicate"
                arrived.add(hop.member)
                waiting.append((hop.member, hop.entry))

    def settle(self) -> None:
        """Let all members connect and confirm."""
        for _ in range(50):
            for member in self.switches:
                self.act("connect", member)
                self.act("carry out", member)
            self.act("time", 0)
            if self.updates.settled and not any(one.coming for one in self.switches.values()):
                return
        raise AssertionError("the update does not end")

    def state(self) -> tuple[object, ...]:
        """All that matters for what can follow."""
        return tuple(
            (
                switch.connected,
                tuple(sorted(switch.parts)),
                switch.use,
                tuple((tuple(content.parts), content.use) for content in switch.coming),
                self.updates.uses()[member],
            )
            for member, switch in self.switches.items()
        )

    def delivers(self, graph: Graph) -> bool:
        """Whether frames between all members arrive, alone and by trees."""
        uses = {switch.use for switch in self.switches.values()}
        (version,) = uses
        return all(
            set(switch.parts[version].towards) == set(graph.members) - {member}
            and set(switch.parts[version].trees) == set(graph.members)
            for member, switch in self.switches.items()
        )


def run_without(network: Network, absent: int) -> None:
    """Let the other members carry out all that they are sent."""
    for _ in range(6):
        for member in set(network.switches) - {absent}:
            network.act("carry out", member)
        network.act("time", 0)


def test_all_members_use_the_first_plan() -> None:
    network = Network(RING)
    network.settle()
    assert network.delivers(RING)
    assert all(len(switch.parts) == 1 for switch in network.switches.values())


def test_no_member_uses_a_plan_before_all_have_it() -> None:
    network = Network(RING)
    network.settle()
    before = network.switches[0].use
    network.act("link", 0)
    for member in (0, 1, 2):
        network.act("carry out", member)
    assert {switch.use for switch in network.switches.values()} == {before}
    network.act("carry out", 3)
    network.act("carry out", 0)
    assert network.switches[0].use != before


def test_the_former_version_stays_until_frames_under_way_have_arrived() -> None:
    network = Network(RING)
    network.settle()
    before = network.switches[0].use
    network.act("link", 0)
    for _ in range(4):
        for member in network.switches:
            network.act("carry out", member)
    assert all(switch.use != before for switch in network.switches.values())
    assert all(before in switch.parts for switch in network.switches.values())
    network.act("time", 0)
    for member in network.switches:
        network.act("carry out", member)
    assert all(before not in switch.parts for switch in network.switches.values())


def test_a_member_that_is_cut_off_keeps_its_version_and_carries_no_others_frames() -> None:
    network = Network(RING)
    network.settle()
    before = network.switches[3].use
    network.act("cut off", 3)
    network.act("link", 4)
    run_without(network, 3)
    after = network.switches[0].use
    assert after != before == network.switches[3].use
    for member in (0, 1, 2):
        parts = network.switches[member].parts
        assert set(parts) == {before, after}
        assert all(
            hop.member != 3
            for to, hops in parts[after].towards.items()
            for hop in (*hops.green, *hops.red, *hops.blue)
            if to != 3
        )
        assert 3 in parts[after].towards
    network.settle()
    assert {switch.use for switch in network.switches.values()} == {network.switches[3].use}
    assert all(len(switch.parts) == 1 for switch in network.switches.values())


def test_another_controller_leaves_the_version_of_a_member_that_is_cut_off() -> None:
    network = Network(RING, versions=3)
    network.settle()
    while network.switches[3].use != 0:  # the number that another controller would take first
        network.act("mended", 0)
        network.settle()
    before = 0
    network.act("controller", 0)
    for member in (0, 1, 2):
        network.act("connect", member)
    run_without(network, 3)
    network.check()
    assert network.switches[3].use == before
    assert all(before in network.switches[member].parts for member in (0, 1, 2))
    assert all(network.switches[member].use != before for member in (0, 1, 2))
    network.settle()
    assert network.delivers(RING)


def test_a_plan_waits_when_members_that_are_cut_off_may_use_all_versions() -> None:
    network = Network(RING, versions=2)
    network.settle()
    network.act("cut off", 3)
    network.act("link", 4)
    run_without(network, 3)
    network.act("mended", 0)
    assert network.updates.exhausted
    network.settle()
    assert not network.updates.exhausted
    assert network.delivers(RING)


KINDS = ("carry out", "carry out", "carry out", "connect", "cut off", "restart", "time", "link",
         "mended", "controller")  # fmt: skip


@pytest.mark.parametrize("seed", range(40))
def test_any_order_of_events_leaves_every_frame_one_plan(seed: int) -> None:
    chance = random.Random(seed)
    network = Network(RING)
    for _ in range(150):
        network.act(chance.choice(KINDS), chance.randrange(5))
        network.check()
    network.act("mended", 0)
    network.settle()
    network.check()
    assert network.delivers(RING)


def test_every_order_of_messages_of_an_update_leaves_every_frame_one_plan() -> None:
    network = Network(graph(3, [(0, 1), (1, 2), (2, 0)]))
    network.settle()
    network.act("link", 0)
    explored = set()
    waiting = [(network, 0)]
    while waiting:
        at, faults = waiting.pop()
        at.check()
        state = (at.state(), faults)
        if state in explored:
            continue
        explored.add(state)
        steps = [(kind, member) for kind in ("carry out", "connect") for member in at.switches]
        if faults < 1:
            steps += [(kind, member) for kind in ("cut off", "restart") for member in at.switches]
        for kind, member in steps:
            parts = {id(part): part for made in PLAN_OF.values() for part in made.values()}
            following = copy.deepcopy(at, parts)
            following.act(kind, member)
            waiting.append((following, faults + (kind in ("cut off", "restart"))))
    assert len(explored) > 100


def test_changes_in_a_short_time_take_one_version_together() -> None:
    network = Network(RING, versions=2)
    network.settle()
    before = network.switches[0].use
    for link in range(4):
        network.act("link", link)
        network.act("carry out", 0)
        assert not network.updates.exhausted
    assert {switch.use for switch in network.switches.values()} == {before}
    network.check()
    network.act("mended", 0)
    network.settle()
    assert network.delivers(RING)


def test_a_member_confirms_parts_and_not_only_their_numbers() -> None:
    network = Network(graph(3, [(0, 1), (1, 2), (2, 0)]), versions=2)
    network.settle()
    before = network.switches[0].use
    network.act("link", 0)
    network.act("link", 1)  # the same version has other parts now
    for member in network.switches:
        network.act("carry out", member)  # those of the first change
    assert {network.updates.content(member).use for member in network.switches} == {before}
    network.settle()
    assert network.switches[0].use != before


def test_a_version_is_claimed_before_its_content_is_sent() -> None:
    network = Network(RING)
    network.settle()
    (before,) = network.updates.claims()[0]
    network.act("link", 0)
    assert network.updates.uses()[0] == {before}
    claims = network.updates.claims()
    for _ in range(3):
        for member in network.switches:
            network.act("carry out", member)
    assert all(network.updates.uses()[member] <= claims[member] for member in network.switches)
    assert network.switches[0].use in claims[0] - {before}
