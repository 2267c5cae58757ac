"""Runs of other tiers' tests with other versions of what ofapp runs on."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.matrix import table
from tests.matrix.pythons import CLONE, Python
from tests.support import roots

SECONDS = float(os.environ.get("TIER_SECONDS", "3600"))
Run = Callable[..., None]

_rows: list[table.Row] = []


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run a tier again, and note what the run has shown."""

    def run(
        tier: str,
        part: str,
        version: str,
        source: str,
        python: Python,
        programs: dict[str, str] | None = None,
    ) -> None:
        report = tmp_path / "report.xml"
        own = {"PYTHONPATH": str(CLONE), "OFAPP_AGAIN": "1"}
        environment = {**os.environ, **own, **(programs or {})}
        environment.pop("OFAPP_THOROUGH", None)
        path = [str(python.venv / "bin"), roots.PATH if python.root else os.environ["PATH"]]
        environment["PATH"] = ":".join([*filter(None, [(programs or {}).get("PATH")]), *path])
        options = ("-q", "-p", "no:cacheprovider", "-o", "junit_logging=no")
        command = python.command("-m", "pytest", *options, f"--junitxml={report}", f"tests/{tier}")
        done = subprocess.run(
            command,
            cwd=CLONE,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert report.exists(), done.stdout[-3000:]
        passed, failed, skipped = _counts(report)
        result = f"{passed} passed, {failed} failed, {skipped} skipped"
        _rows.append(table.Row.of_today(part, version, source, tier, result))
        assert passed, done.stdout[-3000:]
        assert (failed, done.returncode) == (0, 0), done.stdout[-10_000:]

    return run


def _counts(report: Path) -> tuple[int, int, int]:
    """How many tests passed, failed and were skipped."""
    suites = list(ElementTree.parse(report).iter("testsuite"))
    total, failed, skipped = (
        sum(int(suite.get(name, 0)) for suite in suites for name in names)
        for names in (["tests"], ["failures", "errors"], ["skipped"])
    )
    return total - failed - skipped, failed, skipped


def pytest_sessionfinish() -> None:
    """The long run writes the table: it alone has tried everything."""
    if os.environ.get("OFAPP_THOROUGH") and _rows:
        table.write(_rows)
