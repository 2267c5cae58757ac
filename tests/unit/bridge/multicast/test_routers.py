"""Router ports: how they age, what configuration forbids; ports that come, go and stop forwarding;
topology changes."""

import pytest

from ofapp.bridge.multicast import PortParams
from ofapp.bridge.multicast.message import Query
from ofapp.bridge.multicast.routers import MAX_ROUTERS
from tests.unit.bridge.multicast.lan import IS_EX, V4, V6, Lan, ip

Wire = type[V4] | type[V6]
both = pytest.mark.parametrize("vx", [V4, V6])
OWN: dict[str, object] = {
    "mcast_querier": True,
    "mcast_querier_address4": V4.own,
    "mcast_querier_address6": V6.own,
}


def asked(lan: Lan, vx: Wire) -> list[tuple[frozenset[int], Query]]:
    return [
        (ports, query)
        for ports, query in lan.queries()
        if isinstance(query, Query) and query.family is vx.family
    ]


def own(vx: Wire) -> Lan:
    """Our querier restricts, so that router ports alone decide where unregistered traffic goes."""
    lan = Lan(**OWN)
    lan.advance(50.0)
    lan.sent.clear()
    lan.events.clear()
    return lan


@both
def test_a_query_makes_a_router_port_for_the_querier_interval(vx: Wire) -> None:
    lan = own(vx)
    lan.receive(4, vx.query(src=vx.router))
    lan.advance(254.999)
    assert lan.heard_by(vx.other) == {4}
    lan.advance(0.001)
    assert lan.heard_by(vx.other) == set()
    assert lan.kinds() == ["mcast.router"] * 2


@both
def test_a_hello_makes_a_router_port_for_its_hold_time(vx: Wire) -> None:
    lan = own(vx)
    lan.receive(4, vx.hello(hold=30))
    lan.advance(29.999)
    assert lan.heard_by(vx.other) == {4}
    lan.advance(0.001)
    assert lan.heard_by(vx.other) == set()


@both
def test_a_hello_for_ever_ages_all_the_same(vx: Wire) -> None:
    lan = own(vx)
    lan.receive(4, vx.hello(hold=0xFFFF))
    lan.advance(254.9)
    assert lan.heard_by(vx.other) == {4}
    lan.advance(0.1)
    assert lan.heard_by(vx.other) == set()


@both
def test_an_advertisement_makes_a_router_port_for_three_of_its_intervals(vx: Wire) -> None:
    lan = own(vx)
    lan.receive(4, vx.mrd(interval=20))
    lan.advance(59.9)
    assert lan.heard_by(vx.other) == {4}
    lan.advance(0.1)
    assert lan.heard_by(vx.other) == set()


@both
@pytest.mark.parametrize("way", ["hello", "mrd"])
def test_a_goodbye_ends_it_after_the_last_member_time(vx: Wire, way: str) -> None:
    lan = own(vx)
    hello = vx.hello() if way == "hello" else vx.mrd()
    goodbye = vx.hello(hold=0) if way == "hello" else vx.mrd(end=True)
    lan.receive(4, goodbye)
    assert lan.heard_by(vx.other) == set()
    lan.receive(4, hello)
    lan.receive(4, goodbye)
    lan.advance(1.999)
    assert lan.heard_by(vx.other) == {4}
    lan.advance(0.001)
    assert lan.heard_by(vx.other) == set()


@both
def test_the_goodbye_of_one_router_does_not_cut_off_another(vx: Wire) -> None:
    lan = own(vx)
    lan.receive(4, vx.query(src=vx.router))
    lan.receive(4, vx.hello())
    lan.receive(4, vx.hello(hold=0))
    lan.advance(30.0)
    assert lan.heard_by(vx.other) == {4}


@both
def test_hello_and_goodbye_as_fast_as_can_be_change_groups_seldom(vx: Wire) -> None:
    lan = own(vx)
    lan.receive(1, vx.join())
    lan.changes = 0
    for _ in range(100):
        lan.receive(4, vx.hello(hold=1))
        lan.receive(4, vx.hello(hold=0))
        lan.advance(0.01)
    assert lan.changes == 1


@both
def test_made_up_routers_are_forgotten(vx: Wire) -> None:
    lan = own(vx)
    prefix = "10.1.0." if vx is V4 else "fe80::"
    for i in range(1, 100):
        lan.receive(4, vx.hello(src=f"{prefix}{i}"))
    (info,) = [r for r in lan.snooping.snapshot(lan.now).routers if r.port == 4]
    assert len(info.routers) == MAX_ROUTERS


