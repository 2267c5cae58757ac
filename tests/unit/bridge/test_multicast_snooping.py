"""Multicast snooping on the bridge: ports, topology changes, VLANs, absence."""

from dataclasses import replace

import pytest

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import Effect, SendFrame
from ofapp.bridge.event import Event, Severity
from ofapp.bridge.first_hop.params import PortParams as Guard
from ofapp.bridge.multicast import (
    Family,
    Params,
    PortVlanParams,
    RemoveGroup,
    SetGroup,
    SetUnregistered,
    VlanParams,
)
from ofapp.bridge.multicast import PortParams as McastPort
from ofapp.bridge.multicast.permanent_entries import PermanentEntry
from ofapp.bridge.multicast.vlans import MAX_VLANS
from ofapp.bridge.params.params import BridgeParams, PortParams
from ofapp.bridge.params.policy import PortPolicy
from ofapp.bridge.ports.port import LOCAL_PORT, Port
from ofapp.bridge.ports.vlan import access, trunk
from ofapp.bridge.stp import BridgeParams as StpParams
from ofapp.bridge.stp import TopologyChanged
from ofapp.bridge.stp.bpdu import Bpdu, BpduRole, BpduType
from ofapp.bridge.stp.bpdu import encode as encode_bpdu
from ofapp.bridge.stp.vectors import PriorityVector, Times, bridge_identifier
from tests.unit.bridge.changes import changed, changed_port
from tests.unit.bridge.multicast.lan import V4
from tests.unit.bridge.snooping_bridge import (
    GROUP,
    OWN,
    QUERIER,
    join,
    kinds,
    make,
    members,
    port,
    query,
    restricted,
    sent,
    snooper,
    status,
    tag,
    tagged,
)


