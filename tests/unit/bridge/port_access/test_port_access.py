"""Port access control through the whole bridge: who is admitted, for how long, and why not."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ofapp.bridge.effects import AccountSession, Flush, RenewPort, Reprogram
from ofapp.bridge.input_error import InputError
from ofapp.bridge.lag.params import LagParams
from ofapp.bridge.params.params import PortParams
from ofapp.bridge.port_access import eapol, problems
from ofapp.bridge.port_access.answer import Answer
from ofapp.bridge.port_access.params import BridgeParams as AccessParams
from ofapp.bridge.port_access.params import PortParams as Controlled
from ofapp.bridge.port_access.port import END_INTERVAL, MOST_ENDS, Admission, AdmittedHost
from ofapp.bridge.port_access.servers import MOST_QUESTIONS
from ofapp.bridge.port_access.status import SessionFilter
from ofapp.bridge.ports.vlan import access
from tests.unit.bridge.port_access.controlled import (
    ACCEPT,
    ALICE,
    BOB,
    CHALLENGE,
    CLOSED,
    REJECT,
    SILENT,
    USER,
    Site,
    params,
    port,
)

ONLY_ALICE = Admission((AdmittedHost(ALICE),))


def test_a_controlled_port_is_closed_and_others_are_as_without() -> None:
    site = Site(params())
    assert site.admits(1) == CLOSED
    assert site.admits(10) is None


def test_a_new_link_is_asked_for_an_identity_and_seldom_afterwards() -> None:
    site = Site(params(tx_period=5, max_requests=3), ports=1)
    site.wait(120.0)
    assert {(number, to) for number, to, _ in site.sent} == {(1, eapol.PAE_GROUP)}
    assert 5 <= len(site.sent) <= 7


def test_a_host_is_admitted_after_its_exchange_and_notified() -> None:
    site = Site(params())
    site.login()
    assert site.admits() == ONLY_ALICE
    assert site.sent[-1] == (1, ALICE, eapol.result(True, site.sent[-1][2][1]))
    assert [(each.user, each.state) for each in site.asked] == [(b"alice", b""), (b"alice", b"s1")]
    assert site.kinds() == ["port_access.authorised"]
    opened = site.effects.index(RenewPort(1), len(site.effects) - 4)
    assert opened < len(site.effects) - 1, "the port opens before the host is notified"


def test_an_answer_to_the_request_to_all_hosts_begins_an_exchange() -> None:
    site = Site(params(), ports=1)
    site.wait(1.0)
    site.identity()
    assert site.asked[-1].mac == ALICE
    site.answer(ACCEPT)
    assert site.admits() == ONLY_ALICE


def test_a_refused_host_is_held_with_the_servers_words_and_may_try_again() -> None:
    site = Site(params(quiet_period=60))
    site.login(answer=REJECT)
    assert site.admits() == CLOSED
    (problem,) = site.bridge.problems(site.now)
    assert problem.text == "port eth1: RADIUS refused alice: 'account expired'"
    assert site.sent[-1][2][0] == eapol.FAILURE
    asked = len(site.asked)
    site.hear(ALICE, eapol.START)
    assert len(site.asked) == asked
    assert site.sent[-1][2][0] == eapol.FAILURE
    site.wait(61.0)
    assert not [*site.bridge.problems(site.now)]
    site.login()
    assert site.admits() == ONLY_ALICE


def test_a_request_is_repeated_to_a_host_that_does_not_answer() -> None:
    site = Site(params(tx_period=5, max_requests=3), ports=1)
    site.hear(ALICE, eapol.START)
    first = site.sent[-1]
    site.wait(11.0)
    assert site.sent[-3:] == [first] * 3
    site.wait(5.0)
    assert "port_access.refused" in site.kinds()


def test_a_link_that_goes_down_takes_the_host_with_it() -> None:
    site = Site(params())
    site.login()
    site.done(site.bridge.put_port(port(1, up=False), site.now))
    site.done(site.bridge.put_port(port(1), site.now))
    assert site.admits() == CLOSED
    assert "port_access.ended" in site.kinds()


def test_logoff_ends_a_session_and_its_addresses() -> None:
    site = Site(params())
    site.login()
    site.done(site.bridge.addresses.learn([(1, 0, ALICE)], site.now))
    site.hear(ALICE, eapol.LOGOFF)
    assert site.admits() == CLOSED
    assert not site.bridge.fdb.get(0, ALICE)


def test_one_host_means_one_host() -> None:
    site = Site(params(host_mode="single"))
    site.login()
    asked = len(site.asked)
    site.first_frame(BOB)
    site.hear(BOB, eapol.START)
    assert site.admits() == ONLY_ALICE
    assert len(site.asked) == asked
    assert site.kinds().count("port_access.full") == 1
    site.wait(301.0)
    assert "port_access.full.cleared" in site.kinds()


def test_the_first_host_opens_a_port_for_all() -> None:
    site = Site(params(host_mode="multi"))
    site.login()
    assert site.admits() == Admission(open=True)
    site.done(site.bridge.addresses.learn([(1, 0, ALICE), (1, 0, BOB)], site.now))
    site.hear(ALICE, eapol.LOGOFF)
    assert site.admits() == CLOSED
    assert Flush(1, sticky=True) in site.effects


def test_each_host_is_authenticated_in_its_own_vlan() -> None:
    site = Site(params(vlan=10, host_mode="multi_auth"))
    site.login(answer=replace(ACCEPT, vlan="staff"))
    site.login(BOB)
    site.wait(1.0)
    assert site.admits() == Admission((AdmittedHost(ALICE, 20), AdmittedHost(BOB)), untagged=True)
    vlans = site.bridge.port_policies.vlans(1)
    assert (vlans.vids, vlans.untagged, vlans.pvid) == ({10, 20}, {10, 20}, 10)
    site.hear(ALICE, eapol.LOGOFF)
    site.wait(1.0)
    assert site.bridge.port_policies.vlans(1) == access(10)


@pytest.mark.parametrize("named", ["20", "staff"])
def test_the_server_chooses_the_vlan_of_a_port(named: str) -> None:
    site = Site(params(vlan=10))
    site.login(answer=replace(ACCEPT, vlan=named))
    assert site.admits() == CLOSED, "the port opens when its VLAN is set"
    assert site.sent[-1][2][0] == eapol.REQUEST
    site.wait(1.0)
    assert site.admits() == ONLY_ALICE
    assert site.sent[-1][2][0] == eapol.SUCCESS
    assert site.bridge.desired_port(1).vlans == access(20)
    assert Reprogram() in site.effects
    site.done(site.bridge.put_port(port(1, up=False), site.now))
    site.wait(1.0)
    assert site.bridge.port_policies.vlans(1) == access(10)


@pytest.mark.parametrize("named", ["4095", "0", "staf", "²"])
def test_a_vlan_that_does_not_exist_is_a_refusal(named: str) -> None:
    site = Site(params(vlan=10))
    site.login(answer=replace(ACCEPT, vlan=named))
    assert site.admits() == CLOSED
    assert f"VLAN '{named}' of the server does not exist here" in site.events[-1].message


def test_mac_authentication_begins_with_any_frame() -> None:
    site = Site(params(authentication="mab"))
    site.first_frame(ALICE)
    assert (site.asked[-1].user, site.asked[-1].eap) == (b"02000000000a", b"")
    site.first_frame(ALICE)
    assert len(site.asked) == 1
    site.answer(ACCEPT)
    assert site.admits() == ONLY_ALICE


def test_mac_authentication_follows_802_1x_that_nobody_answers() -> None:
    site = Site(params(authentication="dot1x_mab", tx_period=5, max_requests=2))
    site.first_frame(ALICE)
    assert not site.asked
    site.wait(11.0)
    assert site.asked[-1].eap == b""
    site.answer(ACCEPT)
    assert site.admits() == ONLY_ALICE


def test_a_host_with_mac_authentication_may_begin_802_1x() -> None:
    site = Site(params(authentication="mab_dot1x"))
    site.first_frame(ALICE)
    site.answer(ACCEPT)
    site.login(answer=REJECT)
    assert site.admits() == ONLY_ALICE, "the grant by its address stays while it is renewed"
    site.answer(REJECT)
    assert site.admits() == CLOSED


def test_a_host_that_moves_is_authenticated_at_its_new_port() -> None:
    site = Site(params(authentication="mab"))
    site.first_frame(ALICE)
    site.answer(ACCEPT)
    site.first_frame(ALICE, number=2)
    assert (site.admits(1), site.admits(2)) == (ONLY_ALICE, CLOSED)
    site.answer(ACCEPT)
    assert (site.admits(1), site.admits(2)) == (CLOSED, ONLY_ALICE)


@pytest.mark.parametrize(
    ("setting", "verdict"),
    [("critical_vlan", SILENT), ("auth_fail_vlan", REJECT), ("guest_vlan", None)],
)
def test_a_fallback_with_the_address_of_another_host_ends_no_session(
    setting: str, verdict: Answer | None
) -> None:
    site = Site(params(tx_period=1, max_requests=1, **{setting: 99}))
    site.login()
    site.hear(ALICE, eapol.START, number=2)
    if verdict is None:
        site.wait(2.0)
    else:
        site.identity(number=2)
        site.answer(verdict)
    site.wait(0.5)
    assert site.admits(1) == ONLY_ALICE
    assert site.admits(2) == ONLY_ALICE
    assert "port_access.ended" not in site.kinds()


def test_a_host_that_waits_for_a_server_is_not_called_refused() -> None:
    site = Site(params())
    site.hear(ALICE, eapol.START)
    site.identity()
    why = "/etc/ofapp/radius cannot be read: Permission denied"
    site.answer(replace(SILENT, message=why))
    (problem,) = site.bridge.problems(site.now)
    assert (problem.of.name, str(problem.text)) == ("port_access.silent", why)


def test_a_host_is_listed_with_what_it_waits_for_and_without_its_address() -> None:
    site = Site(params(authentication="mab"))
    site.first_frame(ALICE)
    whys = [each.why for each in site.bridge.port_access.hosts(site.now)]
    assert whys == ["waits for a RADIUS server"]
    site.answer(replace(REJECT, message="not you"))
    whys = [each.why for each in site.bridge.port_access.hosts(site.now)]
    assert whys == ["RADIUS refused the MAC address: 'not you'"]


def test_silent_servers_cut_nobody_off_and_are_a_problem() -> None:
    site = Site(params(reauth_period=100, quiet_period=10))
    site.login()
    site.wait(100.0)
    site.identity()
    site.answer(SILENT)
    assert site.admits() == ONLY_ALICE
    assert [problem.of.name for problem in site.bridge.problems(site.now)] == ["port_access.silent"]
    site.wait(10.0)
    site.identity()
    site.answer(ACCEPT)
    assert not [*site.bridge.problems(site.now)]
    assert site.admits() == ONLY_ALICE


@pytest.mark.parametrize(
    ("setting", "verdict"),
    [("critical_vlan", SILENT), ("auth_fail_vlan", REJECT), ("guest_vlan", None)],
)
def test_fallback_vlans(setting: str, verdict: Answer | None) -> None:
    site = Site(params(vlan=10, tx_period=1, max_requests=1, **{setting: 99}))
    site.hear(ALICE, eapol.START)
    if verdict is None:
        site.wait(2.0)
    else:
        site.identity()
        site.answer(verdict)
    site.wait(0.5)
    assert site.admits() == ONLY_ALICE
    assert site.bridge.desired_port(1).vlans == access(99)


def test_a_session_timeout_ends_or_renews_a_session() -> None:
    site = Site(params())
    site.login(answer=replace(ACCEPT, timeout=50))
    site.wait(51.0)
    assert site.admits() == CLOSED
    site.login(answer=replace(ACCEPT, timeout=50, again=True))
    site.wait(51.0)
    assert site.admits() == ONLY_ALICE
    assert site.sent[-1][2][4] == eapol.IDENTITY
    site.identity()
    site.answer(replace(ACCEPT, timeout=50, again=True))
    assert site.kinds().count("port_access.authorised") == 2


def test_a_restart_keeps_those_who_are_authorised_and_no_others() -> None:
    site = Site(params(reauth_period=100))
    site.login()
    site.login(BOB, number=2, answer=replace(ACCEPT, timeout=20))
    site.wait(10.0)
    site.bridge.beat(site.now)
    stored = {**site.bridge.port_access.dump(), "passed": 15.0}
    after = Site(params(reauth_period=100), ports=0)
    after.bridge.port_access.restore(stored)
    after.bridge.resume(0.0)
    after.done(after.bridge.set_ports([port(1), port(2)], 0.0))
    after.done(after.bridge.go_on(0.0))
    assert (after.admits(1), after.admits(2)) == (ONLY_ALICE, CLOSED)
    (ended,) = (each for each in after.events if each.kind == "port_access.ended")
    assert ended.port == 2
    assert ended.data["why"] == "its Session-Timeout has passed"
    after.wait(74.0)
    assert {to for _, to, _ in after.sent} <= {eapol.PAE_GROUP}
    after.wait(2.0)
    asked = [number for number, to, _ in after.sent if to == ALICE]
    assert asked == [1], "it is renewed when its period is over"


@pytest.mark.parametrize("again", [False, True])
def test_a_session_timeout_goes_on_while_the_switch_is_disconnected(again: bool) -> None:
    """The switch forwards the host's frames meanwhile.  A renewal waits for the whole period."""
    site = Site(params())
    site.login(answer=replace(ACCEPT, timeout=50, again=again))
    site.wait(10.0)
    site.bridge.pause(site.now)
    site.now += 1000.0
    site.bridge.resume(site.now)
    site.done(site.bridge.go_on(site.now))
    site.wait(30.0)
    assert site.admits() == (ONLY_ALICE if again else CLOSED)
    assert ("port_access.ended" in site.kinds()) is not again


