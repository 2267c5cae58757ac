"""Two actors that are cabled together, and what a user would see of it."""

import pytest

from ofapp.bridge.lag.lacp import Actor, Information, MemberState, SendPdu, SetMember, State, System
from ofapp.bridge.lag.lacp.information import NO_PARTNER
from ofapp.bridge.lag.lacp.port import PARTNER_GRACE
from ofapp.bridge.lag.lacp.slow import decode, encode_lacpdu
from ofapp.bridge.lag.params import LagParams
from ofapp.bridge.stp.params import Link
from tests.unit.bridge.lag.lacp.lab import DOWN, UP, Lab, pair

FAST = {"rate": "fast"}


@pytest.mark.parametrize("b", [{"lacp": "active"}, {"lacp": "passive"}], ids=str)
@pytest.mark.parametrize("rate", ["slow", "fast"])
def test_all_members_come_into_use_and_nothing_is_sent_to_the_deaf(
    b: dict[str, str], rate: str
) -> None:
    lab = pair(4, {"rate": rate}, {**b, "rate": rate})
    took = lab.wait(lambda: lab.distributing("a") == [1, 2, 3, 4], 10)
    lab.wait(lambda: lab.distributing("b") == [11, 12, 13, 14], 10)
    assert took < 4
    assert lab.longest_bad == 0  # independent control
    assert lab.actor("a").up
    status = lab.actor("a").status()
    assert status.speed_mbps == 4000
    assert status.partner == lab.actor("b").status().system
    assert all(member.reason is None for member in status.members)
    assert {member.state for member in status.members} == {MemberState.DISTRIBUTING}
    sent = len(lab.sent)
    lab.run(120)
    assert lab.distributing("a") == [1, 2, 3, 4]
    each = (len(lab.sent) - sent) / 8
    assert each == pytest.approx(240 if rate == "fast" else 4, abs=1)


def test_a_partner_has_time_to_do_what_it_says_while_others_carry() -> None:
    """Open vSwitch says that it collects before its datapath does."""
    lab = pair(2)
    lab.wait(lambda: lab.distributing("a") == [1, 2], 10)
    lab.unplug(("a", 1))
    lab.run(10)
    lab.replug(("a", 1), ("b", 11))
    lab.wait(lambda: lab.collecting("b") == [11, 12], 10)
    took = lab.wait(lambda: lab.distributing("a") == [1, 2], 2)
    assert took == pytest.approx(PARTNER_GRACE, abs=0.2)


def test_two_passive_ends_never_speak() -> None:
    lab = pair(2, {"lacp": "passive"}, {"lacp": "passive"})
    lab.run(200)
    assert not lab.sent
    assert lab.distributing("a") == []
    assert "passive" in lab.member(("a", 1)).reason


def test_a_dead_link_is_out_at_once_and_back_when_it_is() -> None:
    lab = pair(2)
    lab.wait(lambda: len(lab.distributing("b")) == 2, 10)
    lab.unplug(("a", 1))
    assert lab.distributing("a") == [2]
    assert lab.distributing("b") == [12]
    assert lab.member(("a", 1)).reason == "The link is down."
    lab.cable(("a", 1), ("b", 11))
    lab.wait(lambda: len(lab.distributing("a")) == 2, 4)


def test_a_link_that_dies_in_one_direction_is_out_within_the_timeout() -> None:
    lab = pair(2, FAST, FAST)
    lab.wait(lambda: len(lab.distributing("b")) == 2, 10)
    lab.deaf.add(("a", 1))
    assert lab.wait(lambda: lab.distributing("b") == [12], 3.1) >= 2
    lab.wait(lambda: lab.distributing("a") == [2], 0.1)  # b has told it
    assert "receives no LACPDUs" in lab.member(("a", 1)).reason
    assert "silent" in lab.member(("b", 11)).reason
    lab.deaf.clear()
    lab.wait(lambda: len(lab.distributing("a")) == 2, 5)


def test_the_better_system_decides_who_stands_by() -> None:
    """b may use two of its links, but a is the better system: it is by a's port numbers."""
    lab = Lab()
    lab.add("a", [1, 2, 3])
    lab.add("b", [11, 12, 13], max_links=2)
    for mine, theirs in ((1, 13), (2, 12), (3, 11)):
        lab.cable(("a", mine), ("b", theirs))
    lab.wait(lambda: len(lab.distributing("a")) == 2, 10)
    lab.run(10)
    assert lab.distributing("a") == [1, 2]
    assert lab.distributing("b") == [12, 13]
    assert lab.member(("b", 11)).state is MemberState.STANDBY
    assert "max_links" in lab.member(("b", 11)).reason
    lab.unplug(("a", 1))
    assert lab.wait(lambda: lab.distributing("a") == [2, 3], 1) < PARTNER_GRACE + 0.1


