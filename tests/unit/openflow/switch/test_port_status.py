"""What a switch tells of its ports, taken in a portion at a time."""

import ofapp.common.hub  # noqa: F401

# isort: split

from ofapp.bridge import stp
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import Effect
from ofapp.bridge.params.params import BridgeParams
from ofapp.bridge.ports.port import LOCAL_PORT, Port
from ofapp.openflow.switch.port_status import PORTION, arrive


def ports(count: int) -> list[Port]:
    local = Port(LOCAL_PORT, "br0", 0x020000000001, True)
    return [*(Port(n, f"p{n}", n, True, 1000) for n in range(1, count + 1)), local]


def test_others_have_their_turn_between_portions() -> None:
    bridge = Bridge(1, BridgeParams(stp=stp.BridgeParams()))
    there: list[int] = []
    arrive(bridge, ports(300), lambda _effects: there.append(len(bridge.ports)), lambda: True)
    assert there == [0, *range(PORTION, 301, PORTION), 301]
    assert bridge.name == "br0"
    known = Bridge(1, BridgeParams(stp=stp.BridgeParams()))
    known.set_ports(ports(300), 0.0)
    assert set(bridge.ports) == set(known.ports)


def test_a_switch_that_goes_away_meanwhile_is_reported_no_more() -> None:
    bridge = Bridge(1, BridgeParams(stp=stp.BridgeParams()))
    arrive(bridge, ports(300), lambda _effects: None, lambda: False)
    assert len(bridge.ports) == PORTION


def test_ports_that_are_gone_go_a_portion_at_a_time() -> None:
    bridge = Bridge(1, BridgeParams(stp=stp.BridgeParams()))
    bridge.set_ports(ports(300), 0.0)
    there: list[int] = []
    arrive(bridge, ports(1), lambda _effects: there.append(len(bridge.ports)), lambda: True)
    assert there[:3] == [301 - PORTION, 301 - 2 * PORTION, 301 - 3 * PORTION]
    assert there[-1] == 2


def test_what_is_not_in_the_list_goes_first() -> None:
    bridge = Bridge(1, BridgeParams(stp=stp.BridgeParams()))
    bridge.set_ports(ports(3), 0.0)
    batches: list[list[Effect]] = []
    renamed = [Port(2, "other", 2, True, 1000), *ports(1)]
    arrive(bridge, renamed, batches.append, lambda: True)
    assert {port.number: port.name for port in bridge.ports} == {
        1: "p1",
        2: "other",
        LOCAL_PORT: "br0",
    }
