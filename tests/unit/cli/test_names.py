"""Names from hosts and files that commands about this machine show: on one line, none obeyed."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer

from ofapp.bench import BenchError
from ofapp.cli import reversible
from ofapp.cli.client import ApiError
from ofapp.cli.commands.bench import options
from ofapp.cli.commands.deploy import work as deploy_work
from ofapp.host_setup import watch
from ofapp.host_setup.checks import Problem
from ofapp.host_setup.journal import JournalError, Store

EVIL = "eth0\n2026 all is well\x1b[2J"
SHOWN = r"eth0\n2026 all is well\x1b[2J"


def test_what_deploy_says(capsys: pytest.CaptureFixture[str]) -> None:
    reversible.report(f"{EVIL}: done")
    deploy_work.print_problems((Problem(f"{EVIL} is gone", "bring it back"),))
    output = capsys.readouterr()
    assert output.out == f"{SHOWN}: done\n"
    assert output.err == f"ofapp: error: {SHOWN} is gone: bring it back\n"


def test_what_deploy_ends_with() -> None:
    with pytest.raises(ApiError) as ended, reversible.errors():
        raise JournalError(f"no journal of {EVIL}")
    assert str(ended.value) == f"no journal of {SHOWN}"


def test_what_deploy_shows_of_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    deploy_work.do_recover(Store(tmp_path / "a\nb"), None)
    assert capsys.readouterr().out.count("\n") == 1


def test_what_the_watcher_logs(capsys: pytest.CaptureFixture[str]) -> None:
    watch.log(f"putting {EVIL} back")
    first, second = capsys.readouterr().out.splitlines()
    assert second == r"  2026 all is well\x1b[2J back", "no line begins as one of the log's does"
    assert first.endswith(" putting eth0")


def test_what_bench_ends_with(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit):
        options.fail(BenchError(f"no interface {EVIL}"))
    assert capsys.readouterr().err == f"Error: no interface {SHOWN}\n"
