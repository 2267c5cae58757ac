"""A protocol is one class and one line: the bridge passes it all that happens."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from ofapp.bridge import bridge as bridges
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import Effect, SendFrame
from ofapp.bridge.params.params import BridgeParams
from ofapp.bridge.ports.port import LOCAL_PORT, Port
from ofapp.bridge.protocol import Protocol
from ofapp.common.portions import AT_ONCE, Portions

HELLO = b"\x01" * 60


@dataclass(frozen=True)
class Interval:
    seconds: float = 2.0


@dataclass(frozen=True)
class ParamsWithHello(BridgeParams):
    hello: Interval | None = None


class Hello(Protocol[Interval]):
    """Sends a frame by each port at intervals, and counts those that are heard."""

    name = "hello"
    hears = ("hello",)

    def __init__(self, state: Any) -> None:
        super().__init__(state)
        self.ports: set[int] = set()
        self.heard = 0
        self.due: float | None = None

    def put_ports(self, ports: Sequence[Port], now: float) -> list[Effect]:
        self.ports.update(port.number for port in ports)
        self.due = None if self.params is None else now
        return []

    def remove_ports(self, numbers: Sequence[int], now: float) -> list[Effect]:
        self.ports.difference_update(numbers)
        return []

    def hear(self, kind: str, frames: Sequence[tuple[int, bytes]], now: float) -> list[Effect]:
        self.heard += len(frames)
        return []

    def next_wakeup(self) -> float | None:
        return self.due

    def tick(self, now: float) -> list[Effect]:
        if self.params is None or self.due is None or now < self.due:
            return []
        self.due = now + self.params.seconds
        return [SendFrame(frozenset(self.ports), HELLO)]

    def status(self, now: float) -> int:
        return self.heard

    def desired(self, params: BridgeParams) -> object:
        return getattr(params, "hello", None)

    def dump(self, portions: Portions = AT_ONCE) -> dict[str, Any]:
        return {"heard": self.heard}

    def restore(self, data: Any) -> list[str]:
        self.heard = data["heard"]
        return []


@pytest.fixture(autouse=True)
def added(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bridges, "PROTOCOLS", (*bridges.PROTOCOLS, Hello))


def make(params: BridgeParams) -> Bridge:
    bridge = Bridge(1, params)
    ports = [Port(1, "p1", 1, True), Port(2, "p2", 2, True), Port(LOCAL_PORT, "br0", 9, True)]
    bridge.set_ports(ports, 0.0)
    return bridge


def test_one_line_adds_a_protocol() -> None:
    bridge = make(ParamsWithHello(hello=Interval(3.0)))
    bridge.remove_port(2, 0.5)
    assert SendFrame(frozenset({1, LOCAL_PORT}), HELLO) in bridge.tick(1.0)
    assert bridge.next_wakeup() == 4.0
    bridge.hear("hello", [(1, HELLO), (1, HELLO)], 2.0)
    assert bridge.protocol("hello").status(2.0) == 2
    assert bridge.desired().protocols["hello"] == Interval(3.0)
    assert bridge.desired(ParamsWithHello()).protocols["hello"] is None, "a dry run"


def test_it_goes_on_in_the_next_process_with_its_document() -> None:
    before, after = make(ParamsWithHello()), Bridge(1, ParamsWithHello())
    before.hear("hello", [(1, HELLO)], 2.0)
    assert after.protocol("hello").restore(before.protocol("hello").dump()) == []
    assert after.protocol("hello").status(3.0) == 1


def test_a_protocol_that_is_off_does_nothing_and_costs_no_wakeup() -> None:
    bridge = make(ParamsWithHello())
    assert bridge.tick(1.0) == []
    assert bridge.next_wakeup() is None


def test_frames_of_a_kind_that_no_protocol_hears_are_ignored() -> None:
    """A former member of a fabric sends such frames until its flows are replaced."""
    assert make(BridgeParams()).hear("unknown", [(1, HELLO)], 1.0) == []