def test_a_host_that_was_authenticated_again_at_the_end_of_a_process_is_so_by_the_next() -> None:
    """Without that its grant would have no end."""
    site = Site(params())
    site.login(answer=replace(ACCEPT, timeout=20))
    site.wait(5.0)
    site.hear(ALICE, eapol.START)
    after = Site(params(), ports=0)
    after.bridge.port_access.restore({**site.bridge.port_access.dump(), "passed": 1.0})
    after.done(after.bridge.set_ports([port(1)], 0.0))
    after.done(after.bridge.go_on(0.0))
    assert after.admits() == ONLY_ALICE
    after.wait(60.0)
    assert after.admits() == CLOSED, "the host does not answer"


def test_a_session_that_has_ended_while_no_controller_was_there_is_reported_as_ended() -> None:
    of = replace(params(), port_access=AccessParams("192.0.2.1", accounting=True))
    site = Site(of)
    site.login(answer=replace(ACCEPT, timeout=20))
    after = Site(of, ports=0)
    after.bridge.port_access.restore({**site.bridge.port_access.dump(), "passed": 30.0})
    after.done(after.bridge.set_ports([port(1)], 0.0))
    (report,) = (each for each in after.effects if isinstance(each, AccountSession))
    assert (report.status, report.cause) == (2, 5), "the stop, by Session-Timeout"


