"""A plan says which things of the network change, and counts their flows."""

import pytest

import ofapp.common.hub  # noqa: F401

# isort: split
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.datapath_status import PlannedItem
from ofapp.bridge.effects import HoldDown, PutStatic, SetTrap
from ofapp.bridge.effects.content import BoundAddress, BoundHost, DesiredLag
from ofapp.bridge.effects.fabric import Content, DesiredFabric, SetShared
from ofapp.bridge.first_hop.params import PortParams as FirstHop
from ofapp.bridge.lag.params import LagParams
from ofapp.bridge.multicast import Family, SetGroup, SetUnregistered
from ofapp.bridge.params.params import BridgeParams, PortParams
from ofapp.bridge.params.policy import PortPolicy, Storm
from ofapp.bridge.ports.port import LOCAL_PORT, Port
from ofapp.bridge.ports.vlan import TRANSPARENT, access, trunk
from ofapp.openflow.pipeline.entries import GroupNumbers
from ofapp.openflow.pipeline.parts import KINDS
from ofapp.openflow.pipeline.words import differences, vlans_text
from ofapp.openflow.switch.plan import Plan
from ofapp.openflow.switch.program import difference, program

PORTS = {"eth1": PortParams(vlans=access(10)), "eth2": PortParams(vlans=access(20))}


def bridge(lags: dict[str, LagParams] | None = None, **ports: PortParams) -> Bridge:
    made = Bridge(1, BridgeParams(stp=None, lags=lags or {}, ports={**PORTS, **ports}))
    there = [Port(number, f"eth{number}", number, True) for number in (1, 2, 3, 4)]
    made.set_ports([*there, Port(LOCAL_PORT, "br0", 9, True)], 0.0)
    return made


def planned(before: Bridge, after: Bridge) -> dict[str, PlannedItem]:
    old, new = (program(each.desired(), True, GroupNumbers()) for each in (before, after))
    names = {
        port.number: port.name
        for each in (before, after)
        for port in (*each.ports, *each.lags.physical(each.ports))
    }
    changes = difference(old, new)
    items = [*Plan(old, new, changes, lambda number: names[number]).items()]
    for kind, count in changes.counts().items():
        assert sum(item.sent[kind] for item in items) == count
    result = {item.item: item for item in items}
    assert len(result) == len(items)
    return result


def test_another_vlan_is_a_change_of_its_port_and_of_the_flood_groups() -> None:
    items = planned(bridge(), bridge(eth1=PortParams(vlans=access(20))))
    assert items["port eth1"].changes == ("VLAN 10 -> 20",)
    assert items["port eth1"].sent["flows"] > 0
    assert items["the whole bridge"].sent["groups"] > 0
    assert items.keys() == {"port eth1", "the whole bridge"}


def test_policies_have_the_keys_of_the_file() -> None:
    policy = PortPolicy(isolated=True, storm=Storm(broadcast=100))
    items = planned(bridge(), bridge(eth1=PortParams(vlans=access(10), policy=policy)))
    assert items["port eth1"].changes == ("isolated no -> yes", "storm.broadcast none -> 100")
    assert items["port eth1"].sent["meters"] == 1


def test_the_checks_of_a_guarded_port_are_named_and_no_internal_address() -> None:
    guarded = PortParams(vlans=access(10), first_hop=FirstHop(source_guard="ip"))
    assert planned(bridge(), bridge(eth1=guarded))["port eth1"].changes == (
        "source_guard none -> ip",
    )
    assert planned(bridge(eth1=guarded), bridge())["port eth1"].changes == (
        "source_guard ip -> none",
    )


def test_a_member_leaves_an_aggregation() -> None:
    both, one = ({"bond0": LagParams(members=names)} for names in (("eth3", "eth4"), ("eth3",)))
    items = planned(bridge(both), bridge(one))
    assert items["aggregation bond0"].changes == ("member eth4 leaves",)
    assert items["port eth4"].changes[0] == "added"