@both
def test_mcast_router_0_forbids(vx: Wire) -> None:
    lan = own(vx)
    lan.receive(4, vx.hello())
    lan.do(lan.snooping.set_port_params(4, PortParams(mcast_router=0), lan.now))
    assert lan.heard_by(vx.other) == set()
    for frame in (vx.hello(), vx.mrd(), vx.query(src=vx.router)):
        lan.receive(4, frame)
        assert lan.heard_by(vx.other) == set()
    lan.advance(300.0)


@both
def test_mcast_router_2_is_for_good(vx: Wire) -> None:
    lan = own(vx)
    lan.do(lan.snooping.set_port_params(4, PortParams(mcast_router=2), lan.now))
    lan.advance(10000.0)
    assert lan.heard_by(vx.other) == {4}
    (info,) = [r for r in lan.snooping.snapshot(lan.now).routers if r.family == vx.family.value]
    assert (info.port, info.permanent, info.timer) == (4, True, 0.0)
    lan.do(lan.snooping.set_port_params(4, PortParams(), lan.now))
    assert lan.heard_by(vx.other) == set()


@both
def test_the_goodbye_of_a_router_never_heard(vx: Wire) -> None:
    lan = own(vx)
    lan.receive(4, vx.hello())
    lan.receive(4, vx.hello(src="10.0.0.99" if vx is V4 else "fe80::99", hold=0))
    lan.advance(30.0)
    assert lan.heard_by(vx.other) == {4}


# Ports.


@both
def test_a_port_that_stops_forwarding_is_not_asked(vx: Wire) -> None:
    lan = own(vx)
    lan.receive(1, vx.report((IS_EX, vx.group, [])))
    lan.receive(1, vx.report((3, vx.group, [])))
    assert len(asked(lan, vx)) == 1
    lan.do(lan.snooping.set_port_states({1: (False, True)}, lan.now))
    lan.advance(5.0)
    assert asked(lan, vx) == []
    assert lan.entries == {}


@both
def test_saying_the_same_of_a_port_again_does_nothing(vx: Wire) -> None:
    lan = Lan().restricted(vx)
    assert lan.do(lan.snooping.set_port_states({1: (True, True)}, lan.now)) == []


@both
def test_a_port_that_does_not_forward_is_in_no_set_and_not_heard(vx: Wire) -> None:
    lan = Lan().restricted(vx)
    lan.receive(1, vx.join())
    lan.receive(2, vx.join())
    lan.do(lan.snooping.set_port_states({1: (False, True)}, lan.now))
    assert lan.heard_by(vx.group) == {2, 5}
    lan.receive(1, vx.join(vx.other))
    assert lan.heard_by(vx.other) == {5}
    assert lan.snooping.snapshot(lan.now).counters[1]["drop_not_forwarding"] == 1
    lan.receive(5, vx.query())
    assert lan.forwarded == {2, 3, 4}


@both
def test_it_gets_its_groups_back_and_is_asked_when_it_forwards_again(vx: Wire) -> None:
    lan = Lan().restricted(vx)
    lan.receive(1, vx.join())
    lan.do(lan.snooping.set_port_states({1: (False, True)}, lan.now))
    lan.advance(5.0)
    lan.do(lan.snooping.set_port_states({1: (True, True)}, lan.now))
    assert lan.heard_by(vx.group) == {1, 5}
    ((ports, query),) = asked(lan, vx)
    assert ports == {1}
    assert query.general
    assert query.max_resp == 1.0


@both
def test_what_it_learned_ages_meanwhile(vx: Wire) -> None:
    lan = own(vx)
    lan.receive(1, vx.join())
    lan.do(lan.snooping.set_port_states({1: (False, True)}, lan.now))
    lan.advance(260.0)
    lan.do(lan.snooping.set_port_states({1: (True, True)}, lan.now))
    assert lan.heard_by(vx.group) == set()
    assert lan.entries == {}