def test_a_session_whose_link_is_down_after_a_takeover_is_reported_as_ended() -> None:
    of = replace(params(), port_access=AccessParams("192.0.2.1", accounting=True))
    site = Site(of)
    site.login()
    after = Site(of, ports=0)
    after.bridge.port_access.restore({**site.bridge.port_access.dump(), "passed": 1.0})
    after.done(after.bridge.set_ports([port(1, up=False)], 0.0))
    after.done(after.bridge.go_on(0.0))
    (report,) = (each for each in after.effects if isinstance(each, AccountSession))
    assert (report.status, report.cause, report.ident) == (2, 2, site.asked[0].ident)
    (ended,) = (each for each in after.events if each.kind == "port_access.ended")
    assert ended.data["why"] == "the link is down"
    after.done(after.bridge.put_port(port(1), 1.0))
    assert after.admits() == CLOSED


def test_vlans_of_many_hosts_are_one_change_of_the_bridge() -> None:
    site = Site(params(vlan=10, authentication="mab"), ports=9)
    for number in range(1, 10):
        site.first_frame(ALICE + number, number)
        site.answer(replace(ACCEPT, vlan="20"))
    site.effects.clear()
    site.wait(1.0)
    assert site.effects.count(Reprogram()) == 1
    assert all(site.bridge.desired_port(each).vlans == access(20) for each in range(1, 10))