def test_a_worse_system_is_reported_who_stands_by() -> None:
    lab = pair(3, {"max_links": 2, "system_priority": 40000}, {"max_links": 2})
    lab.wait(lambda: len(lab.distributing("b")) == 2, 10)
    assert lab.distributing("a") == [1, 2]
    assert lab.distributing("b") == [11, 12]


def test_fewer_than_min_links_are_of_no_use_and_the_partner_knows() -> None:
    lab = pair(2, {"min_links": 2})
    lab.wait(lambda: lab.actor("a").up, 10)
    lab.run(1)
    lab.unplug(("a", 1))
    lab.run(1)
    assert not lab.actor("a").up
    assert lab.distributing("b") == []
    assert "min_links" in lab.member(("a", 2)).reason
    lab.cable(("a", 1), ("b", 11))
    lab.wait(lambda: lab.actor("a").up, 5)


def test_fallback_is_one_member_until_a_partner_speaks() -> None:
    lab = Lab()
    lab.add("a", [1, 2], fallback=True, min_links=2)
    for port in (1, 2):
        lab.link(("a", port), UP)
    lab.wait(lambda: lab.distributing("a") == [1], 10)
    assert lab.actor("a").up
    assert lab.member(("a", 1)).state is MemberState.INDIVIDUAL
    assert lab.member(("a", 2)).state is MemberState.DEFAULTED
    assert "one member alone" in lab.member(("a", 2)).reason
    lab.link(("a", 1), DOWN)
    lab.wait(lambda: lab.distributing("a") == [2], 3)
    lab.link(("a", 1), UP)
    lab.run(10)
    assert lab.distributing("a") == [2]  # it stays
    lab.add("b", [11, 12])
    for port in (1, 2):
        lab.cable(("a", port), ("b", port + 10))
    lab.wait(lambda: lab.distributing("a") == [1, 2], 5)
    assert lab.actor("a").status().partner is not None


def test_without_fallback_nobody_is_used_who_does_not_speak() -> None:
    lab = Lab()
    lab.add("a", [1])
    lab.link(("a", 1), UP)
    lab.run(100)
    assert lab.collecting("a") == []
    assert "does not speak LACP" in lab.member(("a", 1)).reason
    assert lab.member(("a", 1)).actor_churn
    assert not lab.events_of("lacp.churn")  # no partner is there to hear of it


def test_a_partner_that_does_not_sync_is_churn() -> None:
    lab = pair(2, b={"min_links": 3})
    lab.run(70)
    assert lab.distributing("a") == []
    assert lab.member(("a", 1)).partner_churn
    assert not lab.member(("a", 1)).actor_churn
    assert [event.data["side"] for event in lab.events_of("lacp.churn")] == ["partner", "partner"]
    lab.set("b", min_links=1)
    lab.run(5)
    assert not lab.member(("a", 1)).partner_churn
    assert lab.member(("a", 1)).partner_churn_count == 1


def test_links_of_another_speed_are_another_aggregation() -> None:
    lab = pair(3)
    for plug in (("a", 3), ("b", 13)):
        lab.link(plug, Link(True, 10_000, True))
    lab.wait(lambda: bool(lab.distributing("a")), 10)
    lab.run(5)
    assert lab.distributing("a") == [3]  # ten of one are more than two of the other
    assert "key" in lab.member(("a", 1)).reason
    for plug in (("a", 3), ("b", 13)):
        lab.link(plug, UP)
    lab.wait(lambda: lab.distributing("a") == [1, 2, 3], 10)
    assert lab.longest_bad < 0.01


def test_one_end_that_has_another_speed_is_reported_so() -> None:
    lab = pair(2)
    lab.link(("a", 2), Link(True, 100, True))
    lab.run(10)
    assert lab.distributing("a") == [1]
    assert "speed of 100 Mbit/s" in lab.member(("a", 2)).reason


