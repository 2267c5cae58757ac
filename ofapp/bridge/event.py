"""Something a person may want to hear about.

Every limit, drop, refusal and protocol transition is told as an `Event`: a value that the core
returns among its effects and the shell logs, counts and streams.  The core never logs.

An event is for people, and nothing is decided by one: what has to happen next is an effect with a
type of its own.  It carries what it is about as data, and its text speaks of ports by number, as
the protocols do; whoever tells it to people has it worded with the names that ports have then.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import NamedTuple

from ofapp.bridge.ports import PortTable


class Severity(Enum):
    """How loud an event is; the shell maps it to a log level."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class PortNumber(NamedTuple):
    """A port where a text speaks of it: `port 3`, or `port eth3 (3)` for who knows its name."""

    number: int

    def __str__(self) -> str:
        return f"port {self.number}"

    def named(self, ports: PortTable) -> str:
        """With its name, if there is such a port."""
        port = ports.get(self.number)
        return str(self) if port is None else f"port {port.name} ({self.number})"


Text = str | tuple[str | PortNumber, ...]
"""One line, whole or in parts."""


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened on a bridge.

    kind: dotted name, stable across versions: ``fdb.limit``, ``port.down``, ``stp.role``.
    text: for a person; everything in it is in `data` too.
    port: OpenFlow port number it is about, or None for the bridge.
    data: JSON-serialisable details.
    """

    kind: str
    text: Text
    severity: Severity = Severity.INFO
    port: int | None = None
    data: Mapping[str, object] = field(default_factory=dict)

    @property
    def message(self) -> str:
        """The text, with ports as it knows them."""
        return self.text if isinstance(self.text, str) else "".join(map(str, self.text))

    def worded(self, ports: PortTable) -> Event:
        """As people are told it: ports by their names, and its own port's name as `port_name`."""
        text = self.text
        if not isinstance(text, str):
            text = "".join(p.named(ports) if isinstance(p, PortNumber) else p for p in text)
        own = None if self.port is None else ports.get(self.port)
        data = self.data if own is None else {**self.data, "port_name": own.name}
        return replace(self, text=text, data=data)


def following(beginning: str, text: Text) -> Text:
    """The text with something before it."""
    return (beginning, text) if isinstance(text, str) else (beginning, *text)
