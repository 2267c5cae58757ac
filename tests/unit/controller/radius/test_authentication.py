"""Bridges whose RADIUS servers cannot be asked: each of them is named by an event."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import AskServer, Effect
from ofapp.bridge.event import Event
from ofapp.bridge.port_access.params import BridgeParams as AccessParams
from ofapp.common import hub
from ofapp.controller.radius.authentication import Authentication
from tests.support.waiting import wait_for
from tests.unit.bridge.port_access.controlled import Site, params


class Heard:
    """Stands in for the dispatcher.  events: each with the bridge's datapath id."""

    def __init__(self) -> None:
        self.ask: dict[type, Callable[[Bridge, Any], None]] = {}
        self.events = self
        self.reported: list[tuple[int, str]] = []
        self.applied: list[Effect] = []

    def on(self, kind: type, handler: Callable[[Bridge, Any], None]) -> None:
        self.ask[kind] = handler

    def emit(self, bridge: Bridge, event: Event) -> None:
        self.reported.append((bridge.datapath_id, str(event.data["file"])))

    def apply(self, bridge: Bridge, effects: list[Effect]) -> None:
        self.applied += effects

    def fault(self, *about: object) -> None:
        raise AssertionError(about)


def test_a_secret_that_cannot_be_read_is_reported_for_each_bridge() -> None:
    """And once a minute for each: every host that is authenticated would cause an event."""
    heard, sites = Heard(), [Site(params()), Site(params())]
    bridges = {}
    for number, site in enumerate(sites, 1):
        site.bridge.datapath_id = number
        access = AccessParams("192.0.2.1", f"/absent/{number}")
        site.bridge.set_params(replace(site.bridge.params, port_access=access), 0.0)
        bridges[number] = site.bridge
    made = Authentication(heard, bridges)  # type: ignore[arg-type]
    question = AskServer(1, 1, "eth1", 0x02000000000A, b"alice", "s-1", b"", b"")
    try:
        for _ in range(3):
            for site in sites:
                heard.ask[AskServer](site.bridge, question)
        wait_for(lambda: len(heard.reported) == 2, "both events", sleep=hub.sleep)
    finally:
        made.close()
    assert sorted(heard.reported) == [(1, "/absent/1"), (2, "/absent/2")]
