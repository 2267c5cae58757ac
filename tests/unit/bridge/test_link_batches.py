"""Links of several ports change together: what the switch holds is what the tree says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import hypothesis.strategies as st
from hypothesis import given

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import ClosePort, Effect, SetFlood
from ofapp.bridge.params.params import BridgeParams
from ofapp.bridge.ports.port import LOCAL_PORT, Port
from ofapp.bridge.stp import BridgeParams as StpParams
from ofapp.bridge.stp import PortState, SetPortState
from ofapp.bridge.stp.bpdu import Bpdu, BpduRole, encode
from tests.unit.stp.lab import BETTER, BETTER_STILL, OWN_ID, WORSE, agreement, rst

PORTS = (1, 2, 3, 4)
SECOND_LINK = rst(BETTER, port=0x8002)
BPDUS = [
    rst(BETTER),
    rst(BETTER, 20000, WORSE, proposal=True),
    rst(BETTER_STILL),
    rst(WORSE),
    SECOND_LINK,
    rst(OWN_ID, 20000, WORSE, role=BpduRole.ROOT),
    agreement(),
]


class Switch:
    """A bridge of four ports, and what its switch is left with: ports that forward."""

    def __init__(self) -> None:
        self.now = 0.0
        self.open: set[int] = set()
        self.flooded: frozenset[int] = frozenset()
        self.up = dict.fromkeys(PORTS, True)
        self.bridge = Bridge(1, BridgeParams(stp=StpParams()))
        local = Port(LOCAL_PORT, "br0", 0x02_00_00_00_00_99, True)
        self.carry_out(self.bridge.set_ports([local, *map(_port, PORTS)], 0.0))

    def carry_out(self, effects: Iterable[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, ClosePort):
                self.open.discard(effect.port)
            elif isinstance(effect, SetPortState):
                forwards = effect.state is PortState.FORWARDING
                (self.open.add if forwards else self.open.discard)(effect.port)
            elif isinstance(effect, SetFlood):
                self.flooded = effect.ports

    def link(self, ups: Mapping[int, bool]) -> None:
        self.up |= ups
        ports = [_port(number, up) for number, up in ups.items()]
        self.carry_out(self.bridge.put_ports(ports, self.now))

    def remove(self, numbers: Iterable[int]) -> None:
        self.up |= dict.fromkeys(numbers, False)
        self.carry_out(self.bridge.remove_ports(numbers, self.now))

    def hear(self, port: int, bpdu: Bpdu) -> None:
        frame = encode(bpdu, 0x02_00_00_00_00_77)
        self.carry_out(self.bridge.hear("bpdu", [(port, frame)], self.now))

    def wait(self, seconds: float) -> None:
        end = self.now + seconds
        while (due := self.bridge.next_wakeup()) is not None and due <= end:
            self.now = max(self.now, due)
            self.carry_out(self.bridge.tick(self.now))
        self.now = end

    def check(self) -> None:
        tree = self.bridge.stp.tree
        up = {port for port in PORTS if self.up[port]}
        wanted = {port for port in up if tree.port(port).state is PortState.FORWARDING}
        if len(up) == 1 and not wanted:  # the only one may forward, as it relays to no other
            wanted = self.open & up
        assert self.open - {LOCAL_PORT} == wanted
        assert self.flooded == self.open


def _port(number: int, up: bool = True) -> Port:
    return Port(number, f"p{number}", number, up, 1000)


def test_a_root_port_and_its_alternate_fail_together() -> None:
    """The alternate is closed when they come back, although it was to be root port meanwhile."""
    switch = Switch()
    switch.wait(40)
    for port, bpdu in ((1, BPDUS[0]), (2, SECOND_LINK)):
        switch.hear(port, bpdu)
    switch.check()
    assert 2 not in switch.open
    switch.link({1: False, 2: False})
    switch.check()
    switch.link({1: True, 2: True})
    assert not switch.open & {1, 2}
    switch.check()


numbers = st.sampled_from(PORTS)
steps = st.one_of(
    st.tuples(st.just(Switch.link), st.dictionaries(numbers, st.booleans(), min_size=1)),
    st.tuples(st.just(Switch.remove), st.sets(numbers, min_size=1)),
    st.tuples(st.just(Switch.hear), numbers, st.sampled_from(BPDUS)),
    st.tuples(st.just(Switch.wait), st.sampled_from((0.1, 2.0, 7.0, 40.0))),
)


@given(st.lists(steps, max_size=30))
def test_in_any_order(script: list[tuple[object, ...]]) -> None:
    switch = Switch()
    for step, *arguments in script:
        step(switch, *arguments)  # type: ignore[operator]
        switch.check()
