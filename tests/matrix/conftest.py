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
LONG_SEARCH = "tests/unit/api/test_openapi.py::test_schemathesis_finds_nothing"
LEFT_OUT = {
    "unit": ("stp", "bridge", "multicast"),
    "vswitchd": (
        "stp",
        "test_fabric*.py",
        "test_ansible.py",
        "test_fuzz_openflow.py",
        "test_reload.py",
        "test_restart.py",
        "test_state.py",
        "test_two_controllers.py",
    ),
}
"""Parts of a tier that the gate does not run again, as they would take it too long.

The core uses no library; the others show what the controller does with any switch.  The
thorough run has all.
"""


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run a tier again; the thorough run puts the result into the table."""

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
        if not os.environ.get("OFAPP_THOROUGH"):
            options += (f"--deselect={LONG_SEARCH}",)
            options += tuple(f"--ignore-glob=tests/{tier}/{path}" for path in LEFT_OUT[tier])
        command = python.command("-m", "pytest", *options, f"--junitxml={report}", f"tests/{tier}")
        output = tmp_path / "output"  # where one can look while it runs
        with output.open("w") as written:
            done = subprocess.run(
                command,
                cwd=CLONE,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=written,
                stderr=subprocess.STDOUT,
                timeout=SECONDS,
                check=False,
            )
        said = output.read_text(errors="replace")
        assert report.exists(), said[-3000:]
        passed, failed, skipped = _counts(report)
        result = f"{passed} passed, {failed} failed, {skipped} skipped"
        if os.environ.get("OFAPP_THOROUGH"):
            table.write([table.Row.of_today(part, version, source, tier, result)])
        assert passed, said[-3000:]
        assert (failed, done.returncode) == (0, 0), said[-10_000:]

    return run


def _counts(report: Path) -> tuple[int, int, int]:
    """How many tests passed, failed and were skipped."""
    suites = list(ElementTree.parse(report).iter("testsuite"))
    total, failed, skipped = (
        sum(int(suite.get(name, 0)) for suite in suites for name in names)
        for names in (["tests"], ["failures", "errors"], ["skipped"])
    )
    return total - failed - skipped, failed, skipped