class TestPorts:
    def test_members_are_forwarded_to_with_router_ports(self) -> None:
        bridge, _ = make()
        now = restricted(bridge)
        assert SetGroup(0, GROUP, None, frozenset({1, 3})) in bridge.hear(
            "snooped", [(1, join())], now
        )

    def test_a_port_that_goes_down_is_a_member_no_more(self) -> None:
        """Hosts that are there when it is up again are asked at once, and get nothing unasked."""
        bridge, _ = make()
        now = restricted(bridge)
        bridge.hear("snooped", [(1, join())], now)
        assert RemoveGroup(0, GROUP, None) in bridge.put_port(port(1, up=False), now + 1)
        up = bridge.put_port(port(1), now + 2)
        assert members(bridge) is None
        assert any(frame.ports == {1} for frame in sent(up))
        bridge.hear("snooped", [(1, join())], now + 3)
        assert members(bridge) == {1, 3}

    def test_a_port_that_is_shut_is_a_member_no_more(self) -> None:
        bridge, _ = make()
        now = restricted(bridge)
        bridge.hear("snooped", [(1, join())], now)
        shut = PortParams(policy=PortPolicy(shutdown=True))
        bridge.set_params(replace(bridge.params, ports={"p1": shut}), now + 1)
        assert members(bridge) is None

    def test_what_is_permanent_outlives_its_link(self) -> None:
        bridge, _ = make()
        now = restricted(bridge)
        bridge.multicast.add_permanent(PermanentEntry(0, GROUP, "p1"), now)
        bridge.put_port(port(1, up=False), now + 1)
        bridge.put_port(port(1), now + 2)
        assert members(bridge) == {1, 3}

    def test_a_router_whose_link_goes_down_may_be_elsewhere(self) -> None:
        """It is no router port when its link is up again, until a router is heard there."""
        bridge, _ = make()
        now = restricted(bridge)
        bridge.hear("snooped", [(1, join())], now)
        bridge.put_port(port(3, up=False), now + 1)
        bridge.put_port(port(3), now + 2)
        assert members(bridge) == {1}

    def test_a_port_that_is_gone_is_forgotten(self) -> None:
        bridge, _ = make()
        now = restricted(bridge)
        bridge.hear("snooped", [(1, join())], now)
        assert RemoveGroup(0, GROUP, None) in bridge.remove_port(1, now + 1)
        bridge.put_port(port(1), now + 2)
        assert members(bridge) is None
        assert snooper(bridge).remove_ports([9], now + 3) == []

    def test_a_port_that_spanning_tree_blocks_is_in_no_set(self) -> None:
        bridge, _ = make(stp=StpParams(), edges=("p1", "p3"))
        now = restricted(bridge)
        # Port 2 discards: what arrives there is not heeded, and queries do not go there.
        assert bridge.hear("snooped", [(2, join())], now) == []
        bridge.hear("snooped", [(1, join())], now)
        assert members(bridge) == {1, 3}
        assert status(bridge, now).counters[2]["drop_not_forwarding"] == 1

    def test_states_of_unknown_ports_are_nobodys(self) -> None:
        bridge, _ = make()
        assert snooper(bridge).set_port_states({9: (True, True)}, 1.0) == []

    def test_a_port_has_the_parameters_of_its_name(self) -> None:
        bridge, _ = make(ports={"p2": McastPort(mcast_router=2), "new": McastPort(mcast_router=2)})
        now = restricted(bridge)
        bridge.hear("snooped", [(1, join())], now)
        assert members(bridge) == {1, 2, 3}
        bridge.put_port(port(2, name="old"), now + 1)
        assert members(bridge) == {1, 3}
        bridge.put_port(port(1, name="new"), now + 2)
        assert SetUnregistered(0, Family.IPV4, frozenset({1, 3})) in (
            snooper(bridge).desired(bridge.params) or ()
        )

    def test_a_port_is_administered(self) -> None:
        bridge, _ = make()
        now = restricted(bridge)
        effects = bridge.set_params(
            changed_port(bridge, port(2), multicast=McastPort(mcast_router=2)), now
        )
        assert SetUnregistered(0, Family.IPV4, frozenset({2, 3})) in effects
        assert bridge.params.port("p2").multicast.mcast_router == 2

    @pytest.mark.parametrize("live", [False, True])
    def test_a_vlan_of_a_port_goes_before_the_port(self, live: bool) -> None:
        """Set in the file or at run time; the port's other VLANs are as they were."""
        own = McastPort(mcast_router=2, vlans={5: PortVlanParams(0)})
        more = McastPort(vlans={5: PortVlanParams(2)})
        bridge, _ = make(ports={} if live else {"p1": own, "p2": more})
        now = restricted(bridge)
        restricted(bridge, 5)
        if live:
            bridge.hear("snooped", [(1, query(5))], now)
            bridge.set_params(changed_port(bridge, port(1), multicast=own), now)
            bridge.set_params(changed_port(bridge, port(2), multicast=more), now)
        bridge.hear("snooped", [(1, query(5))], now)
        desired = snooper(bridge).desired(bridge.params) or ()
        assert SetUnregistered(0, Family.IPV4, frozenset({1, 3})) in desired
        assert SetUnregistered(5, Family.IPV4, frozenset({2, 3})) in desired
        bridge.set_params(changed_port(bridge, port(2), multicast=McastPort()), now)
        desired = snooper(bridge).desired(bridge.params) or ()
        assert SetUnregistered(5, Family.IPV4, frozenset({3})) in desired


