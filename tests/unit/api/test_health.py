"""Whether the controller works, as orchestrators and scripts ask."""

from __future__ import annotations

from typing import Any

import pytest

import ofapp
from ofapp.common import hub
from ofapp.common.version import commit
from ofapp.osken.server import SwitchServer


def test_alive(client: Any) -> None:
    assert client.get("/healthz").json == {"status": "ok"}


def test_ready_once_switches_can_connect(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SwitchServer, "listening", hub.Event())
    refused = client.get("/readyz")
    assert (refused.status_code, refused.content_type) == (503, "application/problem+json")
    SwitchServer.listening.set()
    answer = client.get("/readyz")
    assert answer.json == {"status": "ok", "bridges": 2, "connected": 0, "in_line": 0}


def test_the_version(client: Any) -> None:
    answer = client.get("/v1/version").json
    assert answer["version"] == ofapp.__version__
    assert answer["commit"] == commit()
    assert answer["uptime"] >= 0
    assert answer["started"].endswith("Z")
