"""Loop protection in virtual time: loops end, uplinks stay, and copied frames close nothing."""

from dataclasses import replace
from random import Random

import pytest

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import Effect, SendFrame, SetFlood
from ofapp.bridge.lldp.own import OwnAgents
from ofapp.bridge.loop_protect.frame import ETHERTYPE, LoopFrame, LoopFrames, Refusal
from ofapp.bridge.loop_protect.holds import LatestHolds
from ofapp.bridge.loop_protect.params import PortParams as LoopPortParams
from ofapp.bridge.packet.ethernet import frame_vid, tagged
from ofapp.bridge.params.params import PortParams
from ofapp.bridge.ports.port import LOCAL_PORT
from ofapp.bridge.ports.vlan import access, trunk
from ofapp.bridge.state import SharedState
from ofapp.bridge.stp import BridgeParams as StpParams
from ofapp.bridge.stp import PortState
from tests.unit.bridge.loop_protect.cabling import (
    DUMB,
    UPLINK,
    UPLINKS,
    Cabling,
    bridge_of,
    random_cabling,
)

FORWARDING, DISCARDING = PortState.FORWARDING, PortState.DISCARDING


def state(bridge: Bridge, port: int) -> PortState | None:
    return bridge.desired_port(port).state


def frames(effects: list[Effect], port: int) -> list[bytes]:
    sent = (each for each in effects if isinstance(each, SendFrame) and each.ports == {port})
    return [each.frame for each in sent if ETHERTYPE in (each.frame[12:14], each.frame[16:18])]


def sent(bridge: Bridge, port: int, until: float = 1.0) -> list[bytes]:
    """The frames that a port sends until then."""
    found, now = list[bytes](), 0.0
    while (due := bridge.next_wakeup()) is not None and due <= until:
        now = max(due, now)
        found += frames(bridge.tick(now), port)
    return found


def counted(bridge: Bridge) -> dict[str, int]:
    return {name: count for name, count in bridge.loop_protect.counters.items() if name != "sent"}


# Loops


def test_of_the_two_ends_of_a_loop_one_is_closed_within_a_second() -> None:
    cabling = Cabling({1: bridge_of(1)}, [((1, 4), (DUMB, 0)), ((1, 6), (DUMB, 1))])
    cabling.run(1.0)
    assert cabling.held == [(1, 6)]
    assert cabling.loops() == []
    (event,) = (event for _, _, event in cabling.of("held"))
    assert "port 6 " in event.message
    assert "port 4 " in event.message
    (problem,) = cabling.bridges[1].problems(1.0)
    assert (problem.of.name, problem.port, problem.data["other"]) == ("loop_protect.held", 6, 4)
    find = cabling.bridges[1].ports.get
    assert problem.worded("br1", find).remedy == "ofapp loop-protect free br1 p6"
    assert "port p6 (6)" in problem.worded("br1", find).message
    assert "port p4 (4)" in problem.worded("br1", find).message


def test_a_held_port_gets_no_floods_and_forgets_its_hosts() -> None:
    bridge = bridge_of(1)
    bridge.learning.learn([(6, 0, 0x02_00_00_00_00_05)], 0.0)
    (*_, frame) = sent(bridge, 4)
    effects = bridge.hear("loop_protect", [(6, frame)], 1.0)
    (flood,) = (effect for effect in effects if isinstance(effect, SetFlood))
    assert 6 not in flood.ports
    assert len(bridge.fdb) == 0


def test_a_loop_in_a_switch_behind_one_port_closes_this_port() -> None:
    cables = [((1, 5), (DUMB, 0)), ((DUMB, 1), (DUMB, 2))]
    cabling = Cabling({1: bridge_of(1)}, cables)
    assert cabling.loops() == ["(1, 5) - (100, 0)"]
    cabling.run(1.0)
    assert cabling.held == [(1, 5)]


def test_an_uplink_stays_and_the_edge_port_is_closed() -> None:
    """The switch connects edge ports of two bridges, which have a cable between them."""
    settings = {"p1": UPLINK}
    bridges = {number: bridge_of(number, settings=settings) for number in (1, 2)}
    cables = [((1, 1), (2, 1)), ((1, 4), (DUMB, 0)), ((2, 4), (DUMB, 1))]
    cabling = Cabling(bridges, cables)
    cabling.run(1.0)
    assert len(cabling.held) == 1
    assert cabling.held[0] in [(1, 4), (2, 4)]


