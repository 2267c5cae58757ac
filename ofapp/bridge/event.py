"""Events, for operators.

Every limit, drop, refusal and protocol transition is reported as an `Event`: a value that the core
returns among its effects and the shell logs, counts and streams.  The core never logs.

A subject declares the kinds of its events in its module `events`, once: severity, meaning, remedy
and fields.  An event is made from its kind (`PORT_DOWN.event(text, port)`).

Nothing is decided by an event: actions are effects with separate types.  An event has details as
data, and its text has port numbers, as the protocols do; `Event.worded` adds the names of the ports
at the time of output.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple, Protocol


class Severity(Enum):
    """The severity of an event; the shell maps it to a log level."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"

    @property
    def rank(self) -> int:
        """The place among all severities, the least first."""
        return [*Severity].index(self)


DEBUG, INFO, WARNING, ERROR = Severity

SET = "Parameters were set at run time; `data` has their values."
"""Meaning of an event of changed parameters."""

BY_ITSELF = "Nothing: it ends by itself."
"""Remedy for a condition that needs no action."""


class Named(Protocol):
    """What has a name, as a port."""

    @property
    def name(self) -> str: ...


FindPort = Callable[[int], Named | None]
"""A function that gives the port with a number, if there is one."""


class PortNumber(NamedTuple):
    """A port in a text: `port 3`, or `port eth3 (3)` where its name is known."""

    number: int

    def __str__(self) -> str:
        return f"port {self.number}"

    def named(self, find: FindPort) -> str:
        """With its name, if there is such a port."""
        port = find(self.number)
        return str(self) if port is None else f"port {port.name} ({self.number})"


NO_DATA: Mapping[str, object] = MappingProxyType({})

Text = str | tuple[str | PortNumber, ...]
"""One line, whole or in parts."""


@dataclass(frozen=True, slots=True, eq=False)
class EventKind:
    """Properties that all events of a kind share.

    severity: the usual one; others: further ones that an event may have.
    meaning: one sentence.  remedy: what to do about it; empty if nothing has to be done.
    fields: the keys of `data`, with spaces between; `...` stands for further ones.  `port_name`
    is added where a port is, and `ports` where one event stands for many ports.
    on_request: only a listener that names such kinds gets it, as any host can cause very many.
    """

    name: str
    severity: Severity
    meaning: str
    remedy: str = ""
    fields: str = ""
    others: tuple[Severity, ...] = ()
    on_request: bool = False

    def event(
        self,
        text: Text,
        port: int | None = None,
        data: Mapping[str, object] = NO_DATA,
        severity: Severity | None = None,
    ) -> Event:
        """Make an event of this kind.  severity: one of `others` if it is not the usual one."""
        return Event(self, text, severity or self.severity, port, data)

    @property
    def severities(self) -> tuple[Severity, ...]:
        """All that an event may have; the usual one first."""
        return (self.severity, *self.others)

    def admits(self, severity: Severity, fields: Iterable[str]) -> bool:
        """Whether an event of this kind may have this severity and these keys of `data`."""
        declared = self.fields.split()
        return severity in self.severities and (
            "..." in declared or {*fields} <= {*declared, "ports"}
        )


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened on a bridge.

    of: its kind, which makes it (`EventKind.event`).
    text: for operators; everything in it is in `data` too.
    port: OpenFlow port number it is about, or None for the bridge.
    data: JSON-serialisable details.
    """

    of: EventKind
    text: Text
    severity: Severity
    port: int | None
    data: Mapping[str, object]

    @property
    def kind(self) -> str:
        """Dotted name, stable across versions: ``fdb.limit``, ``port.down``, ``stp.role``."""
        return self.of.name

    @property
    def message(self) -> str:
        """The text, with ports by number."""
        return self.text if isinstance(self.text, str) else "".join(map(str, self.text))

    def worded(self, find: FindPort) -> Event:
        """The event for output: ports by name, and the name of its port as `port_name`."""
        text = self.text
        if not isinstance(text, str):
            text = "".join(p.named(find) if isinstance(p, PortNumber) else p for p in text)
        port = None if self.port is None else find(self.port)
        data = self.data if port is None else {**self.data, "port_name": port.name}
        return replace(self, text=text, data=data)


def following(beginning: str, text: Text) -> Text:
    """The text with something before it."""
    return (beginning, text) if isinstance(text, str) else (beginning, *text)
