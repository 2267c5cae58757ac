"""Fenced blocks of a page: what the word behind the fence means.

sh                   commands that a test types
sh fails             the same; the last one must fail
sh skip: REASON      commands that no test can type
output               what the commands before print
yaml file=PATH       a file that a test writes (also ini, json, text)
yaml                 an example of the configuration file
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fence:
    """The words behind a fence.

    file: path of the file that the block is.
    skip: why the commands cannot be typed in a test.
    """

    language: str = ""
    file: str = ""
    fails: bool = False
    skip: str = ""


def parse_fence(info: str) -> Fence:
    """Read the words behind a fence. Raises ValueError for words without a meaning."""
    language, _, rest = info.strip().partition(" ")
    rest = rest.strip()
    if not rest:
        return Fence(language)
    if language == "sh" and rest == "fails":
        return Fence(language, fails=True)
    if language == "sh" and rest.startswith("skip:") and (reason := rest[5:].strip()):
        return Fence(language, skip=reason)
    if language != "sh" and rest.startswith("file=/") and " " not in rest:
        return Fence(language, file=rest.removeprefix("file="))
    raise ValueError(
        f"```{info}: expected nothing, `fails`, `skip: REASON` or `file=/PATH` after the language"
    )
