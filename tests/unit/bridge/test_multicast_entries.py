"""Multicast snooping on the bridge: what a switch held, permanent entries, on and off."""

import pytest

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import SendFrame
from ofapp.bridge.input_error import InputError
from ofapp.bridge.multicast import (
    Family,
    Params,
    RemoveGroup,
    SetGroup,
    SetUnregistered,
)
from ofapp.bridge.multicast import PortParams as McastPort
from ofapp.bridge.multicast.permanent_entries import PermanentEntry
from ofapp.bridge.multicast.vlans import MAX_VLANS
from ofapp.bridge.params.params import BridgeParams, PortParams
from ofapp.bridge.ports.port import LOCAL_PORT
from ofapp.bridge.ports.vlan import access
from ofapp.bridge.stp import BridgeParams as StpParams
from tests.unit.bridge.changes import changed, changed_port, reaction
from tests.unit.bridge.multicast.lan import V6, ip
from tests.unit.bridge.snooping_bridge import (
    GROUP,
    MAC_GROUP,
    QUERIER,
    join,
    make,
    members,
    port,
    restricted,
    sent,
    snooper,
    status,
    tagged,
)


class TestRestore:
    def test_what_a_switch_held_goes_on_and_is_asked_for(self) -> None:
        bridge, _ = make()
        assert snooper(bridge).fresh
        held = [SetGroup(7, GROUP, None, frozenset({1, 3}))]
        unregistered = [SetUnregistered(7, Family.IPV4, frozenset({3}))]
        effects = bridge.multicast.restore_entries(held, unregistered, 1.0)
        assert not snooper(bridge).fresh
        assert not [effect for effect in effects if isinstance(effect, SetGroup | RemoveGroup)]
        assert members(bridge, 7) == {1, 3}
        assert any(tagged(frame.frame) for frame in sent(effects))

    def test_permanent_entries_are_not_taken_for_members(self) -> None:
        bridge, _ = make()
        bridge.multicast.add_permanent(PermanentEntry(0, GROUP, "p2"), 0.5)
        held = [SetGroup(0, GROUP, None, frozenset({1, 2, 3}))]
        bridge.multicast.restore_entries(
            held, [SetUnregistered(0, Family.IPV4, frozenset({3}))], 1.0
        )
        learned = {info.port for info in status(bridge, 1.0).members if not info.permanent}
        assert learned == {1}

    def test_ports_that_have_left_the_vlan_since_are_not(self) -> None:
        ports = {name: PortParams(vlans=access(10)) for name in ("p1", "p3")}
        bridge = Bridge(1, BridgeParams(multicast=Params(), ports=ports))
        bridge.set_ports([port(1), port(2), port(3)], 0.0)
        held = [SetGroup(vid, GROUP, None, frozenset({1, 2, 3})) for vid in (0, 10)]
        routers = [SetUnregistered(vid, Family.IPV4, frozenset({3})) for vid in (0, 10)]
        bridge.multicast.restore_entries(held, routers, 1.0)
        known = {(info.vid, info.port) for info in status(bridge, 1.0).members}
        assert known == {(0, 2), (10, 1), (10, 2)}

    def test_a_bridge_that_does_not_snoop_takes_nothing_over(self) -> None:
        bridge = Bridge(1, BridgeParams())
        assert bridge.multicast.restore_entries([], [], 1.0) == []


