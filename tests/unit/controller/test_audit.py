"""The audit trail: who changed what, from what to what, and what becomes of it on a bad disk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import ofapp.launcher.options  # noqa: F401  (os-ken's modules in the order that works)
from ofapp.api.app import create_app
from ofapp.common import hub
from ofapp.config import Config
from ofapp.controller.audit import DENIALS, SHOWN, Audit, record
from ofapp.controller.events import EventLog
from ofapp.controller.network import Network
from ofapp.controller.state import trail
from ofapp.controller.state.store import State
from ofapp.controller.state.trail import Trail
from tests.unit.api.network import DPID, add_bridge, some_network
from tests.unit.recorded_events import RecordedEvents


@pytest.fixture
def network() -> Network:
    return some_network()


@pytest.fixture
def client(network: Network) -> Any:
    return create_app(network).test_client()


def changes(network: Network) -> list[str]:
    """What the events of the trail say."""
    records = network.events.since(0)
    return [one.event.message for one in records if one.event.kind == "audit.change"]


def test_settings_are_reported_with_both_values(client: Any, network: Network) -> None:
    port = f"/v1/bridges/{DPID}/ports/eth1"
    client.patch(port, json={"isolated": True})
    client.patch(port, json={"isolated": True})  # which changes nothing
    client.patch(port, json={"isolated": "no"})
    client.patch(f"/v1/bridges/{DPID}/multicast", json={"mcast_querier": True})
    client.patch(f"/v1/bridges/{DPID}/stp", json={"priority": 4096})
    who = "anybody (admin) from 127.0.0.1: PATCH /v1/bridges/"
    changed = changes(network)
    assert all(one.startswith(who) for one in changed)
    assert [one.partition(f"br0 ({DPID}): ")[2] for one in changed] == [
        "port eth1: isolated: false -> true",
        "multicast: mcast_querier: false -> true",
        "spanning tree: priority: 32768 -> 4096",
    ]


def test_a_reload_is_reported_with_what_has_asked_for_it(tmp_path: Path) -> None:
    file = tmp_path / "ofapp.yaml"
    network = Network(Config(), State(None), EventLog(), find=lambda: file)
    add_bridge(network)
    file.write_text("bridges: {br0: {ageing_time: 60}, '0000000000000001': {ageing_time: 30}}")
    network.reload("SIGHUP")
    (changed,) = changes(network)
    assert changed.startswith("SIGHUP (admin) from this machine: reload: br0 (0000000000000001): ")
    assert changed.endswith("ageing_time: default -> 30")


def test_requests_that_overlap_are_not_taken_for_each_other(tmp_path: Path) -> None:
    events = RecordedEvents()
    audit = Audit(events, Trail(None, events))

    def ask(who: str) -> None:
        with audit.act(who, "operator", "somewhere", "PATCH"):
            for number in range(3):
                record(f"{who}'s {number}")
                hub.sleep(0)

    for thread in [hub.spawn(ask, who) for who in ("one", "two")]:
        thread.wait()
    assert [event.data["changes"] for event in events] == [
        [f"{who}'s {number}" for number in range(3)] for who in ("one", "two")
    ]
    record("without a user")
    assert len(events) == 2


def test_a_reload_of_everything_is_reported_in_bounds() -> None:
    events = RecordedEvents()
    audit = Audit(events, Trail(None, events))
    with audit.act("SIGHUP", "admin", "this machine", "reload"):
        for number in range(SHOWN + 7):
            record(f"port p{number}\nis changed")
    assert events[0].data["more"] == 7
    assert "and 1002 more" in events[0].message
    assert "\n" not in events[0].message


def test_who_may_do_nothing_does_not_push_out_what_others_did(tmp_path: Path) -> None:
    events = RecordedEvents()
    made = Trail(tmp_path / "audit.log", events)
    audit = Audit(events, made)
    for _ in range(10 * DENIALS):
        audit.denied("token viewer", "viewer", "192.0.2.1", "DELETE /v1/bridges")
    audit.denied("token other", "viewer", "192.0.2.1", "DELETE /v1/bridges")
    made.finish(20)
    lines = [json.loads(line) for line in (tmp_path / "audit.log").read_text().splitlines()]
    assert len([line for line in lines if line["who"] == "token viewer"]) <= DENIALS + 1
    assert lines[-1]["who"] == "token other"
    assert len(events) == 10 * DENIALS + 1  # of which the events have their own limit


def test_files_are_rotated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trail, "SIZE", 1000)
    path = tmp_path / "audit.log"
    events = RecordedEvents()
    made = Trail(path, events)
    for number in range(101):
        made.add(json.dumps({"number": number, "filler": "x" * 80}))
        made.finish(20)
    files = sorted(tmp_path.iterdir())
    assert len(files) == trail.FILES
    assert all(file.stat().st_size <= 1100 for file in files)
    assert [json.loads(line)["number"] for line in path.read_text().splitlines()] == [100]


def test_what_a_disk_does_not_take_waits_and_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "RETRY_SECONDS", 0.02)
    monkeypatch.setattr(trail, "WAITING", 3)
    folder = tmp_path / "later"
    events = RecordedEvents()
    made = Trail(folder / "audit.log", events)
    for number in range(5):
        made.add(f"line {number}")
    events.wait_for("audit.unsaved")
    assert events.kinds == ["audit.unsaved"]
    folder.mkdir()
    events.wait_for("audit.saved")
    assert events.kinds == ["audit.unsaved", "audit.saved"]
    assert (folder / "audit.log").read_text() == "line 0\nline 1\nline 2\n"
    assert events[1].data == {"lost": 2}


def test_nobody_has_it_write_somewhere_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "audit.log").symlink_to(tmp_path / "other")
    events = RecordedEvents()
    made = Trail(tmp_path / "audit.log", events)
    made.add("line")
    events.wait_for("audit.unsaved")
    assert events.kinds == ["audit.unsaved"]
    assert not (tmp_path / "other").exists()
