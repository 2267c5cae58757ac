"""What-if questions of one token take neither the turns nor the time of the others."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import httpx
import pytest

from ofapp.api.http.bounds import Party
from ofapp.api.problems import ProblemError
from ofapp.api.resources.twin import questions as module
from ofapp.api.resources.twin.questions import OF_TOKEN, Questions
from ofapp.common import hub
from ofapp.controller.events import EventLog
from ofapp.controller.what_if import Turn
from tests.support.waiting import wait_for
from tests.unit.api import live
from tests.unit.api.clients import Clients
from tests.unit.api.network import empty_network

LONG = 0.3
"""Seconds of processor time that a long question takes."""


def party(name: str) -> Party:
    return Party(f"token {name}", "192.0.2.1")


class Asking:
    """Questions that are asked by greenlets.  ended: their names, in order."""

    def __init__(self) -> None:
        self.questions, self.events = Questions(), EventLog()
        self.turns: dict[str, Turn] = {}
        self.ended: list[str] = []
        self.refused: list[ProblemError] = []

    def ask(
        self, name: str, work: float, token: str = "", has_left: Callable[[], bool] = lambda: False
    ) -> None:
        """Begin a question of so many seconds of work, of the token of that name."""
        hub.spawn(self._ask, name, work, party(token or name), has_left)

    def _ask(self, name: str, work: float, who: Party, has_left: Callable[[], bool]) -> None:
        try:
            with self.questions.turn(self.events, who, has_left) as turn:
                self.turns[name] = turn
                while turn.spent < work:
                    turn.rest()
        except ProblemError as error:
            self.refused.append(error)
        self.ended.append(name)

    def wait(self, *names: str) -> None:
        wait_for(lambda: {*names} <= {*self.ended}, f"{names} to end", seconds=60, sleep=hub.sleep)

    def kinds(self) -> list[str]:
        return [record.event.kind for record in self.events.since(0)]


@pytest.fixture
def asking() -> Asking:
    return Asking()


def test_a_short_question_does_not_wait_for_a_long_one_of_another_token(asking: Asking) -> None:
    asking.ask("long", LONG)
    wait_for(lambda: "long" in asking.turns, "the long one", sleep=hub.sleep)
    asking.ask("short", LONG / 20)
    asking.wait("long", "short")
    assert asking.ended == ["short", "long"]


def test_questions_of_one_token_are_answered_one_after_the_other(asking: Asking) -> None:
    for name in ("first", "second", "third"):
        asking.ask(name, LONG / 3, token="own")
    asking.ask("other", LONG / 2)
    asking.wait("first", "second", "third", "other")
    assert asking.ended == ["first", "other", "second", "third"]


def test_however_many_ask_other_work_waits_for_one_slice_at_a_time(asking: Asking) -> None:
    for name in "abcd":
        asking.ask(name, LONG / 4)
    most, before = 0, dict.fromkeys("abcd", 0.0)
    while len(asking.ended) < 4:
        hub.pause()
        now = {name: turn.spent for name, turn in asking.turns.items()}
        most = max(most, sum(before[name] != spent for name, spent in now.items()))
        before |= now
    assert most == 1


def test_a_question_ends_whose_client_has_left(asking: Asking) -> None:
    asking.ask("gone", 60.0, has_left=lambda: True)
    asking.wait("gone")
    assert asking.turns["gone"].spent < LONG
    assert not asking.questions.bounds.open


def test_a_question_that_takes_too_long_is_given_up(
    asking: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.05)
    asking.ask("endless", 60.0, token="own")
    asking.ask("waits", 60.0, token="own")
    asking.wait("endless", "waits")
    assert [error.status for error in asking.refused] == [503, 503]
    assert {"Retry-After"} == {name for error in asking.refused for name in error.headers}


def test_more_questions_than_a_token_may_have_are_refused(asking: Asking) -> None:
    names = [f"{number}" for number in range(OF_TOKEN + 2)]
    for name in names:
        asking.ask(name, LONG / 10, token="own")
    asking.ask("other", LONG / 10)
    asking.wait(*names, "other")
    assert [error.status for error in asking.refused] == [503, 503]
    assert f"token own has {OF_TOKEN} what-if questions" in asking.refused[0].detail
    assert asking.questions.bounds.refused == {"token": 2}
    assert asking.kinds() == ["api.questions.full", "api.questions.full.cleared"]


def test_questions_that_another_member_answers_leave_connections_to_other_requests(
    asking: Asking,
) -> None:
    """One of a token at a time, and of all tokens fewer than there are connections."""
    with ExitStack() as open_questions:
        for name in ("a", "b"):
            who = party(name)
            open_questions.enter_context(asking.questions.passed_on(asking.events, who))
            with pytest.raises(ProblemError) as refused:
                open_questions.enter_context(asking.questions.passed_on(asking.events, who))
            assert refused.value.status == 503
        with pytest.raises(ProblemError, match=r"192\.0\.2\.1 has 2"):
            open_questions.enter_context(asking.questions.passed_on(asking.events, party("c")))
        for at in (2, 3):
            far = Party(f"token {at}", f"192.0.2.{at}")
            open_questions.enter_context(asking.questions.passed_on(asking.events, far))
        last = Party("token d", "192.0.2.9")
        with pytest.raises(ProblemError, match="there are 4"):
            open_questions.enter_context(asking.questions.passed_on(asking.events, last))
        asking.ask("here", 0.0, "a")
        asking.wait("here")
        assert not asking.refused
    assert asking.questions.bounds.refused == {"token": 2, "address": 1, "all": 1}
    assert asking.kinds().count("api.questions.full.cleared") == 4
    with asking.questions.passed_on(asking.events, party("a")):
        pass


def test_who_has_used_up_the_time_of_a_token_is_told_when_to_ask_again(
    asking: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = asking.questions.work
    monkeypatch.setattr(work, "burst", 0.05)
    monkeypatch.setattr(work, "rate", 0.001)
    asking.ask("first", 0.1, token="own")
    asking.wait("first")
    for name in ("second", "third"):
        asking.ask(name, 0.0, token="own")
    asking.ask("other", 0.0)
    asking.wait("second", "third", "other")
    assert [error.status for error in asking.refused] == [429, 429]
    assert int(asking.refused[0].headers["Retry-After"]) > 1000
    assert asking.questions.bounds.refused == {"work": 2}
    monkeypatch.setattr(work, "rate", 100.0)
    asking.ask("again", 0.0, token="own")
    asking.wait("again")
    assert len(asking.refused) == 2
    assert asking.kinds() == ["api.questions.full", "api.questions.full.cleared"]


def test_a_file_is_for_admins_and_questions_are_counted() -> None:
    with live.closed() as (url, tokens):

        def ask(role: str, **question: object) -> httpx.Response:
            headers = {"Authorization": f"Bearer {tokens[role]}"}
            return httpx.post(
                f"{url}/v1/what-if", json=question, headers=headers, trust_env=False, timeout=60
            )

        assert ask("viewer", seconds=1).status_code == 200
        for question in ({"config": {"file": "x", "data": "eA=="}}, {"reload": "keep"}):
            refused = ask("operator", **question)
            assert (refused.status_code, "role admin" in refused.text) == (403, True)
        assert ask("admin", reload="keep").status_code == 200
        ports = {f"eth{number}": {} for number in range(1000)}
        long = [{"bridge": "nobridge", "settings": {"ports": ports}}]
        assert [ask(role, set=long).status_code for role in ("viewer", "operator")] == [413, 404]
        said = httpx.get(f"{url}/metrics", headers={"Authorization": f"Bearer {tokens['viewer']}"})
        assert "ofapp_api_questions 0.0" in said.text


def test_a_file_and_a_reload_contradict_each_other(clients: Clients) -> None:
    body: dict[str, Any] = {"config": {"file": "x", "data": "eA=="}, "reload": "keep"}
    answer = clients(empty_network()).post("/v1/what-if", json=body)
    assert (answer.status_code, answer.json["errors"][0]["field"]) == (409, "reload")