def test_a_port_cannot_take_more_than_its_hosts() -> None:
    site = Site(params(authentication="mab", host_mode="multi_auth", max_hosts=8))
    for each in range(100):
        site.first_frame(ALICE + each)
    assert len(site.asked) == 8
    assert site.kinds().count("port_access.full") == 1
    (status, _) = site.bridge.port_access.status(site.now)
    assert status.counters["over_limit"] == 92


def test_hosts_of_one_port_leave_the_servers_to_other_ports() -> None:
    site = Site(params(authentication="mab", host_mode="multi_auth", max_hosts=256))
    for each in range(256):
        site.first_frame(ALICE + each)
    assert len(site.asked) == MOST_QUESTIONS
    site.first_frame(ALICE + 256, number=2)
    assert site.asked[-1].port == 2, "another port does not wait"
    assert site.kinds() == ["port_access.busy"]
    (problem,) = site.bridge.problems(site.now)
    assert problem.text == (
        "port eth1 had 16 open questions to RADIUS servers, the most that it may; 240 hosts wait"
    )
    answered = 0
    while answered < len(site.asked):
        question = site.asked[answered]
        effects = site.bridge.port_access.answer(question.number, ACCEPT, site.now)
        site.done(site.bridge.carry_out(effects, site.now))
        answered += 1
    assert answered == 257, "each host had its turn"
    first, second = site.bridge.port_access.status(site.now)
    assert (first.authorised, first.waiting, first.counters["waited"]) == (256, 0, 240)
    assert (second.authorised, second.counters.get("waited")) == (1, None)
    site.wait(301.0)
    assert "port_access.busy.cleared" in site.kinds()
    assert not [*site.bridge.problems(site.now)]


def test_a_host_that_begins_again_and_again_takes_no_more_than_its_ports_share() -> None:
    site = Site(params())
    for _ in range(100):
        site.hear(ALICE, eapol.START)
        site.identity()
        site.wait(1.0)
    assert len(site.asked) == MOST_QUESTIONS
    site.done(site.bridge.put_port(port(1, up=False), site.now))
    site.done(site.bridge.put_port(port(1), site.now))
    site.hear(ALICE, eapol.START)
    site.identity()
    assert len(site.asked) == MOST_QUESTIONS, "a link that goes down and up frees no question"
    for question in [*site.asked]:
        effects = site.bridge.port_access.answer(question.number, SILENT, site.now)
        site.done(site.bridge.carry_out(effects, site.now))
    site.answer(ACCEPT)
    assert site.admits() == ONLY_ALICE


