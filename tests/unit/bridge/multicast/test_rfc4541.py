"""RFC 4541, rule by rule. Each test's name carries the section; `vx` runs it as section 3 asks for
MLD too."""

import pytest

from ofapp.bridge.multicast import (
    Family,
    Params,
    PortParams,
    SetGroup,
    VlanParams,
    always_floods,
)
from ofapp.bridge.multicast.message import Query
from ofapp.bridge.packet.address import PROXY6
from tests.unit.bridge.multicast.lan import ALLOW, IS_EX, TO_EX, TO_IN, V4, V6, Lan, ip

Wire = type[V4] | type[V6]
both = pytest.mark.parametrize("vx", [V4, V6])


# 2.1.1 IGMP forwarding.


@both
def test_2_1_1_1_reports_go_to_router_ports_only(vx: Wire) -> None:
    lan = Lan().restricted(vx)
    for frame in (vx.report((IS_EX, vx.group, [])), vx.join(), vx.leave()):
        lan.receive(1, frame)
        assert lan.forwarded == {5}


@both
def test_2_1_1_1_reports_never_go_back_where_they_came_from(vx: Wire) -> None:
    lan = Lan().restricted(vx)
    lan.receive(5, vx.join())
    assert lan.forwarded == set()


@both
def test_2_1_1_1a_router_ports_by_router_discovery(vx: Wire) -> None:
    lan = Lan().restricted(vx)
    lan.receive(4, vx.mrd())
    assert lan.forwarded == {1, 2, 3, 5}
    lan.receive(1, vx.join())
    assert lan.forwarded == {4, 5}


@both
def test_2_1_1_1b_router_ports_by_queries(vx: Wire) -> None:
    lan = Lan().restricted(vx)
    lan.receive(3, vx.query(src=vx.low_router))
    lan.receive(1, vx.join())
    assert lan.forwarded == {3, 5}


@both
def test_2_1_1_1b_not_by_queries_from_the_unspecified_address(vx: Wire) -> None:
    lan = Lan().restricted(vx)
    lan.receive(3, vx.query(src=vx.none))
    lan.receive(1, vx.join())
    assert lan.forwarded == {5}


@both
def test_2_1_1_1c_router_ports_by_configuration(vx: Wire) -> None:
    lan = Lan().restricted(vx)
    lan.do(lan.snooping.set_port_params(2, PortParams(mcast_router=2), lan.now))
    lan.receive(1, vx.join())
    assert lan.forwarded == {2, 5}
    assert lan.heard_by(vx.group) == {1, 2, 5}


@both
def test_2_1_1_1_and_by_pim_hellos(vx: Wire) -> None:
    lan = Lan().restricted(vx)
    lan.receive(4, vx.hello())
    assert lan.forwarded == {1, 2, 3, 5}
    lan.receive(1, vx.join())
    assert lan.forwarded == {4, 5}


@both
def test_2_1_1_2_reports_from_the_unspecified_address_are_accepted(vx: Wire) -> None:
    """From a proxy, or from a host that has no address yet (also section 3, and RFC 3590 4)."""
    lan = Lan().restricted(vx)
    lan.receive(1, vx.report((IS_EX, vx.group, []), src=vx.none))
    assert lan.heard_by(vx.group) == {1, 5}


@both
def test_2_1_1_3_unrecognised_messages_flood_to_all_other_ports(vx: Wire) -> None:
    lan = Lan().restricted(vx)
    lan.receive(1, vx.unknown())
    assert lan.forwarded == {2, 3, 4, 5}


@both
def test_2_1_1_4_topology_change_sends_a_general_query(vx: Wire) -> None:
    lan = Lan().restricted(vx)
    lan.do(lan.snooping.topology_change(lan.now))
    ((ports, query),) = lan.queries()
    assert isinstance(query, Query)
    assert query.general
    assert ports == {1, 2, 3, 4}  # "on all active non-router ports"


@both
def test_2_1_1_4_the_proxy_query_says_what_the_true_querier_says(vx: Wire) -> None:
    for version in (vx.old, vx.new):
        lan = Lan().restricted(vx)
        lan.receive(5, vx.query(version=version, qrv=3, qqic=60))
        lan.do(lan.snooping.topology_change(lan.now))
        ((_, query),) = lan.queries()
        assert isinstance(query, Query)
        assert query.version == version
        if version == vx.new:
            assert (query.qrv, query.qqi) == (3, 60.0)


@both
def test_2_1_1_4_the_proxy_query_is_of_no_newer_version_than_is_configured(vx: Wire) -> None:
    lan = Lan(mcast_igmp_version=2, mcast_mld_version=1).restricted(vx)
    lan.do(lan.snooping.topology_change(lan.now))
    ((_, query),) = lan.queries()
    assert isinstance(query, Query)
    assert query.version == vx.old


