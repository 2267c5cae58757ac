"""The bridge's rules, one by one."""

import pytest

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import (
    Effect,
    Flush,
    InstallEntry,
    InstallSticky,
    PutStatic,
    RemoveDestination,
    RemoveSource,
    RemoveStatic,
    SetFlood,
)
from ofapp.bridge.event import Event
from ofapp.bridge.input_error import InputError
from ofapp.bridge.mac import format_mac, is_group, parse_mac
from ofapp.bridge.params.params import BridgeParams, PortParams
from ofapp.bridge.params.policy import PortPolicy
from ofapp.bridge.ports.port import LOCAL_PORT, Port
from ofapp.bridge.ports.vlan import access
from ofapp.bridge.queries import is_extern
from ofapp.openflow.switch.audit.sweep import HeldHalf, Occasion, Sweep

A, B, C = 0x02000000000A, 0x02000000000B, 0x02000000000C
OWN = 0x020000000099


def make(params: BridgeParams | None = None) -> Bridge:
    """Ports 1, 2, 3 called p1, p2, p3 and LOCAL called br0, all up."""
    bridge = Bridge(0xAB, params or BridgeParams())
    ports = [Port(number, f"p{number}", number, True) for number in (1, 2, 3)]
    bridge.set_ports([*ports, Port(LOCAL_PORT, "br0", OWN, True)], 0.0)
    return bridge


def kinds(effects: list[Effect]) -> list[str]:
    return [effect.kind for effect in effects if isinstance(effect, Event)]


def learn(bridge: Bridge, port: int, mac: int, vid: int = 0, now: float = 1.0) -> list[Effect]:
    return bridge.learning.learn([(port, vid, mac)], now)


class TestExtern:
    """Addresses that a program sets, as NTF_EXT_LEARNED in Linux."""

    def test_it_does_not_age_and_becomes_an_ordinary_one_when_it_moves(self) -> None:
        bridge = make()
        assert bridge.addresses.add_extern(1, 0, A, 1.0) == [InstallSticky(1, 0, A, 1, 0)]
        assert bridge.addresses.add_extern(1, 0, A, 2.0) == []
        assert bridge.addresses.expired(0, A, 1) == []
        assert learn(bridge, 2, A, now=9.0) == [InstallEntry(2, 0, A, 2, 1)]
        assert bridge.addresses.expired(0, A, 2)
        assert bridge.fdb.get(0, A) is None

    def test_it_replaces_what_was_learned_elsewhere(self) -> None:
        bridge = make()
        learn(bridge, 2, A)
        effects = bridge.addresses.add_extern(1, 0, A, 2.0)
        assert effects[0] == RemoveSource(2, 0, A, 1)
        assert effects[-1] == InstallSticky(1, 0, A, 1, 0)
        assert bridge.addresses.by_port() == {1: 1}

    def test_only_a_flush_or_its_port_takes_it_away(self) -> None:
        """A link that goes down does not, nor a topology change: it is there again after."""
        bridge = make()
        bridge.addresses.add_extern(1, 0, A, 1.0)
        bridge.relay.flush_ports([1])
        bridge.put_port(Port(1, "p1", 1, False), 2.0)
        assert bridge.addresses.add_extern(1, 0, B, 2.5) == []  # the datapath gets it later
        up = bridge.put_port(Port(1, "p1", 1, True), 3.0)
        assert {(e.mac, e.port) for e in up if isinstance(e, InstallSticky)} == {(A, 1), (B, 1)}
        bridge.flush(port=1)
        assert len(bridge.addresses) == 0
        bridge.addresses.add_extern(2, 0, A, 4.0)
        bridge.remove_port(2, 5.0)
        assert len(bridge.addresses) == 0

    def test_its_flows_are_put_back_when_the_switch_lost_them(self) -> None:
        bridge = make()
        assert not bridge.addresses.some_stick()
        bridge.addresses.add_extern(1, 0, A, 1.0)
        assert bridge.addresses.some_stick()
        sweep = Sweep(bridge, 1, Occasion.ROUTINE, 5.0)
        assert sweep.finish(5.0) == [InstallSticky(1, 0, A, 1, 0)]
        sweep = Sweep(bridge, 2, Occasion.ROUTINE, 6.0)
        assert sweep.source(HeldHalf(1, 0, A, 1, 7, sticky=True), 6.0) == []
        assert sweep.destination(HeldHalf(1, 0, A, 1, 7, sticky=True), 6.0) == []
        assert sweep.finish(6.0) == []

    def test_a_port_that_becomes_sticky_leaves_it_as_it_is(self) -> None:
        bridge = make()
        bridge.addresses.add_extern(1, 0, A, 1.0)
        sticky = PortParams(policy=PortPolicy(sticky=True))
        bridge.set_params(BridgeParams(ports={"p1": sticky}), 2.0)
        assert is_extern(bridge, 0, A)

    def test_it_is_refused_where_it_cannot_be(self) -> None:
        bridge = make(BridgeParams(ports={"p1": PortParams(policy=PortPolicy(locked=True))}))
        bridge.add_static(0, B, "p2", 1.0)
        for port, mac, field in (1, A, "port"), (2, B, "mac"), (2, OWN, "mac"), (2, 1 << 40, "mac"):
            with pytest.raises(InputError) as refused:
                bridge.addresses.add_extern(port, 0, mac, 2.0)
            assert refused.value.field == field


