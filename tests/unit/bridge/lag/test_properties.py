"""With any ports of a switch and any file, each port has one role."""

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.lag import LagParams
from ofapp.bridge.params.params import BridgeParams
from ofapp.bridge.ports.port import LOCAL_PORT, Port
from ofapp.bridge.stp import BridgeParams as StpParams

NUMBERS = (1, 2, 3, 4, 4095, LOCAL_PORT)
NAMES = ("eth1", "eth2", "eth3", "eth4", "lag0", "lag1", "br0")
PARAMS = [
    BridgeParams(lags=lags, stp=stp)
    for stp in (None, StpParams())
    for lags in (
        {},
        {"lag0": LagParams(("eth1", "eth2"), "off")},
        {"lag0": LagParams(("eth1", "eth2")), "lag1": LagParams(("eth3",), "off")},
        {"lag1": LagParams(("eth2", "eth3", "eth1"), "off", min_links=2)},
        {"lag0": LagParams(("br0", "eth1"), "off"), "lag1": LagParams(("eth1", "lag0"), "off")},
    )
]

port = st.builds(
    Port,
    number=st.sampled_from(NUMBERS),
    name=st.sampled_from(NAMES),
    mac=st.integers(1, 9),
    up=st.booleans(),
    speed_mbps=st.sampled_from((0, 1000)),
    live=st.booleans(),
)
Step = Callable[[Bridge, dict[int, Port], float], None]


def put(one: Port) -> Step:
    def step(bridge: Bridge, there: dict[int, Port], now: float) -> None:
        there[one.number] = one
        bridge.put_port(one, now)

    return step


def remove(number: int) -> Step:
    def step(bridge: Bridge, there: dict[int, Port], now: float) -> None:
        there.pop(number, None)
        bridge.remove_port(number, now)

    return step


def connect(ports: list[Port]) -> Step:
    def step(bridge: Bridge, there: dict[int, Port], now: float) -> None:
        there.clear()
        there.update({one.number: one for one in ports})
        bridge.set_ports(ports, now)

    return step


def configure(params: BridgeParams) -> Step:
    return lambda bridge, _there, now: bridge.set_params(params, now) and None


def wait(bridge: Bridge, _there: dict[int, Port], now: float) -> None:
    bridge.tick(now)


steps = st.one_of(
    port.map(put),
    st.sampled_from(NUMBERS).map(remove),
    st.lists(port, max_size=6).map(connect),
    st.sampled_from(PARAMS).map(configure),
    st.just(wait),
)


@given(st.sampled_from(PARAMS), st.lists(st.tuples(steps, st.sampled_from((0.0, 0.4, 3.0)))))
def test_each_port_is_one_thing(params: BridgeParams, life: list[tuple[Step, float]]) -> None:
    bridge, there, now = Bridge(1, params), dict[int, Port](), 0.0
    for step, pause in life:
        now += pause
        step(bridge, there, now)
        check(bridge, there)


def check(bridge: Bridge, there: dict[int, Port]) -> None:
    lags = bridge.lags
    own = {one.number: one for one in bridge.ports if one.number not in lags.numbers}
    members = [number for numbers in lags.members().values() for number in numbers]
    assert len(members) == len({*members})
    assert sorted([*own, *members, *lags.left_out]) == sorted(there)
    assert all(there[number] == one for number, one in own.items())
    assert LOCAL_PORT not in members
    assert {one.number for one in bridge.ports} & lags.numbers == {
        logical for logical, numbers in lags.members().items() if numbers
    }
    for lag in bridge.desired().lags:
        assert {*lag.distributing, *lag.collecting, *lag.lacp} <= {*lags.members()[lag.number]}
        assert all(there[number].up for number in lag.distributing)
    assert not bridge.desired().flooded & {*members}
