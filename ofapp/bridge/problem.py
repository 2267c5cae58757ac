"""Problems: conditions that are wrong now, for operators.

A problem is derived from the present state, never from events: it stands while the state shows it,
and ends with it.  A subject declares the kinds of its problems in its module `problems`, once:
severity, meaning, remedy and end.  Every reader shows the same problems: commands, API, page,
metrics and alert rules.

A text has port numbers, as the protocols do; the remedy is a command with placeholders.  Names are
put in at the time of output, by `Problem.worded`.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from ofapp.bridge.event import NO_DATA, FindPort, PortNumber, Severity, Text


@dataclass(frozen=True, slots=True, eq=False)
class ProblemKind:
    """Properties that all problems of a kind share.

    name: dotted, stable across versions.
    severity: ERROR while frames of hosts are lost or a protection is off, else WARNING; INFO for a
    condition that is mostly intended.
    meaning: one sentence.  advice: what to look at, in words.
    remedy: a command of a shell, with {bridge}, {port} and keys of the problem's data; empty where
    no command helps.
    ends: when the problem ends.
    delay: seconds that the condition must last before it is a problem.
    """

    name: str
    severity: Severity
    meaning: str
    advice: str
    ends: str
    remedy: str = ""
    delay: float = 0.0

    def at(
        self,
        text: Text,
        port: int | None = None,
        subject: str = "",
        data: Mapping[str, object] = NO_DATA,
    ) -> Problem:
        """Make a problem of this kind."""
        return Problem(self, text, port, subject, data)


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong.

    of: its kind.  text: its cause in one sentence, with the evidence.
    port: number of the port that the problem is about; None for the bridge.
    subject: distinguishes problems of one kind, bridge and port: a VLAN, an address, a name.
    data: the evidence, JSON-serialisable.
    """

    of: ProblemKind
    text: Text
    port: int | None
    subject: str
    data: Mapping[str, object]

    def worded(self, bridge: str, find: FindPort) -> Worded:
        """The problem with names.  bridge: the bridge's, empty for none; find: gives its ports."""
        text = self.text
        if not isinstance(text, str):
            text = "".join(p.named(find) if isinstance(p, PortNumber) else p for p in text)
        port = None if self.port is None else find(self.port)
        name = port.name if port is not None else str(self.data.get("port_name", self.port or ""))
        given = {"bridge": bridge, "port": name, **self.data}
        quoted = {key: shlex.quote(str(value)) for key, value in given.items()}
        return Worded(text, name, self.of.remedy.format_map(quoted))


class Worded(NamedTuple):
    """The texts of a problem for output.  port: the name of the port, empty for none."""

    message: str
    port: str
    remedy: str
