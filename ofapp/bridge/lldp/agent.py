"""The LLDP agent of one port (802.1AB-2016 clause 9): sent frames, neighbours and events.

In the standard a neighbour is remembered until its TTL expires. Here those of a port whose link
goes down are forgotten at once: a cable that is pulled is no link on a map.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from ofapp.bridge.effects import Effect, SendFrame
from ofapp.bridge.event import Event, EventKind
from ofapp.bridge.fdb.pace import EventPace
from ofapp.bridge.lldp import pdu
from ofapp.bridge.lldp.events import (
    LLDP_FORGED,
    LLDP_LIMIT,
    LLDP_LIMIT_CLEARED,
    LLDP_NEIGHBOUR,
    LLDP_NEIGHBOUR_CHANGED,
    LLDP_NEIGHBOUR_GONE,
)
from ofapp.bridge.lldp.information import Local, System
from ofapp.bridge.lldp.own import OUI, Doubt, OwnAgents, Sender
from ofapp.bridge.lldp.receive import Neighbour, Receiver
from ofapp.bridge.lldp.transmit import Transmitter

MAX_EVENTS, EVENT_PERIOD = 10, 60.0
"""Most events of one port about its neighbours, in so many seconds; the others are counted."""
COUNTED = (
    *("sent", "received", "discarded", "errors", "tlvs_discarded", "tlvs_unrecognized"),
    *("ageouts", "too_many", "forged", "stale", "untold"),
)
"""Counters: those of 9.2.6, but for the last four."""
_WORDS = 64


class Agent:
    """The agent of one port; a bridge may have thousands.

    wake: when `tick` is due; counted: number of neighbours as `Agents` last counted it.
    """

    __slots__ = (
        "_event_pace",
        "_own",
        "_pdu",
        "_receiver",
        "_system",
        "_transmitter",
        "counted",
        "counters",
        "local",
        "wake",
    )

    def __init__(self, system: System, local: Local, own: OwnAgents, begin: float) -> None:
        """begin: when the first frame is due."""
        self.local = local
        self.counters: Counter[str] = Counter(dict.fromkeys(COUNTED, 0))
        self.wake: float | None = None
        self.counted = 0
        self._system = system
        self._own = own
        self._receiver = Receiver()
        self._transmitter = Transmitter(system.interval, local.number, begin)
        self._event_pace = EventPace(MAX_EVENTS, EVENT_PERIOD)
        self._pdu = b""

    @property
    def sender(self) -> Sender:
        """Its identity towards other bridges of this controller."""
        return Sender(self._system.datapath_id, self.local.number)

    def neighbours(self, now: float) -> list[Neighbour]:
        """Neighbours whose TTL has not expired."""
        known = self._receiver.neighbours.values()
        return [neighbour for neighbour in known if neighbour.expires > now]

    def sent(self) -> tuple[int, ...]:
        """The serial numbers of its last frames."""
        return self._own.sent(self.sender)

    def crowded(self) -> bool:
        """Whether there are too many neighbours."""
        return self._receiver.crowded_until is not None

    def known(self) -> int:
        """Number of remembered neighbours."""
        return len(self._receiver.neighbours)

    # What happens

    def follow(self, system: System, local: Local, now: float) -> list[Effect]:
        """Handle changed values of the port or the bridge."""
        if (system, local) == (self._system, self.local):
            return []
        was, self._system, self.local, self._pdu = self.local, system, local, b""
        self._transmitter.interval = system.interval
        if local.up and not was.up:
            self._transmitter.restart(now)
        elif local.up:
            self._transmitter.changed()
        else:
            return self.end(now)
        return []

    def restart(self, now: float) -> None:
        """Send again after the switch has reconnected; neighbours expire as usual."""
        self._transmitter.restart(now)

    def shut(self, now: float) -> list[Effect]:
        """Stop, and send the neighbours a shutdown LLDPDU (9.1.2.2)."""
        if not self.local.up:
            return self.end(now)
        return [*self.end(now), self._send(pdu.shutdown(self._system, self.local))]

    def end(self, now: float) -> list[Effect]:
        """Forget the neighbours of a port that is gone, and the serials of what it has sent."""
        self._own.leave(self.sender)
        gone = self._receiver.clear()
        return self._gone_events(gone, "LLDP is off there or the link is down", now) if gone else []

    def hear(self, frame: bytes, room: bool, now: float) -> list[Effect]:
        """Handle a frame to the nearest bridge; room: one more neighbour can be remembered."""
        self.counters["received"] += 1
        if not self.local.up:
            return []
        try:
            heard = pdu.decode(frame, OUI, self.counters)
        except pdu.PduError:
            return []
        said, sender = heard.information, None
        if not said.ttl:
            gone = self._receiver.forget(said.identity)
            return [] if gone is None else self._gone_events([gone], "it sent a shutdown", now)
        if heard.proof is not None:
            match = self._own.recognise(heard.proof, heard.covered)
            if isinstance(match, Doubt):
                self.counters[match.value] += 1
                return self._forged_events(now) if match is Doubt.FORGED else []
            sender = match
        if sender == self.sender:
            return []
        crowded = self.crowded()
        before, known = self._receiver.hear(said, sender, room, now)
        if known is None:
            return self._refuse(crowded)
        if before is None:
            self._transmitter.new_neighbour()
            return self._neighbour_event(LLDP_NEIGHBOUR, "is there", known, now)
        if before.information != said:
            return self._neighbour_event(LLDP_NEIGHBOUR_CHANGED, "says something else", known, now)
        return []

    def tick(self, now: float) -> list[Effect]:
        """Let time pass; due at `due`."""
        receiver = self._receiver
        gone = receiver.expire(now)
        self.counters["ageouts"] += len(gone)
        effects = self._gone_events(gone, "it is not heard any more", now) if gone else []
        if receiver.crowded_until is not None and receiver.crowded_until <= now:
            receiver.crowded_until = None
            text = "there is room for all LLDP neighbours again"
            effects.append(self._event(LLDP_LIMIT_CLEARED, text))
        if self.local.up and self._transmitter.take(now):
            self._pdu = self._pdu or pdu.encode(self._system, self.local)
            self.counters["sent"] += 1
            effects.append(self._send(self._pdu + self._own.seal(self.sender, self._pdu)))
        return effects

    def due(self) -> float | None:
        """When `tick` is due."""
        due = [self._receiver.due()]
        if self.local.up:
            due.append(self._transmitter.due())
        return min((instant for instant in due if instant is not None), default=None)

    # Inside

    def _send(self, octets: bytes) -> SendFrame:
        return SendFrame(frozenset({self.local.number}), pdu.frame(self.local, octets))

    def _refuse(self, reported: bool) -> list[Effect]:
        self.counters["too_many"] += 1
        text = "there are more LLDP neighbours than there is room for"
        return [] if reported else [self._event(LLDP_LIMIT, text)]

    def _forged_events(self, now: float) -> list[Effect]:
        text = "a host there impersonates a bridge of this controller"
        return self._limited(self._event(LLDP_FORGED, text), now)

    def _gone_events(self, gone: Iterable[Neighbour], why: str, now: float) -> list[Effect]:
        effects: list[Effect] = []
        for known in gone:
            effects += self._neighbour_event(LLDP_NEIGHBOUR_GONE, f"is gone: {why}", known, now)
        return effects

    def _neighbour_event(
        self, kind: EventKind, what: str, known: Neighbour, now: float
    ) -> list[Effect]:
        said = known.information
        chassis, port = said.chassis.spoken("chassis"), said.port.spoken("port")
        name = said.system_name or chassis
        data = {"chassis_id": chassis, "port_id": port, "system_name": said.system_name}
        text = f"LLDP neighbour {name[:_WORDS]} {what}"
        return self._limited(self._event(kind, text, data=data), now)

    def _event(
        self,
        kind: EventKind,
        text: str,
        data: Mapping[str, object] = MappingProxyType({}),
    ) -> Event:
        """An event of the switch's port, which the bridge may know only as a member of a LAG."""
        name, number = self.local.name, self.local.number
        return kind.event(f"port {name} ({number}): {text}", number, {"name": name, **data})

    def _limited(self, event: Event, now: float) -> list[Effect]:
        if self._event_pace.take(now):
            return [event]
        self.counters["untold"] += 1
        return []
