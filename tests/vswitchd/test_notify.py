"""Notifications to a real HTTP server that works, is slow, refuses, vanishes, or speaks TLS."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.controller import Controller
from tests.support.receiver import Receiver
from tests.support.waiting import wait_for

SECRET = "T0K3N"
PATH = f"/hook/{SECRET}"
NEWER = "config.not-applied"
SPEED = 5
LATENCY = 1.5
"""Seconds in which the API answers while a receiver does not: mostly 0.01."""


@pytest.fixture
def receiver(tmp_path: Path) -> Iterator[Receiver]:
    made = Receiver(tmp_path / "receiver")
    yield made
    made.stop()


@pytest.fixture
def controller() -> Iterator[Controller]:
    made = Controller(speed=SPEED)
    yield made
    made.close()


def run(controller: Controller, **notify: Any) -> None:
    controller.configure(yaml.safe_dump({"notify": notify}))
    controller.start()


def disturb(controller: Controller) -> None:
    """Change the file without reading it again: after some seconds that is a problem."""
    settings = yaml.safe_load(controller.config_file.read_text())
    settings["forget_after"] = settings.get("forget_after", 1000) + 1
    controller.configure(yaml.safe_dump(settings))


def kinds(controller: Controller) -> dict[str, Any]:
    return {one["kind"]: one for one in controller.get("/v1/problems")["problems"]}


def test_what_begins_and_ends_is_sent(controller: Controller, receiver: Receiver) -> None:
    receiver.start()
    (controller.dir / "token").write_text("abc\n")
    run(controller, url=f"http://127.0.0.1:{receiver.port}{PATH}", token_file="token")
    disturb(controller)
    wait_for(lambda: receiver.changes(NEWER), "the begin to arrive", seconds=30)
    path, token, body = receiver.heard[0]
    assert (path, token) == (PATH, "Bearer abc")
    assert body["severity"] == "warning"
    assert str(controller.config_file) in body["message"]
    assert body["remedy"] == "ofapp config reload"
    controller.hang_up()
    wait_for(lambda: receiver.changes(NEWER) == ["began", "ended"], "the end to arrive")
    metrics = controller.get("/metrics").splitlines()
    assert 'ofapp_notifications_total{result="sent"} 2.0' in metrics
    assert 'ofapp_notifications_total{result="failed"} 0.0' in metrics


def test_a_receiver_that_never_answers_costs_nothing(
    controller: Controller, receiver: Receiver
) -> None:
    receiver.start()
    receiver.be_slow(True)
    url = f"http://127.0.0.1:{receiver.port}{PATH}"
    run(controller, url=url, template={"text": "{severity} {kind} {change}"})
    disturb(controller)
    longest = 0.0

    def failing() -> bool:
        nonlocal longest
        asked = time.monotonic()
        there = "notify.failing" in kinds(controller)
        longest = max(longest, time.monotonic() - asked)
        return there

    wait_for(failing, "the failure to be a problem", seconds=60)
    assert longest < LATENCY
    assert "no answer within" in kinds(controller)["notify.failing"]["message"]
    receiver.be_slow(False)
    text = f"warning {NEWER} began"
    wait_for(lambda: {"text": text} in [body for _, _, body in receiver.heard], text, seconds=60)
    wait_for(lambda: not failing(), "the end of the problem", seconds=30)


@pytest.mark.parametrize("gone", [True, False])
def test_a_receiver_that_is_gone_or_refuses_gets_it_later(
    controller: Controller, receiver: Receiver, gone: bool
) -> None:
    receiver.answer(500)
    if not gone:
        receiver.start()
    (controller.dir / "url").write_text(f"http://localhost:{receiver.port}{PATH}\n")
    run(controller, url_file="url")
    disturb(controller)
    wait_for(lambda: "notify.failing" in kinds(controller), "the failure", seconds=30)
    message = kinds(controller)["notify.failing"]["message"]
    assert ("Connection refused" if gone else "localhost answers 500") in message
    for place in (message, controller.log(), json.dumps(controller.get("/v1/events"))):
        assert SECRET not in place
    receiver.forget()
    receiver.answer(204)
    if gone:
        receiver.start()
    wait_for(lambda: receiver.changes(NEWER) == ["began"], "it to arrive late", seconds=60)
    wait_for(lambda: "notify.failing" not in kinds(controller), "the end", seconds=30)


def test_https_needs_the_ca(controller: Controller, tmp_path: Path) -> None:
    key, cert = tmp_path / "key.pem", tmp_path / "cert.pem"
    made = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
    name = "-subj /CN=localhost -addext subjectAltName=DNS:localhost"
    command = [*made.split(), *name.split(), "-keyout", str(key), "-out", str(cert)]
    subprocess.run(command, check=True, capture_output=True)
    receiver = Receiver(tmp_path / "receiver", cert, key)
    receiver.start()
    url = f"https://localhost:{receiver.port}{PATH}"
    try:
        run(controller, url=url)
        disturb(controller)
        wait_for(lambda: "notify.failing" in kinds(controller), "the failure", seconds=30)
        message = kinds(controller)["notify.failing"]["message"]
        assert "localhost: its certificate is not valid: self-signed certificate" in message
        assert not receiver.heard
        controller.configure(yaml.safe_dump({"notify": {"url": url, "ca": str(cert)}}))
        controller.hang_up()
        wait_for(lambda: receiver.changes(NEWER), "it to arrive", seconds=60)
    finally:
        receiver.stop()
