"""What systemd hears from ofapp-manager, on a socket as its own is."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ofapp.launcher import watchdog
from tests.support.ports import free_port

PATIENCE = 20.0  # for a busy machine
BEAT = 1.2  # WatchdogSec: a sign of life is due three times in it

HANGS_ON_REQUEST = """
import os
from os_ken.base.app_manager import OSKenApp
from ofapp.common import hub
from ofapp.launcher import watchdog

class TestApp(OSKenApp):
    OFP_VERSIONS = [4]

    def start(self):
        super().start()
        hub.spawn(self.reload_and_hang)

    def reload_and_hang(self):
        while not os.path.exists("go"):
            hub.sleep(0.05)
        with watchdog.reloading():
            self.logger.info("reloaded")
        while True:  # what a bug would do to the event loop
            pass

    def service_status(self):
        return "3 toasters connected"
"""


class Systemd:
    """The receiving end of NOTIFY_SOCKET."""

    def __init__(self, folder: Path) -> None:
        self.address = str(folder / "notify")
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(self.address)

    def hear(self, seconds: float = PATIENCE) -> list[str]:
        """The lines of the next message; TimeoutError."""
        self._socket.settimeout(seconds)
        return self._socket.recv(4096).decode().splitlines()

    def hear_until(self, line: str) -> list[str]:
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            if line in (lines := self.hear()):
                return lines
        raise AssertionError(f"never heard {line}")

    def close(self) -> None:
        self._socket.close()


def silence_comes(systemd: Systemd) -> bool:
    """Whether a whole WatchdogSec passes without a word, after what was under way."""
    for _ in range(20):
        try:
            systemd.hear(BEAT)
        except TimeoutError:
            return True
    return False


@pytest.fixture
def systemd(tmp_path: Path) -> Iterator[Systemd]:
    receiver = Systemd(tmp_path)
    yield receiver
    receiver.close()


@pytest.fixture
def manager(tmp_path: Path, systemd: Systemd) -> Iterator[subprocess.Popen[bytes]]:
    (tmp_path / "toaster.py").write_text(HANGS_ON_REQUEST)
    port = free_port()
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "ofapp.launcher.manager",
            "./toaster.py",
            f"--ofp-tcp-listen-port={port}",
        ],
        cwd=tmp_path,
        env=os.environ | {"NOTIFY_SOCKET": systemd.address, "WATCHDOG_USEC": str(int(BEAT * 1e6))},
        stdin=subprocess.DEVNULL,
    )
    yield process
    process.kill()
    process.wait()


def test_tells_when_it_is_ready_that_it_lives_and_that_it_stops(
    manager: subprocess.Popen[bytes], systemd: Systemd
) -> None:
    first = systemd.hear()
    assert first[0] == "READY=1"
    assert first[1].startswith("STATUS=listening for switches on tcp:127.0.0.1:")
    assert first[1].endswith("; 3 toasters connected")
    for _ in range(3):
        alive = systemd.hear()
        assert alive == ["WATCHDOG=1", first[1]]
    manager.send_signal(signal.SIGTERM)
    assert systemd.hear_until("STOPPING=1")[1] == "STATUS=stopping: SIGTERM"
    assert manager.wait(PATIENCE) == 0


def test_a_reload_is_announced_and_a_hung_event_loop_is_silent(
    manager: subprocess.Popen[bytes], systemd: Systemd, tmp_path: Path
) -> None:
    systemd.hear_until("WATCHDOG=1")
    (tmp_path / "go").touch()
    began = systemd.hear_until("RELOADING=1")
    assert abs(int(began[1].removeprefix("MONOTONIC_USEC=")) / 1e6 - time.monotonic()) < PATIENCE
    systemd.hear_until("READY=1")
    assert silence_comes(systemd), "a hung event loop went on saying that it lives"
    assert manager.poll() is None


def test_without_systemd_nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    watchdog.ready("up")
    watchdog.watch(lambda: "up")  # returns: there is no socket to notify


def test_an_abstract_socket_is_understood(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.bind(f"\0ofapp-test-{os.getpid()}")
        receiver.settimeout(PATIENCE)
        monkeypatch.setenv("NOTIFY_SOCKET", f"@ofapp-test-{os.getpid()}")
        watchdog.ready("up")
        assert receiver.recv(100) == b"READY=1\nSTATUS=up"


def test_nobody_listening_does_not_end_the_manager(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "nobody"))
    watchdog.ready("up")
    assert "cannot tell systemd READY=1" in caplog.text


def test_a_watchdog_that_waits_for_another_process_sets_no_pace(
    monkeypatch: pytest.MonkeyPatch, systemd: Systemd
) -> None:
    """A wrapper's WATCHDOG_PID: systemd does not wait for us then."""
    monkeypatch.setenv("WATCHDOG_USEC", "900000")
    monkeypatch.setenv("WATCHDOG_PID", str(os.getpid()))
    assert watchdog.patience() == pytest.approx(0.9)
    monkeypatch.setenv("WATCHDOG_PID", "1")
    assert watchdog.patience() == float("inf")
