"""The command, run in this process against a live server."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from ofapp.cli import main
from tests.unit.api import live


@dataclass(frozen=True)
class Said:
    """How a command ended."""

    status: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        """Of the output."""
        return self.out.splitlines()


Run = Callable[..., Said]


@pytest.fixture(scope="session")
def shared_url() -> Iterator[str]:
    """Of a server for tests that change nothing."""
    with live.served() as served:
        yield served


@pytest.fixture
def url() -> Iterator[str]:
    """Of a server for one test that changes things."""
    with live.served() as served:
        yield served


@pytest.fixture
def ofapp(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """`ofapp("fdb", "show")` as if typed."""

    def run(*arguments: str) -> Said:
        monkeypatch.setattr(sys, "argv", ["ofapp", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return Said(int(ended.value.code or 0), said.out, said.err)

    return run


@pytest.fixture
def live_ofapp(shared_url: str, ofapp: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The same, with a controller where it looks for one."""
    monkeypatch.setenv("OFAPP_API", shared_url)
    return ofapp


@pytest.fixture
def own_ofapp(url: str, ofapp: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The same, with a controller that may be changed."""
    monkeypatch.setenv("OFAPP_API", url)
    return ofapp