class TestTopologyChange:
    def test_members_are_asked_at_once_by_tag_too(self) -> None:
        bridge, _ = make(QUERIER, {5: VlanParams(mcast_querier=True)})
        bridge.tick(60.0)
        effects = snooper(bridge).change_topology(70.0)
        vids = {int.from_bytes(f.frame[14:16], "big") for f in sent(effects) if tagged(f.frame)}
        assert vids == {5}
        assert [f.ports for f in sent(effects) if not tagged(f.frame)] == [
            frozenset({1, 2, 3, LOCAL_PORT})
        ] * 2  # IGMP and MLD

    def test_the_bridge_follows_its_spanning_tree(self) -> None:
        bridge, _ = make(QUERIER, stp=StpParams(), edges=("p1",))
        bridge.tick(2.0)
        effects: list[Effect] = []
        due = bridge.next_wakeup()
        while due is not None and due < 40:  # ports 2 and 3 begin to forward
            effects += bridge.tick(due)
            due = bridge.next_wakeup()
        bridge.put_port(port(2, up=False), 50.0)
        assert sent(bridge.carry_out([TopologyChanged(3)], 60.0))

    def test_a_change_that_a_neighbour_tells_is_asked_about_at_once(self) -> None:
        """The root of a pair: no other bridge is notified, so no timer of its tree starts."""
        bridge, now = pair_root()
        effects = bridge.hear("bpdu", [(2, TC)], now)
        assert not bridge.stp.status(now).topology_change  # type: ignore[union-attr]
        assert {3} == {port for frame in sent(effects) for port in frame.ports} - {1, 2, LOCAL_PORT}
        kinds = {frame.frame[12:14] for frame in sent(effects) if frame.ports >= {1, 2}}
        assert kinds == {bytes.fromhex("0800"), bytes.fromhex("86dd")}
        # What is behind the neighbour may have moved: it gets every group until it has answered.
        assert SetUnregistered(0, Family.IPV4, frozenset({2})) in effects

    def test_a_host_that_tells_changes_without_end_is_not_asked_about_each(self) -> None:
        bridge, now = pair_root()
        begun, asked, event_kinds = now, 0, list[str]()
        while now < begun + 120.0:
            effects = bridge.hear("bpdu", [(2, TC)], now) + bridge.tick(now)
            asked += sum(frame.ports >= {1, 2} for frame in sent(effects))
            event_kinds += [kind for kind in kinds(effects) if kind.startswith("mcast.changes")]
            now += 0.02
        assert asked <= 2 * (5 + 12)  # IGMP and MLD: at 0, 1, 3, 7, 15 s, then every 10 s
        assert event_kinds == ["mcast.changes"]
        changes = snooper(bridge).changes
        assert changes.heard >= 6000
        assert changes.delayed > 5900
        # It ends, and the next change is asked about at once.
        while "mcast.changes.cleared" not in event_kinds:
            due = bridge.next_wakeup()
            assert due is not None
            assert due < now + 60.0
            event_kinds += kinds(bridge.tick(due))
        assert any(
            frame.ports >= {1, 2} for frame in sent(bridge.hear("bpdu", [(2, TC)], due + 5.0))
        )

    def test_a_bridge_that_does_not_snoop_has_nobody_to_tell(self) -> None:
        bridge, _ = make(Params(), stp=StpParams(), edges=())
        bridge.set_params(changed(bridge, multicast=None, multicast_vlans={}), 1.0)
        assert bridge.carry_out([TopologyChanged(1)], 2.0) == []


TC = encode_bpdu(
    Bpdu(
        BpduType.RST,
        PriorityVector(bridge_identifier(32768, OWN), 20000, bridge_identifier(61440, 7), 0x8001),
        Times(0, 20, 15, 2),
        BpduRole.ROOT,
        version=2,
        topology_change=True,
    ),
    0x0200_0000_AAAA,
)
"""What a neighbour below tells, whose port this is its root port."""


def pair_root() -> tuple[Bridge, float]:
    """A querier, the root of its tree, with a neighbour behind port 2 alone; and the time."""
    bridge, _ = make(QUERIER, stp=StpParams(), edges=("p1", "p3"))
    due = bridge.next_wakeup()
    while due is not None and due < 100.0:
        bridge.tick(due)
        due = bridge.next_wakeup()
    return bridge, 100.0


