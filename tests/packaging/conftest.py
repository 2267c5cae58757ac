"""The package, made once, and a machine to install it on."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.packaging.machine import REPOSITORY, Machine

BUILD_SECONDS = 400  # half a minute on an idle machine


def build_package(
    folder: Path, variables: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run `deploy/deb/build`, with more environment variables."""
    return subprocess.run(
        [REPOSITORY / "deploy/deb/build", folder],
        env=os.environ | (variables or {}),
        capture_output=True,
        text=True,
        timeout=BUILD_SECONDS,
        check=False,
    )


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Debian package, as `deploy/deb/build` makes it."""
    folder = tmp_path_factory.mktemp("dist")
    done = build_package(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    made = Path(done.stdout.splitlines()[-1])
    assert made.parent == folder
    return made


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    """Booted, without ofapp."""
    with Machine() as booted:
        yield booted
