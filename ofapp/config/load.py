"""Reading the configuration file: every error at once, each with its place."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ofapp.common.files import read_regular
from ofapp.config import document
from ofapp.config.base import Path as Keys
from ofapp.config.document import Document, NotYamlError, Place
from ofapp.config.errors import ConfigError, Fault, Finding, findings
from ofapp.config.model import Config, bridge_key, canonical_bridges
from ofapp.config.remnant import Remnant

ROUNDS = 8
"""How often a document is validated without what is known to be wrong in it."""


def load_config(path: Path | None) -> Config:
    """The configuration in the file, the defaults without one; ConfigError."""
    if path is None:
        return Config()
    try:
        data = read_regular(path, document.MAX_BYTES + 1)
    except OSError as error:
        raise ConfigError([Fault(str(path), Place(), "", error.strerror or str(error))]) from None
    return parse_config(data, str(path))


def parse_config(data: bytes, file: str) -> Config:
    """The configuration in a file's bytes; ConfigError, with `file` as its name."""
    try:
        read = document.read(_decoded(data))
    except NotYamlError as error:
        raise ConfigError([Fault(file, error.place, "", error.what)]) from None
    found = [Fault(file, place, _text(path), what) for place, path, what in read.faults]
    values = read.root.value
    wrong: list[Finding] = []
    if isinstance(values, dict) and isinstance(values.get("bridges"), dict):
        bridges, keys = canonical_bridges(values["bridges"])
        wrong = [Finding(("bridges", *path), what, of_key=True) for path, what in keys]
        values = {**values, "bridges": bridges}
    try:
        config = Config.model_validate(values)
    except ValidationError as error:
        wrong += findings(error, Config)
        wrong += _rest(values, wrong)
    found += [_fault(file, read, finding) for finding in wrong]
    if found:
        raise ConfigError(found)
    if read.ends_marked:
        config.mark_end()
    return config


def _decoded(data: bytes) -> str:
    if len(data) > document.MAX_BYTES:
        raise NotYamlError(Place(), f"the file is larger than {document.MAX_BYTES >> 20} MiB")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        what = f"byte {data[error.start]:#04x} is not UTF-8"
        raise NotYamlError(Place(line, column), what) from None


def _rest(values: Any, wrong: list[Finding]) -> list[Finding]:
    """Faults that pydantic finds only without those that it has found, in their document's order.

    It does not compare values with each other while one of them is wrong by itself.  So what is
    wrong is left out, and the rest is validated again.  What is missing then because it was left
    out is no fault: its section is left out as well.
    """
    found: list[Finding] = []
    told = {(finding.path, finding.what) for finding in wrong}
    remnant = Remnant(values)
    new = wrong
    for _ in range(ROUNDS):
        for finding in new:
            remnant.leave_out(finding.path)
        try:
            Config.model_validate(remnant.value())
        except ValidationError as error:
            new = [replace(f, path=remnant.original(f.path)) for f in findings(error, Config)]
        else:
            break
        for finding in new:
            if (finding.path, finding.what) not in told and not remnant.explains(finding.path):
                told.add((finding.path, finding.what))
                found.append(finding)
    return found


def _key(given: str) -> str:
    try:
        return bridge_key(given)
    except ValueError:
        return given


def _fault(file: str, read: Document, finding: Finding) -> Fault:
    place = read.place(finding.path, finding.of_key, _key)
    return Fault(file, place, _text(finding.path), finding.what)


def _text(path: Keys) -> str:
    return ".".join(map(str, path))