class TestVlans:
    def test_a_vlan_is_looked_after_from_its_first_message(self) -> None:
        bridge, _ = make()
        assert snooper(bridge).vlans == {0}
        now = restricted(bridge, 7)
        assert SetGroup(7, GROUP, None, frozenset({1, 3})) in bridge.hear(
            "snooped", [(1, join(7))], now
        )
        assert members(bridge, 0) is None

    @pytest.mark.parametrize("kind", [0x8100, 0x88A8])
    def test_the_tag_of_a_frame_is_kept_as_it_was(self, kind: int) -> None:
        bridge, _ = make()
        frame = V4.query()
        frame = frame[:12] + tag(7, kind) + frame[12:]
        (forwarded,) = sent(bridge.hear("snooped", [(3, frame)], 1.0))
        assert forwarded == SendFrame(frozenset({1, 2, LOCAL_PORT}), frame)

    def test_a_tag_without_anything_behind_is_none(self) -> None:
        bridge, _ = make()
        bridge.hear("snooped", [(1, bytes(12) + tag(7))], 1.0)
        assert snooper(bridge).vlans == {0}

    def test_queries_of_ours_are_tagged(self) -> None:
        _, effects = make(vlans={7: VlanParams(mcast_querier=True)})
        frames = [frame.frame for frame in sent(effects)]
        assert frames
        assert {frame[12:16] for frame in frames} == {tag(7)}
        assert {frame[6:12] for frame in frames} == {OWN.to_bytes(6, "big")}

    def test_a_querier_asks_before_anybody_has_spoken(self) -> None:
        """On VLAN 0 by the bridge's parameters, on VLAN 7 by its own."""
        bridge, effects = make(QUERIER, {7: VlanParams(mcast_querier=True)})
        assert {tagged(frame.frame) for frame in sent(effects)} == {True, False}
        due = bridge.next_wakeup()
        assert due is not None
        while not (later := sent(bridge.tick(due))):
            due = bridge.next_wakeup()
            assert due is not None
        assert frozenset({1, 2, 3, LOCAL_PORT}) in {frame.ports for frame in later}

    def test_a_querier_asks_in_every_configured_vlan(self) -> None:
        """Those that are named, and those that ports are in: not all that a trunk may carry."""
        own = {
            "p1": PortParams(vlans=access(10)),
            "p2": PortParams(vlans=trunk(frozenset({20, 30}))),
            "p3": PortParams(vlans=trunk(native=40)),
        }
        params = BridgeParams(stp=None, multicast=QUERIER, ports=own, vlans=frozenset({7}))
        bridge = Bridge(1, params)
        local = Port(LOCAL_PORT, "br0", OWN, True)
        effects = bridge.set_ports([port(1), port(2), port(3), local], 0.0)
        assert snooper(bridge).vlans == {0, 7, 10, 20, 30, 40}
        asked: dict[int, set[int]] = {}
        for frame in sent(effects):
            vid = int.from_bytes(frame.frame[14:16], "big") if tagged(frame.frame) else 0
            asked.setdefault(vid, set()).update(frame.ports)
        assert asked == {
            0: {1, 3, LOCAL_PORT},  # what is in VLAN 10 or 40 leaves these untagged
            7: {3, LOCAL_PORT},
            10: {3, LOCAL_PORT},
            20: {2, 3, LOCAL_PORT},
            30: {2, 3, LOCAL_PORT},
            40: {LOCAL_PORT},
        }

    def test_a_vlan_that_is_configured_later_is_asked_in_at_once(self) -> None:
        bridge, _ = make(QUERIER)
        effects = bridge.set_params(replace(bridge.params, vlans=frozenset({7})), 20.0)
        assert {frame.frame[12:16] for frame in sent(effects)} == {tag(7)}
        assert snooper(bridge).vlans == {0, 7}

    def test_without_a_querier_a_configured_vlan_waits_for_who_speaks(self) -> None:
        bridge, _ = make()
        bridge.set_params(replace(bridge.params, vlans=frozenset({7})), 20.0)
        assert snooper(bridge).vlans == {0}
        effects = bridge.set_params(changed(bridge, multicast=QUERIER, multicast_vlans={}), 21.0)
        assert {frame.frame[12:16] for frame in sent(effects) if tagged(frame.frame)} == {tag(7)}

    def test_a_vlan_has_its_own_parameters_and_others_the_bridges(self) -> None:
        bridge, _ = make(QUERIER, {7: VlanParams(mcast_snooping=False)})
        bridge.hear("snooped", [(1, join(9))], 1.0)
        snapshot = status(bridge, 2.0)
        states = {(info.vid, info.family): info.state for info in snapshot.queriers}
        assert (states[0, 4], states[7, 4], states[9, 4]) == ("self", "none", "self")
        assert snooper(bridge).vlan_params(7) == VlanParams(mcast_snooping=False)
        assert snooper(bridge).vlan_params(9) == QUERIER.vlan

    def test_administering_the_bridge_reaches_every_vlan(self) -> None:
        bridge, _ = make()
        bridge.hear("snooped", [(1, join(9))], 1.0)
        effects = bridge.set_params(
            changed(bridge, multicast=QUERIER, multicast_vlans={7: VlanParams()}), 2.0
        )
        assert {frame.frame[12:16] for frame in sent(effects) if tagged(frame.frame)} == {tag(9)}
        assert any(not tagged(frame.frame) for frame in sent(effects))
        # VLAN 7 is given back to the bridge, and asks from then on.
        effects = bridge.set_params(changed(bridge, multicast=QUERIER, multicast_vlans={}), 3.0)
        assert {frame.frame[12:16] for frame in sent(effects)} == {tag(7)}

    def test_vlans_above_the_limit_flood_and_it_is_reported_once(self) -> None:
        bridge, _ = make()
        results: list[Effect] = []
        for vid in range(1, MAX_VLANS + 1):
            results += bridge.hear("snooped", [(1, join(vid))], 1.0)
        assert "mcast.vlans" not in kinds(results)
        frame = join(MAX_VLANS + 1)
        effects = bridge.hear("snooped", [(1, frame)], 2.0)
        (event,) = (effect for effect in effects if isinstance(effect, Event))
        assert (event.kind, event.severity) == ("mcast.vlans", Severity.WARNING)
        assert event.data == {"limit": MAX_VLANS}
        flooded = SendFrame(frozenset({2, 3, LOCAL_PORT}), frame)
        assert sent(effects) == [flooded]
        # Those that are served are not affected.
        restricted(bridge, 5)
        bridge.hear("snooped", [(1, join(5))], 20.0)
        assert members(bridge, 5) == {1, 3}
        bridge.put_port(port(3, up=False), 30.0)
        assert bridge.hear("snooped", [(1, frame)], 40.0) == [
            SendFrame(frozenset({2, LOCAL_PORT}), frame)
        ]
        assert snooper(bridge).vlans_refused == 2
        assert MAX_VLANS + 1 not in snooper(bridge).vlans

    def test_a_port_that_invents_vlans_harms_nobody_else(self) -> None:
        bridge, _ = make()
        for vid in range(1, MAX_VLANS + 2):
            bridge.hear("snooped", [(1, join(vid))], 1.0)
        assert MAX_VLANS + 1 not in snooper(bridge).vlans
        bridge.hear("snooped", [(2, join(MAX_VLANS + 1))], 2.0)
        assert MAX_VLANS + 1 in snooper(bridge).vlans

    def test_a_vlan_where_nothing_is_known_any_more_makes_room(self) -> None:
        bridge, _ = make()
        for vid in range(1, MAX_VLANS + 2):
            bridge.hear("snooped", [(1, join(vid))], 1.0)
        bridge.tick(1000.0)  # every membership has aged
        effects = bridge.hear("snooped", [(1, join(MAX_VLANS + 1))], 1000.0)
        assert kinds(effects) == ["mcast.vlans.cleared"]
        assert MAX_VLANS + 1 in snooper(bridge).vlans
        assert len(snooper(bridge).vlans) == MAX_VLANS + 1
        bridge.remove_port(1, 1001.0)