class TestLearning:
    def test_a_new_host_is_installed_once(self) -> None:
        bridge = make()
        assert learn(bridge, 1, A) == [InstallEntry(1, 0, A, 1, 0)]
        assert learn(bridge, 1, A, now=1.5) == []  # its flows are on their way

    def test_a_host_whose_flows_were_lost_is_installed_again(self) -> None:
        bridge = make()
        learn(bridge, 1, A)
        assert learn(bridge, 1, A, now=9.0) == [InstallEntry(1, 0, A, 2, 0)]

    def test_a_moved_host_takes_its_old_place_along(self) -> None:
        bridge = make()
        learn(bridge, 1, A)
        assert learn(bridge, 2, A, now=1.1) == [InstallEntry(2, 0, A, 2, 1)]

    def test_vlans_learn_apart(self) -> None:
        bridge = make()
        learn(bridge, 1, A, vid=0)
        assert learn(bridge, 2, A, vid=7) == [InstallEntry(2, 7, A, 1, 0)]

    @pytest.mark.parametrize(
        ("port", "mac", "counter"),
        [
            (1, 0, "invalid_source"),
            (1, 0x010000000000, "invalid_source"),
            (1, OWN, "own_address"),
            (9, A, "closed_port"),
        ],
    )
    def test_what_cannot_be_is_counted_and_not_learned(
        self, port: int, mac: int, counter: str
    ) -> None:
        bridge = make()
        assert learn(bridge, port, mac) == []
        assert bridge.learning.counters[counter] == 1
        assert len(bridge.fdb) == 0

    def test_an_expiry_takes_the_destination_half(self) -> None:
        bridge = make()
        learn(bridge, 1, A)
        assert bridge.learning.expired(0, A, 1) == [RemoveDestination(0, A, 1)]
        assert bridge.fdb.get(0, A) is None

    def test_an_expiry_of_an_earlier_life_is_stale(self) -> None:
        bridge = make()
        learn(bridge, 1, A)
        learn(bridge, 2, A, now=1.1)
        assert bridge.learning.expired(0, A, 1) == []
        entry = bridge.fdb.get(0, A)
        assert entry is not None
        assert entry.port == 2


class TestLimits:
    def test_the_bridge_cap_tells_once_and_recovers(self) -> None:
        bridge = make(BridgeParams(fdb_max_learned=2))
        learn(bridge, 1, A)
        learn(bridge, 2, B)
        assert kinds(learn(bridge, 3, C)) == ["fdb.limit"]
        assert learn(bridge, 3, C) == []
        assert bridge.learning.counters["refused_bridge_limit"] == 2
        entry = bridge.fdb.get(0, A)
        assert entry is not None
        assert kinds(bridge.learning.expired(0, A, entry.serial)) == ["fdb.limit.cleared"]
        assert learn(bridge, 3, C) == [InstallEntry(3, 0, C, 1, 0)]

    def test_a_known_host_may_move_on_a_full_bridge(self) -> None:
        bridge = make(BridgeParams(fdb_max_learned=1))
        learn(bridge, 1, A)
        assert learn(bridge, 2, A) == [InstallEntry(2, 0, A, 2, 1)]

    def test_a_port_cap_harms_nobody_else(self) -> None:
        bridge = make(BridgeParams(ports={"p1": PortParams(fdb_max_learned=1)}))
        learn(bridge, 1, A)
        (event,) = learn(bridge, 1, B)
        assert isinstance(event, Event)
        assert event.port == 1
        assert "port p1" in event.message
        assert learn(bridge, 2, B) == [InstallEntry(2, 0, B, 1, 0)]
        # A host that moves to the full port stays where it was.
        assert learn(bridge, 1, B, now=9.0) == []
        assert kinds(bridge.flush(port=1)) == ["fdb.limit.cleared"]