def test_an_aggregation_comes_and_goes() -> None:
    lags = {"bond0": LagParams(members=("eth3",))}
    assert planned(bridge(), bridge(lags))["aggregation bond0"].changes == (
        "added",
        "member eth3 joins",
    )
    items = planned(bridge(lags), bridge())
    assert items["aggregation bond0"].changes == ("removed",)
    assert items["port eth3"].changes[0] == "added"


def test_no_change_is_no_item() -> None:
    assert planned(bridge(), bridge()) == {}


@pytest.mark.parametrize(
    ("old", "new", "item", "changes"),
    [
        (
            PutStatic(5, 10, 1),
            PutStatic(5, 10, 2),
            "static address 00:00:00:00:00:05 in VLAN 10",
            ["on port p1 -> port p2"],
        ),
        (
            PutStatic(5, None, 1),
            PutStatic(5, None, None),
            "local address 00:00:00:00:00:05",
            ["on port p1 -> none"],
        ),
        (
            HoldDown(10, 5, 60, 1, 2),
            HoldDown(10, 5, 60, 2, 1),
            "held-down address 00:00:00:00:00:05 in VLAN 10",
            ["on port p1 -> port p2"],
        ),
        (
            BoundHost(1, 0, 5, ()),
            BoundHost(1, 0, 5, (BoundAddress.parse("10.0.0.5"),)),
            "binding of 00:00:00:00:00:05 on port p1",
            ["address 10.0.0.5 joins"],
        ),
        (
            DesiredLag(100, "l2", (1, 2), (1, 2), (1, 2)),
            DesiredLag(100, "l3", (1, 0), (1, 2), (1, 2)),
            "aggregation p100",
            ["hash l2 -> l3", "member p2 sends and receives -> receives"],
        ),
        (
            SetGroup(10, bytes([239, 1, 1, 1]), None, frozenset({1, 2})),
            SetGroup(10, bytes([239, 1, 1, 1]), None, frozenset({2, 3})),
            "multicast group 239.1.1.1 in VLAN 10",
            ["port p1 leaves", "port p3 joins"],
        ),
        (
            SetUnregistered(0, Family.IPV4, frozenset()),
            SetUnregistered(0, Family.IPV4, frozenset({3})),
            "unregistered IPv4 multicast",
            ["port p3 joins"],
        ),
        (SetTrap("lldp", 1, on=True), SetTrap("lldp", 1, on=True), "lldp frames on port p1", []),
        (
            SetShared(7, (1, 2)),
            SetShared(7, (2,)),
            "flooding to aggregation p7",
            ["member 1 leaves"],
        ),
        (
            DesiredFabric(1, 1, (1, 2), (1, 2), Content({}, frozenset(), None)),
            DesiredFabric(1, 1, (1, 2), (1,), Content({}, frozenset(), None)),
            "fabric",
            ["link p2 open -> closed"],
        ),
    ],
)
def test_each_kind_of_content_has_words(
    old: object, new: object, item: str, changes: list[str]
) -> None:
    put = KINDS[type(old)].words
    assert put is not None
    words = [put(value, lambda number: f"p{number}") for value in (old, new)]
    assert {each.item for each in words} == {item}
    assert [*differences(*words)] == changes
    assert differences(None, words[1])[0] == "added"


def test_all_that_a_switch_holds_has_words() -> None:
    """A kind without words only removes parts."""
    silent = {kind.__name__ for kind, one in KINDS.items() if one.words is None}
    assert silent == {"ClosePort", "RemoveStatic", "LetGo", "RemoveGroup"}


def test_vlans_are_said_shortly() -> None:
    assert vlans_text(TRANSPARENT) == "all"
    assert vlans_text(access(10)) == "10"
    assert vlans_text(trunk(frozenset({10, 20}), 1)) == "10,20 tagged, 1 untagged"
    assert vlans_text(trunk(frozenset())) == "none"
