"""Two writers whose flow-mods both take effect are impossible: leases, clocks, messages, pauses.

A model of etcd, of the switch as Open vSwitch does it and of the wires between, in which every
message may take any time and every member may be stopped between any two steps; what it drives is
the real deadline and the real way to the role of a master.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from ofapp.controller.cluster.election.lease_deadline import LeaseDeadline
from ofapp.openflow.switch.mastership.roles import (
    NO_GENERATION,
    Asking,
    ControllerRole,
    RoleReply,
    RoleRequest,
    StaleError,
    become_master,
    become_slave,
)

TTL = 2.0
NAMES = ("a", "b", "c")


@dataclass(frozen=True)
class FlowMod:
    """Written by the owner of a term."""

    term: int


@dataclass
class Etcd:
    """One claim, the leases, and revisions."""

    revision: int = 1
    expiries: dict[str, float] = field(default_factory=dict)
    claim: tuple[str, int] | None = None

    def expire(self, now: float) -> None:
        """Leases end, and claims with them."""
        for name in [name for name, end in self.expiries.items() if end <= now]:
            del self.expiries[name]
            self.revision += 1
            if self.claim is not None and self.claim[0] == name:
                self.claim = None

    def put(self, name: str) -> int:
        """The claim is this member's from now on; gives the term."""
        self.revision += 1
        self.claim = name, self.revision
        return self.revision


@dataclass
class Switch:
    """Roles and which requests are accepted, as in Open vSwitch."""

    generation: int | None = None
    roles: dict[str, ControllerRole] = field(default_factory=dict)
    taken: list[int] = field(default_factory=list)

    def connect(self, name: str) -> None:
        self.roles[name] = ControllerRole.EQUAL

    def hear(self, name: str, message: RoleRequest | FlowMod) -> RoleReply | None:
        if isinstance(message, FlowMod):
            if self.roles[name] is not ControllerRole.SLAVE:
                self.taken.append(message.term)
            return None
        role, generation = message
        if role in (ControllerRole.MASTER, ControllerRole.SLAVE):
            if self.generation is not None and generation < self.generation:
                return RoleReply(None)
            self.generation = generation
            if role is ControllerRole.MASTER:
                for other in self.roles:
                    if self.roles[other] is ControllerRole.MASTER:
                        self.roles[other] = ControllerRole.SLAVE
            self.roles[name] = role
        seen = NO_GENERATION if self.generation is None else self.generation
        return RoleReply(self.roles[name], seen)


class Member:
    """One process: what it believes, and its connection."""

    def __init__(self, name: str, switch: Switch) -> None:
        self.name = name
        self.deadline = LeaseDeadline()
        self.asked: list[float] = []  # renewals on their way to etcd
        self.granted: list[float] = []  # ... and back
        self.term: int | None = None
        self.connect(switch)

    def connect(self, switch: Switch) -> None:
        """A new connection, and nothing of the former one's is left."""
        switch.connect(self.name)
        self.out: deque[RoleRequest | FlowMod] = deque()
        self.back: deque[RoleReply] = deque()
        self.term = None
        self.is_slave = self.is_master = self.about_to_write = self.about_to_ask = False
        self._ask(become_slave())

    def ask_master(self) -> None:
        assert self.term is not None
        self._ask(become_master(self.term))

    def _ask(self, asking: Asking) -> None:
        self.asking: Asking | None = asking
        self.out.append(next(asking))

    def hear(self) -> None:
        """The next reply."""
        assert self.asking is not None
        try:
            self.out.append(self.asking.send(self.back.popleft()))
        except StopIteration:
            self.asking = None
            self.is_master, self.is_slave = self.is_slave, True
        except StaleError:
            self.asking = None


members = st.sampled_from(NAMES)