class TestPorts:
    def test_a_link_that_goes_down_blocks_first_and_flushes(self) -> None:
        bridge = make()
        learn(bridge, 1, A)
        effects = bridge.put_port(Port(1, "p1", 1, False), 2.0)
        names = [type(effect).__name__ for effect in effects]
        assert names == ["ClosePort", "Flush", "Event", "SetFlood"]
        assert SetFlood(frozenset({2, 3, LOCAL_PORT})) in effects
        assert Flush(port=1, sticky=True) in effects
        assert bridge.fdb.get(0, A) is None

    def test_nothing_changes_nothing(self) -> None:
        assert make().put_port(Port(1, "p1", 1, True), 2.0) == []
        assert make().remove_port(77, 2.0) == []

    def test_renumbered_ports_are_other_ports(self) -> None:
        """A switch that restarts may number its ports again: a number is another port now."""
        bridge = make()
        bridge.add_static(0, B, "p2", 0.0)
        learn(bridge, 1, A)
        bridge.set_ports([Port(1, "p2", 2, True), Port(2, "p1", 1, True)], 2.0)
        assert bridge.fdb.get(0, A) is None
        assert list(bridge.static_entries) == [PutStatic(B, 0, 1)]

    def test_a_renamed_port_keeps_its_entries(self) -> None:
        bridge = make()
        bridge.add_static(0, B, "p1", 0.0)
        learn(bridge, 1, A)
        assert kinds(bridge.put_port(Port(1, "wan", 1, True), 2.0)) == ["port.renamed"]
        assert bridge.fdb.get(0, A) is not None
        assert bridge.static_entries.ports == {(0, B): "wan"}

    def test_the_bridge_is_called_as_its_local_port(self) -> None:
        bridge = make()
        assert bridge.name == "br0"
        bridge.remove_port(LOCAL_PORT, 2.0)
        assert bridge.name == "00000000000000ab"


class TestStaticEntries:
    def test_a_static_entry_replaces_a_learned_one_and_stays(self) -> None:
        bridge = make()
        learn(bridge, 1, A)
        effects = bridge.add_static(0, A, "p2", 2.0)
        assert effects == [RemoveSource(1, 0, A, 1), RemoveDestination(0, A, 1), PutStatic(A, 0, 2)]
        assert learn(bridge, 3, A, now=9.0) == []
        assert bridge.learning.counters["static_elsewhere"] == 1
        assert bridge.learning.expired(0, A, 0) == []
        bridge.flush()
        assert bridge.remove_static(0, A) == [RemoveStatic(A, 0)]

    def test_a_static_entry_follows_its_port(self) -> None:
        bridge = make()
        bridge.add_static(0, A, "p1", 0.0)
        assert PutStatic(A, 0, None) in bridge.remove_port(1, 2.0)
        assert PutStatic(A, 0, 9) in bridge.put_port(Port(9, "p1", 1, True), 1.0)

    def test_a_static_entry_can_be_set_anew(self) -> None:
        bridge = make()
        bridge.add_static(0, A, "p1", 0.0)
        assert bridge.add_static(0, A, "p2", 0.0) == [PutStatic(A, 0, 2)]
        assert len(bridge.fdb) == 1

    @pytest.mark.parametrize(
        ("vid", "mac", "field"),
        [(4095, A, "vlan"), (-1, A, "vlan"), (0, 0, "mac"), (0, 1 << 40, "mac"), (0, OWN, "mac")],
    )
    def test_impossible_static_entries_name_the_field(self, vid: int, mac: int, field: str) -> None:
        with pytest.raises(InputError) as error:
            make().add_static(vid, mac, "p1", 0.0)
        assert error.value.field == field

    def test_only_static_entries_are_removed(self) -> None:
        bridge = make()
        learn(bridge, 1, A)
        with pytest.raises(InputError, match="not a static entry"):
            bridge.remove_static(0, A)

    def test_the_own_address_displaces_what_was_learned_and_follows_local(self) -> None:
        bridge = make()
        learn(bridge, 1, A)
        learn(bridge, 2, A, vid=7)
        effects = bridge.put_port(Port(LOCAL_PORT, "br0", A, True), 1.0)
        assert effects[0] == RemoveStatic(OWN, None)
        assert effects[-1] == PutStatic(A, None, LOCAL_PORT)
        assert bridge.fdb.learned == 0
        assert RemoveStatic(A, None) in bridge.remove_port(LOCAL_PORT, 2.0)


class TestFlush:
    @pytest.mark.parametrize(
        ("given", "left", "messages"),
        [
            ({}, 0, 1),
            ({"port": 1}, 2, 1),
            ({"vid": 7}, 2, 1),
            ({"mac": A}, 2, 4),
            ({"port": 1, "vid": 7}, 3, 2),
            ({"mac": C}, 4, 0),
        ],
    )
    def test_what_fits_goes(self, given: dict[str, int], left: int, messages: int) -> None:
        bridge = make()
        for port, vid, mac in ((1, 0, A), (1, 7, A), (2, 0, B), (2, 7, B)):
            learn(bridge, port, mac, vid)
        assert len(bridge.flush(**given)) == messages
        assert bridge.fdb.learned == left


