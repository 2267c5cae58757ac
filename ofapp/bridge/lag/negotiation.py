"""LACP on one aggregation of a bridge: its actor follows the members that are present.

The actor knows ports by number, so its events get the members' names here.  Its frames wait until
the aggregation's flows are in force (`Aggregations`): an LACPDU may promise that the member
collects, and then its partner sends at once.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Self

from ofapp.bridge.effects import SendFrame
from ofapp.bridge.event import Event, PortNumber
from ofapp.bridge.lag import lacp
from ofapp.bridge.lag.params import LagParams
from ofapp.bridge.ports.port import Port
from ofapp.bridge.stp import Link


class Negotiation:
    """The actor of one aggregation.  events, frames: produced since they were last taken."""

    def __init__(
        self, actor: lacp.Actor, number: int, params: LagParams, names: Mapping[int, str]
    ) -> None:
        """number: number of the logical port; names: names of the members that the actor knows
        already."""
        self.actor = actor
        self._params = params
        self.events: list[Event] = []
        self.frames: list[SendFrame] = []
        self._number = number
        self._names = dict(names)
        self._links: dict[int, Link] = {}
        self._revision = actor.revision

    @classmethod
    def revive(cls, name: str, number: int, params: LagParams, data: Any) -> Self:
        """Restore a dump; ValueError when it does not fit."""
        try:
            names = {int(port): str(named) for port, named in data["names"]}
            actor = lacp.revive(name, params, number, data["actor"])
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"not a dump of LACP: {error!r}") from error
        if {*names} != {*actor.members}:
            raise ValueError("its members and their names are not the same")
        return cls(actor, number, params, names)

    def dump(self) -> dict[str, Any]:
        """The actor and its members' names as JSON-serialisable data."""
        return {"names": [*self._names.items()], "actor": lacp.dump(self.actor)}

    def moved(self) -> bool:
        """Whether a dump would differ from that at the last call."""
        before, self._revision = self._revision, self.actor.revision
        return before != self._revision

    def follow(self, members: Iterable[tuple[Port, bool]], complete: bool, now: float) -> None:
        """Set the members and whether each may carry traffic; complete: there are no others."""
        there = {port.number: (port, usable) for port, usable in members}
        for number, name in [*self._names.items()]:
            if number in there and there[number][0].name == name:
                continue
            if number in there or complete:
                self._take(self.actor.remove(number, now))
                del self._names[number]
                self._links.pop(number, None)
        for number, (port, usable) in there.items():
            link = Link(usable, port.speed_mbps, port.full_duplex)
            if number not in self._names:
                if number > lacp.MAX_PORT:
                    continue
                self._names[number] = port.name
                self._take(self.actor.add(number, port.mac, link, now))
            elif self._links.get(number) != link:
                self._take(self.actor.set_link(number, link, now))
            self._links[number] = link

    def set_params(self, params: LagParams, now: float) -> None:
        """Administer the aggregation."""
        if params != self._params:
            self._params = params
            self._take(self.actor.set_params(params, now))

    def hear(self, port: int, frame: bytes, now: float) -> None:
        """Handle a Slow Protocols frame of a member."""
        self._take(self.actor.receive(port, frame, now))

    def tick(self, now: float) -> None:
        """Let time pass."""
        self._take(self.actor.tick(now))

    def go_on(self, now: float) -> None:
        """Run again after an absence: see `lacp.absence`."""
        self._take(self.actor.go_on(now))

    def send_last(self, now: float) -> None:
        """Send the state of all members before a time of silence."""
        self._take(self.actor.send_last(now))

    def last_frames(self) -> list[SendFrame]:
        """The LACPDUs that were sent last, to be repeated."""
        return [_frame(pdu) for pdu in self.actor.last_pdus()]

    def end(self, now: float) -> list[SendFrame]:
        """Remove all members; gives the last frames for the partner."""
        self.follow((), complete=True, now=now)
        return self.take_frames()

    def take_events(self) -> list[Event]:
        """Return and clear the pending events."""
        events, self.events = self.events, []
        return events

    def take_frames(self) -> list[SendFrame]:
        """Return and clear the pending frames."""
        frames, self.frames = self.frames, []
        return frames

    def _take(self, effects: Iterable[lacp.Effect]) -> None:
        """Keep frames and events; what members do is read from the actor."""
        for effect in effects:
            if isinstance(effect, lacp.SendPdu):
                self.frames.append(_frame(effect))
            elif isinstance(effect, Event):
                self.events.append(self._worded(effect))

    def _worded(self, event: Event) -> Event:
        """The event as one of the logical port, with the member's name."""
        assert event.port is not None
        name = self._names[event.port]
        parts = (event.text,) if isinstance(event.text, str) else event.text
        text = "".join(f"member {name}" if isinstance(p, PortNumber) else p for p in parts)
        data = {**event.data, "member": name}
        return replace(event, text=text, port=self._number, data=data)


def _frame(pdu: lacp.SendPdu) -> SendFrame:
    return SendFrame(frozenset({pdu.port}), pdu.frame)
