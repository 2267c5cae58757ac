"""Versions of the configuration over the API: who applied which file, differences, rollback."""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path
from random import Random
from typing import Any

import pytest

from ofapp.config import load_config
from ofapp.controller.configuration.versioned import rolled_back
from ofapp.controller.events import EventLog
from ofapp.controller.network import Network
from ofapp.controller.problems.file_on_disk import FileOnDisk
from ofapp.controller.problems.kinds import FILE_INCOMPLETE, FILE_INVALID, ROLLED_BACK
from ofapp.controller.state.store import State
from ofapp.controller.state.versions import MOST, OCTETS, digest
from tests.unit.api.clients import Clients
from tests.unit.api.network import add_bridge

SIXTY = "bridges: {1: {ageing_time: 60}}"
NINETY = "bridges: {1: {ageing_time: 90}}"
WHO = "anybody"


class Controller:
    """A controller with a file and a state directory, and one bridge without a switch."""

    def __init__(self, folder: Path, clients: Clients) -> None:
        self.folder = folder
        self.file = folder / "ofapp.yaml"
        self.clients = clients
        if not self.file.exists():
            self.file.write_text(SIXTY)
        self.start()

    def start(self) -> None:
        """Begin as the app does."""
        config, self.events = load_config(self.file), EventLog()
        self.state = State(self.folder / "state", self.events.emit)
        former = rolled_back(config, self.state.versions, self.events.emit)
        config = config if former is None else former.config()
        self.network = Network(config, self.state, self.events, find=lambda: self.file)
        self.network.reloader.pushed = former
        self.network.versions.start()
        self.bridge = add_bridge(self.network)
        self.client = self.clients(self.network)

    def restart(self) -> None:
        self.state.finish(5)
        self.start()

    def apply(self, text: str) -> Any:
        self.file.write_text(text)
        return self.client.post("/v1/config/reload")

    def rollback(self, version: int, query: str = "") -> Any:
        return self.client.post(f"/v1/config/versions/{version}/rollback{query}")

    @property
    def listed(self) -> Any:
        return self.client.get("/v1/config/versions").json

    @property
    def in_force(self) -> list[int]:
        return [own["version"] for own in self.listed["versions"] if own["in_force"]]

    @property
    def listed_problems(self) -> list[str]:
        """Kinds of the problems that the API lists, without a further review."""
        return [each["kind"] for each in self.client.get("/v1/problems").json["problems"]]

    def problems(self) -> list[str]:
        on_disk = FileOnDisk(self.network.reloader, self.network.versions)
        [*on_disk.problems()]  # a changed file is looked at when it is the same twice
        return [problem.of.name for problem in on_disk.problems()]


@pytest.fixture
def controller(tmp_path: Path, clients: Clients) -> Controller:
    return Controller(tmp_path, clients)


def test_each_applied_file_is_a_version_with_its_author_and_changes(controller: Controller) -> None:
    controller.apply(NINETY)
    controller.apply(NINETY)  # the same again
    second, first = controller.listed["versions"]
    assert (first["version"], first["how"], first["in_force"]) == (1, "start", False)
    assert (second["version"], second["how"], second["in_force"]) == (2, "reload", True)
    assert second["changes"] == ["br0: ageing_time: 60 -> 90"]
    assert (second["by"], second["file"]) == (WHO, str(controller.file))
    assert controller.client.get("/v1/config/versions/1").json["text"] == SIXTY
    assert controller.client.get("/v1/config/versions/7").status_code == 404


def test_a_signal_is_an_author(controller: Controller) -> None:
    controller.file.write_text(NINETY)
    controller.network.reload("SIGHUP")
    assert controller.listed["versions"][0]["by"] == "SIGHUP"


def test_a_refused_file_is_no_version(controller: Controller) -> None:
    assert controller.apply("bridges: {1: {ageing_time: -1}}").status_code == 409
    assert len(controller.listed["versions"]) == 1


def test_the_difference_is_in_lines_and_in_words(controller: Controller) -> None:
    controller.apply(NINETY)
    answer = controller.client.get("/v1/config/difference?old=1&new=2").json
    assert answer["lines"][-2:] == [f"-{SIXTY}", f"+{NINETY}"]
    (bridge,) = answer["bridges"]
    assert (bridge["name"], bridge["changes"]) == ("br0", ["ageing_time: 60 -> 90"])