@both
def test_removing_a_port_forgets_it(vx: Wire) -> None:
    lan = Lan().restricted(vx)
    lan.receive(1, vx.join())
    lan.receive(2, vx.join())
    lan.receive(2, vx.hello())
    for port in (1, 2):
        lan.do(lan.snooping.remove_port(port, lan.now))
        lan.do(lan.snooping.remove_port(port, lan.now))
    assert lan.heard_by(vx.group) == {5}
    assert lan.entries == {}
    assert lan.receive(1, vx.join()) == []
    lan.do(lan.snooping.add_port(1, lan.now))
    lan.do(lan.snooping.add_port(1, lan.now))
    lan.do(lan.snooping.set_port_states({1: (True, True)}, lan.now))
    lan.receive(1, vx.join())
    assert lan.heard_by(vx.group) == {1, 5}


@both
def test_leaving_a_vlan_forgets_the_port_there(vx: Wire) -> None:
    lan = Lan().restricted(vx)
    lan.receive(1, vx.join())
    lan.receive(2, vx.hello())
    lan.do(lan.snooping.set_vlan(1, (3, 4, 5, 99), lan.now))
    lan.do(lan.snooping.set_vlan(1, (3, 4, 5), lan.now))
    assert lan.heard_by(vx.group) == {5}
    assert lan.entries == {}
    assert lan.receive(1, vx.join()) == []


@both
def test_a_port_that_comes_into_a_vlan_is_asked(vx: Wire) -> None:
    lan = Lan()
    lan.do(lan.snooping.set_vlan(1, (1, 5), lan.now))
    lan.restricted(vx)
    lan.do(lan.snooping.set_vlan(1, (1, 2, 5), lan.now))
    ((ports, query),) = asked(lan, vx)
    assert ports == {2}
    assert query.general


@both
def test_removing_a_vlan_floods_it(vx: Wire) -> None:
    lan = Lan().restricted(vx)
    lan.receive(1, vx.join())
    lan.do(lan.snooping.remove_vlan(1, lan.now))
    lan.do(lan.snooping.remove_vlan(1, lan.now))
    assert lan.entries == {}
    assert lan.unregistered[1, vx.family] is None
    assert lan.snooping.next_wakeup() is None
    assert lan.receive(1, vx.join()) == []
    assert lan.receive(9, vx.join()) == []


def test_unknown_ports_are_refused() -> None:
    lan = Lan()
    with pytest.raises(KeyError):
        lan.snooping.set_port_states({77: (True, True)}, lan.now)
    with pytest.raises(KeyError):
        lan.snooping.set_port_params(77, PortParams(), lan.now)


# Topology changes.


def trunks(lan: Lan, *ports: int) -> Lan:
    """Bridges are behind these ports."""
    for port in ports:
        lan.do(lan.snooping.set_port_states({port: (True, False)}, lan.now))
    return lan


@both
def test_topology_change_asks_and_forgets_nothing(vx: Wire) -> None:
    lan = trunks(Lan().restricted(vx), 4, 5)
    lan.receive(1, vx.join())
    lan.do(lan.snooping.topology_change(lan.now))
    assert 1 in lan.heard_by(vx.group)
    assert 5 in lan.heard_by(vx.group)
    ((_, query),) = asked(lan, vx)
    assert query.max_resp == 1.0
    lan.advance(31.25)
    assert len(asked(lan, vx)) == 1
    lan.advance(60.0)
    assert asked(lan, vx) == []


@both
def test_routers_and_members_that_moved_lose_nothing(vx: Wire) -> None:
    """The router was at 5 and is now behind 4; ports of hosts get nothing not asked for."""
    lan = trunks(Lan().restricted(vx), 4, 5)
    lan.receive(1, vx.join())
    lan.do(lan.snooping.topology_change(lan.now))
    assert lan.heard_by(vx.group) == {1, 4, 5}
    assert lan.heard_by(vx.other) == {4, 5}
    lan.receive(2, vx.join(vx.other))
    assert lan.forwarded == {4, 5}
    lan.advance(20.0)
    assert lan.heard_by(vx.group) == {1, 4, 5}
    lan.receive(4, vx.query())
    assert lan.heard_by(vx.group) == {1, 4, 5}
    lan.advance(255.0 - 30.0)
    assert lan.heard_by(vx.group) == {1, 4}


@both
def test_members_are_given_time_to_answer_even_if_a_router_speaks_at_once(vx: Wire) -> None:
    lan = trunks(Lan().restricted(vx), 3, 5)
    lan.do(lan.snooping.topology_change(lan.now))
    lan.receive(5, vx.query())
    assert lan.heard_by(vx.group) == {3, 5}
    lan.advance(1.999)
    assert lan.heard_by(vx.group) == {3, 5}
    lan.advance(0.001)
    assert lan.heard_by(vx.group) == {5}


