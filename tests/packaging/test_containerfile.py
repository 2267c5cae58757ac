"""What can be known of the container file without building it.

Its health check runs in test_debian_package, against a manager that is installed.
"""

from __future__ import annotations

import subprocess

from tests.packaging.containerfile import instructions
from tests.packaging.machine import REPOSITORY

KNOWN = {
    *("FROM", "RUN", "COPY", "ENV", "USER", "VOLUME", "EXPOSE", "STOPSIGNAL"),
    *("HEALTHCHECK", "ENTRYPOINT", "ARG", "LABEL"),
}


def arguments(name: str) -> list[str]:
    return [rest for known, rest in instructions() if known == name]


def test_every_instruction_is_one() -> None:
    assert {name for name, _ in instructions()} <= KNOWN


def test_what_it_copies_is_there() -> None:
    for rest in arguments("COPY"):
        *sources, _ = [word for word in rest.split() if not word.startswith("--")]
        for source in sources:
            built = source == "/opt/ofapp" and "--from=build" in rest
            assert built or (REPOSITORY / source).exists(), source


def test_its_commands_are_shell() -> None:
    for command in arguments("RUN"):
        subprocess.run(["sh", "-n", "-c", command], check=True)


def test_it_does_not_run_as_root_and_holds_the_pinned_versions() -> None:
    assert arguments("USER") == ["ofapp"]
    after = [name for name, _ in instructions()]
    assert after.index("USER") > max(n for n, name in enumerate(after) if name == "RUN")
    assert any("install --no-cache-dir -r" in command for command in arguments("RUN"))
    assert arguments("FROM") == [
        "docker.io/library/debian:12-slim AS base",
        "base AS build",
        "base",
    ]