def test_an_invalid_file_on_disk_is_shown_beside_what_is_in_force(controller: Controller) -> None:
    controller.file.write_text("bridges:\n  1: {ageing_time: -1}")
    assert controller.listed["disk"]["state"] == "invalid"
    assert f"{controller.file}:2:20" in controller.listed["disk"]["error"]
    answer = controller.client.get("/v1/config/difference").json
    assert answer["old"] == {"name": "version 1", "error": None}
    assert f"{controller.file}:2:20" in answer["new"]["error"]
    assert f"-{SIXTY}" in answer["lines"]
    assert answer["bridges"] is None


def test_a_file_on_disk_that_is_gone_is_called_so(controller: Controller) -> None:
    controller.file.unlink()
    assert controller.listed["disk"] == {"file": None, "state": "none", "error": None}
    answer = controller.client.get("/v1/config/difference").json
    expected = f"there is no file {controller.file}"
    assert answer["new"] == {"name": str(controller.file), "error": expected}
    assert (answer["lines"][-1], answer["bridges"]) == (f"-{SIXTY}", None)


def test_a_newer_file_on_disk_is_shown_beside_what_is_in_force(controller: Controller) -> None:
    assert controller.listed["disk"]["state"] == "applied"
    controller.file.write_text(NINETY)
    assert controller.listed["disk"]["state"] == "newer"
    answer = controller.client.get("/v1/config/difference").json
    assert answer["bridges"][0]["changes"] == ["ageing_time: 60 -> 90"]


def test_a_rollback_tells_its_changes_first_and_then_makes_them(controller: Controller) -> None:
    controller.apply(NINETY)
    planned = controller.rollback(1, "?dry_run=true").json
    assert (planned["dry_run"], controller.bridge.params.ageing_time) == (True, 90)
    done = controller.rollback(1).json
    assert (done["dry_run"], controller.bridge.params.ageing_time) == (False, 60)
    expected = ["ageing_time: 90 -> 60"]
    assert planned["bridges"][0]["changes"] == done["bridges"][0]["changes"] == expected
    assert controller.listed["versions"][0]["how"] == "rollback to version 1"
    assert controller.in_force == [3]
    assert controller.file.read_text() == NINETY
    assert controller.listed["disk"]["state"] == "replaced"
    assert controller.problems() == [ROLLED_BACK.name]
    assert "bridges: {1" in controller.client.get("/v1/config/difference").json["lines"][-1]
    assert controller.rollback(9).status_code == 404


def test_a_rollback_is_in_force_after_a_restart_until_the_file_changes(
    controller: Controller,
) -> None:
    controller.apply(NINETY)
    controller.rollback(1)
    controller.restart()
    assert controller.bridge.params.ageing_time == 60
    assert controller.problems() == [ROLLED_BACK.name]
    assert controller.in_force == [3]
    controller.file.write_text(NINETY.replace("90", "120"))
    assert controller.listed["disk"]["state"] == "newer"
    controller.restart()
    assert controller.bridge.params.ageing_time == 120
    assert controller.problems() == []


def test_a_reload_reads_the_file_again_after_a_rollback(controller: Controller) -> None:
    controller.apply(NINETY)
    controller.rollback(1)
    planned = controller.client.post("/v1/config/reload?dry_run=true").json
    assert planned["bridges"][0]["changes"] == ["ageing_time: 60 -> 90"]
    assert controller.bridge.params.ageing_time == 60
    assert ROLLED_BACK.name in controller.listed_problems
    controller.client.post("/v1/config/reload")
    assert controller.bridge.params.ageing_time == 90
    assert ROLLED_BACK.name not in controller.listed_problems, "at once"
    assert controller.problems() == []
    assert controller.listed["disk"]["state"] == "applied"
    controller.restart()
    assert controller.bridge.params.ageing_time == 90


