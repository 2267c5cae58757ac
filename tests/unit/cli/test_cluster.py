"""ofapp cluster."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ofapp.cli.client import Client
from tests.unit.cli.conftest import Run

TOLD = {
    "name": "lab",
    "member": "m1",
    "status": "this member renews its lease, and serves the switches that it owns",
    "renewed": 0.25,
    "members": [
        {
            "name": "m1",
            "address": "http://192.0.2.1:6654",
            "state": "ready",
            "lease": 1.0,
            "lease_id": "694d8a",
            "since": "2026-11-22T12:00:00.000Z",
            "version": "0.2.0",
            "bridges": 1,
        }
    ],
    "bridges": [
        {
            "datapath_id": "0000000000000001",
            "owner": "m1",
            "since": "2026-11-22T12:00:01.000Z",
            "reason": "m2 has gone, and it falls to this member",
        }
    ],
}


def test_one_alone_says_so_plainly(ofapp: Run, shared_url: str) -> None:
    said = ofapp("cluster", "show", "--api", shared_url)
    assert said.status == 0
    assert "is in no cluster" in said.out
    answer = json.loads(ofapp("cluster", "show", "--json", "--api", shared_url).out)
    assert answer["name"] is None
    assert answer["members"] == answer["bridges"] == []
    for command in ("drain", "undrain"):
        said = ofapp("cluster", command, "m1", "--api", shared_url)
        assert said.status == 1
        assert "is in no cluster" in said.err


def test_members_and_owners_are_tables(
    ofapp: Run, shared_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Client, "get", lambda _self, _path, _query=None: TOLD)
    said = ofapp("cluster", "show", "--api", shared_url)
    assert "cluster lab, seen by m1 (renewed 0.2 s ago)" in said.out
    assert any(line.split()[:5] == ["m1", "ready", "1", "1", "s"] for line in said.lines)
    assert any(
        line.startswith("0000000000000001") and line.endswith("it falls to this member")
        for line in said.lines
    )


def test_members_that_are_silent_are_named(
    ofapp: Run, shared_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    get = Client.get

    def without_m2(self: Client, path: str, query: Any = None) -> Any:
        return get(self, path, query) | {"silent": [{"member": "m2", "reason": "no answer"}]}

    monkeypatch.setattr(Client, "get", without_m2)
    said = ofapp("bridge", "show", "--api", shared_url)
    assert said.status == 0
    assert "without the bridges of member m2: no answer" in said.err
