"""Reads deploy/container/Containerfile: its instructions, with continued lines joined."""

from __future__ import annotations

import json

from tests.packaging.machine import REPOSITORY

FILE = REPOSITORY / "deploy/container/Containerfile"


def instructions() -> list[tuple[str, str]]:
    """Each instruction's name and argument, in order."""
    lines = [line for line in FILE.read_text().splitlines() if line and not line.startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    return [
        (name, rest.strip()) for name, _, rest in (x.partition(" ") for x in joined.split("\n"))
    ]


def health_check() -> list[str]:
    """The command that says by its status whether the container is well."""
    (check,) = [rest for name, rest in instructions() if name == "HEALTHCHECK"]
    command: list[str] = json.loads(check.partition(" CMD ")[2])
    return command
