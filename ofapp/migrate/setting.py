"""One setting of a source, as it is shown to a person: secrets are masked."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

SHOWN = 100
"""Characters of a value that are shown."""

_SECRET = re.compile(
    r"(?i)pass(word|phrase|wd)?\b|secret|psk|token|private[-_ ]?key|credential|wpa-|wep-?key"
    r"|community"
)
_IN_TEXT = re.compile(rf"(?i)((?:{_SECRET.pattern[4:]})[\w-]*)(\s*[=: ]\s*)(\"[^\"]*\"|\S+)")
_USER_IN_URL = re.compile(r"(\w+://)[^/@\s]+@")
MASKED = "(not shown)"


class ImportFault(Exception):  # noqa: N818
    """An input that cannot be read; the message names the file, the line or key, and a remedy."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting.  where: file and line, or the command that showed it, and the interface."""

    where: str
    key: str
    value: Any = None

    def __str__(self) -> str:
        value = _masked(self.key, self.value)
        if value is None or value == "":
            return f"{self.where}: {self.key}"
        text = value if isinstance(value, str) else json.dumps(value, default=str)
        text = text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
        return f"{self.where}: {self.key}: {text}"

    def fault(self, wanted: str) -> ImportFault:
        """The error of a value that cannot be read."""
        return ImportFault(f"{self}: must be {wanted}; correct it, or remove the line")


def _masked(key: str, value: Any) -> Any:
    """The value without secrets, also those inside of it."""
    if isinstance(value, Mapping):
        return {name: _masked(str(name), inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_masked(key, inner) for inner in value]
    if _SECRET.search(key) and not isinstance(value, bool | None):
        return MASKED
    if isinstance(value, str):
        return _USER_IN_URL.sub(rf"\1{MASKED}@", _IN_TEXT.sub(rf"\1\2{MASKED}", value))
    return value
