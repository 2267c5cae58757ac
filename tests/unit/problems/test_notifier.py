"""Notifications: which are sent, what they say, how many wait.  Requests are in vswitchd."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from ofapp.bridge.event import ERROR, INFO, WARNING
from ofapp.bridge.problem import ProblemKind
from ofapp.config import ConfigError, parse_config
from ofapp.config.notify import FIELDS, Notify
from ofapp.controller.problems.notifier import WAITING, Notifier

VALUES = {name: name.upper() for name in FIELDS} | {"message": 'a "quoted" {brace}'}


def notifier(**settings: Any) -> Notifier:
    given = Notify(url="http://192.0.2.1/hook", **settings)
    return Notifier(lambda: given, lambda: None)


def kind(severity: Any) -> ProblemKind:
    return ProblemKind("test.kind", severity, "Bad.", "See.", "It ends.")


class TestQueue:
    def test_problems_below_the_severity_are_not_sent(self) -> None:
        for least, waiting in (("error", 1), ("warning", 2), ("info", 3)):
            tried = notifier(severity=least)
            for severity in (ERROR, WARNING, INFO):
                tried.put(kind(severity), VALUES)
            assert len(tried.waiting) == waiting

    def test_the_oldest_makes_room_and_that_is_a_problem(self) -> None:
        tried = notifier()
        assert [*tried.problems()] == []
        for number in range(WAITING + 2):
            tried.put(kind(ERROR), VALUES | {"id": str(number)})
        assert tried.counts["dropped"] == 2
        assert tried.waiting[0].values["id"] == "2"
        (problem,) = tried.problems()
        assert problem.of.name == "notify.failing"
        assert problem.data == {"waiting": WAITING, "dropped": 2}

    def test_without_a_receiver_nothing_waits(self) -> None:
        tried = Notifier(lambda: None, lambda: None)
        tried.put(kind(ERROR), VALUES)
        assert not tried.waiting


class TestBody:
    def test_without_a_template_it_has_all_fields(self) -> None:
        assert Notify(url="http://h/").body(VALUES) == VALUES

    def test_a_template_is_filled_and_its_other_values_stay(self) -> None:
        template = {"text": "{severity}: {message}", "blocks": [{"n": 3, "of": "{kind}"}]}
        body = Notify(url="http://h/", template=template).body(VALUES)  # type: ignore[arg-type]
        assert body == {
            "text": 'SEVERITY: a "quoted" {brace}',
            "blocks": [{"n": 3, "of": "KIND"}],
        }


@pytest.mark.parametrize(
    ("section", "where", "what"),
    [
        ("{}", "notify.url", "give `url` or `url_file`"),
        ("{url: 'http://h/', url_file: f}", "notify.url", "one of them"),
        ("{url: 'ftp://h/'}", "notify.url", "must be http://HOST/PATH"),
        ("{url: 'https:///x'}", "notify.url", "must be http://HOST/PATH"),
        ("{url: 'https://h:x/'}", "notify.url", "is no URL"),
        ("{url: 'https://me:secret@h/'}", "notify.url", "token_file"),
        ("{url: 'http://h/', template: {text: '{mesage}'}}", "notify.template.text", "{mesage}"),
        ("{url: 'http://h/', template: {a: ['{kind.x}']}}", "notify.template.a.0", "placeholder"),
        ("{url: 'http://h/', template: {a: '{'}}", "notify.template.a", "doubled"),
        ("{url: 'http://h/', severity: bad}", "notify.severity", "warning"),
    ],
)
def test_a_mistake_in_the_file_names_the_field(section: str, where: str, what: str) -> None:
    with pytest.raises(ConfigError) as refused:
        parse_config(f"notify: {section}".encode(), "ofapp.yaml")
    (fault,) = refused.value.faults
    assert where in str(fault)
    assert what in str(fault)
    assert "secret" not in str(fault)


def test_values_cannot_reach_into_objects() -> None:
    """Text of hosts is a value, never a template."""
    values: Mapping[str, str] = {**VALUES, "message": "{kind.__class__}"}
    given = Notify(url="http://h/", template={"text": "{message}"})
    assert given.body(dict(values)) == {"text": "{kind.__class__}"}