class TestSweep:
    def test_counters_that_moved_tell_who_was_seen_and_used(self) -> None:
        bridge = make()
        learn(bridge, 1, A, now=1.0)
        for number, source, destination in ((1, 5, 0), (2, 5, 8)):
            now = 10.0 * number
            sweep = Sweep(bridge, number, Occasion.ROUTINE, now)
            sweep.source(HeldHalf(1, 0, A, 1, source), now)
            sweep.destination(HeldHalf(1, 0, A, 1, destination), now)
            assert sweep.finish(now) == []
        entry = bridge.fdb.get(0, A)
        assert entry is not None
        assert (entry.updated, entry.used) == (10.0, 20.0)

    def test_of_two_sources_left_by_a_broken_move_the_later_counts(self) -> None:
        for first, second in (((1, 5), (2, 6)), ((2, 6), (1, 5))):
            bridge = make()
            sweep = Sweep(bridge, 1, Occasion.CONNECTED, 10.0)
            effects = sweep.source(HeldHalf(first[0], 0, A, first[1], 0), 10.0)
            effects += sweep.source(HeldHalf(second[0], 0, A, second[1], 0), 10.0)
            assert effects == [RemoveSource(1, 0, A, 5)]
            sweep.destination(HeldHalf(2, 0, A, 6, 0), 10.0)
            assert sweep.finish(10.0) == []
            entry = bridge.fdb.get(0, A)
            assert entry is not None
            assert entry.port == 2

    def test_what_is_learned_during_a_sweep_is_not_judged(self) -> None:
        bridge = make()
        sweep = Sweep(bridge, 1, Occasion.ROUTINE, 1.0)
        learn(bridge, 1, A, now=2.0)
        assert sweep.finish(3.0) == []
        assert bridge.fdb.learned == 1

    def test_a_host_in_a_vlan_that_its_port_is_not_in_is_not_adopted(self) -> None:
        """The file gave the port a VLAN while no controller ran."""
        bridge = make(BridgeParams(ports={"p1": PortParams(vlans=access(10))}))
        sweep = Sweep(bridge, 1, Occasion.CONNECTED, 1.0)
        assert sweep.source(HeldHalf(1, 0, A, 1, 0), 1.0) == [RemoveSource(1, 0, A, 1)]
        assert sweep.destination(HeldHalf(1, 0, A, 1, 0), 1.0) == [RemoveDestination(0, A, 1)]
        assert (
            sweep.source(HeldHalf(1, 10, A, 2, 0), 1.0)
            == sweep.source(HeldHalf(2, 0, B, 3, 0), 1.0)
            == []
        )
        assert sorted((vid, mac) for vid, mac, entry in bridge.fdb if entry.was_learned) == [
            (0, B),
            (10, A),
        ]

    def test_an_adopted_entry_beyond_the_cap_is_removed(self) -> None:
        bridge = make(BridgeParams(fdb_max_learned=1))
        sweep = Sweep(bridge, 1, Occasion.CONNECTED, 1.0)
        assert sweep.source(HeldHalf(1, 0, A, 1, 0), 1.0) == []
        event, *rest = sweep.source(HeldHalf(1, 0, B, 2, 0), 1.0)
        assert isinstance(event, Event)
        assert event.kind == "fdb.limit"
        assert rest == [RemoveSource(1, 0, B, 2)]


class TestMac:
    def test_text_and_number(self) -> None:
        assert parse_mac("02-00-00-00-00-0A") == parse_mac("2:0:0:0:0:a") == A
        assert parse_mac("0200.0000.000A") == parse_mac("02000000000a") == A
        for wrong in ("02:00-00:00:00:0a", "0200.000.0000a", "0200:0000:000a", "200000000a"):
            with pytest.raises(ValueError, match="is not a MAC address"):
                parse_mac(wrong)
        assert format_mac(A) == "02:00:00:00:00:0a"
        assert is_group(parse_mac("01:00:5e:00:00:01"))

    @pytest.mark.parametrize(
        "text", ["", "02:00:00:00:00", "02:00:00:00:00:zz", "02-00:00:00:00:0a"]
    )
    def test_what_is_no_address_is_refused(self, text: str) -> None:
        with pytest.raises(ValueError, match="not a MAC address"):
            parse_mac(text)


def test_frames_of_a_kind_that_no_protocol_hears_are_ignored() -> None:
    """A switch that was a member of a fabric sends such frames until its flows are replaced."""
    assert Bridge(1, BridgeParams()).hear("remote", [(1, bytes(60))], 0.0) == []
