"""Names that forge lines or steer terminals: escaped at every edge."""

from __future__ import annotations

import io
import logging
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

import ofapp.common.hub  # noqa: F401

# isort: split
from ofapp.api.app import create_app
from ofapp.bridge.ports.port import Port
from ofapp.cli.output import print_table, say
from ofapp.common.printable import printable
from ofapp.launcher import logs
from ofapp.launcher.logs import Tidy
from tests.support.ports import free_port
from tests.unit.api.network import some_network
from tests.unit.launcher.launched import APP, Manager

EVIL = "p\n2026-01-01 INFO all is well\x1b[2J\u202e\u2028\x9b"
SHOWN = r"p\n2026-01-01 INFO all is well\x1b[2J\u202e\u2028\x9b"


def test_what_can_be_seen_stays() -> None:
    assert printable("eth0 Büro-Süd 東京 \\ ") == "eth0 Büro-Süd 東京 \\ "
    assert printable(EVIL) == SHOWN


@given(st.text(st.characters()))
def test_there_is_one_line_of_visible_characters_and_it_stays_so(text: str) -> None:
    shown = printable(text)
    assert shown.isprintable()
    assert len(shown.splitlines()) <= 1
    assert printable(shown) == shown


@pytest.fixture
def logger() -> logging.Logger:
    """One that writes to `logger.written`."""
    own = logging.Logger("somebody")
    handler = logging.StreamHandler(io.StringIO())
    handler.setFormatter(logging.Formatter("%(levelname)s %(message)s"))
    handler.addFilter(Tidy())
    own.addHandler(handler)
    return own


def written(logger: logging.Logger) -> list[str]:
    (handler,) = logger.handlers
    assert isinstance(handler, logging.StreamHandler)
    text: str = handler.stream.getvalue()
    return text.splitlines()


def test_a_line_of_the_log_stays_one(logger: logging.Logger) -> None:
    logger.warning("port %s is up", EVIL)
    assert written(logger) == [f"WARNING port {SHOWN} is up"]


def test_a_traceback_can_be_reported_from_lines_of_the_log(logger: logging.Logger) -> None:
    try:
        raise KeyError(EVIL) from ValueError("x\nINFO all is well\x1b[2J")
    except KeyError:
        logger.exception("it failed")
    first, *more = written(logger)
    assert first == "ERROR it failed"
    assert more
    assert all(line.startswith("  ") and line.isprintable() for line in more)


def test_lines_of_one_origin_are_bounded_and_others_are_not_held_up(
    logger: logging.Logger, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr(logs.time, "monotonic", lambda: now[0])
    for number in range(61_000):
        logger.warning("message %d is refused", number)
    logger.warning("something else")
    assert written(logger)[logs.BURST :] == ["WARNING something else"]
    now[0] += 1.0
    for _ in range(1000):
        logger.warning("message %d is refused", 7)
    lines = written(logger)[logs.BURST + 1 :]
    assert len(lines) == logs.RATE
    assert lines[0] == "WARNING message 7 is refused (60800 more lines like this were left out)"


def test_lines_for_who_looks_for_a_mistake_are_bounded_too(
    logger: logging.Logger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs.time, "monotonic", lambda: 100.0)
    monkeypatch.setattr(logger, "name", "ofapp")
    for _ in range(2 * logs.DEBUG_BURST):
        logger.debug("%s%s [%s]", "bridge br0: ", "port 1 < RST", "stp.bpdu.received")
    for _ in range(2 * logs.BURST):
        logger.info("%s%s [%s]", "", "an event, whose rate is its kind's", "port.up")
    logger.debug("%s%s [%s]", "bridge br0: ", "port 1 > RST", "stp.bpdu.sent")
    lines = written(logger)
    assert sum("received" in line for line in lines) == logs.DEBUG_BURST
    assert sum("port.up" in line for line in lines) == 2 * logs.BURST
    assert "stp.bpdu.sent" in lines[-1]


def test_what_is_known_of_lines_that_were_left_out_is_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(logs.Tidy, "_too_many", lambda *_: True)
    tidy = Tidy()
    for number in range(3 * logs.ORIGINS):
        tidy.filter(logging.makeLogRecord({"name": "library", "msg": f"worded before: {number}"}))
    assert 0 < len(tidy.left_out) <= logs.ORIGINS


def test_the_managers_log_is_so(manager: Callable[..., Manager]) -> None:
    running = manager(APP, "--ofp-tcp-listen-port", free_port())
    running.wait_for("listening for switches")
    assert r"a name p\n2026 INFO forged\x1b[2J" in running.text()
    assert "\x1b" not in running.text()


def test_wrong_arguments_are_the_handlers_to_tell(
    logger: logging.Logger, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = "%d %d"
    logger.warning(wrong, 1)
    assert "Logging error" in capsys.readouterr().err


def test_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    say(f"port {EVIL}")
    print_table(["PORT", "MAC"], [[EVIL, "a"], ["eth0", "b"]])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"port {SHOWN}"
    assert [line.split()[-1] for line in lines[1:]] == ["MAC", "a", "b"]


def test_metrics_events_and_their_words() -> None:
    network = some_network()
    bridge = network.bridges[1]
    network.dispatcher.apply(bridge, bridge.put_port(Port(9, EVIL, 9, True), 0.0))
    said = create_app(network).test_client().get("/metrics").text
    families = {family.name: family for family in text_string_to_metric_families(said)}
    assert SHOWN in {sample.labels["port"] for sample in families["ofapp_port_up"].samples}
    assert all(line.isprintable() for line in said.split("\n"))
    events = [record.event for record in network.events.since(0) if record.event.port == 9]
    assert events[0].message == f"port {SHOWN} was added"
    assert events[0].data["name"] == EVIL