def test_a_thousand_random_cablings_end_without_loops_and_with_all_uplinks() -> None:
    looped = 0
    for seed in range(1000):
        cabling = random_cabling(Random(seed))
        before = cabling.loops()
        cabling.run(2.0)
        about = f"seed {seed}: {before}, held: {cabling.held}"
        assert cabling.loops() == [], about
        assert all(port > 3 for _, port in cabling.held), about
        assert bool(before) == bool(cabling.held), about
        looped += bool(before)
    assert looped > 500


@pytest.mark.parametrize("part", range(4))
def test_of_a_thousand_random_cablings_each_has_the_fewest_ports_held(part: int) -> None:
    """Frames and ports take up to 100 ms, so several bridges find the same loop at once.

    No held port could be open.  So the ports that are left are a tree, and each tree has as many.
    """
    together = 0
    for seed in range(part * 250, part * 250 + 250):
        cabling = random_cabling(Random(seed), Random(seed))
        cabling.run(4.0)
        about = f"seed {seed}, held: {cabling.held}"
        assert cabling.loops() == [], about
        assert len({*cabling.held}) == len(cabling.held), about
        for end in cabling.held:
            assert cabling.loops(opened=end), f"{about}: {end} is held needlessly"
        counted = (bridge.loop_protect.counters for bridge in cabling.bridges.values())
        together += any(counters["outdated"] for counters in counted)
    assert together > 20


@pytest.mark.parametrize("seed", range(10))
def test_of_a_loop_through_bridges_of_two_members_one_port_is_held_after_the_first_hold(
    seed: int,
) -> None:
    """Members do not know of each other's holds, so each may hold a port at first."""
    own = {f"p{port}": UPLINK for port in UPLINKS}
    members = {
        number: bridge_of(number, settings=own, shared=SharedState(OwnAgents(b"secret")), hold=4)
        for number in (1, 2)
    }
    ends = [(1, 8), (2, 8)]
    loop = [(end, (DUMB, port)) for port, end in enumerate(ends)]
    cabling = Cabling(members, [((1, 1), (2, 1)), *loop], Random(seed))
    for until in (2.0, 10.0, 60.0):
        cabling.run(until)
        held = [end for end in ends if members[end[0]].loop_protect.held(end[1])]
        assert cabling.loops() == []
        assert len(held) == 1 or (held and until < 4.0)
    assert len(cabling.held) <= 3


def test_a_port_that_spanning_tree_blocks_is_the_end_of_no_loop() -> None:
    bridge = bridge_of(1)
    bridge.relay.set_state(4, DISCARDING)
    (*_, frame) = sent(bridge, 6)
    bridge.hear("loop_protect", [(4, frame)], 1.0)
    assert (state(bridge, 6), counted(bridge)) == (FORWARDING, {"blocked": 1})


def test_a_port_with_another_bridge_behind_it_neither_sends_nor_is_held() -> None:
    bridge = bridge_of(1)
    bridge.set_params(replace(bridge.params, stp=StpParams()), 0.0)
    assert not any(bridge.stp.is_edge(port) for port in range(1, 9))
    assert sent(bridge, 4, 0.04) == []
    sent(bridge, 4, 10.0)  # the ports become edge ports: no bridge answers
    assert bridge.stp.is_edge(4)
    assert {port.number for port in bridge.loop_protect.status(10.0) or ()} == {*range(1, 9)}


@pytest.mark.parametrize("port", [1, 2, LOCAL_PORT])
def test_uplinks_ports_that_are_turned_off_and_local_do_not_send(port: int) -> None:
    off = PortParams(loop_protect=LoopPortParams(enabled=False))
    assert sent(bridge_of(1, settings={"p1": UPLINK, "p2": off}), port) == []


# Ways back


def test_a_held_port_opens_when_no_frame_comes_back_any_more() -> None:
    cabling = Cabling({1: bridge_of(1)}, [((1, 4), (DUMB, 0)), ((1, 6), (DUMB, 1))])
    cabling.run(100.0)
    assert cabling.held == [(1, 6)], "it stays closed while the loop is there"
    assert state(cabling.bridges[1], 6) is DISCARDING
    cabling.cut((1, 4))
    cabling.run(129.0)
    assert state(cabling.bridges[1], 6) is DISCARDING
    cabling.run(131.0)
    assert state(cabling.bridges[1], 6) is FORWARDING
    assert [*cabling.bridges[1].problems(131.0)] == []


