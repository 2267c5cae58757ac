"""The LLDP agent of one port (802.1AB-2016 clause 9): sent frames, neighbours and events.

In the standard a neighbour is remembered until its TTL expires. Here those of a port whose link
goes down are forgotten at once: a cable that is pulled is no link on a map.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from ofapp.bridge.effects import CheckedLink, Effect, SendFrame
from ofapp.bridge.effects.notices import OneWay
from ofapp.bridge.event import Event, EventKind
from ofapp.bridge.fdb.pace import EventPace
from ofapp.bridge.lldp import hearing, pdu
from ofapp.bridge.lldp.events import (
    LLDP_FORGED,
    LLDP_LIMIT,
    LLDP_LIMIT_CLEARED,
    LLDP_NEIGHBOUR,
    LLDP_NEIGHBOUR_CHANGED,
    LLDP_NEIGHBOUR_GONE,
)
from ofapp.bridge.lldp.hearing import Hearing, Listing
from ofapp.bridge.lldp.information import Identifier, Local, System
from ofapp.bridge.lldp.own import OUI, Doubt, OwnAgents, Relative, Sender
from ofapp.bridge.lldp.receive import Neighbour, Receiver
from ofapp.bridge.lldp.transmit import Transmitter

MAX_EVENTS, EVENT_PERIOD = 10, 60.0
"""Most events of one port about its neighbours, in so many seconds; the others are counted."""
COUNTED = (
    *("sent", "received", "discarded", "errors", "tlvs_discarded", "tlvs_unrecognized"),
    *("ageouts", "too_many", "forged", "stale", "untold", "unheard"),
)
"""Counters: those of 9.2.6, but for the last five."""
RETURNED = 2.5
"""Intervals of sending for which a frame that came back counts."""
_WORDS = 64


class Agent:
    """The agent of one port; a bridge may have thousands.

    counted: number of neighbours as `Agents` last counted it.
    returned: when a frame came back by the port that it left by; None: none did.
    """

    __slots__ = (
        "_event_pace",
        "_hearing",
        "_leaves",
        "_listed",
        "_one_way",
        "_own",
        "_pdu",
        "_receiver",
        "_system",
        "_transmitter",
        "counted",
        "counters",
        "local",
        "returned",
    )

    def __init__(self, system: System, local: Local, own: OwnAgents, begin: float) -> None:
        """begin: when the first frame is due."""
        self.local = local
        self.counters: Counter[str] = Counter(dict.fromkeys(COUNTED, 0))
        self.counted = 0
        self.returned: float | None = None
        self._system = system
        self._own = own
        self._receiver = Receiver()
        self._hearing = Hearing()
        self._listed: frozenset[bytes] = frozenset()
        self._leaves: float | None = None  # when a neighbour leaves the list
        self._one_way: bool | None = None  # as last reported; None: unknown
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

    def chassis(self) -> Identifier | None:
        """The chassis ID that all remembered neighbours have; None without one."""
        known = {each.information.chassis for each in self._receiver.neighbours.values()}
        return known.pop() if len(known) == 1 else None

    def leads_to_own(self) -> bool:
        """Whether the port is a link, or another bridge of this controller has proven itself."""
        senders = (known.sender for known in self._receiver.neighbours.values())
        own = (each.sender if isinstance(each, Relative) else each for each in senders if each)
        here = self._system.datapath_id
        return self.local.link or any(sender.datapath_id != here for sender in own)

    def heard(self) -> bool | None:
        """Whether a neighbour hears the port; None while that is not known."""
        return None if self._one_way is None else not self._one_way

    def known(self) -> int:
        """Number of remembered neighbours."""
        return len(self._receiver.neighbours)

    def heard_own(self, now: float) -> Iterator[tuple[int, int]]:
        """The ports of this bridge whose frames are heard here, each with this one's number."""
        number, life = self.local.number, self._system.interval * RETURNED
        if self.returned is not None and now - self.returned < life:
            yield number, number
        for each in self.neighbours(now):
            if isinstance(each.sender, Sender) and each.sender[0] == self._system.datapath_id:
                yield each.sender.port, number

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
        if local.one_way == was.one_way:
            return []
        self._hearing = Hearing()
        return self._clear(f"`one_way` is `{local.one_way}` there now")

    def restart(self, now: float) -> None:
        """Send again after the switch has reconnected; neighbours expire as usual."""
        self._transmitter.restart(now)
        self._hearing.restart()

    def shut(self, now: float) -> list[Effect]:
        """Stop, and send the neighbours a shutdown LLDPDU (9.1.2.2)."""
        if not self.local.up:
            return self.end(now)
        last = self._send(pdu.shutdown(self._system, self.local))
        return [*self.end(now), *self._clear("LLDP is off there"), last]

    def end(self, now: float) -> list[Effect]:
        """Forget the neighbours of a port that is gone, and the serials of what it has sent."""
        self._own.leave(self.sender)
        self.returned = None
        gone = self._receiver.clear()
        self._hearing, self._listed, self._one_way = Hearing(), frozenset(), None
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
            return [] if gone is None else self._left([gone], "it sent a shutdown", now)
        serial = 0
        if heard.proof is not None:
            match = self._own.recognise(heard.proof, heard.covered)
            if isinstance(match, Doubt):
                self.counters[match.value] += 1
                return self._forged_events(now) if match is Doubt.FORGED else []
            sender = match
            serial = 0 if match is None else self._own.serial_of(heard.proof)
        if sender == self.sender:
            self.returned = now
            return []
        crowded = self.crowded()
        before, known = self._receiver.hear(said, sender, room, now)
        if known is None:
            return self._refuse(crowded)
        effects = self._check(known, serial, heard.listing, now)
        if before is None:
            self._transmitter.new_neighbour()
            effects += self._neighbour_event(LLDP_NEIGHBOUR, "is there", known, now)
        elif before.information != said:
            effects += self._neighbour_event(
                LLDP_NEIGHBOUR_CHANGED, "says something else", known, now
            )
        return effects

    def tick(self, now: float) -> list[Effect]:
        """Let time pass; due at `due`."""
        receiver = self._receiver
        gone = receiver.expire(now)
        self.counters["ageouts"] += len(gone)
        effects = self._left(gone, "it is not heard any more", now) if gone else []
        if receiver.crowded_until is not None and receiver.crowded_until <= now:
            receiver.crowded_until = None
            text = "there is room for all LLDP neighbours again"
            effects.append(self._event(LLDP_LIMIT_CLEARED, text))
        self._list(now)
        if self.local.up and self._transmitter.take(now):
            self._pdu = self._pdu or pdu.encode(self._system, self.local)
            self.counters["sent"] += 1
            self._hearing.sent(now)
            octets = self._pdu + self._listing()
            effects.append(self._send(octets + self._own.seal(self.sender, octets)))
        return effects

    def due(self) -> float | None:
        """When `tick` is due."""
        due = [self._receiver.due(), self._leaves]
        if self.local.up:
            due.append(self._transmitter.due())
        return min((instant for instant in due if instant is not None), default=None)

    # One-way links

    def _check(
        self, known: Neighbour, serial: int, listing: bytes | None, now: float
    ) -> list[Effect]:
        """Find out by the list of a neighbour whether it hears the port.

        serial: serial number of a proven frame, else 0.
        """
        said = known.information
        value = None if listing is None else hearing.read(listing)
        if value is None or self.local.one_way == "off":
            left = self._hearing.leave(said.identity, serial)
            return self._clear("its neighbour checks the link no more") if left else []
        own = hearing.name_of(pdu.identity(self._system, self.local))
        asked = self._hearing.missing
        hears = self._hearing.take(said.identity, serial, own in value.names, now)
        if self._hearing.missing and not asked:
            self._transmitter.new_neighbour()
            self._transmitter.changed()
        self._list(now)
        if hears:
            news = self._one_way is not False
            if not serial:
                news = bool(self._one_way) and not self._hearing.missing
            return self._clear("its neighbour hears it", serial > 0) if news else []
        if hears is None:
            return []
        self.counters["unheard"] += 1
        self._one_way = True
        return [CheckedLink(self.local.number, self._finding(known, value))]

    def _finding(self, known: Neighbour, listing: Listing) -> OneWay:
        said, sender = known.information, known.sender
        heard = self._hearing.heard(said.identity)
        if isinstance(sender, Relative):
            # Whether its frame is fresh is not known, so a list must have named the port before.
            proven, sender = heard, sender.sender
        else:
            proven = sender is not None
        holds = proven and listing.may_close and self.local.one_way == "hold"
        port, system = said.port.spoken("port")[:_WORDS], said.system_name or ""
        name = f"port {port} of {system[:_WORDS] or said.chassis.spoken('chassis')[:_WORDS]}"
        return OneWay(name, sender, holds, declines=proven and not listing.may_close)

    def _clear(self, reason: str, proven: bool = True) -> list[Effect]:
        """Report that the link is not one-way; proven: a closed port may open."""
        self._one_way = False if proven else None
        return [CheckedLink(self.local.number, None, reason, proven)]

    def _left(self, gone: Iterable[Neighbour], why: str, now: float) -> list[Effect]:
        """Report neighbours that are gone, and that no list leaves the port out any more."""
        for known in gone:
            self._hearing.forget(known.information.identity)
        effects = self._gone_events(gone, why, now)
        if self._one_way and not self._hearing.missing:
            effects += self._clear("its neighbour is gone", proven=False)
        return effects

    def _list(self, now: float) -> None:
        """Send soon if the port hears other neighbours than it has said."""
        neighbours = self._receiver.neighbours.values()
        listed = self._hearing.listed(neighbours, now)
        self._leaves = self._hearing.due(neighbours, now)
        if listed != self._listed:
            if not listed and not self._one_way:
                self._one_way = None
            self._listed = listed
            self._transmitter.new_neighbour()
            self._transmitter.changed()

    def _listing(self) -> bytes:
        """The list of neighbours that are heard; nothing while there are too many."""
        if self.local.one_way == "off" or self.crowded():
            return b""
        return hearing.write(Listing(self.local.one_way == "hold", self._listed))

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
