"""Requests of the page: each answer has the state of the laboratory after the request.

One laboratory is open at a time.  Requests and answers are JSON.
"""

from __future__ import annotations

import json
from typing import Any

from ofapp.bridge.input_error import InputError
from ofapp.lab.exercises import Question
from ofapp.lab.labs import LABS, Lab
from ofapp.lab.view import view

ACTIONS = frozenset(
    (
        *("add_bridge", "add_host", "connect", "aggregate", "cut", "plug", "remove"),
        *("configure", "send", "join"),
    )
)
"""Methods of `Laboratory` that a request may name."""

TIME = frozenset(("advance", "step"))


class Session:
    """The laboratory of one student."""

    def __init__(self) -> None:
        self._open("root")

    def _open(self, name: str) -> None:
        self.lab: Lab = LABS[name]
        self.laboratory = self.lab.build()
        self.name = name
        self.done: set[int] = set()

    def handle(self, request: str) -> str:
        """Carry out a request: {"do": name, "with": [arguments]}; gives the answer."""
        asked = json.loads(request)
        name, given, error, right = asked["do"], asked.get("with", []), None, None
        try:
            if name == "open":
                self._open(*given)
            elif name == "answer":
                right = self._answer(*given)
            elif name in ACTIONS | TIME:
                getattr(self.laboratory, name)(*given)
        except InputError as refused:
            error = str(refused)
        return json.dumps(
            {
                "lab": self.name,
                "title": self.lab.title,
                "labs": [{"name": own, "title": each.title} for own, each in LABS.items()],
                "theory": self.lab.theory,
                "exercises": [*map(self._exercise, range(len(self.lab.exercises)))],
                "error": error,
                "right": right,
                **view(self.laboratory),
            },
            allow_nan=False,
        )

    def _answer(self, number: int, choice: str) -> bool | None:
        """Whether an answer is right; None: the network has not shown it yet."""
        exercise = self.lab.exercises[number]
        assert isinstance(exercise, Question)
        known = exercise.answer(self.laboratory)
        if known == choice:
            self.done.add(number)
        return None if known is None else known == choice

    def _exercise(self, number: int) -> dict[str, Any]:
        exercise = self.lab.exercises[number]
        choices: tuple[str, ...] = ()
        if isinstance(exercise, Question):
            choices = exercise.choices(self.laboratory)
        elif exercise.reached(self.laboratory):
            self.done.add(number)
        return {"text": exercise.text, "choices": choices, "done": number in self.done}
