"""Other tiers pass with other versions of Open vSwitch, Python, etcd and ofapp's libraries.

The tiers themselves run with this machine's versions, which are Debian 12's and the oldest.  Here
the newest Open vSwitch and the newest Python run always, with those tests that they concern (see
`conftest.py`), and all else with the thorough tests: it takes too long.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.matrix import etcds, programs, pythons
from tests.matrix.conftest import Run
from tests.matrix.pythons import Python
from tests.support import roots

BUILT_ETCD = "3.6.16"
OF_ETCD = ["unit/cluster", "cluster"]
"""What etcd is tried with: a minute, then ten."""
HERE = Python(Path(sys.prefix))
NEWEST = roots.SUITES[-1]
SUITES = [
    pytest.param(suite, marks=() if suite == NEWEST else pytest.mark.thorough)
    for suite in roots.SUITES
]


@pytest.mark.parametrize("suite", SUITES)
def test_open_vswitch(run: Run, suite: str) -> None:
    there = programs.open_vswitch(suite)
    version = _said(f"{there['PATH']}/ovs-vswitchd", "--version").split()[-1]
    run("vswitchd", "Open vSwitch", version, f"Debian {suite}", HERE, there)


@pytest.mark.parametrize("suite", SUITES)
def test_python(run: Run, suite: str) -> None:
    python = pythons.of_suite(suite)
    version = _said(*python.command("--version")).split()[-1]
    run("unit", "Python", version, f"Debian {suite}", python)


@pytest.mark.thorough
@pytest.mark.parametrize("version", ["3.12"])
def test_a_python_that_no_suite_has(run: Run, version: str) -> None:
    interpreter = pythons.of_pyenv(version)
    if interpreter is None:
        pytest.skip(f"pyenv has no Python {version} here")
    python = pythons.on_this_machine(version, interpreter)
    run("unit", "Python", _said(*python.command("--version")).split()[-1], "pyenv", python)


@pytest.mark.thorough
@pytest.mark.parametrize("suite", roots.SUITES)
@pytest.mark.parametrize("tier", OF_ETCD)
def test_etcd(run: Run, tier: str, suite: str) -> None:
    _run_etcd(run, tier, f"Debian {suite}", programs.etcd(suite))


@pytest.mark.thorough
@pytest.mark.parametrize("tier", OF_ETCD)
def test_an_etcd_that_no_suite_has(run: Run, tier: str) -> None:
    _run_etcd(run, tier, "its source", etcds.built(BUILT_ETCD))


@pytest.mark.thorough
@pytest.mark.parametrize("tier", ["unit", "vswitchd"])
def test_the_newest_libraries(run: Run, tier: str) -> None:
    python = pythons.newest()
    shown = ("os-ken", "eventlet", "greenlet", "flask-openapi", "pydantic")
    report = _said(*python.command("-m", "pip", "list", "--format=freeze"))
    versions = [line.replace("==", " ") for line in report.splitlines()]
    version = ", ".join(line for line in versions if line.split()[0] in shown)
    run(tier, "Libraries", version, "PyPI", python)


def _run_etcd(run: Run, tier: str, source: str, there: dict[str, str]) -> None:
    version = _said(f"{there['PATH']}/etcd", "--version").split()[2]
    run(tier, "etcd", version, source, HERE, there)


def _said(*command: str) -> str:
    """The first line, or all of what a list prints."""
    environment = os.environ | {"PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    return done.stdout if "list" in command else lines[0]
