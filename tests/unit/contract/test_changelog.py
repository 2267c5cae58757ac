"""CHANGELOG.md: what is said of a released version stays, and the version under way is on top."""

from __future__ import annotations

import re
from hashlib import sha256
from pathlib import Path

import pytest

import ofapp

ROOT = Path(ofapp.__file__).parents[1]
RELEASED = Path(__file__).with_name("released.txt")


def parts() -> dict[str, str]:
    """The parts of the changelog by version, the newest first; keys are whole headings."""
    _, *found = re.split(r"^## (.*)\n", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    return dict(zip(found[::2], found[1::2], strict=True))


@pytest.mark.parametrize("line", RELEASED.read_text().splitlines())
def test_what_is_said_of_a_released_version_stays(line: str) -> None:
    version, digest = line.split()
    (text,) = (text for heading, text in parts().items() if heading.split()[0] == version)
    assert sha256(text.encode()).hexdigest() == digest, (
        f"{version} is released, and its part of CHANGELOG.md was changed: lines of a change that"
        f" came later belong under {next(iter(parts()))}"
    )


def test_the_first_part_is_that_of_this_version() -> None:
    version, *rest = next(iter(parts())).split(maxsplit=1)
    done = version in RELEASED.read_text().split()
    assert ofapp.__version__ == (version if done else f"{version}.dev0")
    assert re.fullmatch(r"\(20\d\d-\d\d-\d\d\)" if done else r"\(not released\)", *rest)