def test_starts_are_bounded() -> None:
    site = Site(params())
    for _ in range(100):
        site.hear(ALICE, eapol.START)
    assert len([each for each in site.sent if each[1] == ALICE]) == 1
    (status, _) = site.bridge.port_access.status(site.now)
    assert status.counters["start_too_early"] == 99
    (event,) = (each for each in site.events if each.kind == "port_access.starts")
    assert (event.port, event.data["mac"]) == (1, "02:00:00:00:00:0a")
    site.wait(400.0)
    (cleared,) = (each for each in site.events if each.kind == "port_access.starts.cleared")
    assert (cleared.port, cleared.data["dropped"]) == (1, 99)


def log_off(site: Site) -> None:
    site.login(answer=replace(ACCEPT, up=5_000_000))
    site.wait(0.3)
    site.hear(ALICE, eapol.LOGOFF)


def log_off_with_an_answer_to_all_hosts(site: Site) -> None:
    """No EAPOL-Start is sent: the host answers the last request to all hosts."""
    site.wait(0.1)
    to_all = [eap for _, to, eap in site.sent if to == eapol.PAE_GROUP]
    invited = to_all[-1][1]
    site.hear(ALICE, eapol.EAP, bytes([2, invited, 0, 6, 1, 97]))
    site.answer(replace(ACCEPT, up=5_000_000))
    site.wait(0.3)
    site.hear(ALICE, eapol.LOGOFF)


def be_another_user(site: Site) -> None:
    for user in (b"alice", b"bob"):
        site.login(user=user, answer=replace(ACCEPT, up=5_000_000 + len(user)))
        site.wait(1.0)


def move(site: Site) -> None:
    for number in (1, 2):
        site.login(number=number, answer=replace(ACCEPT, up=5_000_000))
        site.wait(0.3)


@pytest.mark.parametrize(
    "ends", [log_off, log_off_with_an_answer_to_all_hosts, be_another_user, move]
)
def test_sessions_that_a_host_ends_again_and_again_are_bounded(
    ends: Callable[[Site], None],
) -> None:
    """The whole bridge follows the rate of a host, so all ports would suffer."""
    site = Site(params())
    while site.now < 60.0:
        ends(site)
    ports = 2 if ends is move else 1
    most = ports * (MOST_ENDS + 1 + 60.0 / END_INTERVAL)
    assert MOST_ENDS < site.kinds().count("port_access.authorised") <= most
    assert site.effects.count(Reprogram()) <= 2 * most
    warned = [each.port for each in site.events if each.kind == "port_access.starts"]
    assert sorted(warned) == [*range(1, ports + 1)]
    status = site.bridge.port_access.status(site.now)[0]
    assert status.counters["start_too_early"] > 10
    site.wait(END_INTERVAL)
    site.login()
    assert site.admits() == ONLY_ALICE, "it comes back by itself"
    site.wait(400.0)
    assert site.kinds().count("port_access.starts.cleared") == ports


@pytest.mark.parametrize(("mode", "hosts"), [("single", 1), ("multi", 1), ("multi_auth", 16)])
def test_hosts_that_log_off_may_log_on_at_once(mode: str, hosts: int) -> None:
    """Behind a small switch all may do so at the same time, as when a shift ends."""
    site = Site(params(host_mode=mode))
    macs = range(ALICE, ALICE + hosts)
    for mac in macs:
        site.login(mac)
    for mac in macs:
        site.hear(mac, eapol.LOGOFF)
    assert site.admits() == CLOSED
    for mac in macs:
        site.login(mac)
    (status, _) = site.bridge.port_access.status(site.now)
    assert status.authorised == hosts
    assert "port_access.starts" not in site.kinds()


def test_a_refused_host_that_begins_again_is_no_warning() -> None:
    """Hosts do so: they do not know the quiet period."""
    site = Site(params(quiet_period=60))
    site.login(answer=REJECT)
    for _ in range(5):
        site.hear(ALICE, eapol.START)
    (status, _) = site.bridge.port_access.status(site.now)
    assert status.counters["start_while_held"] == 5
    assert "port_access.starts" not in site.kinds()


@pytest.mark.parametrize("again", [False, True])
def test_starts_do_not_keep_a_grant_beyond_its_time(again: bool) -> None:
    """The host answers no request for its identity, since the server would refuse it now."""
    site = Site(params())
    site.login(answer=Answer("accept", timeout=60, again=again))
    for _ in range(60):
        site.wait(5.0)
        site.hear(ALICE, eapol.START)
    assert site.admits() == CLOSED


