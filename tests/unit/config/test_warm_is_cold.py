"""After any earlier configurations a switch holds what the last one says, and nothing else."""

from __future__ import annotations

from typing import Any

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.ports.port import LOCAL_PORT, Port
from ofapp.config import Config
from ofapp.openflow.pipeline.entries import GroupNumbers
from ofapp.openflow.switch.program import Program, difference, program
from tests.unit.config.configs import PORTS, bridges

QUICK = (Phase.explicit, Phase.reuse, Phase.generate)  # shrinking such examples takes minutes
SETTLED = 60.0
"""Seconds after which no timer of a spanning tree runs that would change a port."""


def params(bridge: dict[str, Any]) -> Any:
    return Config.model_validate({"bridges": {"1": bridge}}).bridge(1).params()


def cold(bridge: dict[str, Any], now: float) -> Bridge:
    made = Bridge(1, params(bridge))
    ports = [Port(number, name, number, True) for number, name in enumerate(PORTS, 1)]
    made.set_ports([*ports, Port(LOCAL_PORT, "br0", 99, True)], now)
    return made


def settle(bridge: Bridge, now: float) -> float:
    end = now + SETTLED
    while (due := bridge.next_wakeup()) is not None and due <= end:
        bridge.tick(due)
    return end


def held(bridge: Bridge) -> Program:
    return program(bridge.desired(), metered=True, numbers=GroupNumbers())


@settings(max_examples=60, phases=QUICK)
@given(st.lists(bridges(), min_size=2, max_size=4))
def test_warm_is_cold(history: list[dict[str, Any]]) -> None:
    now = 0.0
    warm = cold(history[0], now)
    for bridge in history[1:]:
        now = settle(warm, now)
        warm.set_params(params(bridge), now)
    fresh = cold(history[-1], now)
    settle(warm, now)
    settle(fresh, now)
    changes = difference(held(fresh), held(warm))
    assert not changes, "\n".join(changes.lines())


@settings(max_examples=30, phases=QUICK)
@given(bridges())
def test_the_same_again_changes_nothing(bridge: dict[str, Any]) -> None:
    made = cold(bridge, 0.0)
    before = held(made)
    assert made.set_params(params(bridge), 1.0) == []
    assert not difference(before, held(made))
