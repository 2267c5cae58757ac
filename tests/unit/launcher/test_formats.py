"""The log as programs read it: JSON, and the journal's native protocol."""

from __future__ import annotations

import json
import logging
import socket
import struct
from pathlib import Path
from typing import Any

import pytest

import ofapp.launcher.options  # noqa: F401  (os-ken's modules in the order that works)
from ofapp.bridge.event import Severity
from ofapp.controller.events import LOG, EventLog
from ofapp.launcher.logs import JournalHandler, JsonFormatter, Tidy, priority
from tests.support.ports import free_port
from tests.unit.made_event import made_event

EVENT = made_event("port.down", "port eth1 is\ndown", Severity.WARNING, 3, {"why": 'p\n2026 "x"'})


def parsed(datagram: bytes) -> dict[str, str]:
    """As journald reads it (systemd's JOURNAL_NATIVE_PROTOCOL)."""
    found = {}
    while datagram:
        line, _, datagram = datagram.partition(b"\n")
        name, separator, value = line.partition(b"=")
        if not separator:
            (length,) = struct.unpack("<Q", datagram[:8])
            value, datagram = datagram[8 : 8 + length], datagram[9 + length :]
        found[name.decode()] = value.decode()
    return found


@pytest.fixture
def journal(tmp_path: Path) -> Any:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as made:
        made.settimeout(20)
        made.bind(str(tmp_path / "journal"))
        yield made


def log_event(handler: logging.Handler) -> None:
    """An event, and a line that is none, on that handler."""
    handler.addFilter(Tidy())
    LOG.addHandler(handler)
    try:
        EventLog().emit(0x2A, EVENT, "br0")
        LOG.warning("a line of a library: %s", "x\x1b[2J")
    finally:
        LOG.removeHandler(handler)


def test_an_event_is_in_the_journal_with_its_fields(journal: Any) -> None:
    log_event(JournalHandler(journal.getsockname()))
    event, line = parsed(journal.recv(65536)), parsed(journal.recv(65536))
    assert event["MESSAGE"] == r"bridge br0: port eth1 is\ndown [port.down]"
    assert (event["PRIORITY"], event["SYSLOG_IDENTIFIER"]) == ("4", "ofapp-manager")
    assert (event["OFAPP_EVENT"], event["OFAPP_BRIDGE"]) == ("port.down", "000000000000002a")
    assert (event["OFAPP_BRIDGE_NAME"], event["OFAPP_PORT"]) == ("br0", "3")
    assert json.loads(event["OFAPP_DATA"]) == EVENT.data
    assert line["MESSAGE"] == r"a line of a library: x\x1b[2J"
    assert "OFAPP_EVENT" not in line


def test_a_traceback_is_one_entry(journal: Any) -> None:
    handler = JournalHandler(journal.getsockname())
    logger = logging.getLogger("tests.formats")
    logger.propagate = False
    logger.addHandler(handler)
    try:
        raise ValueError("no such thing")
    except ValueError:
        logger.exception("it failed")
    logger.removeHandler(handler)
    entry = parsed(journal.recv(65536))
    assert entry["MESSAGE"].startswith("it failed\nTraceback")
    assert entry["MESSAGE"].endswith("ValueError: no such thing")
    assert entry["PRIORITY"] == "3"


def test_a_journal_that_does_not_keep_up_holds_up_nobody(journal: Any) -> None:
    handler = JournalHandler(journal.getsockname())
    record = logging.LogRecord("x", logging.INFO, "", 0, "y" * 1000, None, None)
    sent = 2000
    for _ in range(sent):
        handler.emit(record)
    taken = 0
    journal.setblocking(False)
    while True:
        try:
            journal.recv(65536)
        except BlockingIOError:
            break
        taken += 1
    assert 0 < taken < sent
    handler.emit(record)
    lost = f"({sent - taken} lines before this one did not get into the journal)"
    assert lost in parsed(journal.recv(65536))["MESSAGE"]


@pytest.mark.parametrize(
    ("level", "number"),
    [("CRITICAL", 2), ("ERROR", 3), ("WARNING", 4), ("INFO", 6), ("DEBUG", 7)],
)
def test_priorities_are_those_of_syslog(level: str, number: int) -> None:
    assert priority(getattr(logging, level)) == number


def test_json_is_one_object_a_line() -> None:
    lines: list[str] = []

    class Keeping(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(self.format(record))

    handler = Keeping()
    handler.setFormatter(JsonFormatter())
    log_event(handler)
    assert not any("\n" in line for line in lines)
    event, line = map(json.loads, lines)
    assert event.pop("time").endswith("Z")
    assert event == {
        "level": "warning",
        "logger": "ofapp",
        "message": r"bridge br0: port eth1 is\ndown [port.down]",
        "event": "port.down",
        "number": 1,
        "bridge": "000000000000002a",
        "bridge_name": "br0",
        "port": 3,
        "data": EVENT.data,
    }
    assert line["message"] == r"a line of a library: x\x1b[2J"


def test_the_manager_logs_as_it_is_reported(manager: Any) -> None:
    running = manager("../testapp.py", "--ofp-tcp-listen-port", free_port(), "--log-format", "json")
    running.wait_for("listening for switches")
    lines = [json.loads(line) for line in running.text().splitlines()]
    assert {"level": "info", "logger": "TestApp", "message": "speed 3"}.items() <= {
        name: value for line in lines if "speed" in line["message"] for name, value in line.items()
    }.items()