def test_2_1_1_4_the_proxy_query_comes_from_all_zeros() -> None:
    lan = Lan(mcast_querier_address4="10.0.0.1").restricted(V4)
    lan.do(lan.snooping.topology_change(lan.now))
    ((_, query),) = lan.queries()
    assert isinstance(query, Query)
    assert query.source == ip("0.0.0.0")


def test_3_the_mld_proxy_query_comes_from_an_address_hosts_believe() -> None:
    """And to which no querier loses. Section 3 says `::`, which hosts discard."""
    lan = Lan().restricted(V6)
    lan.do(lan.snooping.topology_change(lan.now))
    ((_, query),) = lan.queries()
    assert isinstance(query, Query)
    assert query.source == PROXY6


@both
def test_2_1_1_4_proxy_queries_win_no_election(vx: Wire) -> None:
    sources = [vx.none] if vx is V4 else [vx.none, "fe80::ffff:ffff:ffff:ffff"]
    for source in sources:
        lan = Lan().restricted(vx)
        lan.receive(3, vx.query(src=source))
        lan.advance(20.0)
        assert lan.heard_by(vx.other) == {5}
        states = {q.family: q.address for q in lan.snooping.snapshot(lan.now).queriers}
        assert states[vx.family.value] == vx.router


@both
def test_2_1_1_4_a_proxy_query_of_others_is_not_passed_to_the_querier(vx: Wire) -> None:
    """Linux would believe that it has lost the election to 0.0.0.0, and ask no more."""
    lan = Lan().restricted(vx)  # the querier is at port 5
    lan.receive(1, vx.query(src=vx.none))
    assert lan.forwarded == {2, 3, 4}
    # Where no querier is known everybody may hear it.
    lan = Lan()
    lan.receive(1, vx.query(src=vx.none))
    assert lan.forwarded == {2, 3, 4, 5}


@both
def test_2_1_1_4_who_restricts_nothing_has_no_need_to_ask(vx: Wire) -> None:
    lan = Lan()
    lan.do(lan.snooping.topology_change(lan.now))
    lan.advance(60.0)
    assert lan.queries() == []


@both
def test_2_1_1_5_damaged_messages_are_dropped_and_counted(vx: Wire) -> None:
    lan = Lan().restricted(vx)
    lan.receive(1, vx.damaged())
    assert lan.forwarded == set()
    assert lan.entries == {}
    name = "drop_igmp_checksum" if vx is V4 else "drop_mld_checksum"
    assert lan.snooping.snapshot(lan.now).counters[1] == {name: 1}


@both
def test_2_1_1_6_entries_time_out_without_leaves(vx: Wire) -> None:
    lan = Lan().restricted(vx)
    lan.receive(1, vx.join())
    for _ in range(2):
        lan.advance(129.9)
        lan.receive(5, vx.query())
        assert lan.heard_by(vx.group) == {1, 5}
    lan.advance(0.2)
    assert lan.heard_by(vx.group) == {5}
    assert lan.entries == {}


# 2.1.2 Data forwarding.


@both
def test_2_1_2_1_data_goes_to_members_and_router_ports(vx: Wire) -> None:
    lan = Lan().restricted(vx)
    lan.receive(1, vx.join())
    lan.receive(3, vx.report((TO_EX, vx.group, []), host=3))
    assert lan.heard_by(vx.group) == {1, 3, 5}


def test_2_1_2_2_link_local_groups_get_no_entry_whoever_joins() -> None:
    lan = Lan().restricted(V4)
    for group in ("224.0.0.1", "224.0.0.2", "224.0.0.251", "224.0.0.255"):
        assert always_floods(ip(group))
        lan.receive(1, V4.join(group))
        lan.receive(1, V4.report((IS_EX, group, [])))
        lan.receive(1, V4.leave(group))
    assert lan.entries == {}
    assert not always_floods(ip("224.0.1.1"))


def test_3_all_nodes_floods_and_gets_no_entry() -> None:
    lan = Lan().restricted(V6)
    assert always_floods(ip("ff02::1"))
    assert not always_floods(ip("ff02::2"))
    for group in ("ff02::1", "ff01::1", "ff00::1"):  # nor do those RFC 3810 6 has no reports for
        lan.receive(1, V6.join(group))
    assert lan.entries == {}