def test_half_duplex_speaks_no_lacp() -> None:
    lab = pair(2)
    lab.wait(lambda: len(lab.distributing("a")) == 2, 10)
    lab.link(("a", 1), Link(True, 1000, False))
    assert lab.distributing("a") == [2]
    assert "half duplex" in lab.member(("a", 1)).reason
    lab.run(1)
    assert not lab.events_of("lacp.dropped")
    lab.run(60)
    assert lab.events_of("lacp.dropped")[0].data["reason"] == "half-duplex"
    lab.link(("a", 1), UP)
    lab.wait(lambda: len(lab.distributing("a")) == 2, 100)


def test_two_partners_one_is_used_and_the_other_is_explained() -> None:
    lab = Lab()
    lab.add("a", [1, 2, 3])
    lab.add("b", [11, 12])
    lab.add("c", [21])
    lab.cable(("a", 1), ("b", 11))
    lab.cable(("a", 2), ("b", 12))
    lab.cable(("a", 3), ("c", 21))
    lab.wait(lambda: len(lab.distributing("a")) == 2, 10)
    lab.run(10)
    assert lab.distributing("a") == [1, 2]
    reason = lab.member(("a", 3)).reason
    assert "00:63" in reason
    assert "00:62" in reason
    (event,) = lab.events_of("lacp.stranger")
    assert event.port == 3
    assert lab.longest_split == 0
    for port in (1, 2):
        lab.unplug(("a", port))
    lab.wait(lambda: lab.distributing("a") == [3], 5)


def test_a_member_that_is_in_another_aggregation_over_there_is_explained() -> None:
    lab = Lab()
    lab.add("a", [1, 2])
    lab.add("b", [11], key=1)
    lab.add("bb", [12], key=2)  # the same system, another key
    lab.cable(("a", 1), ("b", 11))
    lab.cable(("a", 2), ("bb", 12))
    lab.run(10)
    assert lab.distributing("a") == [1]
    assert "partner's key" in lab.member(("a", 2)).reason


def test_all_members_move_to_another_partner() -> None:
    lab = Lab()
    lab.add("a", [1, 2])
    lab.add("b", [11, 12])
    lab.add("c", [21, 22])
    for port in (1, 2):
        lab.cable(("a", port), ("b", port + 10))
    lab.wait(lambda: len(lab.distributing("a")) == 2, 10)
    for port in (1, 2):
        lab.cable(("a", port), ("c", port + 20))
    lab.wait(lambda: len(lab.distributing("a")) == 2, 10)
    assert lab.actor("a").status().partner == lab.actor("c").status().system


def test_a_loop_is_not_used() -> None:
    lab = Lab()
    lab.add("a", [1, 2, 3])
    lab.add("b", [11])
    lab.cable(("a", 1), ("a", 2))
    lab.cable(("a", 3), ("b", 11))
    lab.run(10)
    assert lab.distributing("a") == [3]
    assert "loop" in lab.member(("a", 1)).reason
    assert {event.port for event in lab.events_of("lacp.loop")} == {1, 2}


def test_the_partner_is_reported_when_a_member_is_taken_out() -> None:
    lab = pair(2)
    lab.wait(lambda: len(lab.distributing("b")) == 2, 10)
    lab.apply("a", lab.actor("a").remove(1, lab.now))
    del lab.does["a", 1]
    assert lab.wait(lambda: lab.distributing("b") == [12], 1) < 0.1


def test_a_member_moves_to_another_aggregation_on_both_sides() -> None:
    lab = Lab()
    lab.add("a", [1, 2], key=1)
    lab.add("aa", [3], key=2)
    lab.add("b", [11, 12], key=1)
    lab.add("bb", [13], key=2)
    for port in (1, 2):
        lab.cable(("a", port), ("b", port + 10))
    lab.cable(("aa", 3), ("bb", 13))
    lab.wait(lambda: len(lab.distributing("a")) == 2 and lab.distributing("aa") == [3], 10)
    del lab.peers["a", 2], lab.peers["b", 12]
    for old, new, port in (("a", "aa", 2), ("b", "bb", 12)):
        lab.apply(old, lab.actor(old).remove(port, lab.now))
        del lab.does[old, port]
        lab.does[new, port] = (False, False)
        lab.apply(new, lab.actor(new).add(port, port, UP, lab.now))
    lab.peers |= {("aa", 2): ("bb", 12), ("bb", 12): ("aa", 2)}
    lab.wait(lambda: lab.distributing("aa") == [2, 3], 10)
    assert lab.distributing("a") == [1]


