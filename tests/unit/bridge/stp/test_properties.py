"""Random networks through random histories: what must hold in every one of them.

At every effect of every step there is no loop in the data plane (`topology` checks that by itself),
blocks come before openings and BPDUs last in every list of effects, and the machines are at rest
when a call returns.  When nothing happens any more there is one root a component, everybody is on a
least cost path, and the open ports are a tree that reaches every bridge and LAN.

Under the eyes of `coverage` they take four times as long: it looks on at two of them only.
OFAPP_HYPOTHESIS=thorough runs forty times as many examples.
"""

import os
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ofapp.bridge.stp import Effect, PortState, SendBpdu, SetPortState, SpanningTree
from ofapp.bridge.stp.own import OwnTrees, Tree
from ofapp.bridge.stp.port import TreePort
from ofapp.bridge.stp.vectors import PriorityVector
from tests.unit.bridge.stp.topology import Network

THOROUGH = os.environ.get("OFAPP_HYPOTHESIS") == "thorough"
FACTOR = 40 if THOROUGH else 1
SETTLED = 130.0
"""Seconds: max age, two forward delays, and as many again for news of a dead root to die."""


def profile(examples: int) -> settings:
    return settings(
        max_examples=examples * FACTOR,
        suppress_health_check=list(HealthCheck),
        derandomize=not THOROUGH,
        print_blob=True,
    )


class Remembered(OwnTrees):
    """What the controller's other trees say changes with them; this one can say it once more."""

    def __init__(self) -> None:
        super().__init__()
        self.again = False
        self._said: dict[tuple[int, int, PriorityVector], bool] = {}

    def believe(self, asking: Tree, port: TreePort) -> bool:
        about = asking.address, port.port_no, port.port_priority
        if not self.again or about not in self._said:
            self._said[about] = super().believe(asking, port)
        return self._said[about]


class Watched(Network):
    """Looks at every list of effects, and now and then whether the machines really rest."""

    def __init__(self, **arguments: object) -> None:
        super().__init__(**arguments)  # type: ignore[arg-type]
        self.own: Remembered = Remembered()

    def act(self, name: str, call: object) -> list[Effect]:
        effects = super().act(name, call)  # type: ignore[arg-type]
        kinds = [
            0
            if isinstance(e, SetPortState) and e.state is PortState.DISCARDING
            else 2
            if isinstance(e, SendBpdu)
            else 1
            for e in effects
        ]
        assert kinds == sorted(kinds)
        tree = self.bridges[name].tree
        if self.steps % 7 == 0 and not waits_for_a_bridge(tree):
            self.own.again = True
            assert_at_rest(tree)
            self.own.again = False
        return effects


def waits_for_a_bridge(tree: SpanningTree) -> bool:
    """Whether a port is no edge only because an own bridge is late (`neighbour.is_late`): that this
    one has left is seen with the next hello."""
    core = tree.core
    return any(
        port.proposing and not port.oper_edge and port.peer
        for port in core.ports.values()
        if not core.running(port.edge_delay_while)
    )


def assert_at_rest(tree: SpanningTree) -> None:
    """Selecting all roles again and running every machine of every port finds nothing to do."""
    tree.core.selected_for, tree.core.reselect = (), True
    tree.core.mark_all()
    assert tree.tick(0) == []


delays = st.sampled_from([0.00001, 0.0001, 0.001, 0.003, 0.01, 0.03])
costs = st.sampled_from([None, None, 1, 5, 20_000, 200_000])
priorities = st.sampled_from([4096, 32768, 61440])


