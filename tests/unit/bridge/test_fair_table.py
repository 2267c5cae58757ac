"""A full table is shared among ports: at the limit of the bridge, and of a VLAN."""

from collections import Counter

import hypothesis.strategies as st
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import Effect, InstallEntry, RemoveDestination, RemoveSource
from ofapp.bridge.event import Event
from ofapp.bridge.params.params import BridgeParams, PortParams
from ofapp.bridge.params.policy import Policies, PortPolicy, VlanPolicy
from ofapp.bridge.ports.port import Port
from tests.unit.openflow.address_switch import AddressSwitch

FIRST = 0x020000000000


def host(port: int, number: int) -> int:
    return FIRST + (port << 16) + number


class Lan:
    """A bridge with ports 1 to 6, and a switch that holds what the bridge says."""

    def __init__(self, params: BridgeParams) -> None:
        self.now = 0.0
        self.bridge = Bridge(1, params)
        self.switch = AddressSwitch(self.bridge)
        ports = [Port(number, f"p{number}", number, True) for number in range(1, 7)]
        self.switch.apply(self.bridge.set_ports(ports, 0.0))

    def see(self, port: int, *numbers: int, vid: int = 0) -> list[Effect]:
        """Frames of hosts of a port; gives the effects."""
        self.now += 0.01
        samples = [(port, vid, host(port, number)) for number in numbers]
        effects = self.bridge.learning.learn(samples, self.now)
        self.switch.apply(effects)
        return effects

    def learned(self, vid: int | None = None) -> dict[int, int]:
        """Number of learned addresses by port, in a VLAN or in all."""
        found = Counter(e.port for v, _, e in self.bridge.fdb if vid in (None, v) and e.was_learned)
        return dict(found)

    def knows(self, port: int, number: int, vid: int = 0) -> bool:
        return self.bridge.fdb.get(vid, host(port, number)) is not None


def bridge_of(most: int) -> Lan:
    return Lan(BridgeParams(fdb_max_learned=most))


def vlan_of(most: int) -> Lan:
    return Lan(BridgeParams(policies=Policies(vlans={7: VlanPolicy(most)})))


@pytest.mark.parametrize(("lan", "vid"), [(bridge_of(10), 0), (vlan_of(10), 7)])
def test_hosts_of_five_ports_find_room_beside_a_flood_of_addresses(lan: Lan, vid: int) -> None:
    lan.see(6, *range(16), vid=vid)
    assert lan.learned() == {6: 10}
    for port in range(1, 6):
        lan.see(port, 1, 2, vid=vid)
    assert sorted(lan.learned().values()) == [1, 1, 2, 2, 2, 2]
    assert lan.learned()[6] <= 2
    assert len(lan.switch.destinations) == len(lan.switch.sources) == 10


def test_the_port_that_has_most_costs_the_switch_nothing() -> None:
    lan = bridge_of(10)
    lan.see(6, *range(10))
    (event,) = lan.see(6, *range(10, 1000))
    assert isinstance(event, Event)
    for port in range(1, 6):
        lan.see(port, 1, 2)
    assert lan.see(6, *range(2000)) == []
    assert lan.bridge.learning.limits.over_share[6] == 990 + 2000 - lan.learned()[6]
    assert lan.bridge.learning.limits.displaced[6] >= 8


def test_the_event_names_the_flooding_port_and_its_number_of_addresses() -> None:
    lan = bridge_of(10)
    lan.see(1, 1)
    *_, event = lan.see(6, *range(16))
    assert isinstance(event, Event)
    assert (event.kind, event.port) == ("fdb.limit", 6)
    assert event.data == {"limit": 10, "drop": False, "learned": 9}
    assert event.message == (
        "the bridge has learned 10 addresses, its limit: port 6 has 9 of them: frames of further"
        " hosts flood there"
    )
    assert not [effect for effect in lan.see(1, 2, 3) if isinstance(effect, Event)]


def test_each_port_that_is_refused_is_reported_once() -> None:
    lan = bridge_of(10)
    lan.see(6, *range(10))
    effects = [*lan.see(5, *range(30)), *lan.see(6, *range(30)), *lan.see(5, *range(30, 60))]
    events = [effect for effect in effects if isinstance(effect, Event)]
    assert sorted(event.port or 0 for event in events) == [5, 6]
    assert lan.learned() == {5: 5, 6: 5}


def test_an_uplink_keeps_all_its_hosts_while_no_other_port_needs_room() -> None:
    lan = bridge_of(10)
    lan.see(6, *range(9))
    lan.see(1, 1)
    assert lan.learned() == {6: 9, 1: 1}
    lan.see(6, *range(20))
    assert lan.learned() == {6: 9, 1: 1}
    lan.see(1, 2)
    assert lan.learned() == {6: 8, 1: 2}


