"""What a host can bring about has a bound, however many frames it sends and with any content."""

import tracemalloc
from random import Random

from ofapp.bridge.event import Event
from ofapp.bridge.lag.lacp import SendPdu, SetMember
from ofapp.bridge.lag.lacp.actor import Actor
from ofapp.bridge.lag.lacp.information import Information, State, System
from ofapp.bridge.lag.lacp.slow import encode_lacpdu
from ofapp.bridge.lag.params import LagParams
from tests.unit.bridge.lag.lacp.lab import UP, pair
from tests.unit.effort import calls

IN_USE = State.ACTIVITY | State.AGGREGATION | State.SYNCHRONIZATION | State.COLLECTING
HOST = Information(System(1, 0x020000000099), 1, 1, 1, IN_USE)


def members(count: int) -> Actor:
    """An actor whose links are up."""
    actor = Actor("lag0", LagParams(tuple(f"eth{n}" for n in range(count))), 1, 1)
    for port in range(1, count + 1):
        actor.add(port, port, UP, 0.0)
    return actor


def said(actor: Actor, port: int, host: Information) -> bytes:
    """An LACPDU with the right partner."""
    own = next(member.actor for member in actor.status().members if member.port == port)
    return encode_lacpdu(host, own, 9)


def test_a_partner_that_says_yes_and_no_in_turns_does_not_set_the_switch_in_motion() -> None:
    actor = members(1)
    effects = []
    no = HOST._replace(state=State.ACTIVITY | State.AGGREGATION)
    frames = [said(actor, 1, host) for host in (HOST, no)]
    for step in range(6_000):  # two hundred a second
        effects += actor.receive(1, frames[step % 2], step / 200)
    assert len([e for e in effects if isinstance(e, SetMember)]) <= 2 * 10 * 3
    assert len([e for e in effects if isinstance(e, SendPdu)]) <= 3 * 30
    assert len([e for e in effects if isinstance(e, Event)]) <= 20
    (member,) = actor.status().members
    assert 3 <= member.held_back <= 30
    assert member.reason is not None
    assert "changed its mind" in member.reason
    # and back
    for second in range(31, 45):
        actor.receive(1, said(actor, 1, HOST), second)
    assert actor.members[1] == (True, True)


def test_one_that_is_another_each_time_neither_grows_memory_nor_holds_the_others_up() -> None:
    actor = members(3)
    random = Random(1)

    emitted: list[Event] = []

    def storm(begin: float, frames: int) -> None:
        for step in range(frames):
            now = begin + step / 1000
            fake = HOST._replace(
                system=System(0, random.getrandbits(47)), key=random.getrandbits(16)
            )
            effects = actor.receive(3, encode_lacpdu(fake, fake, 9), now)
            emitted.extend(effect for effect in effects if isinstance(effect, Event))
            if step % 500 == 0:
                for port in (1, 2):
                    host = HOST._replace(port=port)
                    actor.receive(port, said(actor, port, host), now)

    storm(0.0, 5_000)
    assert actor.members == {1: (True, True), 2: (True, True), 3: (False, False)}
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    storm(10.0, 2_000)
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 50_000
    # what was not reported is counted, and the count is reported
    assert 15 <= len(emitted) <= 20
    events = [effect for effect in actor.tick(100.0) if isinstance(effect, Event)]
    assert next(event.data["count"] for event in events if event.kind == "lacp.untold") > 5_000
    assert actor.members[1] == actor.members[2] == (True, True)


def test_a_repeated_lacpdu_costs_as_much_with_thirty_members_as_with_two() -> None:
    cost = []
    for count in (2, 30):
        actor = members(count)
        for now in range(5):
            for port in range(1, count + 1):
                actor.receive(port, said(actor, port, HOST._replace(port=port)), float(now))
        frame = said(actor, 1, HOST)
        actor.receive(1, frame, 4.5)
        cost.append(calls(lambda frame=frame, actor=actor: actor.receive(1, frame, 4.6)))  # type: ignore[misc]
    assert cost[1] < cost[0] + 40  # a look at the timers of the others
    assert cost[0] < 220  # of which Python 3.14's own enum is a quarter


def test_one_that_changes_all_the_time_holds_the_others_up_for_two_seconds_at_most() -> None:
    lab = pair(2)
    random = Random(1)
    while not lab.distributing("a"):
        lab.run(0.2)
        fake = HOST._replace(
            system=lab.actor("b").status().system, key=19, port_priority=random.getrandbits(16)
        )
        lab.apply("a", lab.actor("a").receive(2, encode_lacpdu(fake, fake, 9), lab.now))
        assert lab.now < 4.5
