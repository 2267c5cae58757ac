"""What all events of one kind have in common."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ofapp.bridge.event import Severity

DEBUG, INFO, WARNING, ERROR = Severity

SET = "Parameters were set at run time; `data` has their values."
BY_ITSELF = "Nothing: it ends by itself."


@dataclass(frozen=True, slots=True)
class EventKind:
    """What all events of a kind have in common.

    severities: the usual one first.  fields: keys of `data`; `port_name` is added where a port is,
    and `ports` where one event stands for many ports.
    An open kind has further fields: the parameters that were set, or those of a BPDU.
    """

    name: str
    severities: tuple[Severity, ...]
    meaning: str
    remedy: str = ""
    fields: frozenset[str] = frozenset()
    open: bool = False

    def admits(self, severity: Severity, fields: Iterable[str]) -> bool:
        """Whether an event of this kind may be like that."""
        return severity in self.severities and (
            self.open or self.fields.issuperset({*fields} - {"ports"})
        )


def kind(
    name: str,
    severity: Severity | tuple[Severity, ...],
    meaning: str,
    remedy: str = "",
    fields: str = "",
) -> EventKind:
    """Declare a kind.  fields: names with spaces between; `...` stands for further ones."""
    severities = severity if isinstance(severity, tuple) else (severity,)
    names = fields.split()
    return EventKind(
        name, severities, meaning, remedy, frozenset(names) - {"..."}, open="..." in names
    )