@pytest.mark.parametrize("again", [False, True])
def test_a_host_that_has_no_server_answer_does_not_keep_a_grant_beyond_its_time(
    again: bool,
) -> None:
    """Some servers leave identities without an answer, as those of a realm that is down."""
    site = Site(params())
    site.login(answer=replace(ACCEPT, timeout=100, again=again))
    site.wait(90.0)
    for _ in range(5):
        site.hear(ALICE, eapol.START)
        site.identity(user=b"alice@down.example")
        site.answer(SILENT)
        site.wait(50.0)
    assert site.admits() == CLOSED


def test_an_outage_of_the_servers_does_not_prolong_a_session_that_is_to_end() -> None:
    site = Site(params())
    site.login(answer=replace(ACCEPT, timeout=100))
    site.wait(50.0)
    site.hear(ALICE, eapol.START)
    site.identity()
    site.answer(SILENT)
    assert site.admits() == ONLY_ALICE
    site.wait(49.0)
    assert site.admits() == ONLY_ALICE
    site.wait(2.0)
    assert site.admits() == CLOSED
    assert site.events[-1].data["why"] == "its Session-Timeout has passed"


def test_a_session_ends_in_time_although_the_host_is_authenticated_again() -> None:
    """Its exchange with the server may have many rounds."""
    site = Site(params(), ports=1)
    site.login(answer=replace(ACCEPT, timeout=50))
    site.done(site.bridge.port_access.reauthenticate(None, ALICE, site.now))
    site.wait(1.0)
    site.identity()
    while site.now < 45.0:
        site.answer(CHALLENGE)
        site.wait(5.0)
        site.respond()
    assert site.admits() == ONLY_ALICE
    site.wait(5.0)
    assert site.admits() == CLOSED
    site.answer(ACCEPT)
    assert site.admits() == CLOSED, "the answer is too late"


@pytest.mark.parametrize("answer", [None, CHALLENGE])
def test_a_host_is_found_by_its_user_while_it_claims_another_identity(
    answer: Answer | None,
) -> None:
    """Else a host would evade Disconnect-Requests that name it by User-Name."""
    of = replace(params(), port_access=AccessParams("192.0.2.1", accounting=True))
    site = Site(of)
    site.login()
    site.wait(2.0)
    site.hear(ALICE, eapol.START)
    site.identity(user=b"mallory")
    if answer is not None:
        site.answer(answer)
    assert site.asked[-1].user == b"mallory"
    found = site.bridge.port_access.matching
    assert found(SessionFilter(user=USER)) == [("eth1", ALICE)]
    assert found(SessionFilter(user=b"mallory")) == []
    (row,) = site.bridge.port_access.dump()["hosts"]
    assert bytes.fromhex(row["user"]) == USER
    (host,) = site.bridge.port_access.hosts(site.now)
    assert host.user == "alice"
    site.done(site.bridge.port_access.clear("eth1", ALICE, site.now))
    reports = [each for each in site.effects if isinstance(each, AccountSession)]
    assert [each.user for each in reports] == [USER, USER]
    assert site.events[-1].data["user"] == "alice"


def test_a_timeout_that_a_server_changes_holds_for_a_host_that_is_being_authenticated() -> None:
    site = Site(params())
    site.login()
    site.wait(2.0)
    site.hear(ALICE, eapol.START)
    site.identity()
    demand = replace(ACCEPT, timeout=50)
    effects = site.bridge.port_access.change("eth1", ALICE, demand, site.now)
    site.done(site.bridge.carry_out(effects, site.now))
    site.answer(SILENT)
    site.wait(49.0)
    assert site.admits() == ONLY_ALICE
    site.wait(2.0)
    assert site.admits() == CLOSED


@pytest.mark.parametrize(("again", "admitted"), [(False, CLOSED), (True, ONLY_ALICE)])
def test_hosts_that_version_0_3_0_has_stored_are_restored(again: bool, admitted: Admission) -> None:
    site = Site(params())
    site.login()
    dump = site.bridge.port_access.dump()
    (row,) = dump["hosts"]
    del row["ends"]
    after = Site(params(), ports=0)
    stored = {**dump, "hosts": [{**row, "left": 20.0, "again": again}], "passed": 1.0}
    after.bridge.port_access.restore(stored)
    after.done(after.bridge.set_ports([port(1)], 0.0))
    after.done(after.bridge.go_on(0.0))
    after.wait(18.0)
    assert after.admits() == ONLY_ALICE
    after.wait(2.0)
    assert after.admits() == admitted


def test_a_host_that_starts_three_times_and_then_answers_keeps_its_grant() -> None:
    site = Site(params())
    site.login()
    for _ in range(10):
        for _ in range(3):
            site.wait(5.0)
            site.hear(ALICE, eapol.START)
        site.identity()
        site.answer(ACCEPT)
        assert site.admits() == ONLY_ALICE
    (status, _) = site.bridge.port_access.status(site.now)
    assert "start_too_early" not in status.counters


