"""What a switch tells of its ports at once is one step for the bridge; nothing is passed over."""

import ofapp.common.hub  # noqa: F401

# isort: split
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import Effect
from ofapp.bridge.event import Event
from ofapp.bridge.params.params import BridgeParams
from ofapp.bridge.ports.port import Port
from ofapp.openflow.switch.port_status import handle_port_news


def steps_of(*news: tuple[int, str]) -> list[list[str]]:
    """The kinds of events of each step; news: (port, "up", "down" or "gone")."""
    steps: list[list[str]] = []

    def apply(effects: list[Effect]) -> None:
        steps.append([f"{e.port} {e.kind}" for e in effects if isinstance(e, Event)])

    ports = [(what == "gone", Port(n, f"p{n}", n, what == "up")) for n, what in news]
    handle_port_news(Bridge(1, BridgeParams()), ports, 1.0, apply)
    return steps


def test_new_ports_are_one_step() -> None:
    (events,) = steps_of((1, "up"), (2, "down"), (3, "up"))
    assert events == [*(f"{n} port.added" for n in (1, 2, 3)), "1 port.up", "3 port.up"]


def test_ports_that_go_are_another() -> None:
    steps = steps_of((1, "up"), (2, "up"), (1, "gone"), (2, "gone"), (3, "up"))
    assert [step[-1].split(" ")[1] for step in steps] == ["port.up", "port.removed", "port.up"]


def test_a_link_that_flaps_is_seen_to_flap() -> None:
    first, second, third = steps_of((1, "up"), (1, "down"), (2, "up"), (1, "up"))
    assert first == ["1 port.added", "1 port.up"]
    assert second == ["2 port.added", "1 port.down", "2 port.up"]
    assert third == ["1 port.up"]
