"""What these tests share."""

# eventlet looks through all that is loaded for locks to replace, and writes a traceback for each
# object that does not bear it, as pydantic's and werkzeug's do not: so it comes before them here,
# as it does in `ofapp-manager`.
import ofapp.common.hub

# isort: split
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import ofapp
from ofapp.api.event_kinds import KINDS
from ofapp.bridge.event import Event
from tests.unit.launcher import SOURCE, Manager

PACKAGE = str(Path(ofapp.__file__).parent)

_uncatalogued: list[str] = []
_make_event = Event.__init__


def _catalogued(self: Event, *args: object, **values: object) -> None:
    """Make an event, and note one of ofapp's that is not as the catalogue has it."""
    _make_event(self, *args, **values)  # type: ignore[arg-type]
    kind = KINDS.get(self.kind)
    if kind is None or not kind.admits(self.severity, self.data):
        maker = sys._getframe(1).f_code
        if maker.co_filename.startswith(PACKAGE):
            about = f"{self.kind} {self.severity.value} {sorted(self.data)}"
            _uncatalogued.append(f"{about} of {maker.co_qualname} in {maker.co_filename}")


Event.__init__ = _catalogued  # type: ignore[method-assign]


@pytest.fixture(autouse=True)
def every_event_is_in_the_catalogue() -> Iterator[None]:
    """An event that is not: declare its kind, severity or field in its subject's `events`."""
    _uncatalogued.clear()
    yield
    assert not _uncatalogued, set(_uncatalogued)


CORE = {"bridge", "stp", "multicast", "lacp", "lag"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Coverage is asked of the core, and of its own tests: it makes them slower by a half."""
    for item in items:
        if item.path.parent.name not in CORE:
            item.add_marker(pytest.mark.no_cover)


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[Callable[..., Manager]]:
    (tmp_path / "testapp.py").write_text(SOURCE)
    started: list[Manager] = []

    def start(*args: object, prefix: tuple[str, ...] = ()) -> Manager:
        folder = tmp_path / str(len(started))
        folder.mkdir()
        started.append(Manager(folder, *args, prefix=prefix))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            one.process.kill()
            one.process.wait()


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