@pytest.mark.parametrize("group", ["ff02::1:ff00:1", "ff02::1:2", "ff02::fb", "ff02::c"])
def test_3_other_link_scope_groups_are_snooped_as_linux_does(group: str) -> None:
    """Solicited-node, DHCPv6, mDNS, SSDP: their members report, so they are found."""
    lan = Lan().restricted(V6)
    lan.receive(1, V6.report((IS_EX, group, [])))
    assert lan.heard_by(group) == {1, 5}


@both
def test_2_1_2_3_unregistered_groups_go_to_router_ports(vx: Wire) -> None:
    lan = Lan().restricted(vx)
    assert lan.heard_by(vx.other) == {5}


@both
def test_2_1_2_3_or_flood_by_configuration(vx: Wire) -> None:
    lan = Lan(mcast_flood_unregistered=True).restricted(vx)
    lan.receive(1, vx.join())
    assert lan.heard_by(vx.other) == {1, 2, 3, 4, 5}
    assert lan.heard_by(vx.group) == {1, 5}


@both
def test_2_1_2_3_or_flood_to_ports_by_configuration(vx: Wire) -> None:
    lan = Lan().restricted(vx)
    on = PortParams(mcast_flood_unregistered=True)
    lan.do(lan.snooping.set_port_params(2, on, lan.now))
    lan.receive(1, vx.join())
    assert lan.heard_by(vx.other) == {2, 5}
    assert lan.heard_by(vx.group) == {1, 5}


def test_2_1_2_4_a_family_nobody_asks_about_floods_on() -> None:
    """Non-IP multicast never has an entry at all: the effects know two families."""
    lan = Lan().restricted(V4)
    lan.receive(1, V6.join())
    assert lan.heard_by(V6.group) == {1, 2, 3, 4, 5}
    assert lan.forwarded == {2, 3, 4, 5}


def test_2_1_2_5_groups_that_share_a_mac_address_are_apart() -> None:
    lan = Lan().restricted(V4)
    lan.receive(1, V4.join("239.1.1.1"))
    lan.receive(2, V4.join("225.129.1.1"))
    assert lan.heard_by("239.1.1.1") == {1, 5}
    assert lan.heard_by("225.129.1.1") == {2, 5}
    lan = Lan().restricted(V6)
    lan.receive(1, V6.join("ff05::1:1"))
    assert lan.heard_by("ff15::1:1") == {5}


@both
def test_2_1_2_6_a_bad_ip_header_is_not_believed(vx: Wire) -> None:
    lan = Lan().restricted(vx)
    frame = bytearray(vx.join())
    frame[14 + (11 if vx is V4 else 4)] ^= 0x10  # header checksum; payload length
    lan.receive(1, bytes(frame))
    assert lan.entries == {}
    assert lan.forwarded == set()


@both
def test_2_1_2_7_a_shared_port_gets_the_union_of_what_its_hosts_want(vx: Wire) -> None:
    a, b, c, _ = vx.sources
    lan = Lan().restricted(vx)
    lan.receive(1, vx.report((ALLOW, vx.group, [a]), host=1))
    lan.receive(1, vx.report((ALLOW, vx.group, [b]), host=2))
    assert [lan.heard_by(vx.group, s) for s in (a, b, c)] == [{1, 5}, {1, 5}, {5}]
    lan.receive(1, vx.report((IS_EX, vx.group, [a, c]), host=3))
    assert [lan.heard_by(vx.group, s) for s in (a, b, c)] == [{1, 5}, {1, 5}, {5}]
    assert lan.heard_by(vx.group) == {1, 5}


# What the issue adds: snooping must not interfere before it can know.


@both
def test_floods_until_a_querier_is_known_and_its_answers_are_in(vx: Wire) -> None:
    lan = Lan()
    lan.receive(1, vx.join())
    assert lan.heard_by(vx.group) == lan.heard_by(vx.other) == {1, 2, 3, 4, 5}
    lan.receive(5, vx.query())
    lan.advance(9.999)
    assert lan.heard_by(vx.other) == {1, 2, 3, 4, 5}
    lan.advance(0.001)
    assert lan.heard_by(vx.group) == {1, 5}
    assert lan.heard_by(vx.other) == {5}


@both
def test_floods_again_when_the_querier_went_silent(vx: Wire) -> None:
    lan = Lan().restricted(vx)
    lan.receive(1, vx.join())
    lan.advance(245.0)
    assert lan.heard_by(vx.other) == {1, 2, 3, 4, 5}
    assert lan.entries == {}


@both
def test_nothing_without_a_querier_interferes_for_longer_than_every_timeout(vx: Wire) -> None:
    lan = Lan()
    for _ in range(20):
        for port in (1, 2):
            lan.receive(port, vx.join(host=port))
            lan.receive(port, vx.leave(vx.other, host=port))
        lan.advance(60.0)
        assert lan.heard_by(vx.group) == lan.heard_by(vx.other) == {1, 2, 3, 4, 5}
    assert lan.changes == 0
    assert lan.unregistered == {}


