"""Aggregations in the network's twin: LACP runs where both ends of all cables are known."""

from __future__ import annotations

import pytest

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.lag.params import LagParams
from ofapp.bridge.params.params import BridgeParams
from ofapp.bridge.ports.port import LOCAL_PORT, Port
from ofapp.bridge.state import SharedState
from ofapp.bridge.stp import BridgeParams as TreeParams
from ofapp.bridge.stp import OwnTrees
from ofapp.bridge.twin.actions import Cut, Plug
from ofapp.bridge.twin.cable import SwitchPort, cable
from ofapp.bridge.twin.network import TwinNetwork
from ofapp.bridge.twin.prediction import Prediction, copy_of, learned_of, predict

MEMBERS = (1, 2)


def at(bridge: int, port: int) -> SwitchPort:
    return SwitchPort(bridge, port)


def two_bridges(plugged: tuple[int, ...] = MEMBERS) -> TwinNetwork:
    """Two bridges with an aggregation of two cables; ports 1 and 2, at rest."""
    network, shared = TwinNetwork(0.0), SharedState(OwnTrees())
    for port in plugged:
        network.connect(cable(at(1, port), at(2, port)))
    for number in (1, 2):
        lag = LagParams(members=("eth1", "eth2"), lacp="active", rate="fast")
        params = BridgeParams(stp=TreeParams(), lags={"lag0": lag})
        bridge = Bridge(number, params, shared, f"s{number}")
        local = Port(LOCAL_PORT, f"s{number}", 0x0200_0000_0000 + number, up=True)
        ports = [
            Port(port, f"eth{port}", (0x02_0000 + number << 8) + port, port in plugged, 1000)
            for port in MEMBERS
        ]
        effects = bridge.set_ports([local, *ports], 0.0)
        network.add(bridge, [*effects, *bridge.go_on(0.0)])
    list(network.run(60.0))
    return network


def asked(network: TwinNetwork, action: Cut | Plug, unknown: bool = False) -> Prediction:
    cables = [] if unknown else [*network.cables]
    copy = copy_of(network.bridges.values(), cables, network.now, lambda: None)
    learned = learned_of(network.bridges.values(), lambda: None)
    return [*filter(None, predict(copy, learned, [action], 30.0))][-1]


def in_use(network: TwinNetwork) -> dict[int, tuple[int, ...]]:
    return {
        number: bridge.lags.in_use(next(iter(bridge.lags.members())))
        for number, bridge in network.bridges.items()
    }


@pytest.mark.parametrize(
    ("plugged", "action", "wanted"),
    [
        ((1, 2), Cut(at(1, 1)), "leaves"),
        ((1,), Plug(at(1, 2), at(2, 2)), "joins"),
    ],
)
def test_a_member_leaves_or_joins_as_predicted(
    plugged: tuple[int, ...], action: Cut | Plug, wanted: str
) -> None:
    network = two_bridges(plugged)
    assert {*in_use(network).values()} == {plugged}
    predicted = asked(network, action)
    assert predicted.assumptions == ()
    assert not predicted.interruptions
    logged = {(each.datapath_id, each.event.of.name, each.event.port) for each in predicted.events}
    network.events.clear()
    action.apply(network)
    list(network.run(network.now + 30.0))
    assert {(each.datapath_id, each.event.of.name, each.event.port) for each in network.events} == (
        logged
    ), wanted
    assert any(kind.startswith("lag.") for _, kind, _ in logged)


def test_a_partner_that_is_not_known_keeps_to_what_it_does() -> None:
    predicted = asked(two_bridges(), Cut(at(1, 1)), unknown=True)
    assert "partners of aggregations keep to what they do now" in predicted.assumptions