@pytest.mark.parametrize("flood", ["starts", "first frames"])
def test_a_flood_of_a_host_takes_no_memory(flood: str) -> None:
    site = Site(params(authentication="dot1x_mab", host_mode="multi_auth", max_hosts=1))
    site.login()
    tracemalloc.start()
    try:
        for each in range(10_000):
            site.now += 0.001
            if flood == "starts":
                site.hear(ALICE, eapol.START)
            else:
                site.first_frame(BOB + each)
            site.effects.clear()
        assert tracemalloc.get_traced_memory()[0] < 300_000
    finally:
        tracemalloc.stop()
    site.wait(400.0)
    assert not [problem for problem in site.bridge.problems(site.now) if "full" in problem.of.name]


def test_operators_clear_and_reauthenticate() -> None:
    site = Site(params())
    site.login(answer=REJECT)
    site.done(site.bridge.port_access.clear("eth1", None, site.now))
    site.wait(0.0)
    site.identity()
    site.answer(ACCEPT)
    site.done(site.bridge.port_access.reauthenticate(None, ALICE, site.now))
    site.wait(0.0)
    assert site.sent[-1][1] == ALICE
    assert site.sent[-1][2][4] == eapol.IDENTITY
    assert site.admits() == ONLY_ALICE


def test_what_stays_open_although_it_fits_a_pattern_is_a_problem() -> None:
    of_port = replace(params().ports["eth?"], port_access=Controlled("mab"))
    lags = {"bond": LagParams(("eth7", "eth8")), "eth9": LagParams(("x1", "x2"))}
    wanted = replace(params(), ports={"eth?": of_port, "br?": of_port}, lags=lags)
    site = Site(wanted, ports=1)

    def texts() -> list[str]:
        found = site.bridge.problems(site.now)
        return [str(each.text) for each in found if each.of is problems.OPEN]

    assert texts() == [
        "br1 (LOCAL) fits a pattern with authentication mab, and stays open",
        "aggregation bond (members eth7, eth8) fits a pattern with authentication mab, and stays"
        " open",
        "aggregation eth9 fits a pattern with authentication mab, and stays open",
    ]
    meant = dict.fromkeys(("br1", "bond", "eth9"), PortParams())
    site.done(site.bridge.set_params(replace(wanted, ports=wanted.ports | meant), site.now))
    assert texts() == []


def test_a_port_that_joins_an_aggregation_ends_its_session_and_is_open_as_a_member() -> None:
    of = params()
    site = Site(of)
    site.login()
    lags = {"bond0": LagParams(("eth1", "eth2"))}
    site.done(site.bridge.set_params(replace(of, lags=lags), site.now))
    (ended,) = (each for each in site.events if each.kind == "port_access.ended")
    assert ended.data["mac"] == "02:00:00:00:00:0a"
    assert list(site.bridge.port_access.hosts(site.now)) == []
    (logical,) = site.bridge.lags.members()
    assert site.admits(logical) is None
    site.done(site.bridge.set_params(of, site.now))
    assert site.admits(1) == CLOSED, "it is controlled again"


def test_a_silent_host_stays_authorised_when_an_operator_has_it_authenticated_again() -> None:
    site = Site(params(authentication="mab"))
    site.first_frame(ALICE)
    site.answer(ACCEPT)
    site.done(site.bridge.port_access.reauthenticate(None, ALICE, site.now))
    site.wait(0.0)
    assert len(site.asked) == 2
    assert site.admits() == ONLY_ALICE
    site.answer(ACCEPT)
    assert site.admits() == ONLY_ALICE
    site.wait(3600.0)
    assert site.admits() == CLOSED, "its period is over, and it has sent nothing"


def test_a_port_that_is_not_controlled_any_more_is_open() -> None:
    site = Site(params())
    site.login()
    site.done(site.bridge.set_params(replace(params(), port_access=None), site.now))
    assert site.admits() is None
    site.done(site.bridge.set_params(params(), site.now))
    assert site.admits() == CLOSED


@given(st.lists(st.tuples(st.sampled_from(["eapol", "first_frame"]), st.binary(max_size=80))))
def test_no_frame_of_a_host_raises_or_admits(frames: list[tuple[str, bytes]]) -> None:
    site = Site(params(authentication="dot1x_mab", host_mode="multi_auth"))
    head = b"\x01\x80\xc2\0\0\3\2\0\0\0\0\1\x88\x8e"
    for kind, octets in frames:
        for frame in (octets, head + octets):
            site.done(site.bridge.hear(kind, [(1, frame)], site.now))
    assert site.admits() == CLOSED


@given(st.binary(max_size=60))
def test_what_is_read_has_an_identifier_and_an_identity(octets: bytes) -> None:
    said = eapol.read(b"\x01\x80\xc2\0\0\3\2\0\0\0\0\1\x88\x8e" + octets)
    if isinstance(said, eapol.Eapol) and said.kind == eapol.EAP:
        assert said.eap[0] == eapol.RESPONSE
        assert 0 <= said.identifier < 256