class TestPermanent:
    def test_an_entry_is_forwarded_to_from_then_on(self) -> None:
        bridge, _ = make()
        now = restricted(bridge)
        effects = bridge.multicast.add_permanent(PermanentEntry(0, GROUP, "p2"), now)
        assert effects == [SetGroup(0, GROUP, None, frozenset({2, 3}))]
        assert bridge.multicast.remove_permanent(PermanentEntry(0, GROUP, "p2"), now) == [
            RemoveGroup(0, GROUP, None)
        ]

    def test_of_a_source(self) -> None:
        bridge, _ = make()
        now = restricted(bridge)
        source = ip("10.9.0.1")
        effects = bridge.multicast.add_permanent(PermanentEntry(0, GROUP, "p2", source), now)
        assert SetGroup(0, GROUP, source, frozenset({2, 3})) in effects
        assert SetGroup(0, GROUP, None, frozenset({3})) in effects

    def test_its_vlan_is_looked_after_even_above_the_limit(self) -> None:
        bridge, _ = make()
        for vid in range(1, MAX_VLANS + 1):
            bridge.hear("snooped", [(1, join(vid))], 1.0)
        bridge.multicast.add_permanent(PermanentEntry(4000, GROUP, "p2"), 2.0)
        restricted(bridge, 4000)
        assert members(bridge, 4000) == {2, 3}

    def test_it_belongs_to_a_name_and_not_to_a_number(self) -> None:
        bridge, _ = make()
        now = restricted(bridge)
        bridge.multicast.add_permanent(PermanentEntry(0, GROUP, "p2"), now)
        bridge.multicast.add_permanent(PermanentEntry(0, GROUP, "later"), now)
        assert members(bridge) == {2, 3}
        bridge.remove_port(2, now)
        assert members(bridge) is None
        bridge.put_port(port(2, name="other"), now)
        assert members(bridge) is None
        bridge.put_port(port(8, name="p2"), now)
        assert members(bridge) == {3, 8}
        bridge.put_port(port(8, name="renamed"), now)
        assert members(bridge) == {3, 8}
        assert bridge.multicast.permanent.on("renamed") == [PermanentEntry(0, GROUP, "renamed")]
        bridge.put_port(port(9, name="later"), now)
        assert members(bridge) == {3, 8, 9}
        bridge.multicast.remove_permanent(PermanentEntry(0, GROUP, "renamed"), now)
        assert members(bridge) == {3, 9}

    def test_for_a_mac_address_nobody_needs_to_ask(self) -> None:
        bridge, _ = make()
        effects = bridge.multicast.add_permanent(PermanentEntry(0, MAC_GROUP, "p2"), 1.0)
        assert effects == [SetGroup(0, MAC_GROUP, None, frozenset({2}))]
        restricted(bridge)
        assert members(bridge, group=MAC_GROUP) == {2, 3}  # and the router port
        bridge.set_params(changed(bridge, multicast=None, multicast_vlans={}), 50.0)
        effects = bridge.set_params(changed(bridge, multicast=Params(), multicast_vlans={}), 51.0)
        assert SetGroup(0, MAC_GROUP, None, frozenset({2})) in effects
        assert bridge.multicast.remove_permanent(PermanentEntry(0, MAC_GROUP, "p2"), 52.0) == [
            RemoveGroup(0, MAC_GROUP, None)
        ]

    def test_of_a_port_that_is_away_it_can_be_removed(self) -> None:
        bridge, _ = make()
        bridge.multicast.add_permanent(PermanentEntry(0, GROUP, "later"), 1.0)
        assert bridge.multicast.remove_permanent(PermanentEntry(0, GROUP, "later"), 1.0) == []
        assert bridge.multicast.permanent.all() == []

    @pytest.mark.parametrize(
        ("entry", "field"),
        [
            (PermanentEntry(4095, GROUP, "p1"), "vlan"),
            (PermanentEntry(0, ip("224.0.0.5"), "p1"), "group"),
            (PermanentEntry(0, ip("ff02::1"), "p1"), "group"),
            (PermanentEntry(0, ip("10.0.0.1"), "p1"), "group"),
            (PermanentEntry(0, GROUP, "p1", ip("fe80::1")), "source"),
            (PermanentEntry(0, GROUP, "p1", ip("239.1.1.1")), "source"),
            (PermanentEntry(0, bytes.fromhex("02000000000a"), "p1"), "group"),
            (PermanentEntry(0, b"\xff" * 6, "p1"), "group"),
            (PermanentEntry(0, bytes.fromhex("0180c200000e"), "p1"), "group"),
            (PermanentEntry(0, MAC_GROUP, "p1", ip("10.0.0.1")), "source"),
            (PermanentEntry(0, MAC_GROUP, "p1", None, (ip("10.0.0.1"),)), "exclude"),
        ],
    )
    def test_what_cannot_be_one_is_refused_by_field(
        self, entry: PermanentEntry, field: str
    ) -> None:
        bridge, _ = make()
        with pytest.raises(InputError) as refused:
            bridge.multicast.add_permanent(entry, 1.0)
        assert refused.value.field == field
        assert entry not in bridge.multicast.permanent

    def test_what_is_none_cannot_be_removed(self) -> None:
        bridge, _ = make()
        bridge.multicast.add_permanent(PermanentEntry(0, GROUP, "p1"), 1.0)
        absent = PermanentEntry(0, GROUP, "p1", ip("10.0.0.1"))
        with pytest.raises(InputError, match=r"239\.1\.1\.1 from 10\.0\.0\.1 in VLAN 0 is no"):
            bridge.multicast.remove_permanent(absent, 1.0)


