"""What tests/run makes of tests that fail, in a copy with small tiers."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LIBRARY = f"""
VENV={Path(sys.executable).parents[1]}
say() {{ printf '%s\\n' "$*"; }}
die() {{ say "$*" >&2; exit 1; }}
need_packages() {{ :; }}
need_venv() {{ :; }}
need_ovs() {{ :; }}
"""
"""In place of deploy/lib.sh, which would install packages and start Open vSwitch."""
GOOD = "def test_good(): pass\n"
BAD = "def test_bad(): assert 1 == 2\n"
FIRST_TIME = """
import pathlib
def test_{name}():
    seen = pathlib.Path("{name}.seen")
    first = not seen.exists()
    seen.touch()
    assert not first, "the machine was busy"
"""
Run = Callable[..., tuple[int, str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run tiers of the given tests by tests/run; return its status and what it printed."""

    def run(*arguments: str, **tiers: str) -> tuple[int, str]:
        for name in ("tests/run", "tests/support/gate.py", "pyproject.toml"):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tmp_path / name)
        (tmp_path / "deploy").mkdir()
        (tmp_path / "deploy/lib.sh").write_text(LIBRARY)
        for tier, tests in tiers.items():
            (tmp_path / "tests" / tier).mkdir()
            (tmp_path / "tests" / tier / "test_it.py").write_text(tests)
        command = [tmp_path / "tests/run", *tiers, *arguments]
        # Without the plugins that these tests do not need, which take a second to import.
        environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        ended = subprocess.run(
            command,
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=60,
            env=environment,
        )
        return ended.returncode, ended.stdout

    return run


def _last(output: str) -> str:
    return output.rstrip().rpartition("\n")[2]


def test_a_test_that_passes_alone_is_listed_as_unstable(run: Run) -> None:
    unit = GOOD + "import pytest\n@pytest.mark.skip\ndef test_not(): pass\n"
    flaky = FIRST_TIME.format(name="flaky")
    status, output = run(unit=unit, mininet=GOOD + flaky)
    assert status == 0, output
    assert _last(output) == "3 passed, 0 failed, 1 skipped"
    found = re.search(
        r"^unstable: (\S+) failed after [\d.]+ s, passed alone in [\d.]+ s$", output, re.M
    )
    assert found, output
    assert found[1] == "tests/mininet/test_it.py::test_flaky"
    assert "the machine was busy" in output[found.end() :]
    times = r"\d+ s, processor \d+ \+ \d+ s"
    assert re.search(rf"^mininet +2 passed +0 failed .* {times}$", output, re.M), output


def test_a_test_that_fails_twice_has_failed(run: Run) -> None:
    in_class = "class TestThings:\n    " + BAD.replace("()", "(self)")
    status, output = run(mininet=in_class + FIRST_TIME.format(name="flaky"))
    assert status == 1, output
    assert _last(output) == "1 passed, 1 failed, 0 skipped"
    assert output.count("== once more, alone: ") == 2
    assert "== once more, alone: tests/mininet/test_it.py::TestThings::test_bad\n" in output


def test_nothing_is_run_again_after_a_failure_in_virtual_time(run: Run) -> None:
    first = FIRST_TIME.format(name="flaky")
    status, output = run(unit=first, mininet=FIRST_TIME.format(name="other"))
    assert status == 1, output
    assert _last(output) == "0 passed, 2 failed, 0 skipped"
    assert "once more" not in output


def test_more_than_five_failures_fail_the_run(run: Run) -> None:
    tests = "".join(FIRST_TIME.format(name=f"flaky{number}") for number in range(6))
    status, output = run(mininet=tests)
    assert status == 1, output
    assert "More than 5 failures: no test was run once more.\n" in output
    assert _last(output) == "0 passed, 6 failed, 0 skipped"


@pytest.mark.parametrize(
    ("tests", "reason"),
    [
        ("import no_such_module\n", "no_such_module"),
        ("import os\ndef test_it(): os._exit(3)\n", "nothing ran"),
        ("import pytest\n@pytest.mark.skip\ndef test_not(): pass\n", "nothing ran"),
    ],
)
def test_a_tier_without_results_fails_the_run(run: Run, tests: str, reason: str) -> None:
    status, output = run(mininet=tests)
    assert status == 1, output
    assert "once more" not in output
    assert reason in output.partition("\n==\n")[2]
    assert re.match(r"0 passed, 1 failed, \d skipped$", _last(output)), output


def test_a_tier_that_is_not_done_in_time_fails_the_run(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIER_SECONDS", "2")
    status, output = run(mininet=GOOD + "import time\ndef test_long(): time.sleep(60)\n")
    assert status == 1, output
    assert "not done in time" in output
    assert re.search(r"passed, 1 failed, 0 skipped$", _last(output)), output


def test_tests_that_are_chosen_may_be_in_some_tiers_alone(run: Run) -> None:
    status, output = run("--", "-k", "bad", unit=GOOD, mininet=BAD)
    assert status == 1, output
    assert "once more" not in output
    assert re.search(r"^unit +0 passed +0 failed .* no test matches", output, re.M), output
    assert _last(output) == "0 passed, 1 failed, 0 skipped"
