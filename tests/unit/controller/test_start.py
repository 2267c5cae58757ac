"""Which file a controller begins with, beside the one that was accepted before it."""

from __future__ import annotations

from pathlib import Path

import pytest

import ofapp.launcher.options  # noqa: F401  (os-ken's modules in the order that works)
from ofapp.config import ConfigError, load_config
from ofapp.controller.events import EventLog
from ofapp.controller.network import Network
from ofapp.controller.state.store import State

WHOLE = "bridges:\n" + "".join(
    f"  br{number}: {{ageing_time: 60, fdb_max_learned: 5}}\n" for number in range(10)
)
CUT = WHOLE[: len(WHOLE) // 3].rpartition("\n")[0] + "\n"


class Life:
    """A process, from its start to its end: the state directory and the file are the next one's."""

    def __init__(self, directory: Path, text: str) -> None:
        self.file = directory / "ofapp.yaml"
        self.file.write_text(text)
        self.events = EventLog()
        self.state = State(directory / "state", self.events.emit)
        config = load_config(self.file)
        self.network = Network(config, self.state, self.events, find=lambda: self.file)
        self.network.reloader.start()

    def reload(self, text: str, force: bool = False) -> None:
        self.file.write_text(text)
        self.network.reloader.reload(force=force)

    def end(self) -> list[str]:
        """What was reported the file."""
        self.state.finish(5)
        events = [record.event for record in self.events.since(0)]
        return [
            f"{event.severity.value}: {event.message}" for event in events if "config" in event.kind
        ]


def reports_at_start(directory: Path, text: str) -> list[str]:
    return Life(directory, text).end()


def test_a_file_that_was_cut_while_nobody_ran_is_reported_at_each_start(tmp_path: Path) -> None:
    assert reports_at_start(tmp_path, WHOLE) == []
    (said,) = reports_at_start(tmp_path, CUT)
    assert said.startswith("error: ")
    assert "ofapp.yaml: 14 of the 20 settings that the file had are not there any more" in said
    assert "if that is meant: ofapp config reload --force" in said
    assert reports_at_start(tmp_path, CUT) == [said]
    assert reports_at_start(tmp_path, WHOLE) == []


def test_what_the_cut_file_says_holds_meanwhile(tmp_path: Path) -> None:
    Life(tmp_path, WHOLE).end()
    life = Life(tmp_path, CUT)
    assert len(life.network.running.config.bridges) == 3
    life.end()


def test_it_is_not_accepted_until_somebody_says_that_it_is_meant(tmp_path: Path) -> None:
    Life(tmp_path, WHOLE).end()
    life = Life(tmp_path, CUT)
    with pytest.raises(ConfigError, match="14 of the 20 settings"):
        life.reload(CUT)
    life.reload(CUT, force=True)
    life.end()
    assert reports_at_start(tmp_path, CUT) == []


def test_a_file_that_is_whole_again_needs_no_force(tmp_path: Path) -> None:
    Life(tmp_path, WHOLE).end()
    life = Life(tmp_path, CUT)
    life.reload(WHOLE)
    life.end()
    assert reports_at_start(tmp_path, WHOLE) == []


def test_the_end_mark_is_missed_at_a_start_too(tmp_path: Path) -> None:
    Life(tmp_path, WHOLE + "...\n").end()
    (said,) = reports_at_start(tmp_path, WHOLE)
    assert "the last line was `...` and is not there any more" in said


def test_what_is_changed_on_purpose_is_not_reported(tmp_path: Path) -> None:
    Life(tmp_path, WHOLE).end()
    assert reports_at_start(tmp_path, WHOLE.replace("60", "90")) == []
    shorter = "".join(line for line in WHOLE.splitlines(True) if "br7" not in line)
    assert reports_at_start(tmp_path, shorter) == []
    assert reports_at_start(tmp_path, WHOLE) == []


@pytest.mark.parametrize("kept", [b"", b"[]", b"{", b'{"settings": 3, "ends_marked": 1}'])
def test_what_is_kept_of_it_may_be_damaged(tmp_path: Path, kept: bytes) -> None:
    Life(tmp_path, WHOLE).end()
    (tmp_path / "state" / "configuration.json").write_bytes(kept)
    life = Life(tmp_path, CUT)
    assert life.end() == []
    (report,) = [each.event for each in life.events.since(0)]
    assert report.kind == "state.damaged"
    assert "settings that the file has lost since the last start are not noticed" in report.message
    assert reports_at_start(tmp_path, WHOLE) == []


def test_a_reload_is_what_the_next_start_compares_with(tmp_path: Path) -> None:
    life = Life(tmp_path, CUT)
    life.reload(WHOLE)
    life.end()
    assert len(reports_at_start(tmp_path, CUT)) == 1
