"""When a switch is looked at again."""

from collections import Counter
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest

import ofapp.common.hub  # noqa: F401

# isort: split
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.params.params import BridgeParams
from ofapp.openflow.switch.audit import upkeep as module
from ofapp.openflow.switch.audit.upkeep import Upkeep
from ofapp.openflow.wire.requests import RequestError


def test_one_that_could_not_be_looked_at_is_looked_at_again_soon(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Not after half a minute, as one that is in line: it may be the only way to others."""
    channel: Any = SimpleNamespace(send_q=object(), counters=Counter())
    bridge, switch = Bridge(1, BridgeParams()), MagicMock()
    upkeep = Upkeep(channel, bridge, adopt_static=False)
    outcomes = [RequestError("no answer"), ValueError("malformed"), RequestError("no answer"), None]

    def look(*_args: object) -> tuple[()]:
        outcome = outcomes.pop(0)
        if outcome is not None:
            raise outcome
        channel.send_q = None  # the connection ends
        return ()

    pauses: list[float] = []
    monkeypatch.setattr(upkeep, "_bring_in_line", look)
    monkeypatch.setattr(module, "spread", lambda seconds: seconds)
    monkeypatch.setattr(module.hub, "sleep", pauses.append)
    upkeep.check_soon()
    assert [*upkeep.run(switch)] == []
    assert pauses == [1.0, 2.0, 4.0, 1.0]
    assert channel.counters["failed_sweeps"] == 3
