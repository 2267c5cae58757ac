"""A fabric whose first member has left: its bridge is found by that member's datapath id still."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ofapp.config import Config
from ofapp.controller.events import Interest
from tests.unit.api.network import empty_network

FIRST, SECOND, THIRD, OTHER = 0xA1, 0xA2, 0xA3, 0xB1


@pytest.fixture
def network() -> Any:
    members = {
        f"s{at}": {"bridge": f"{number:016x}", "links": ["fab*"], "left": number == FIRST}
        for at, number in enumerate((FIRST, SECOND, THIRD), 1)
    }
    made = empty_network()
    made.running.config = Config.model_validate({"fabrics": {"pod": {"members": members}}})
    return made


def test_a_cluster_claims_the_switches_that_are_members(network: Any) -> None:
    """The claim of the fabric is that of its bridge, of which no switch has the datapath id."""
    for known in (FIRST, SECOND):
        assert network.connections.switches(known) == (SECOND, THIRD)
    assert [network.connections.bridge_of(at) for at in (FIRST, SECOND, OTHER)] == [
        FIRST,
        FIRST,
        OTHER,
    ]
    assert network.connections.switches(OTHER) == (OTHER,)


def test_the_switch_that_has_left_is_refused_and_reported_once(network: Any) -> None:
    channel: Any = SimpleNamespace(id=FIRST, address=("10.0.0.9", 4711), dead=False)
    assert not network.connections.admit(channel, FIRST)
    assert not network.connections.admit(channel, FIRST)
    assert network.connections.admit(channel, SECOND)
    (record,) = network.events.since(0, Interest(("bridge.reserved",)))
    assert record.event.data == {"fabric": "pod", "refused": "10.0.0.9:4711"}
    assert record.event.message.endswith("other-config:datapath-id=00010000000000a1")
