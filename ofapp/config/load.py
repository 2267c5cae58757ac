"""Reading the configuration file: every error at once, each with its place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ofapp.common.files import read_regular
from ofapp.config import document
from ofapp.config.base import Path as Keys
from ofapp.config.document import Document, NotYamlError, Place
from ofapp.config.errors import ConfigError, Fault, Finding, findings
from ofapp.config.model import Config, bridge_key, canonical_bridges


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
        wrong += _beside(values, wrong)
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


def _beside(values: Any, wrong: list[Finding]) -> list[Finding]:
    """What does not go together in those bridges in which each value is good by itself.

    pydantic looks at that only when it has found nothing else; people want all faults at once.
    """
    if not isinstance(values, dict) or not isinstance(values.get("bridges") or {}, dict):
        return []
    bad = {str(finding.path[1]) for finding in wrong if len(finding.path) > 1}
    if any(finding.path[:1] in ((), ("defaults",)) for finding in wrong):
        return []
    bridges = {key: own for key, own in (values.get("bridges") or {}).items() if key not in bad}
    try:
        Config.model_validate({"defaults": values.get("defaults"), "bridges": bridges})
    except ValidationError as error:
        told = {(finding.path, finding.what) for finding in wrong}
        return [f for f in findings(error, Config) if (f.path, f.what) not in told]
    return []


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
