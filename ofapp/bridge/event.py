"""Something a person may want to hear about.

Every limit, drop, refusal and protocol transition is told as an `Event`: a value that the core
returns among its effects and the shell logs, counts and streams.  The core never logs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum


class Severity(Enum):
    """How loud an event is; the shell maps it to a log level."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened on a bridge.

    kind: dotted name, stable across versions: ``fdb.limit``, ``port.down``, ``stp.role``.
    message: one line for a person; everything in it is in `data` too.
    port: OpenFlow port number it is about, or None for the bridge.
    data: JSON-serialisable details.
    """

    kind: str
    message: str
    severity: Severity = Severity.INFO
    port: int | None = None
    data: Mapping[str, object] = field(default_factory=dict)