@both
def test_no_router_speaks_again(vx: Wire) -> None:
    lan = trunks(own(vx), 3)
    lan.receive(4, vx.hello(hold=300))
    lan.do(lan.snooping.topology_change(lan.now))
    lan.advance(254.9)
    assert lan.heard_by(vx.other) == {3, 4}
    lan.advance(0.1)
    assert lan.heard_by(vx.other) == {4}


@both
def test_without_routers_only_members_are_waited_for(vx: Wire) -> None:
    lan = trunks(own(vx), 3, 4)
    lan.receive(1, vx.join())
    lan.do(lan.snooping.topology_change(lan.now))
    assert [(ports, q.source) for ports, q in asked(lan, vx)] == [(lan.everywhere, ip(vx.own))]
    assert lan.heard_by(vx.group) == {1, 3, 4}
    lan.advance(2.0)
    assert lan.heard_by(vx.group) == {1}
    lan.advance(29.25)
    assert len(asked(lan, vx)) == 1  # the second of the startup behaviour
    lan.advance(100.0)
    assert asked(lan, vx) == []
    lan.advance(25.0)
    assert len(asked(lan, vx)) == 1


@both
def test_the_router_port_stops_forwarding(vx: Wire) -> None:
    """Until a router is heard elsewhere, ports with bridges behind them count as router ports."""
    lan = trunks(Lan().restricted(vx), 3, 4)
    lan.receive(1, vx.join())
    lan.do(lan.snooping.set_port_states({5: (False, True)}, lan.now))
    assert lan.heard_by(vx.group) == {1, 3, 4}
    lan.receive(4, vx.query())
    lan.advance(2.0)
    assert lan.heard_by(vx.group) == {1, 4}


@both
def test_the_router_port_is_removed(vx: Wire) -> None:
    lan = trunks(Lan().restricted(vx), 3)
    lan.do(lan.snooping.remove_port(5, lan.now))
    assert lan.heard_by(vx.other) == {3}
    lan.advance(300.0)
    assert lan.heard_by(vx.other) == lan.everywhere


@both
def test_a_forbidden_port_is_none_meanwhile_either(vx: Wire) -> None:
    lan = trunks(Lan().restricted(vx), 3, 4)
    lan.do(lan.snooping.set_port_params(3, PortParams(mcast_router=0), lan.now))
    lan.do(lan.snooping.topology_change(lan.now))
    assert lan.heard_by(vx.other) == {4, 5}


@both
def test_changes_in_a_row_do_not_multiply_queries(vx: Wire) -> None:
    for lan in (own(vx), Lan().restricted(vx)):
        for _ in range(50):
            lan.do(lan.snooping.topology_change(lan.now))
            lan.advance(0.05)
        assert len(asked(lan, vx)) == 3  # at 0, 1 and 2 s
        lan.advance(0.6)
        assert len(asked(lan, vx)) == 1  # and one after the last change


@both
def test_what_may_have_moved_is_not_restricted_until_it_may_be_asked_about_again(vx: Wire) -> None:
    lan = trunks(own(vx), 3)
    lan.do(lan.snooping.topology_change(lan.now, 10.0))
    lan.advance(5.0)
    lan.do(lan.snooping.set_port_states({3: (False, False)}, lan.now))
    lan.do(lan.snooping.set_port_states({3: (True, False)}, lan.now))
    lan.advance(4.9)
    assert lan.heard_by(vx.other) == {3}
    lan.advance(0.1)
    assert lan.heard_by(vx.other) == set()


@both
def test_topology_change_asks_in_every_vlan(vx: Wire) -> None:
    lan = Lan(**OWN)
    lan.do(lan.snooping.set_vlan(2, (1, 2), lan.now))
    lan.advance(50.0)
    lan.sent.clear()
    lan.do(lan.snooping.topology_change(lan.now))
    assert {effect.vid for effect in lan.sent} == {1, 2}


@both
def test_topology_change_while_snooping_is_off(vx: Wire) -> None:
    lan = Lan(mcast_snooping=False)
    lan.do(lan.snooping.topology_change(lan.now))
    lan.do(lan.snooping.set_port_states({1: (False, True)}, lan.now))
    lan.receive(2, vx.report((IS_EX, vx.group, [])))
    assert lan.forwarded == {3, 4, 5}
    assert lan.snooping.next_wakeup() is None
