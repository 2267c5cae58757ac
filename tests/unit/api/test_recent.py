"""Answers that several requests share."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from flask import Flask, Response
from flask.testing import FlaskClient

from ofapp.api import recent as module
from ofapp.common import hub

SHARED = {"Cache-Control": "max-age=1"}


class Counting:
    """A view that counts its calls, and a clock that the test moves."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, rest: Callable[[], None]) -> None:
        self.now, self.calls = 100.0, 0
        monkeypatch.setattr(module.time, "monotonic", lambda: self.now)
        app = Flask(__name__)

        def view(query: str) -> Response:
            self.calls += 1
            number = self.calls
            rest()
            return Response(f"{number}", content_type="application/json")

        shared = module.recent(view)
        app.add_url_rule("/", "view", lambda: shared(""))
        self.client: FlaskClient = app.test_client()

    def get(self, headers: dict[str, str] | None = None, query: str = "") -> tuple[str, str | None]:
        """The answer and its age."""
        answer = self.client.get(f"/{query}", headers=headers)
        assert answer.mimetype == "application/json"
        return answer.text, answer.headers.get("Age")


def test_an_answer_is_shared_for_a_second_with_those_who_accept_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = Counting(monkeypatch, lambda: None)
    assert made.get(SHARED) == ("1", "0")
    made.now += 1.0
    assert made.get(SHARED) == ("1", "1")
    made.now += 0.1
    assert made.get(SHARED) == ("2", "0")


@pytest.mark.parametrize("value", ["", "no-cache", "max-age=0", "max-age=x", "max-age"])
def test_others_get_an_answer_of_their_own(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    made = Counting(monkeypatch, lambda: None)
    made.get(SHARED)
    assert made.get({"Cache-Control": value} if value else None) == ("2", None)


def test_requests_that_come_meanwhile_wait_for_one_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Counting(monkeypatch, lambda: [hub.sleep(0) for _ in range(20)])
    found = hub.at_once(lambda _: made.get(SHARED), range(5), 10.0)
    assert set(found.values()) == {("1", "0")}
    assert made.calls == 1


def test_an_answer_is_shared_with_those_who_ask_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Counting(monkeypatch, lambda: None)
    assert made.get(SHARED, "?since=1h") == ("1", "0")
    assert made.get(SHARED, "?since=2h") == ("2", "0")
    assert made.get(SHARED, "?since=1h") == ("1", "0")


def test_few_answers_are_kept_whatever_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Counting(monkeypatch, lambda: None)
    for number in range(module.MOST + 1):
        made.get(SHARED, f"?since={number}")
    assert made.get(SHARED, f"?since={module.MOST}") == (str(module.MOST + 1), "0")
    assert made.get(SHARED, "?since=0") == (str(module.MOST + 2), "0")