class World(RuleBasedStateMachine):
    """clocks: whether members can trust theirs."""

    clocks = True

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.etcd = Etcd()
        self.switch = Switch()
        self.members = {name: Member(name, self.switch) for name in NAMES}

    # Time, and etcd

    @rule(seconds=st.sampled_from([0.1, 0.5, 1.0, 2.5, 60.0]))
    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        self.etcd.expire(self.now)

    @rule(name=members)
    def send_renewal(self, name: str) -> None:
        self.members[name].asked.append(self.now)

    @rule(name=members)
    def renew(self, name: str) -> None:
        own = self.members[name]
        if own.asked:
            asked = own.asked.pop(0)
            if name in self.etcd.expiries or self._may_grant(own):
                self.etcd.expiries[name] = self.now + TTL
                own.granted.append(asked)

    def _may_grant(self, own: Member) -> bool:
        """A lease that has ended is another one: nothing of what was under the former counts."""
        if own.term is None and not own.granted:
            own.deadline = LeaseDeadline()
            return True
        return False

    @rule(name=members)
    def hear_of_renewal(self, name: str) -> None:
        own = self.members[name]
        if own.granted:
            own.deadline.renewed(own.granted.pop(0), TTL)

    @rule(name=members)
    def claim(self, name: str) -> None:
        own = self.members[name]
        if own.is_slave and own.term is None and name in self.etcd.expiries:
            if self.etcd.claim is None:
                own.term = self.etcd.put(name)
            elif self.etcd.claim[0] == name:
                own.term = self.etcd.claim[1]

    @rule(name=members, to=members)
    def hand_over(self, name: str, to: str) -> None:
        """After everything that was written was answered: see `ClusterOwnership.hand_over`."""
        own = self.members[name]
        if own.is_master and to in self.etcd.expiries and self.etcd.claim == (name, own.term):
            own.connect(self.switch)
            self.etcd.put(to)

    # The wires

    @rule(name=members)
    def hear_at_switch(self, name: str) -> None:
        own = self.members[name]
        if own.out and (reply := self.switch.hear(name, own.out.popleft())) is not None:
            own.back.append(reply)

    @rule(name=members)
    def hear_at_member(self, name: str) -> None:
        own = self.members[name]
        if own.back:
            own.hear()

    @rule(name=members)
    def cut(self, name: str) -> None:
        self.members[name].connect(self.switch)

    # Becoming master and writing: between the question and what follows any time may pass

    @rule(name=members)
    def may_ask(self, name: str) -> None:
        own = self.members[name]
        if own.term is not None and not own.is_master and own.asking is None and self.holds(own):
            own.about_to_ask = True

    @rule(name=members)
    def ask(self, name: str) -> None:
        own = self.members[name]
        if own.about_to_ask:
            own.about_to_ask = False
            own.ask_master()

    @rule(name=members)
    def may_write(self, name: str) -> None:
        own = self.members[name]
        if own.is_master and self.holds(own):
            own.about_to_write = True
            if self.clocks:
                assert self.etcd.claim == (name, own.term), "deadline, but no claim"

    @rule(name=members)
    def write(self, name: str) -> None:
        own = self.members[name]
        if own.about_to_write:
            own.about_to_write = False
            assert own.term is not None
            own.out.append(FlowMod(own.term))

    def holds(self, own: Member) -> bool:
        return not self.clocks or own.deadline.holds(self.now)

    @invariant()
    def who_has_written_does_not_write_after_another(self) -> None:
        taken = self.switch.taken
        assert taken == sorted(taken), "a former owner's flow-mod took effect after a later one's"


class TrustedClocks(World):
    """Then a switch may forget all in a restart, too."""

    @rule()
    def restart_switch(self) -> None:
        self.switch.generation = None
        self.switch.roles.clear()
        for own in self.members.values():
            own.connect(self.switch)


class NoClocks(World):
    """Members take themselves for owners for ever: the switch alone is the fence."""

    clocks = False


TestTrustedClocks = TrustedClocks.TestCase
TestNoClocks = NoClocks.TestCase
TestTrustedClocks.settings = TestNoClocks.settings = settings(
    max_examples=60, stateful_step_count=60
)


def _owned(world: World, name: str) -> None:
    """Have a member be the master of the switch, by the shortest way."""
    own = world.members[name]
    world.send_renewal(name)
    world.renew(name)
    world.hear_of_renewal(name)
    _talk(world, name)
    world.claim(name)
    world.may_ask(name)
    world.ask(name)
    _talk(world, name)
    assert own.is_master


def _talk(world: World, name: str) -> None:
    own = world.members[name]
    while own.out or own.back:
        world.hear_at_switch(name)
        world.hear_at_member(name)


def _write(world: World, name: str) -> None:
    world.may_write(name)
    world.write(name)
    _talk(world, name)


@pytest.fixture
def usurped() -> World:
    """`a` wrote and was stopped for a minute; `b` has taken over and written."""
    world = TrustedClocks()
    _owned(world, "a")
    _write(world, "a")
    world.may_write("a")  # stopped between the question and the system call
    world.pass_time(60)
    _owned(world, "b")
    _write(world, "b")
    assert len(world.switch.taken) == 2
    return world


def test_what_a_stopped_owner_has_under_way_is_refused(usurped: World) -> None:
    usurped.write("a")
    _talk(usurped, "a")
    assert len(usurped.switch.taken) == 2
    usurped.may_write("a")
    assert not usurped.members["a"].about_to_write


def test_the_model_sees_what_an_equal_would_do(usurped: World) -> None:
    """Without SLAVE first, and MASTER before anything is written, the fence has a hole."""
    usurped.cut("a")
    term = usurped.switch.taken[0]
    usurped.members["a"].out.clear()
    usurped.members["a"].out.append(FlowMod(term))
    usurped.hear_at_switch("a")
    with pytest.raises(AssertionError, match="took effect after"):
        usurped.who_has_written_does_not_write_after_another()


def test_the_model_sees_a_clock_that_cannot_be_trusted(usurped: World) -> None:
    """A restarted switch has no fence: then it is deadline that keeps the former owner out."""
    usurped.members["a"].deadline.until = float("inf")
    usurped.restart_switch()  # type: ignore[attr-defined]
    own = usurped.members["a"]
    _talk(usurped, "a")
    own.term = usurped.switch.taken[0]
    usurped.may_ask("a")
    usurped.ask("a")
    _talk(usurped, "a")
    with pytest.raises(AssertionError, match="no claim"):
        usurped.may_write("a")
