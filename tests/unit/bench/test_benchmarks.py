"""Benchmarks that need no switch run."""

from __future__ import annotations

import pytest

from tests.bench import plan


def test_a_failed_link_is_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["plan", "--members", "3", "--turns", "1"])
    plan.main()
    assert "\n| 3 |" in capsys.readouterr().out