def test_a_displaced_host_that_still_sends_displaces_no_other() -> None:
    lan = bridge_of(10)
    lan.see(6, *range(10))
    lan.see(1, *range(5))
    before = lan.learned()
    for _ in range(20):
        effects = [*lan.see(6, *range(10)), *lan.see(1, *range(10))]
        assert all(isinstance(effect, Event) for effect in effects)
    assert lan.learned() == before == {1: 5, 6: 5}


def test_hosts_that_have_sent_since_they_were_learned_go_last() -> None:
    lan = bridge_of(10)
    lan.see(6, *range(10))
    for number in (0, 1, 3, 4):
        entry = lan.bridge.fdb.get(0, host(6, number))
        assert entry is not None
        entry.source_packets = 5  # as a sweep has found
    lan.see(1, 1, 2, 3)
    assert [number for number in range(10) if not lan.knows(6, number)] == [2, 5, 6]
    lan.see(2, 1, 2, 3)
    assert [number for number in range(10) if not lan.knows(6, number)] == [2, 5, 6, 7, 8, 9]
    lan.see(3, 1)
    assert not lan.knows(6, 0)
    assert lan.knows(6, 1)


def test_only_addresses_that_age_make_room() -> None:
    policies = {"p6": PortParams(fdb_max_learned=20, policy=PortPolicy(sticky=True))}
    lan = Lan(BridgeParams(fdb_max_learned=10, ports=policies))
    lan.see(6, *range(4))  # sticky
    for number in range(3):
        lan.switch.apply(lan.bridge.learning.add_extern(5, 0, host(5, number), 0.0))
    lan.bridge.add_static(0, host(4, 9), "p4", 0.0)
    lan.see(4, 1, 2, 3)
    lan.see(1, 1, 2)
    assert lan.learned() == {6: 4, 5: 3, 4: 2, 1: 1}
    for port in (1, 2):
        lan.see(port, *range(5))
    assert lan.learned() == {6: 4, 5: 3, 4: 1, 1: 1, 2: 1}
    assert lan.knows(4, 9)


def test_an_address_that_is_held_down_makes_no_room() -> None:
    lan = bridge_of(4)
    lan.see(6, *range(4))
    entry = lan.bridge.fdb.get(0, host(6, 0))
    assert entry is not None
    lan.switch.apply(lan.bridge.learning.move_guard.hold((0, host(6, 0)), entry, 5, 1.0))
    lan.see(1, 1, 2)
    assert [number for number in range(4) if not lan.knows(6, number)] == [1, 2]


def test_a_sticky_port_without_a_limit_of_its_own_gets_an_equal_share() -> None:
    """Sticky addresses never age, so a flood of them would stay for ever."""
    params = {"p6": PortParams(policy=PortPolicy(sticky=True))}
    lan = Lan(BridgeParams(fdb_max_learned=60, ports=params))
    *_, event = lan.see(6, *range(70))
    assert isinstance(event, Event)
    assert event.message == (
        "port p6 has learned 10 addresses, its limit: frames of further hosts flood"
    )
    assert lan.learned() == {6: 10}


def test_a_share_is_of_the_vlan_that_is_full() -> None:
    """A port with many addresses in other VLANs has its share of this one all the same."""
    params = BridgeParams(fdb_max_learned=100, policies=Policies(vlans={7: VlanPolicy(10)}))
    lan = Lan(params)
    lan.see(1, *range(50), vid=8)
    lan.see(6, *range(20), vid=7)
    lan.see(1, *range(20), vid=7)
    assert lan.learned(7) == {1: 5, 6: 5}
    assert lan.learned(8) == {1: 50}


def test_a_vlan_that_drops_stays_closed_while_an_address_makes_room() -> None:
    lan = Lan(BridgeParams(policies=Policies(vlans={7: VlanPolicy(10, "drop")})))
    lan.see(6, *range(10), vid=7)
    assert lan.switch.gates == {(None, 7)}
    lan.see(1, 1, 2, vid=7)
    assert lan.switch.gates == {(None, 7)}
    assert lan.learned() == {6: 8, 1: 2}


def test_a_port_with_a_limit_is_open_again_when_its_addresses_made_room() -> None:
    own = {"p6": PortParams(fdb_max_learned=8, policy=PortPolicy(over_limit="drop"))}
    lan = Lan(BridgeParams(fdb_max_learned=10, ports=own))
    lan.see(6, *range(8))
    lan.see(1, 1, 2)
    assert lan.switch.gates == {(6, None)}
    lan.see(1, 3)
    assert lan.switch.gates == set()


