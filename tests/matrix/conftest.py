"""Runs of other tiers' tests with other versions of what ofapp runs on.

The whole run of another tier is one test here, so `tests/run` cannot run a part of it once more: a
few tests of switches that fail beside two other lanes are run once more here, and are named.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.matrix import table
from tests.matrix.pythons import CLONE, Python
from tests.support import gate, roots

SECONDS = float(os.environ.get("TIER_SECONDS", "3600"))
Run = Callable[..., None]
LONG_SEARCH = "tests/unit/api/test_openapi.py::test_schemathesis_finds_nothing"
_OF_THE_SWITCH = (
    "acl",
    "acl_fields",
    "ageing",
    "arp_suppress",
    "bundles",
    "chain",
    "deleted",
    "encapsulation_actions",
    "fair_table",
    "first_hop",
    "guards",
    "import",
    "lags",
    "learning",
    "leftover_meters",
    "lacp",
    "link_local",
    "marks",
    "multicast",
    "multicast_steering",
    "nd_suppress",
    "pipeline",
    "pipeline_document",
    "policies",
    "ports",
    "priorities",
    "priority_tags",
    "refusals",
    "roles",
    "static",
    "sweep",
    "vlan_limit",
    "vlans",
)
"""Modules of `vswitchd` about what the switch itself does: flows, groups, meters, counters."""
_OF_THE_CLONE = ("habits", "language", "layout", "notes")
"""Modules of `unit` that read the clone's files and run nothing of ofapp."""


def _left_out(tier: str) -> Iterator[str]:
    """Parts of a tier that the gate does not run again; the thorough run has all.

    The core, the tables and what makes their flows use no library.  The documentation, the words
    and the imports of the clone are the same with any Python.  The modules of `vswitchd` that are
    left out show what the controller does with any switch.
    """
    if tier == "unit":
        yield from ("bridge", "docs", "openflow/pipeline", "openflow/test_histories.py")
        yield from (f"test_{name}.py" for name in _OF_THE_CLONE)
    elif tier == "vswitchd":
        yield "stp"
        for path in (CLONE / "tests/vswitchd").glob("test_*.py"):
            if path.stem.removeprefix("test_") not in _OF_THE_SWITCH:
                yield path.name


@pytest.fixture
def run(tmp_path: Path, figure: Callable[[str], None]) -> Run:
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
            options += tuple(f"--ignore-glob=tests/{tier}/{path}" for path in _left_out(tier))

        def tested(*wanted: str) -> int:
            with output.open("w") as written:
                return subprocess.run(
                    python.command("-m", "pytest", *options, f"--junitxml={report}", *wanted),
                    cwd=CLONE,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=written,
                    stderr=subprocess.STDOUT,
                    timeout=SECONDS,
                    check=False,
                ).returncode

        output = tmp_path / "output"  # where one can look while it runs
        status = tested(f"tests/{tier}")
        said = output.read_text(errors="replace")
        assert report.exists(), said[-3000:]
        passed, failed, skipped = _counts(report)
        result = f"{passed} passed, {failed} failed, {skipped} skipped"
        if os.environ.get("OFAPP_THOROUGH"):
            table.write([table.Row.of_today(part, version, source, tier, result)])
        assert passed, said[-3000:]
        bad = gate.failures(report)
        if status and tier != "unit" and 0 < len(bad) <= gate.MOST_UNSTABLE:
            status = tested(*(failure.name for failure in bad))
            failed = len(gate.failures(report))
            for failure in bad:
                figure(f"unstable: {failure.name} with {part} {version}: {failure.text}")
        assert (failed, status) == (0, 0), said[-10_000:] + output.read_text()[-10_000:]

    return run


def _counts(report: Path) -> tuple[int, int, int]:
    """How many tests passed, failed and were skipped."""
    suites = list(ElementTree.parse(report).iter("testsuite"))
    total, failed, skipped = (
        sum(int(suite.get(name, 0)) for suite in suites for name in names)
        for names in (["tests"], ["failures", "errors"], ["skipped"])
    )
    return total - failed - skipped, failed, skipped