def test_no_more_than_three_lacpdus_a_second() -> None:
    lab = pair(1)
    lab.run(5)
    for at in range(40):
        lab.set("a", port_priority=at)
        lab.run(0.05)
    times = [time for time, plug in lab.sent if plug == ("a", 1)]
    assert all(later - first >= 1.0 for first, later in zip(times, times[3:], strict=False))
    lab.run(5)
    assert lab.member(("b", 11)).partner.port_priority == 39
    assert lab.distributing("a") == [1]


@pytest.mark.parametrize(("rate", "away"), [("slow", 59.0), ("fast", 1.9)])
def test_a_restart_within_the_partners_timeout_is_not_noticed(rate: str, away: float) -> None:
    """The longest that is sure: the controller goes just before it would have spoken again."""
    lab = pair(2, {"rate": rate}, {"rate": rate})
    lab.wait(lambda: len(lab.distributing("a")) == 2, 10)
    lab.run(100 + (29.9 if rate == "slow" else 0.9))
    noticed = len(lab.events)
    lab.kill("a")
    lab.run(away)
    lab.come_back("a")
    lab.run(100)
    assert lab.events[noticed:] == []
    assert lab.distributing("a") == [1, 2]
    assert lab.distributing("b") == [11, 12]
    assert lab.longest_bad == 0


def test_the_first_lacpdu_after_the_return_says_what_the_partner_knows() -> None:
    lab = pair(2)
    lab.wait(lambda: len(lab.distributing("a")) == 2, 10)
    lab.run(60)
    before = lab.member(("b", 11)).partner
    lab.kill("a")
    lab.come_back("a")
    sent = [plug for _, plug in lab.sent[-2:]]
    assert sent == [("a", 1), ("a", 2)]
    lab.run(1)
    assert lab.member(("b", 11)).partner == before
    assert State.DISTRIBUTING in before.state


def test_a_partner_that_changed_its_mind_meanwhile_is_found_out_at_once() -> None:
    lab = pair(2)
    lab.wait(lambda: len(lab.distributing("a")) == 2, 10)
    lab.run(60)
    lab.kill("a")
    lab.set("b", min_links=3)
    lab.run(10)
    assert lab.distributing("a") == [1, 2]  # no LACPDU could reach it
    lab.come_back("a")
    assert lab.wait(lambda: lab.distributing("a") == [], 1) < 0.1


def test_a_partner_that_speaks_again_from_elsewhere_is_forgotten_where_the_link_is_dead() -> None:
    """port_moved (6.4.8)."""
    lab = pair(2)
    lab.run(5)
    lab.unplug(("a", 1))
    lab.unplug(("a", 2))
    assert not lab.member(("a", 1)).defaulted
    lab.cable(("a", 2), ("b", 11))
    lab.run(5)
    assert lab.distributing("a") == [2]
    assert lab.member(("a", 1)).defaulted
    assert lab.member(("a", 1)).state is MemberState.DOWN


def test_an_individual_link_is_used_alone() -> None:
    lab = Lab()
    lab.add("a", [1, 2])
    own = {}
    for port in (1, 2):
        lab.link(("a", port), UP)
        own[port] = lab.member(("a", port)).actor
    state = State.ACTIVITY | State.SYNCHRONIZATION | State.COLLECTING
    for _ in range(5):
        for port in (1, 2):
            host = Information(System(1, 9), 1, 1, port, state)
            frame = encode_lacpdu(host, own[port], 9)
            lab.apply("a", lab.actor("a").receive(port, frame, lab.now))
        lab.run(1)
    assert lab.distributing("a") == [1]
    assert lab.member(("a", 1)).state is MemberState.INDIVIDUAL
    assert lab.member(("a", 2)).reason == "The partner wants the link to be used alone."


def test_a_partner_that_does_not_collect_is_not_sent_to() -> None:
    lab = Lab()
    lab.add("a", [1])
    lab.link(("a", 1), UP)
    state = State.ACTIVITY | State.AGGREGATION | State.SYNCHRONIZATION
    for _ in range(5):
        host = Information(System(1, 9), 1, 1, 1, state)
        frame = encode_lacpdu(host, lab.member(("a", 1)).actor, 9)
        lab.apply("a", lab.actor("a").receive(1, frame, lab.now))
        lab.run(1)
    member = lab.member(("a", 1))
    assert member.collecting
    assert not member.distributing
    assert member.reason == "The partner does not collect here yet."
    assert member.state is MemberState.COLLECTING


