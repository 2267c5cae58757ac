"""The life of a session, as far as it needs no switch."""

from __future__ import annotations

import gc
import weakref
from collections import Counter
from typing import Any

import ofapp.common.hub  # noqa: F401

# isort: split
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.params.params import BridgeParams
from ofapp.openflow.switch.mastership.ownership import LeasedOwnership
from ofapp.openflow.switch.session import Session


class Silent:
    """A connection on which nothing is said."""

    def __init__(self) -> None:
        self.counters: Counter[str] = Counter()
        self.listener: Any = None
        self.id = 1
        self.address = ("192.0.2.1", 4711)


def test_one_that_is_over_is_not_left_to_the_garbage_collector() -> None:
    channel: Any = Silent()
    bridge = Bridge(1, BridgeParams())
    session = Session(
        channel, bridge, lambda _bridge, _notice: None, LeasedOwnership(channel, 1), False
    )
    channel.listener = session
    gone = weakref.ref(session), weakref.ref(session._delivery), weakref.ref(session._upkeep)
    gc.disable()
    try:
        session.stop()
        del session
        assert [part() for part in gone] == [None] * 3
    finally:
        gc.enable()