def test_a_port_limit_stays_as_it_is() -> None:
    lan = Lan(BridgeParams(fdb_max_learned=10, ports={"p1": PortParams(fdb_max_learned=2)}))
    lan.see(6, *range(10))
    lan.see(1, 1, 2, 3)
    assert lan.learned() == {6: 8, 1: 2}


def test_addresses_go_on_being_shared_when_the_limit_is_lowered() -> None:
    lan = bridge_of(20)
    lan.see(6, *range(20))
    lan.switch.apply(lan.bridge.learning.set_policies(BridgeParams(fdb_max_learned=5), [], 1.0))
    lan.see(1, 1)
    assert lan.learned() == {6: 19, 1: 1}


def test_a_restarted_controller_shares_what_the_switch_holds() -> None:
    lan = bridge_of(6)
    for number in range(20):
        lan.bridge.learning.adopt(6, 0, host(6, number), 1, 1.0)
    entry, effects = lan.bridge.learning.adopt(1, 0, host(1, 1), 2, 1.0)
    assert entry is not None
    assert RemoveSource(6, 0, host(6, 0), 1) in effects
    assert RemoveDestination(0, host(6, 0), 1) in effects
    assert lan.learned() == {6: 5, 1: 1}


def test_a_new_address_and_the_one_that_made_room_cost_four_messages() -> None:
    lan = bridge_of(2)
    lan.see(6, 1, 2)
    assert [type(effect) for effect in lan.see(1, 1)] == [
        RemoveSource,
        RemoveDestination,
        InstallEntry,
    ]


class FairTable(RuleBasedStateMachine):
    """Any hosts on any ports: the table equals a plain reading of the rule."""

    MOST, MOST_IN_7 = 12, 5

    @initialize()
    def start(self) -> None:
        policies = Policies(vlans={7: VlanPolicy(self.MOST_IN_7)})
        self.lan = Lan(BridgeParams(fdb_max_learned=self.MOST, policies=policies))

    def _in(self, vid: int | None) -> Counter[int]:
        return Counter(self.lan.learned(vid))

    @rule(
        port=st.integers(1, 6),
        vid=st.sampled_from((0, 7)),
        numbers=st.lists(st.integers(0, 30), min_size=1, max_size=12, unique=True),
    )
    def hosts_send(self, port: int, vid: int, numbers: list[int]) -> None:
        for number in numbers:
            if self.lan.knows(port, number, vid):
                continue
            before = {scope: self._in(scope) for scope in (None, vid)}
            full = None
            if vid == 7 and before[7].total() >= self.MOST_IN_7:
                full = before[7]
            elif before[None].total() >= self.MOST:
                full = before[None]
            self.lan.see(port, number, vid=vid)
            after = self._in(None)
            if port not in self.lan.switch.open:
                assert after == before[None]
            elif full is None:
                assert after == before[None] + Counter([port])
            elif max(full.values(), default=0) >= full[port] + 2:
                (loser,) = before[None] - after
                assert after == before[None] - Counter([loser]) + Counter([port])
                assert full[loser] == max(full.values())
            else:
                assert after == before[None]

    @rule(port=st.integers(1, 6), vid=st.sampled_from((0, 7)), number=st.integers(0, 30))
    def ages(self, port: int, vid: int, number: int) -> None:
        entry = self.lan.bridge.fdb.get(vid, host(port, number))
        if entry is not None:
            expired = self.lan.bridge.learning.expired(vid, host(port, number), entry.serial)
            self.lan.switch.age(port, vid, host(port, number))
            self.lan.switch.apply(expired)

    @rule(port=st.integers(1, 6), number=st.integers(0, 30), other=st.integers(1, 6))
    def host_moves(self, port: int, number: int, other: int) -> None:
        self.lan.now += 20.0  # the move guard does not mind
        samples = [(other, 7, host(port, number))]
        if self.lan.knows(port, number, 7):
            self.lan.switch.apply(self.lan.bridge.learning.learn(samples, self.lan.now))

    @rule(port=st.integers(1, 6), up=st.booleans())
    def link(self, port: int, up: bool) -> None:
        self.lan.switch.apply(self.lan.bridge.put_port(Port(port, f"p{port}", port, up), 0.0))

    @invariant()
    def the_switch_holds_the_table(self) -> None:
        fdb = self.lan.bridge.fdb
        held = {(entry.port, vid, mac) for vid, mac, entry in fdb if entry.was_learned}
        assert set(self.lan.switch.sources) == held
        assert set(self.lan.switch.destinations) == {key[1:] for key in held}

    @invariant()
    def counts_are_right(self) -> None:
        fdb = self.lan.bridge.fdb
        assert fdb.learned_by_port == self.lan.learned()
        assert fdb.ports_in == {7: self.lan.learned(7)}


FairTable.TestCase.settings = settings(max_examples=150, stateful_step_count=30)
TestFairTable = FairTable.TestCase