@both
def test_reports_flood_while_nobody_restricts(vx: Wire) -> None:
    """A querier whose queries come from 0.0.0.0 is behind no router port, and must hear them."""
    lan = Lan()
    lan.receive(1, vx.join())
    assert lan.forwarded == {2, 3, 4, 5}


@both
def test_queries_go_to_all_ports_of_the_vlan_but_theirs(vx: Wire) -> None:
    lan = Lan()
    lan.do(lan.snooping.set_vlan(1, (1, 2, 5), lan.now))
    lan.do(lan.snooping.set_vlan(2, (3, 4), lan.now))
    for frame in (vx.query(), vx.query(version=vx.old), vx.query(group=vx.group)):
        lan.receive(5, frame)
        assert lan.forwarded == {1, 2}


@both
def test_vlans_are_apart(vx: Wire) -> None:
    lan = Lan()
    lan.do(lan.snooping.set_vlan(2, (1, 2, 4), lan.now))
    lan.restricted(vx)
    lan.receive(1, vx.join())
    assert (1, ip(vx.group), None) in lan.entries
    assert lan.heard_by(vx.group, vid=2) == lan.everywhere
    assert lan.unregistered.keys() == {(1, vx.family)}


@both
def test_a_join_makes_one_change_and_a_refresh_none(vx: Wire) -> None:
    lan = Lan().restricted(vx)
    effects = lan.receive(1, vx.report((IS_EX, vx.group, [])))
    changes = [effect for effect in effects if isinstance(effect, SetGroup)]
    assert changes == [SetGroup(1, ip(vx.group), None, frozenset({1, 5}))]
    lan.changes = 0
    lan.receive(1, vx.report((IS_EX, vx.group, [])))
    lan.receive(1, vx.join())
    lan.receive(5, vx.query())
    assert lan.changes == 0


@both
def test_a_source_like_the_rest_has_no_entry_of_its_own(vx: Wire) -> None:
    lan = Lan().restricted(vx)
    a, b, _, _ = vx.sources
    lan.receive(5, vx.report((ALLOW, vx.group, [a])))  # a router port has it all anyway
    lan.receive(1, vx.report((ALLOW, vx.group, [a]), (IS_EX, vx.group, [a, b])))
    assert {source for _, _, source in lan.entries} == {None, ip(b)}


@both
def test_a_report_of_many_records_changes_each_entry_once(vx: Wire) -> None:
    lan = Lan().restricted(vx)
    a, b, _, _ = vx.sources
    lan.receive(1, vx.report((TO_EX, vx.group, [a]), (TO_IN, vx.group, [b]), (IS_EX, vx.group, [])))
    assert lan.changes == 1


@both
def test_leaving_what_was_not_joined_changes_nothing(vx: Wire) -> None:
    lan = Lan().restricted(vx)
    lan.receive(1, vx.leave())
    lan.receive(1, vx.report((TO_IN, vx.group, []), (6, vx.group, [vx.sources[0]])))
    assert lan.entries == {}
    assert lan.forwarded == {5}


@both
def test_snooping_off_floods_everything(vx: Wire) -> None:
    lan = Lan(params=Params(mcast_snooping=False, vlan=VlanParams(mcast_querier=True)))
    for frame in (vx.query(), vx.join(), vx.damaged()):
        lan.receive(1, frame)
        assert lan.forwarded == {2, 3, 4, 5}
    lan.advance(1000.0)
    assert (lan.entries, lan.unregistered, lan.queries()) == ({}, {}, [])


@both
def test_switching_snooping_off_and_on(vx: Wire) -> None:
    lan = Lan().restricted(vx)
    lan.receive(1, vx.join())
    lan.do(lan.snooping.set_params(Params(mcast_snooping=False), lan.now))
    assert lan.entries == {}
    assert lan.heard_by(vx.other) == lan.everywhere
    assert lan.snooping.next_wakeup() is None
    assert lan.snooping.snapshot(lan.now).members == ()
    lan.do(lan.snooping.set_params(Params(), lan.now))
    lan.restricted(vx)
    lan.receive(1, vx.join())
    assert lan.heard_by(vx.group) == {1, 5}


def test_ipv6_families_share_nothing() -> None:
    lan = Lan().restricted(V6)
    assert lan.unregistered == {(1, Family.IPV6): frozenset({5})}
    assert lan.heard_by(V4.group) == lan.everywhere