def test_each_further_hold_lasts_twice_as_long_until_the_longest() -> None:
    cabling = Cabling({1: bridge_of(1, hold=10, longest_hold=40)}, [])
    lengths = []
    for _ in range(4):
        begin = cabling.now
        cabling.connect((1, 4), (1, 6))
        cabling.run(begin + 2)
        cabling.cut((1, 4))
        cabling.run(begin + 45)
        ends = [at for at, _, _ in cabling.of("freed")]
        lengths.append(round(ends[-1] - begin) // 10)
    assert lengths == [1, 2, 4, 4]


def test_a_port_is_freed_by_request_and_closed_again_by_the_next_frame() -> None:
    cabling = Cabling({1: bridge_of(1)}, [((1, 4), (1, 6))])
    cabling.run(2.0)
    bridge = cabling.bridges[1]
    effects = bridge.loop_protect.free(6, "by request", 2.0)
    cabling.carry(1, bridge.carry_out(effects, 2.0))
    assert cabling.held == [(1, 6), (1, 6)], "the port sends as soon as it opens"
    assert bridge.loop_protect.free(5, "by request", 2.0) == []


def test_holds_end_with_loop_protection_and_with_an_edge_port_that_becomes_an_uplink() -> None:
    for params in ({"loop_protect": None}, {"ports": {"p6": UPLINK}}):
        cabling = Cabling({1: bridge_of(1)}, [((1, 4), (1, 6))])
        cabling.run(1.0)
        bridge = cabling.bridges[1]
        bridge.set_params(replace(bridge.params, **params), 1.0)  # type: ignore[arg-type]
        assert state(bridge, 6) is FORWARDING


def test_the_next_process_keeps_ports_closed() -> None:
    cabling = Cabling({1: bridge_of(1)}, [((1, 4), (1, 6))])
    cabling.run(1.0)
    old = cabling.bridges[1]
    new = Bridge(1, old.params, SharedState(OwnAgents(b"another")))
    assert new.loop_protect.restore(old.loop_protect.dump()) == []
    new.set_ports([*old.ports], 500.0)
    new.go_on(500.0)
    assert state(new, 6) is DISCARDING
    again = Cabling({1: new}, [])
    again.run(531.0)
    assert state(new, 6) is FORWARDING


def test_holds_of_ports_that_are_gone_end() -> None:
    cabling = Cabling({1: bridge_of(1)}, [((1, 4), (1, 6))])
    cabling.run(1.0)
    bridge = cabling.bridges[1]
    port = bridge.ports.get(6)
    assert port is not None
    bridge.remove_port(6, 2.0)
    bridge.put_port(replace(port, name="other"), 2.0)
    assert state(bridge, 6) is FORWARDING


@pytest.mark.parametrize("data", [None, [], {"held": 5}, {"held": [{"port": "x"}]}])
def test_a_damaged_document_is_refused(data: object) -> None:
    with pytest.raises(ValueError, match="not the ports that are held"):
        bridge_of(1).loop_protect.restore(data)


def test_while_the_switch_is_disconnected_time_does_not_count() -> None:
    cabling = Cabling({1: bridge_of(1)}, [((1, 4), (1, 6))])
    cabling.run(1.0)
    bridge = cabling.bridges[1]
    bridge.pause(1.0)
    assert bridge.tick(900.0) == []
    bridge.go_on(1000.0)
    cabling.cut((1, 4))
    cabling.now = 1000.0
    cabling.run(1028.0)
    assert state(bridge, 6) is DISCARDING


def test_the_tree_does_not_start_again_because_a_port_is_held() -> None:
    """What the switch has is compared with the tree's states: a held port is closed in both."""
    bridge = bridge_of(1)
    bridge.set_params(replace(bridge.params, stp=StpParams()), 0.0)
    (*_, frame) = sent(bridge, 4, 10.0)
    bridge.hear("loop_protect", [(6, frame)], 10.0)
    states = bridge.stp.states()
    assert states is not None
    assert (states[6], states[4]) == (DISCARDING, FORWARDING)


# Hosts


def test_a_frame_that_was_recorded_closes_nothing() -> None:
    bridge = bridge_of(1)
    old = sent(bridge, 4, 1.0)[0]
    for now in (10.0, 60.0, 5000.0):
        sent(bridge, 4, now)
        for port in (4, 6, LOCAL_PORT):
            bridge.hear("loop_protect", [(port, old)], now)
    assert counted(bridge) == {"stale": 9}


def test_a_frame_that_a_storm_has_delayed_by_seconds_holds_the_port() -> None:
    """A storm fills the queues of the switch, so frames come back 3 to 5 s late."""
    bridge = bridge_of(1)
    (*_, late) = sent(bridge, 4, 1.0)
    for now in (2.0, 3.0, 4.0, 5.0):
        sent(bridge, 4, now)
    bridge.hear("loop_protect", [(4, late)], 6.0)
    assert counted(bridge) == {"returned": 1, "held": 1}


def test_a_host_has_only_the_frames_of_its_own_port_and_closes_no_other_one() -> None:
    """On port 6 it hears what port 6 sends; it sends that, whole or changed, on port 6."""
    bridge = bridge_of(1)
    (*_, frame) = sent(bridge, 6)
    for at in range(14, len(frame)):
        changed = frame[:at] + bytes([frame[at] ^ 1]) + frame[at + 1 :]
        bridge.hear("loop_protect", [(6, changed)], 1.0)
    others = [port for port in range(1, 9) if port != 6]
    assert {state(bridge, port) for port in others} == {FORWARDING}
    bridge.hear("loop_protect", [(6, frame)], 1.0)
    assert {state(bridge, port) for port in others} == {FORWARDING}
    assert state(bridge, 6) is DISCARDING, "it may close its own port"


@pytest.mark.parametrize("key", [b"", b"other"])
def test_frames_by_another_key_and_of_an_earlier_run_close_nothing(key: bytes) -> None:
    bridge = bridge_of(1)
    sent(bridge, 4)
    for frames_of in (LoopFrames(1, OwnAgents(key)), LoopFrames(1, OwnAgents(b"secret"))):
        for number in range(200):
            frame = frames_of.write(LoopFrame(4, 0, number), 1, tag=False)
            bridge.hear("loop_protect", [(6, frame)], 1.0)
    assert counted(bridge) == {"foreign": 200, "forged": 200}


def test_random_octets_are_counted() -> None:
    bridge, random = bridge_of(1), Random(1)
    (*_, frame) = sent(bridge, 4)
    for length in range(120):
        bridge.hear("loop_protect", [(6, frame[:12] + random.randbytes(length))], 1.0)
        bridge.hear("loop_protect", [(6, frame[: min(length, 59)])], 1.0)
    assert {*counted(bridge)} <= {each.value for each in Refusal}
    assert sum(counted(bridge).values()) == 240


# VLANs


def test_a_trunk_sends_in_each_vlan_and_the_event_has_the_vlan() -> None:
    vlans = {
        "p4": PortParams(vlans=trunk(frozenset({10, 20}), 30)),
        "p6": PortParams(vlans=access(20)),
    }
    bridge = bridge_of(1, settings=vlans)
    found = {frame_vid(frame): frame for frame in sent(bridge, 4)}
    assert {*found} == {0, 10, 20}
    bridge.hear("loop_protect", [(6, found[10])], 1.0)
    bridge.hear("loop_protect", [(6, found[0])], 1.0)
    assert counted(bridge) == {"other_vlan": 2}
    untagged = found[20][:12] + found[20][16:]
    effects = bridge.hear("loop_protect", [(6, untagged)], 1.0)
    (event,) = (each for each in effects if getattr(each, "kind", "") == "loop_protect.held")
    assert event.data["vlan"] == 20  # type: ignore[union-attr]
    assert state(bridge, 6) is DISCARDING


def test_many_vlans_of_a_trunk_take_turns() -> None:
    vids = frozenset(range(100, 130))
    vlans = {"p4": PortParams(vlans=trunk(vids))}
    found = [frame_vid(frame) for frame in sent(bridge_of(1, settings=vlans), 4, 4.5)]
    assert {*found} == vids
    assert len(found) <= 5 * 8


def test_a_priority_tag_is_no_vlan() -> None:
    bridge = bridge_of(1)
    (*_, frame) = sent(bridge, 4)
    priority = frame[:12] + b"\x81\x00\xe0\x00" + frame[12:]
    bridge.hear("loop_protect", [(6, priority)], 1.0)
    assert state(bridge, 6) is DISCARDING
    assert tagged(frame, 0) == frame


def test_ports_of_a_large_bridge_send_once_a_second_each_and_spread() -> None:
    bridge = bridge_of(1, range(1, 1001))
    assert bridge.next_wakeup() is not None
    most, count, now = 0, 0, 0.0
    while (due := bridge.next_wakeup()) is not None and due < 10.0:
        now = max(due, now)
        here = sum(isinstance(effect, SendFrame) for effect in bridge.tick(now))
        most, count = max(most, here), count + here
    assert most <= 63
    assert 9_900 <= count <= 10_100


@pytest.mark.parametrize("period", [0.1, 0.2])
def test_holds_of_other_bridges_delay_that_of_a_loop_by_seconds_at_most(period: float) -> None:
    """As after a power failure, when each of many bridges finds its own loop."""
    shared = SharedState(OwnAgents(b"secret"))
    lab = Cabling({2: bridge_of(2, shared=shared)}, [((2, 1), (2, 2))])
    while lab.now < 4.0:
        shared.of(LatestHolds).note(1, lab.now)
        lab.run(lab.now + period)
    assert lab.held == [(2, 2)]