class TestOnAndOff:
    def test_off_everything_is_taken_out_and_frames_flood(self) -> None:
        bridge, _ = make()
        now = restricted(bridge)
        bridge.hear("snooped", [(1, join())], now)
        effects = reaction(bridge, changed(bridge, multicast=None, multicast_vlans={}), now)
        # Flooding begins before the entry goes.
        assert effects == [SetUnregistered(0, Family.IPV4, None), RemoveGroup(0, GROUP, None)]
        assert not bridge.multicast.runs
        assert bridge.multicast.status(now) is None
        assert reaction(bridge, changed(bridge, multicast=None, multicast_vlans={}), now) == []
        # What the switch still sends here goes on as any multicast does.
        frame = join()
        assert bridge.hear("snooped", [(1, frame)], now) == [
            SendFrame(frozenset({2, 3, LOCAL_PORT}), frame)
        ]
        bridge.put_port(port(1, up=False), now)
        assert bridge.hear("snooped", [(1, frame)], now) == []

    def test_on_it_knows_the_ports_and_their_states(self) -> None:
        bridge, _ = make(stp=StpParams(), edges=("p1", "p3"))
        bridge.set_params(changed(bridge, multicast=None, multicast_vlans={}), 0.4)
        bridge.set_params(changed(bridge, multicast=Params(), multicast_vlans={}), 0.5)
        now = restricted(bridge)
        bridge.hear("snooped", [(1, join())], now)
        assert bridge.hear("snooped", [(2, join())], now) == []
        assert members(bridge) == {1, 3}

    def test_on_and_off_and_on_permanent_entries_stay(self) -> None:
        bridge, _ = make()
        bridge.multicast.add_permanent(PermanentEntry(0, GROUP, "p2"), 0.5)
        bridge.set_params(changed(bridge, multicast=None, multicast_vlans={}), 0.6)
        bridge.multicast.add_permanent(PermanentEntry(0, ip("239.2.2.2"), "p2"), 0.7)
        bridge.multicast.add_permanent(PermanentEntry(0, ip("239.3.3.3"), "p2"), 0.7)
        assert (
            bridge.multicast.remove_permanent(PermanentEntry(0, ip("239.3.3.3"), "p2"), 0.8) == []
        )
        bridge.set_params(changed(bridge, multicast=Params(), multicast_vlans={}), 0.9)
        restricted(bridge)
        assert members(bridge) == {2, 3}
        assert members(bridge, group=ip("239.2.2.2")) == {2, 3}
        assert members(bridge, group=ip("239.3.3.3")) is None

    def test_ports_are_administered_while_it_is_off(self) -> None:
        bridge, _ = make()
        bridge.set_params(changed(bridge, multicast=None, multicast_vlans={}), 0.5)
        router = changed_port(bridge, port(2), multicast=McastPort(mcast_router=2))
        assert reaction(bridge, router, 0.6) == []
        bridge.set_params(changed(bridge, multicast=Params(), multicast_vlans={}), 0.7)
        restricted(bridge)
        assert SetUnregistered(0, Family.IPV4, frozenset({2, 3})) in (
            snooper(bridge).desired(bridge.params) or ()
        )

    def test_of_a_bridge_without_ports_nothing_happens_yet(self) -> None:
        bridge = Bridge(1, BridgeParams())
        assert reaction(bridge, changed(bridge, multicast=QUERIER, multicast_vlans={}), 0.0) == []
        assert sent(bridge.set_ports([port(1)], 1.0))

    def test_mld_reports_reach_router_ports_only(self) -> None:
        bridge, _ = make()
        bridge.hear("snooped", [(3, V6.query())], 1.0)
        bridge.tick(12.0)
        frame = V6.join()
        assert sent(bridge.hear("snooped", [(1, frame)], 13.0)) == [
            SendFrame(frozenset({3}), frame)
        ]