def test_another_rate_is_reported_and_obeyed() -> None:
    lab = pair(2)
    lab.run(40)
    lab.set("a", rate="fast")
    lab.run(2)
    lab.deaf.add(("b", 11))
    assert lab.wait(lambda: lab.distributing("a") == [2], 4) <= 3.01
    lab.deaf.clear()
    lab.run(20)
    before = sum(plug == ("b", 11) for _, plug in lab.sent)
    lab.run(20)
    assert sum(plug == ("b", 11) for _, plug in lab.sent) - before == 40
    assert lab.distributing("a") == [1, 2]


def test_a_partner_that_wants_to_hear_less_often_is_reported_at_once() -> None:
    """Otherwise it goes on waiting for three seconds: Open vSwitch takes its new rate into account
    with the next LACPDU that it hears, and not before."""
    lab = pair(1, b=FAST)
    lab.run(40.2)
    sent = len(lab.sent)
    lab.set("b", rate="slow")
    lab.run(0.3)
    assert [plug for _, plug in lab.sent[sent:]] == [("b", 11), ("a", 1)]


def test_a_partner_that_is_silent_on_all_members_is_waited_for() -> None:
    """Its controller may be away, and its switch forwards: there is no other path to it."""
    lab = pair(2, FAST)
    lab.run(20)
    lab.kill("b")
    lab.run(80)
    assert lab.distributing("a") == [1, 2]
    assert len(lab.events_of("lacp.silent")) == 2
    lab.come_back("b")
    lab.run(5)
    assert len(lab.events_of("lacp.silent.cleared")) == 2
    assert (lab.distributing("a"), lab.distributing("b")) == ([1, 2], [11, 12])
    assert not lab.events_of("lacp.expired")
    lab.kill("b")
    lab.wait(lambda: lab.distributing("a") == [], 91)
    assert len(lab.events_of("lacp.expired")) == 2


def test_a_member_that_stays_silent_when_the_others_are_heard_again_is_given_up() -> None:
    lab = pair(2, FAST)
    lab.run(20)
    lab.kill("b")
    lab.run(20)
    lab.deaf.add(("b", 11))
    lab.come_back("b")
    lab.wait(lambda: lab.distributing("a") == [2], 3)


def test_a_partner_is_asked_to_speak_at_once_after_an_absence() -> None:
    """Open vSwitch has sent its last LACPDU when it gave this end up, and the next one is due 30 s
    later: with rate fast this end would have waited for three seconds and given it up."""
    lab = pair(2, FAST)
    lab.run(20)
    lab.kill("a")
    lab.run(10)
    sent = len(lab.sent)
    lab.come_back("a")
    lab.run(0.1)
    assert {plug for _, plug in lab.sent[sent:]} == {("a", 1), ("a", 2), ("b", 11), ("b", 12)}
    pdus = [effect for effect in lab.actor("a").go_on(lab.now) if isinstance(effect, SendPdu)]
    assert [decode(pdu.frame).partner.state & State.TIMEOUT for pdu in pdus] == [State.TIMEOUT] * 2
    lab.run(5)
    (first, *_) = lab.actor("a").send_last(lab.now)
    assert isinstance(first, SendPdu)
    assert not decode(first.frame).partner.state & State.TIMEOUT


def test_a_member_takes_in_frames_before_it_says_that_it_is_in_sync() -> None:
    """Linux's bonding driver sends as soon as it hears that, and does not wait for Collecting."""
    actor = Actor("lag0", LagParams(("m1",)), 1, 1)
    actor.add(1, 1, UP, 0.0)
    partner = Information(System(1, 2), 3, 4, 5, State.ACTIVITY | State.AGGREGATION)
    said = encode_lacpdu(partner, NO_PARTNER, 2)
    effects = actor.receive(1, said, 1.0) + actor.tick(3.0)
    at = effects.index(SetMember(1, True, False))
    (pdu,) = (effect for effect in effects[at:] if isinstance(effect, SendPdu))
    state = decode(pdu.frame).actor.state
    assert state & State.SYNCHRONIZATION
    assert not state & State.COLLECTING


def test_an_actor_without_members_waits_for_nothing() -> None:
    lab = Lab()
    actor = lab.add("a", [1])
    actor.remove(1, 0.0)
    assert actor.next_wakeup() is None
    assert not actor.up
    assert actor.receive(1, b"", 0.0) == []
