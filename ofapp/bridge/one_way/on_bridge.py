"""One-way links on a bridge: which ports of the switch are held, and until when.

The end of a link that hears its neighbour finds the fault; the other end hears nothing, and cannot.
Both are closed if both are of this controller: a static aggregation, or a partner by LACP that is
slow to notice, would go on sending into the closed port.

A held port opens when its neighbour hears it again, when its link goes down, when `one_way` is set
otherwise at either end, or by a request; the other end follows.  An end that opens alone is closed
again while the link is one-way.  A port stays closed while nothing is heard: the neighbour's
controller may be stopped, and the link may still be one-way.  Held ports outlive the controller.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from ofapp.bridge.effects import CheckedLink, Effect, FarEnd, PutSwitchPorts, StateChanged
from ofapp.bridge.event import PortNumber
from ofapp.bridge.fdb.pace import EventPace
from ofapp.bridge.lldp.on_bridge import local_of
from ofapp.bridge.one_way.events import (
    ONE_WAY_FREED,
    ONE_WAY_HELD,
    ONE_WAY_SUSPECTED,
    ONE_WAY_SUSPECTED_CLEARED,
)
from ofapp.bridge.one_way.problems import OneWayLink, in_words, problems
from ofapp.bridge.ports.port import Port
from ofapp.bridge.problem import Problem
from ofapp.bridge.protocol import Protocol
from ofapp.bridge.state import BridgeState
from ofapp.common.portions import AT_ONCE, Portions

EVENTS, PERIOD = 4, 60.0
"""Most events about suspected links of a port, in so many seconds.  A neighbour that is not
authenticated can cause them, and must not keep those of other ports back."""


class OneWayLinks(Protocol[None]):
    """The one-way links of a bridge, by numbers of the switch's ports."""

    name = "one_way"
    on_switch_ports = True

    def __init__(self, state: BridgeState) -> None:
        super().__init__(state)
        self._ports: dict[int, Port] = {}
        self._links: dict[int, OneWayLink] = {}
        self._paces: defaultdict[int, EventPace] = defaultdict(lambda: EventPace(EVENTS, PERIOD))
        self.counters: Counter[str] = Counter(held=0, suspected=0)

    # Ports

    def put_ports(self, ports: Sequence[Port], now: float) -> list[Effect]:
        """Take new and changed ports.

        A port is not held if its link is down, if it is another one, or if `one_way` was set
        otherwise while the controller was stopped.
        """
        effects: list[Effect] = []
        for port in ports:
            new = port.number not in self._ports
            self._ports[port.number] = replace(port, one_way=False)
            link = self._links.get(port.number)
            if link is not None and link.name != port.name:
                effects += self._drop(port.number)
            elif link is not None and not port.up:
                effects += self._end(port.number, "its link is down", now)
            elif link is not None and new and not self._may_hold(port):
                effects += self._end(port.number, "`one_way` is not `hold` there", now)
        return effects

    def _may_hold(self, port: Port) -> bool:
        """Whether LLDP runs on a port, and is set to hold it."""
        local = local_of(self._state.params, port)
        return local is not None and local.one_way == "hold"

    def remove_ports(self, numbers: Sequence[int], now: float) -> list[Effect]:
        """Forget ports that are gone."""
        effects: list[Effect] = []
        for number in numbers:
            if number in self._links:
                effects += self._drop(number)
            self._ports.pop(number, None)
            self._paces.pop(number, None)
        return effects

    # What LLDP finds

    def check(self, notice: CheckedLink, now: float) -> list[Effect]:
        """Hold a port whose link is one-way, or free it."""
        number, finding = notice.port, notice.finding
        port, known = self._ports.get(number), self._links.get(number)
        if finding is None:
            free = known is not None and (notice.proven or not known.held)
            return self._end(number, notice.reason, now) if free else []
        if known is not None and known.held:
            if finding.declines and known.found:
                return self._end(number, "`one_way` of its neighbour is not `hold`", now)
            return self._involve(number, known, closes=True) if finding.holds else []
        if port is None or not port.up:
            return []
        link = OneWayLink(port.name, finding.name, finding.far, finding.holds)
        if known == link:
            return []
        if link.held:
            return self._hold(number, link)
        self._links[number] = link
        self.counters["suspected"] += 1
        if not self._paces[number].take(now):
            return []
        data = {"neighbour": link.neighbour}
        return [ONE_WAY_SUSPECTED.event(in_words(number, link), number, data)]

    def follow(self, notice: FarEnd, name: str, now: float) -> list[Effect]:
        """Hold or free the port at the other end of a link.  name: its neighbour's, in words."""
        number = notice.far[1]
        port, known = self._ports.get(number), self._links.get(number)
        if not notice.closes:
            ours = known is not None and known.far == notice.near and not known.found
            return self._end(number, "its neighbour is heard again", now) if ours else []
        if port is None or not port.up or (known is not None and known.held):
            return []
        return self._hold(number, OneWayLink(port.name, name, notice.near, True, found=False))

    def free(self, number: int, reason: str, now: float) -> list[Effect]:
        """Free a port that is held; nothing for another port."""
        link = self._links.get(number)
        return [] if link is None or not link.held else self._end(number, reason, now)

    def _hold(self, number: int, link: OneWayLink) -> list[Effect]:
        self._links[number] = link
        self.counters["held"] += 1
        self._state.one_way[number] = link.name
        data = {"neighbour": link.neighbour, "found": link.found}
        return [
            ONE_WAY_HELD.event(in_words(number, link), number, data),
            *(StateChanged(self.name), PutSwitchPorts((self._ports[number],))),
            *self._involve(number, link, closes=True),
        ]

    def _end(self, number: int, reason: str, now: float) -> list[Effect]:
        """End the hold of a port, or the suspicion."""
        link = self._links[number]
        if not link.held:
            del self._links[number]
            text = PortNumber(number), f": no one-way link is suspected any more: {reason}"
            event = ONE_WAY_SUSPECTED_CLEARED.event(text, number, {"reason": reason})
            return [event] if self._paces[number].take(now) else []
        text = PortNumber(number), f" is no longer held as one-way: {reason}"
        event = ONE_WAY_FREED.event(text, number, {"reason": reason})
        return [event, *self._drop(number), PutSwitchPorts((self._ports[number],))]

    def _drop(self, number: int) -> list[Effect]:
        link = self._links.pop(number)
        if not link.held:
            return []
        del self._state.one_way[number]
        return [StateChanged(self.name), *self._involve(number, link, closes=False)]

    def _involve(self, number: int, link: OneWayLink, closes: bool) -> list[Effect]:
        """Have the other end follow, if this end has found the fault."""
        if link.far is None or not link.found:
            return []
        return [FarEnd(link.far, (self._state.datapath_id, number), closes)]

    # Values

    def status(self, now: float) -> dict[int, OneWayLink]:
        """The one-way links by the number of the port, of ports that are there."""
        return {port: link for port, link in sorted(self._links.items()) if port in self._ports}

    def held(self, number: int) -> OneWayLink | None:
        """The link of a port that is held."""
        link = self._links.get(number)
        return link if link is not None and link.held else None

    def problems(self, now: float) -> Iterator[Problem]:
        """Links that are one-way."""
        return problems(self.status(now).items())

    def dump(self, portions: Portions = AT_ONCE) -> dict[str, Any] | None:
        """The ports that are held."""
        return {
            "held": [
                {
                    **{"port": port, "name": link.name, "neighbour": link.neighbour},
                    **{"far": link.far, "found": link.found},
                }
                for port, link in self._links.items()
                if link.held
            ]
        }

    def restore(self, data: Any) -> list[str]:
        """Restore held ports, which stay closed.  Raises ValueError."""
        try:
            for one in data["held"]:
                far = None if one["far"] is None else (int(one["far"][0]), int(one["far"][1]))
                about = str(one["name"]), str(one["neighbour"]), far
                link = OneWayLink(*about, held=True, found=bool(one["found"]))
                self._links[int(one["port"])] = link
                self._state.one_way[int(one["port"])] = link.name
        except (KeyError, TypeError, IndexError, AttributeError, OverflowError) as error:
            raise ValueError(f"not the ports that are held: {error!r}") from error
        return []