def test_a_rollback_to_what_the_file_says_is_the_file(controller: Controller) -> None:
    controller.apply(NINETY)
    controller.rollback(1)
    controller.rollback(2)
    assert controller.listed["disk"]["state"] == "applied"
    assert controller.problems() == []


def test_an_invalid_file_after_a_rollback_is_a_problem(controller: Controller) -> None:
    controller.apply(NINETY)
    controller.rollback(1)
    controller.file.write_text("bridges: {1: {ageing_time: -1}}")
    assert controller.problems() == [FILE_INVALID.name]


def test_a_file_that_lost_its_content_is_a_problem_until_it_is_forced(
    controller: Controller,
) -> None:
    assert controller.apply("# nothing is left").status_code == 409
    assert controller.problems() == [FILE_INCOMPLETE.name]
    assert FILE_INCOMPLETE.remedy == "ofapp config reload --force"
    assert controller.client.post("/v1/config/reload?force=true").status_code == 200
    assert controller.problems() == []


def test_versions_are_bounded_by_count_and_octets(controller: Controller) -> None:
    for number in range(MOST + 5):
        controller.apply(f"{SIXTY}  # {number}")
    versions = controller.listed["versions"]
    assert [own["version"] for own in versions] == [*range(MOST + 6, 6, -1)]
    size = (controller.folder / "state" / "versions.json").stat().st_size
    assert size < OCTETS + MOST * 1000


def test_large_files_make_room_and_one_too_large_has_no_contents(controller: Controller) -> None:
    random = Random(1)
    for _ in range(4):
        controller.apply(f"{SIXTY}  # {random.randbytes(100_000).hex()}")
    kept = [own["version"] for own in controller.listed["versions"]]
    assert kept == [5, 4, 3, 2][: len(kept)]
    assert len(kept) < 5
    controller.apply(f"{NINETY}  # {random.randbytes(600_000).hex()}")
    newest = controller.listed["versions"][0]
    assert (newest["kept"], newest["in_force"]) == (False, True)
    assert controller.rollback(newest["version"]).status_code == 404
    answer = controller.client.get("/v1/config/difference").json
    assert "too large" in answer["old"]["error"]
    controller.restart()
    assert controller.listed["versions"][0]["version"] == newest["version"]


def damaged(document: Any) -> list[str]:
    """Contents of a file that are no versions."""
    version = document["versions"][0]
    wrong = [
        {"packed": "eNoDAAAAAAE="},
        {"packed": "?"},
        {"packed": 7},
        {"number": "1"},
        {"number": 0},
        {"by": ["x"]},
        {"by": "x" * 301},
        {"at": "now"},
        {"changes": [7]},
        {"changes": None},
        {"colour": "red"},
        {"digest": "0" * 64},
    ]
    texts = [json.dumps({**document, "versions": [{**version, **each}]}) for each in wrong]
    twice = json.dumps({**document, "versions": [version, version]})
    return ["", "[1]", "{}", "[" * 9999, '{"version": 2}', twice, *texts]


def test_damaged_versions_are_set_aside_with_an_event(controller: Controller) -> None:
    controller.state.finish(5)
    stored = controller.folder / "state" / "versions.json"
    texts = damaged(json.loads(stored.read_text()))
    for text in texts:
        stored.write_text(text)
        controller.start()
        (event,) = [
            one.event for one in controller.events.since(0) if one.event.kind == "state.damaged"
        ]
        assert "versions.json" in event.message
        assert controller.bridge.params.ageing_time == 60
        assert [own["version"] for own in controller.listed["versions"]] == [1], text
        controller.state.finish(5)


def test_a_version_that_is_not_valid_any_more_leaves_the_file_in_force(
    controller: Controller,
) -> None:
    controller.apply(NINETY)
    controller.rollback(1)
    controller.state.finish(5)
    stored = controller.folder / "state" / "versions.json"
    document = json.loads(stored.read_text())
    old = b"bridges: {1: {colour: red}}"
    packed = base64.b64encode(zlib.compress(old)).decode()
    document["versions"][-1] |= {"packed": packed, "digest": digest(old)}
    stored.write_text(json.dumps(document))
    controller.start()
    assert controller.bridge.params.ageing_time == 90
    assert controller.events.counts["config.refused"] == 1