def test_a_challenge_without_a_request_is_a_refusal() -> None:
    site = Site(params())
    site.hear(ALICE, eapol.START)
    site.identity()
    site.answer(replace(CHALLENGE, eap=b"\x03\x07\x00\x04"))
    assert "port_access.refused" in site.kinds()


def test_late_answers_change_nothing() -> None:
    site = Site(params())
    site.hear(ALICE, eapol.START)
    site.identity()
    late = site.asked[-1].number
    site.wait(2.0)
    site.hear(ALICE, eapol.START)
    site.done(site.bridge.port_access.answer(late, ACCEPT, site.now))
    assert site.admits() == CLOSED


def test_sessions_are_reported_from_their_start_to_their_end() -> None:
    accounting = replace(AccessParams(servers="192.0.2.1"), accounting=True, interim_period=60)
    site = Site(replace(params(reauth_period=0), port_access=accounting))
    site.login(answer=replace(ACCEPT, classes=(b"staff",)))
    site.wait(130.0)
    site.hear(ALICE, eapol.LOGOFF)
    reports = [each for each in site.effects if isinstance(each, AccountSession)]
    assert [(each.status, each.seconds, each.cause) for each in reports] == [
        *((1, 0, 0), (3, 60, 0), (3, 120, 0)),
        (2, 130, 1),
    ]
    assert {(each.ident, each.user, each.classes) for each in reports} == {
        (reports[0].ident, b"alice", (b"staff",))
    }
    assert site.bridge.port_access.matching(SessionFilter(reports[0].ident)) == []


@pytest.mark.parametrize("demanded", [False, True])
def test_a_host_that_is_authenticated_again_as_another_user_has_another_session(
    demanded: bool,
) -> None:
    accounting = replace(AccessParams(servers="192.0.2.1"), accounting=True)
    site = Site(replace(params(), port_access=accounting))
    site.login(answer=replace(ACCEPT, classes=(b"staff",)))
    site.wait(30.0)
    if demanded:
        site.bridge.port_access.reauthenticate("eth1", ALICE, site.now)
        site.wait(0.1)
        site.identity(user=b"bob")
        site.answer(replace(ACCEPT, classes=(b"guests",)))
    else:
        site.login(user=b"bob", answer=replace(ACCEPT, classes=(b"guests",)))
    assert site.admits() == ONLY_ALICE
    reports = [each for each in site.effects if isinstance(each, AccountSession)]
    assert [(each.status, each.user, each.cause, each.classes) for each in reports] == [
        (1, b"alice", 0, (b"staff",)),
        (2, b"alice", 19, (b"staff",)),
        (1, b"bob", 0, (b"guests",)),
    ]
    assert reports[0].ident == reports[1].ident != reports[2].ident
    assert [(each.kind, each.data["user"]) for each in site.events if "user" in each.data] == [
        ("port_access.authorised", "alice"),
        ("port_access.ended", "alice"),
        ("port_access.authorised", "bob"),
    ]
    site.wait(10.0)
    site.hear(ALICE, eapol.LOGOFF)
    (*_, stop) = (each for each in site.effects if isinstance(each, AccountSession))
    assert (stop.status, stop.user, stop.seconds, stop.ident) == (2, b"bob", 10, reports[2].ident)


def test_a_host_that_is_authenticated_again_as_the_same_user_goes_on() -> None:
    accounting = replace(AccessParams(servers="192.0.2.1"), accounting=True)
    site = Site(replace(params(), port_access=accounting))
    site.login()
    site.wait(30.0)
    site.login()
    assert site.kinds() == ["port_access.authorised"]
    assert len([each for each in site.effects if isinstance(each, AccountSession)]) == 1


def test_fallbacks_are_not_reported() -> None:
    accounting = replace(AccessParams(servers="192.0.2.1"), accounting=True)
    site = Site(replace(params(vlan=10, critical_vlan=99), port_access=accounting))
    site.hear(ALICE, eapol.START)
    site.identity()
    site.answer(SILENT)
    assert not [each for each in site.effects if isinstance(each, AccountSession)]


@pytest.mark.parametrize("port", [1, 9999, 10_000, 59_999, 60_000, 64_999, 65_535])
def test_a_server_may_have_any_udp_port(port: int) -> None:
    servers = f"192.0.2.1:{port},[2001:db8::1]:{port}"
    assert AccessParams(servers=servers).servers == servers


@pytest.mark.parametrize("port", [0, 65_536, 70_000, 100_000])
def test_a_port_that_no_server_can_have_is_refused(port: int) -> None:
    with pytest.raises(InputError, match="with or without :PORT"):
        AccessParams(servers=f"192.0.2.1:{port}")