@st.composite
def networks(draw: st.DrawFn, kinds: str, shared: bool, size: int = 8) -> Network:
    """kinds: r(stp), f(oreign RSTP, not of the same controller), s(tp compatible), l(egacy
    802.1D-1998 bridge, foreign too), drawn for each bridge."""
    network = Watched(seed=draw(st.integers(0, 2**16)))
    names = [f"b{i}" for i in range(draw(st.integers(1, size)))]
    for name in names:
        kind = draw(st.sampled_from(kinds))
        network.add_bridge(
            name,
            legacy=kind == "l",
            foreign=kind == "f",
            priority=draw(priorities),
            force_version=2 if kind in "rf" else 0,
        )
    used: Counter[str] = Counter()
    ends = st.sampled_from(names)
    for _ in range(draw(st.integers(1, 2 * len(names) + 2))):
        form = draw(st.sampled_from(["link"] * 6 + ["hub"] * (3 if shared else 0) + ["1", "@"]))
        number = {"link": 2, "hub": draw(st.integers(2, 4)), "1": 1, "@": 1}[form]
        members = []
        for _ in range(number):
            name = draw(ends)
            used[name] += 1
            members.append((name, used[name]))
        network.add_lan(
            members,
            shared=form == "hub",
            loopback=form == "@",
            delay=draw(delays),
            cost=draw(costs),
        )
    return network


EVENTS = [
    *("cut", "mend", "kill", "boot") * 2,
    *("flap", "priority", "version", "cost", "port priority"),
]


@st.composite
def histories(draw: st.DrawFn) -> list[tuple[float, str, int]]:
    event = st.tuples(
        st.sampled_from([0.0005, 0.01, 0.1, 1, 3, 10, 60]),
        st.sampled_from(EVENTS),
        st.integers(0, 1000),
    )
    return draw(st.lists(event, max_size=8))


def play(network: Network, spread: float, history: list[tuple[float, str, int]]) -> None:
    network.start(spread)
    for pause, what, which in history:
        network.run(pause)
        lan = network.lans[which % len(network.lans)]
        bridge = list(network.bridges.values())[which % len(network.bridges)]
        if what == "cut":
            network.cut(lan)
        elif what == "mend":
            network.mend(lan)
        elif what == "kill":
            network.kill(bridge.name)
        elif what == "boot" and bridge.tree is None:
            network.boot(bridge.name)
        elif what == "priority":
            network.administer(bridge.name, priority=which % 16 * 4096)
        elif what == "version" and not bridge.legacy:
            network.administer(bridge.name, force_version=which % 2 * 2)
        elif what == "cost":
            network.administer_port(*lan.members[0], path_cost=1 + which * 50)
        elif what == "port priority":
            network.administer_port(*lan.members[-1], priority=which % 16 * 16)
        elif what == "flap":
            network.cut(lan)
            network.mend(lan)
    network.run(SETTLED)
    network.check_converged()
    quiet = network.last_change
    network.run(30)
    assert network.last_change == quiet, "a settled network moves"


spreads = st.sampled_from([0.001, 0.1, 3, 50])


@pytest.mark.no_cover
@profile(60)
@given(networks("r", shared=False), spreads, histories())
def test_rstp_on_point_to_point_links(
    network: Network, spread: float, history: list[tuple[float, str, int]]
) -> None:
    play(network, spread, history)


@profile(35)
@given(networks("r", shared=True), spreads, histories())
def test_rstp_with_shared_segments(
    network: Network, spread: float, history: list[tuple[float, str, int]]
) -> None:
    play(network, spread, history)


@pytest.mark.no_cover
@profile(50)
@given(networks("rf", shared=False), spreads, histories())
def test_rstp_with_foreign_bridges_anywhere(
    network: Network, spread: float, history: list[tuple[float, str, int]]
) -> None:
    play(network, spread, history)


@pytest.mark.no_cover
@profile(25)
@given(networks("sl", shared=True, size=6), spreads, histories())
def test_stp(network: Network, spread: float, history: list[tuple[float, str, int]]) -> None:
    play(network, spread, history)


@pytest.mark.no_cover
@profile(35)
@given(networks("rrfsl", shared=True), spreads, histories())
def test_rstp_and_stp_mixed(
    network: Network, spread: float, history: list[tuple[float, str, int]]
) -> None:
    play(network, spread, history)


@profile(25)
@given(networks("r", shared=False, size=14), st.integers(0, 1000))
def test_failover_in_a_redundant_network_needs_no_timer(network: Network, which: int) -> None:
    """Where nothing but point-to-point links is about, a new network converges on messages alone
    (and three seconds for ports without a bridge behind them)."""
    network.start(0.001).run(20)
    network.check_converged()
    assert network.last_change < 6.1
