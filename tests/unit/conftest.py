"""What these tests share."""

# eventlet looks through all that is loaded for locks to replace, and writes a traceback for each
# object that does not bear it, as pydantic's and werkzeug's do not: so it comes before them here,
# as it does in `ofapp-manager`.
import ofapp.common.hub  # noqa: F401

# isort: split
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from ofapp.api.event_kinds import KINDS
from ofapp.bridge.event import NO_DATA, Event, EventKind, Severity, Text
from tests.unit.launcher.launched import SOURCE, Manager

_undeclared: list[str] = []
_make_event = EventKind.event


def _checked_event(
    self: EventKind,
    text: Text,
    port: int | None = None,
    data: Mapping[str, object] = NO_DATA,
    severity: Severity | None = None,
) -> Event:
    """Make an event, and note one whose severity or fields its kind does not declare."""
    event = _make_event(self, text, port, data, severity)
    if KINDS.get(self.name) is self and not self.admits(event.severity, event.data):
        _undeclared.append(f"{self.name} {event.severity.value} {sorted(event.data)}")
    return event


EventKind.event = _checked_event  # type: ignore[method-assign]


@pytest.fixture(autouse=True)
def events_are_as_declared() -> Iterator[None]:
    """Where this fails, declare the severity or the field in the kind's `EventKind`."""
    _undeclared.clear()
    yield
    assert not _undeclared, set(_undeclared)


CORE = {"bridge", "stp", "multicast", "lacp", "lag"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Coverage is measured in tests of the core alone: it makes them slower by a half."""
    for item in items:
        if item.path.parent.name not in CORE:
            item.add_marker(pytest.mark.no_cover)


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[Callable[..., Manager]]:
    (tmp_path / "testapp.py").write_text(SOURCE)
    started: list[Manager] = []

    def start(*args: object, prefix: tuple[str, ...] | None = None) -> Manager:
        folder = tmp_path / str(len(started))
        folder.mkdir()
        started.append(Manager(folder, *args, prefix=prefix))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            one.process.kill()
            one.end()


@pytest.fixture
def refused(manager: Callable[..., Manager]) -> Callable[..., str]:
    """Start with arguments that cannot work; return the one line that it must say."""

    def start(status: int, *args: object) -> str:
        process = manager(*args)
        assert process.end() == status, process.text()
        lines = process.text().splitlines()
        assert len(lines) == 1, process.text()
        assert lines[0].startswith("ofapp-manager: error: ")
        return lines[0]

    return start


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    if not shutil.which("openssl"):
        pytest.skip("needs the openssl command")
    folder = tmp_path_factory.mktemp("tls")
    key, cert = folder / "key.pem", folder / "cert.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2"
    subprocess.run(
        [*command.split(), "-subj", "/CN=ofapp", "-keyout", key, "-out", cert],
        check=True,
        capture_output=True,
    )
    return key, cert
