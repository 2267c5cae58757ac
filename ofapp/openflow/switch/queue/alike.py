"""Equal events about many ports, summarised in one.

A switch that adds 5,000 ports wrote 10,000 lines: each port was added, is up, and has its role and
its states of spanning tree.  The single events are kept at debug level.
"""

from dataclasses import replace

from ofapp.bridge.effects import Effect
from ofapp.bridge.event import Event, PortNumber, Severity, Text

MANY = 16
"""Least number of equal events at the same time that are summarised."""


def together(effects: list[Effect]) -> list[Effect]:
    """The effects, with one event after them for `MANY` or more equal ones about ports."""
    alike: dict[tuple[str, str], list[int]] = {}
    for at, effect in enumerate(effects):
        if isinstance(effect, Event) and effect.severity is Severity.INFO and effect.port:
            alike.setdefault((effect.kind, _story(effect)), []).append(at)
    result = [*effects]
    for places in alike.values():
        if len(places) >= MANY:
            events = [event for at in places if isinstance(event := effects[at], Event)]
            for at, event in zip(places, events, strict=True):
                result[at] = replace(event, severity=Severity.DEBUG)
            result.append(_sum(events))
    return result


def _sum(events: list[Event]) -> Event:
    first, *others = events
    data = {"ports": [event.port for event in events]}
    return replace(first, text=_and_more(first.text, len(others)), port=None, data=data)


def _and_more(text: Text, others: int) -> Text:
    more = f"; the same for {others} other ports"
    return text + more if isinstance(text, str) else (*text, more)


def _story(event: Event) -> str:
    """The text without the port that it is about."""
    if isinstance(event.text, str):
        return event.text.replace(str(event.data.get("name")), "")
    return "".join(part for part in event.text if not isinstance(part, PortNumber))