class TestPause:
    def test_no_time_passes_while_the_switch_is_away(self) -> None:
        bridge, _ = make()
        now = restricted(bridge)
        bridge.hear("snooped", [(1, join())], now)
        bridge.pause(now + 1)
        assert bridge.next_wakeup() is None
        assert bridge.tick(now + 10_000) == []
        assert members(bridge) == {1, 3}
        bridge.resume(now + 10_000)
        bridge.tick(now + 10_200)
        assert members(bridge) == {1, 3}
        bridge.tick(now + 10_300)
        assert members(bridge) is None


class TestHostsOnly:
    """A port where first-hop security allows no router."""

    def test_a_querier_that_is_not_allowed_any_more_is_forgotten(self) -> None:
        bridge, _ = make()
        now = restricted(bridge)
        bridge.hear("snooped", [(1, join())], now)
        assert members(bridge) == {1, 3}
        guard = PortParams(first_hop=Guard(router=False))
        bridge.set_params(replace(bridge.params, ports={"p3": guard}), now)
        bridge.tick(now)
        assert {each.address for each in status(bridge, now).queriers} == {None}
        assert status(bridge, now).routers == ()

    def test_a_query_is_counted_and_reported_once_a_minute(self) -> None:
        bridge, _ = make()
        guard = PortParams(first_hop=Guard(router=False))
        bridge.set_params(replace(bridge.params, ports={"p3": guard}), 0.0)
        said = []
        for now in (1.0, 30.0, 62.0):
            effects = bridge.hear("snooped", [(3, query())], now)
            assert sent(effects) == []
            said += kinds(effects)
        assert said == ["mcast.router.refused"] * 2
        assert status(bridge, 62.0).counters[3]["drop_router_not_allowed"] == 3
        assert {each.address for each in status(bridge, 62.0).queriers} == {None}

    def test_what_is_only_reported_counts(self) -> None:
        bridge, _ = make()
        learn = PortParams(first_hop=Guard(router=False), trust="learn")
        bridge.set_params(replace(bridge.params, ports={"p3": learn}), 0.0)
        assert sent(bridge.hear("snooped", [(3, query())], 1.0))
