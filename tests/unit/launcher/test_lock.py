"""Two controllers on one state directory: the second does not start."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from ofapp.launcher import lock as module
from ofapp.launcher.lock import LockedError, lock
from tests.support.ports import free_port
from tests.unit.launcher.launched import Manager


def test_who_comes_second_is_reported_who_has_it(tmp_path: Path) -> None:
    held = lock(tmp_path)
    with pytest.raises(LockedError, match=f"{tmp_path} is in use by process {os.getpid()}: "):
        lock(tmp_path)
    assert held is not None
    held.close()
    again = lock(tmp_path)
    assert again is not None
    again.close()


def test_where_there_are_no_locks_a_warning_must_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def flock(_file: object, _operation: int) -> None:
        raise OSError("No locks available")

    monkeypatch.setattr(module.fcntl, "flock", flock)
    assert lock(tmp_path) is None
    assert "nothing keeps a second controller out" in caplog.text


def test_a_second_manager_is_refused_until_the_first_is_dead(
    manager: Callable[..., Manager], refused: Callable[..., str], tmp_path: Path
) -> None:
    def arguments() -> list[object]:
        ports = ("--ofp-tcp-listen-port", free_port(), "--wsapi-port", free_port())
        return ["ofapp.app", "--state-dir", tmp_path / "state", *ports]

    first = manager(*arguments())
    first.wait_for("listening for switches")
    said = refused(1, *arguments())
    assert f"{tmp_path / 'state'} is in use by process {first.process.pid}" in said
    assert "--state-dir" in said
    first.process.kill()
    first.end()
    manager(*arguments()).wait_for("listening for switches")
