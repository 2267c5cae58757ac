"""Links of several ports change together: what the switch holds is what the tree says."""

from collections.abc import Iterable, Mapping

import hypothesis.strategies as st
from hypothesis import given

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.params.params import BridgeParams
from ofapp.bridge.ports.port import LOCAL_PORT, Port
from ofapp.bridge.stp import BridgeParams as StpParams
from ofapp.bridge.stp import PortState
from ofapp.bridge.stp.bpdu import Bpdu, BpduRole, encode
from tests.unit.bridge.stp.lab import BETTER, BETTER_STILL, OWN_ID, WORSE, agreement, rst
from tests.unit.openflow.address_switch import AddressSwitch

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


class Managed:
    """A bridge of four ports, and its switch."""

    def __init__(self) -> None:
        self.now = 0.0
        self.up = dict.fromkeys(PORTS, True)
        self.bridge = Bridge(1, BridgeParams(stp=StpParams()))
        self.switch = AddressSwitch(self.bridge)
        local = Port(LOCAL_PORT, "br0", 0x02_00_00_00_00_99, True)
        self.switch.apply(self.bridge.set_ports([local, *map(_port, PORTS)], 0.0))

    def link(self, ups: Mapping[int, bool]) -> None:
        self.up |= ups
        ports = [_port(number, up) for number, up in ups.items()]
        self.switch.apply(self.bridge.put_ports(ports, self.now))

    def remove(self, numbers: Iterable[int]) -> None:
        self.up |= dict.fromkeys(numbers, False)
        self.switch.apply(self.bridge.remove_ports(numbers, self.now))

    def hear(self, port: int, bpdu: Bpdu) -> None:
        frame = encode(bpdu, 0x02_00_00_00_00_77)
        self.switch.apply(self.bridge.hear("bpdu", [(port, frame)], self.now))

    def wait(self, seconds: float) -> None:
        end = self.now + seconds
        while (due := self.bridge.next_wakeup()) is not None and due <= end:
            self.now = max(self.now, due)
            self.switch.apply(self.bridge.tick(self.now))
        self.now = end

    def check(self) -> None:
        tree = self.bridge.stp.tree
        up = {port for port in PORTS if self.up[port]}
        wanted = {port for port in up if tree.port(port).state is PortState.FORWARDING}
        if len(up) == 1 and not wanted:  # the only one may forward, as it relays to no other
            wanted = self.switch.open & up
        assert self.switch.open - {LOCAL_PORT} == wanted
        assert self.switch.flood == self.switch.open


def _port(number: int, up: bool = True) -> Port:
    return Port(number, f"p{number}", number, up, 1000)


def test_a_root_port_and_its_alternate_fail_together() -> None:
    """The alternate is closed when they come back, although it was to be root port meanwhile."""
    managed = Managed()
    managed.wait(40)
    for port, bpdu in ((1, BPDUS[0]), (2, SECOND_LINK)):
        managed.hear(port, bpdu)
    managed.check()
    assert 2 not in managed.switch.open
    managed.link({1: False, 2: False})
    managed.check()
    managed.link({1: True, 2: True})
    assert not managed.switch.open & {1, 2}
    managed.check()


numbers = st.sampled_from(PORTS)
steps = st.one_of(
    st.tuples(st.just(Managed.link), st.dictionaries(numbers, st.booleans(), min_size=1)),
    st.tuples(st.just(Managed.remove), st.sets(numbers, min_size=1)),
    st.tuples(st.just(Managed.hear), numbers, st.sampled_from(BPDUS)),
    st.tuples(st.just(Managed.wait), st.sampled_from((0.1, 2.0, 7.0, 40.0))),
)


@given(st.lists(steps, max_size=30))
def test_in_any_order(script: list[tuple[object, ...]]) -> None:
    managed = Managed()
    for step, *arguments in script:
        step(managed, *arguments)  # type: ignore[operator]
        managed.check()
