"""Loop protection on a bridge: which ports send, and which port is held when a frame comes back.

A port sends while it is an edge port: no other bridge is known behind it, it is no uplink
(`trust: uplink`) and no aggregation.  Of two edge ports that are the ends of a loop the one with
the higher number is held, so both directions lead to the same port; of an edge port and another
one, the edge port.  A port that spanning tree blocks is the end of no loop.

A host can send what it hears: a frame that it copies within LATE intervals passes for one that came
back.  So it can have its own port held.  To have another port held it needs that port's frames, so
it must be behind that port as well, where it could make a loop.

A loop through several bridges of this controller is ended by one of them (`sent`).  Bridges of
different controllers, or of members of a cluster, may each close a port; when their first time is
over one port opens, and the other stays closed.

A frame that comes back in another VLAN is counted and holds nothing: a transparent firewall joins
two VLANs.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ofapp.bridge.effects import Effect, SendFrame, StateChanged
from ofapp.bridge.effects.content import PortState
from ofapp.bridge.event import PortNumber
from ofapp.bridge.lldp.own import OwnAgents
from ofapp.bridge.loop_protect.events import LOOP_FREED, LOOP_HELD
from ofapp.bridge.loop_protect.frame import LoopFrame, LoopFrames, Refusal, destination
from ofapp.bridge.loop_protect.holds import Held, Holds, LatestHolds
from ofapp.bridge.loop_protect.params import BridgeParams as LoopParams
from ofapp.bridge.loop_protect.problems import loop_between, problems
from ofapp.bridge.loop_protect.sent import SentFrames
from ofapp.bridge.params.params import BridgeParams
from ofapp.bridge.pausable import PausableTime
from ofapp.bridge.ports.port import LOCAL_PORT, Port
from ofapp.bridge.problem import Problem
from ofapp.bridge.protocol import Protocol, Reconfigured
from ofapp.bridge.state import BridgeState
from ofapp.common.portions import AT_ONCE, Portions

LATE = 8
"""Intervals after which a frame that comes back does not count: in a storm it takes seconds."""
SLICES = 16
"""Most parts of the ports; each part sends at another time of the interval."""
MOST_VLANS = 8
"""Most tagged VLANs in which a port sends in one interval; the others follow in the next ones."""
AT_ONCE_MOST = 64
"""Most ports that send as soon as they open; where more open together, all wait for their part."""
COUNTED = ("sent", "returned", "held", "blocked", "other_vlan", "stale", "outdated")
"""Counters, beside those of `Refusal`."""


@dataclass(frozen=True, slots=True)
class PortProtection:
    """Loop protection of a port.  left: seconds until a held port opens."""

    number: int
    name: str
    sends: bool
    held: Held | None = None
    left: float | None = None


class LoopProtection(Protocol[LoopParams]):
    """Loop protection of a bridge's ports."""

    name = "loop_protect"
    hears = ("loop_protect",)

    def __init__(self, state: BridgeState) -> None:
        super().__init__(state)
        self._frames = LoopFrames(state.datapath_id, state.shared.of(OwnAgents))
        self._holds = Holds()
        self._latest = state.shared.of(LatestHolds)
        self._sent = SentFrames(LATE * SLICES)
        self._turn: Counter[int] = Counter()  # of a trunk's VLANs, by port
        self._slice, self._next = 0, 0.0
        self.counters: Counter[str] = Counter()

    # Ports

    def remove_ports(self, numbers: Sequence[int], now: float) -> list[Effect]:
        """Forget ports that are gone, and their holds."""
        held = [number for number in numbers if self._holds.get(number) is not None]
        for number in numbers:
            self._holds.forget(number)
            self._turn.pop(number, None)
            self._sent.forget(number)
        effects = [each for number in held for each in self._state.relay.free(number, self.name)]
        return [*effects, StateChanged(self.name)] if held else effects

    def retain(self, names: Mapping[int, str], now: float) -> list[Effect]:
        """Remove restored holds of ports that are no longer there."""
        gone = [number for number, held in self._holds if names.get(number) != held.name]
        return self.remove_ports(gone, now)

    def set_port_states(self, states: Mapping[int, tuple[bool, bool]], now: float) -> list[Effect]:
        """Send at once on ports that open."""
        opened = [number for number, (forwards, _) in states.items() if forwards]
        if not self.clock.runs or len(opened) > AT_ONCE_MOST:
            return []
        return [effect for number in opened for effect in self._send(number)]

    def set_params(self, change: Reconfigured, now: float) -> list[Effect]:
        """Free ports that are not protected any more."""
        self._next = self.clock.at(now)
        return self._free_due(self._next)

    # Frames and time

    def hear(self, kind: str, frames: Sequence[tuple[int, bytes]], now: float) -> list[Effect]:
        """Hold a port behind which there is a loop."""
        if self.params is None or not self.clock.runs:
            return []
        effects: list[Effect] = []
        for port, frame in frames:
            what, more = self._returned(port, frame, now)
            self.counters[what] += 1
            effects += more
        return effects

    def _returned(self, port: int, octets: bytes, now: float) -> tuple[str, list[Effect]]:
        """What a frame that a port has received is, as a counter's name, and what follows."""
        read = self._frames.read(octets)
        if isinstance(read, Refusal):
            return read.value, []
        assert self.params is not None
        (vid, frame), at = read, self.clock.at(now)
        if not self._sent.is_fresh(frame, at - LATE * self.params.interval):
            return "stale", []
        if self._state.port_policies.vlans(port).classify(vid) != frame.vid:
            return "other_vlan", []
        ends, states = {frame.port, port}, self._state.relay.states
        held = [end for end in ends if self._holds.get(end) is not None]
        for end in held:
            self._holds.extend(end, at)
        if held or any(states.get(end) is not PortState.FORWARDING for end in ends):
            return ("returned" if held else "blocked"), []
        edges = [end for end in ends if self._is_protected(end)]
        if not edges:
            return "returned", []
        begun = self._latest.others(self._state.datapath_id)
        if begun is not None and self._sent.is_outdated(frame, self.clock.then(begun)):
            return "outdated", []
        self._latest.note(self._state.datapath_id, now)
        return "returned", self._hold(max(edges), ends, frame.vid, at)

    def _hold(self, number: int, ends: set[int], vid: int, at: float) -> list[Effect]:
        params, port = self.params, self._state.ports.get(number)
        assert params is not None
        assert port is not None
        other = next(iter(ends - {number}), number)
        seconds = float(params.hold), float(max(params.hold, params.longest_hold))
        held = self._holds.begin(number, (port.name, other, vid), seconds, at)
        self.counters["held"] += 1
        text = (*loop_between(number, held), f"; held until none comes back for {held.seconds:g} s")
        data = {"other": other, "vlan": vid, "seconds": held.seconds, "times": held.times}
        event = LOOP_HELD.event(text, number, data)
        return [StateChanged(self.name), event, *self._state.relay.hold(number, self.name)]

    def tick(self, now: float) -> list[Effect]:
        """Free the ports whose time is over, and send on a part of the ports."""
        if not self.clock.runs:
            return []
        at = self.clock.at(now)
        effects = self._free_due(at)
        if self.params is None:
            return effects
        for number in self._sent.take_due(at):
            effects += self._send(number)
        if at < self._next:
            return effects
        ports = sorted(self._state.relay.states)
        parts = max(1, min(SLICES, len(ports)))
        self._slice = (self._slice + 1) % parts
        self._next = at + self.params.interval / parts
        self._sent.mark(at)
        for number in ports[self._slice :: parts]:
            effects += self._send(number)
        return effects

    def next_wakeup(self) -> float | None:
        """When `tick` is due; None while paused or off."""
        if self.params is None:
            return None
        ends = [held.until for _, held in self._holds if held.until is not None]
        return self.clock.due(min([self._next, *self._sent.due(), *ends]))

    def go_on(self, now: float) -> list[Effect]:
        """Run again; the frames that were sent before do not count."""
        self.clock.resume(now)
        self._sent.restart()
        return []

    # Sending

    def _send(self, number: int) -> list[Effect]:
        port = self._state.ports.get(number)
        if port is None or not self._is_protected(number):
            return []
        effects: list[Effect] = []
        for vid, tag in self._vlans(number):
            frame = self._frames.write(LoopFrame(number, vid, self._sent.next()), port.mac, tag)
            effects.append(SendFrame(frozenset({number}), frame))
        self.counters["sent"] += len(effects)
        return effects

    def _vlans(self, number: int) -> Iterator[tuple[int, bool]]:
        """The VLANs in which a port sends now, and whether each leaves with a tag."""
        policies = self._state.port_policies
        vlans = policies.vlans(number)
        if vlans.vids is None:
            yield 0, False
            return
        if vlans.pvid and vlans.pops(vlans.pvid):
            yield vlans.pvid, False
        if not vlans.tagged:
            return
        vids = sorted((vlans.vids - vlans.untagged) & policies.configured)
        first = self._turn[number] if len(vids) > MOST_VLANS else 0
        self._turn[number] = (first + MOST_VLANS) % max(len(vids), 1)
        for vid in (vids[first:] + vids[:first])[:MOST_VLANS]:
            yield vid, True

    def _is_protected(self, number: int) -> bool:
        """Whether the port is an edge port that loop protection may hold."""
        state, port = self._state, self._state.ports.get(number)
        if self.params is None or port is None or number == LOCAL_PORT:
            return False
        params = state.params.port(port.name, number)
        return (
            number in state.relay.states
            and number not in state.port_policies.aggregated
            and params.trust != "uplink"
            and params.loop_protect.enabled
            and state.is_edge(number)
        )

    # The ends of holds

    def free(self, number: int, reason: str, now: float) -> list[Effect]:
        """Free a port that is held; nothing for another port."""
        return self._free(number, reason, self.clock.at(now))

    def _free(self, number: int, reason: str, at: float) -> list[Effect]:
        if self._holds.get(number) is None:
            return []
        self._holds.end(number, at)
        text = PortNumber(number), f" is no longer held by loop protection: {reason}"
        event = LOOP_FREED.event(text, number, {"reason": reason})
        return [StateChanged(self.name), event, *self._state.relay.free(number, self.name)]

    def _free_due(self, at: float) -> list[Effect]:
        effects: list[Effect] = []
        for number, held in self._holds:
            up = number in self._state.relay.states
            if self.params is None:
                effects += self._free(number, "loop protection is off", at)
            elif up and not self._is_protected(number):
                effects += self._free(number, "it is no edge port any more", at)
            elif held.until is not None and held.until <= at:
                effects += self._free(number, f"no frame came back for {held.seconds:g} s", at)
        return effects

    # Values

    def status(self, now: float) -> tuple[PortProtection, ...] | None:
        """The protection of each port that sends or is held; None while off."""
        if self.params is None:
            return None
        at = self.clock.at(now)
        ports = sorted(self._state.ports, key=lambda port: port.number)
        known = (
            (port, self._is_protected(port.number), self._holds.get(port.number)) for port in ports
        )
        return tuple(
            PortProtection(
                *(port.number, port.name, sends, held),
                None if held is None or held.until is None else max(held.until - at, 0.0),
            )
            for port, sends, held in known
            if sends or held is not None
        )

    def held(self, port: int) -> Held | None:
        """The hold of a port."""
        return self._holds.get(port)

    def problems(self, now: float) -> Iterator[Problem]:
        """Ports that are held."""
        return problems(self._holds)

    def desired_port(self, port: Port, params: BridgeParams) -> int | None:
        """The destination of the bridge's frames, which every port takes; None while off."""
        return None if params.loop_protect is None else destination(self._state.datapath_id)

    def dump(self, portions: Portions = AT_ONCE) -> dict[str, Any] | None:
        """The ports that are held; None while off."""
        if self.params is None:
            return None
        return {"held": self._holds.dump()}

    def restore(self, data: Any) -> list[str]:
        """Restore held ports, which stay closed.  Raises ValueError."""
        if self.params is None:
            return []
        try:
            held = data["held"]
        except (KeyError, TypeError) as error:
            raise ValueError("not the ports that are held") from error
        self.clock = PausableTime(paused=0.0)
        self._holds.restore(held, 0.0)
        for number, _ in self._holds:
            self._state.relay.hold(number, self.name)
        return []
