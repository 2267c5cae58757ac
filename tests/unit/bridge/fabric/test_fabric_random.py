"""A fabric in which anything fails in any order: no frame arrives twice, and all recovers."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from ofapp.bridge.lag.params import LagParams
from ofapp.bridge.params.params import BridgeParams
from tests.unit.bridge.fabric.simulation import FORWARDING, RSTP, Network, neighbour

CABLES = [(1, 2), (2, 3), (3, 4), (4, 1), (1, 3)]
MAC = 0x020000000100
HOSTS = 4

KINDS = ("host", "host", "host", "move", "link", "mended", "cut off", "restart", "off", "connect",
         "controller", "time", "long")  # fmt: skip
actions = st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 63)), max_size=40)


class World:
    """A network, and where its hosts are: host n at one of the eight edge ports."""

    def __init__(self, params: BridgeParams) -> None:
        self.network = Network(4, CABLES, params)
        self.network.connect()
        self.network.run(5)
        self.places = {host: (host + 1, 12) for host in range(HOSTS)}

    def act(self, kind: str, number: int) -> None:
        network, member = self.network, number % 4 + 1
        switch = network.switches[member]
        if kind == "host":
            self.send(number % HOSTS, number // HOSTS % HOSTS)
        elif kind == "move":
            self.places[number % HOSTS] = (number // HOSTS % 4 + 1, 12)
        elif kind in ("link", "mended"):
            ends = sorted(network.cables)
            end = ends[number % len(ends)]
            for each in (end, network.cables[end]):
                network.set_link(*each, up=kind == "mended")
        elif kind == "cut off" and switch.connected:
            network.disconnect(member)
        elif kind == "restart":
            network.disconnect(member)
            switch.restart()
        elif kind == "off":
            network.power_off(member)
        elif kind == "connect":
            network.connect(member)
        elif kind == "controller":
            network.start()
        elif kind in ("time", "long"):
            network.run(0.5 if kind == "time" else 15)
        network.carry_frames()

    def send(self, host: int, to: int) -> dict[tuple[int, int], int]:
        member, port = self.places[host]
        reached = self.network.send(member, port, MAC + host, MAC + to)
        assert all(count == 1 for count in reached.values()), "a frame arrives twice"
        assert (member, port) not in reached, "a frame comes back"
        return dict(reached)

    def settle(self) -> None:
        for end in self.network.cables:
            self.network.set_link(*end, up=True)
        self.network.connect()
        self.network.run(200)


def check(world: World) -> None:
    """All hosts reach each other, and nothing is left of former plans."""
    network = world.network
    status = network.fabric.status(network.now)
    assert status.settled
    assert status.paused == ""
    assert {len(switch.parts) for switch in network.switches.values()} == {1}
    for _ in range(3):
        for host in range(HOSTS):
            for to in range(HOSTS):
                if host != to:
                    world.send(host, to)
    for host in range(HOSTS):
        for to in range(HOSTS):
            if world.places[host] != world.places[to]:
                assert world.send(host, to) == {world.places[to]: 1}, (host, to)


@settings(max_examples=20, deadline=None)
@given(actions)
def test_no_frame_arrives_twice_and_all_recovers(script: list[tuple[str, int]]) -> None:
    world = World(BridgeParams())
    for kind, number in script:
        world.act(kind, number)
    world.settle()
    check(world)


@settings(max_examples=20, deadline=None)
@given(actions)
@example([("host", 57), ("controller", 0)])
def test_an_external_path_is_no_loop_after_any_failures(script: list[tuple[str, int]]) -> None:
    world = World(RSTP)
    network, other = world.network, neighbour(0x02FF00000001, priority=61440)
    network.attach(other, (1, 11), (3, 11))
    network.run(20)
    for kind, number in script:
        world.act(kind, number)
    world.settle()
    check(world)
    ours = [network.switches[at].states[11] is FORWARDING for at in (1, 3)]
    theirs = [other.relay.states[port] is FORWARDING for port in (1, 2)]
    assert sum(a and b for a, b in zip(ours, theirs, strict=True)) == 1


@settings(max_examples=20, deadline=None)
@given(actions)
def test_an_aggregation_of_two_members_recovers(script: list[tuple[str, int]]) -> None:
    lags = {"lag0": LagParams(("s1/vnet11", "s2/vnet11"), lacp="off")}
    world = World(BridgeParams(lags=lags))
    network = world.network
    for kind, number in script:
        world.act(kind, number)
        for member in (1, 2, 3, 4):
            reached = network.send(member, 12, MAC + 32 + member, MAC + 48)
            assert reached[1, 11] + reached[2, 11] <= 1, "two members send it to the aggregation"
    world.settle()
    check(world)
    for member in (1, 2, 3, 4):
        reached = network.send(member, 12, MAC + 32 + member, MAC + 48)
        assert reached[1, 11] + reached[2, 11] == 1
