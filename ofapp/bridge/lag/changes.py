"""Effects of a change of the switch's ports on its aggregations, in the order that is safe."""

from dataclasses import dataclass, field

from ofapp.bridge.effects import Barrier, Effect, PutPorts, RemovePorts, StateChanged
from ofapp.bridge.event import Event
from ofapp.bridge.lag.aggregation import Aggregation, AggregationMember
from ofapp.bridge.lag.events import LAG_MEMBER_DOWN, LAG_MEMBER_UP
from ofapp.bridge.pausable import PausableTime
from ofapp.bridge.ports.port import Port


@dataclass(slots=True)
class Changes:
    """Effects of a change of the switch's ports, which are collected in any order.

    about: those of the aggregations themselves; gone: numbers of ports that the bridge loses, if it
    had them; ports: those that are new or have changed; frames: for the partners, which are sent
    when the datapath has all of this.
    """

    about: list[Effect] = field(default_factory=list)
    gone: list[int] = field(default_factory=list)
    ports: list[Port] = field(default_factory=list)
    frames: list[Effect] = field(default_factory=list)

    def effects(self) -> list[Effect]:
        """All of them, in the order in which they must happen."""
        effects = self.about
        if self.gone:
            effects = [*effects, RemovePorts(tuple(self.gone))]
        if self.ports:
            effects = [*effects, PutPorts(tuple(self.ports))]
        return effects + self.frames

    def decide(self, lag: Aggregation, address: int, clock: PausableTime, now: float) -> None:
        """Decide which members an aggregation uses, and collect what follows.

        address: the bridge's own, for LACP; clock: LACP's time.
        """
        negotiated = lag.negotiation is not None
        self.frames += lag.negotiate(address, clock.at(now))
        if negotiated and lag.negotiation is None:
            self.about.append(StateChanged("lacp"))
        for member, used in lag.decide(now, clock):
            self.about.append(_member_event(lag, member, used))
        desired, port = lag.desired(), lag.logical()
        opened = {*desired.collecting} - {*lag.programmed.collecting}
        if desired != lag.programmed:
            lag.programmed = desired
            self.about.append(desired)
        self._negotiated(lag, bool(opened), clock.runs)
        if port is None and lag.reported is not None:
            self.gone.append(lag.number)
        elif port is not None and port != lag.reported:
            self.ports.append(port)
        lag.reported = port

    def _negotiated(self, lag: Aggregation, opened: bool, runs: bool) -> None:
        """Collect the events and frames of LACP; opened: an LACPDU may say that a member collects,
        so the switch has to collect before."""
        if lag.negotiation is None:
            return
        self.about += lag.negotiation.take_events()
        if lag.negotiation.moved():
            self.about.append(StateChanged("lacp"))
        frames = lag.negotiation.take_frames()
        if frames and runs:  # else it is sent after `go_on`
            self.frames += [Barrier(), *frames] if opened else frames


def _member_event(lag: Aggregation, member: AggregationMember, used: bool) -> Event:
    name, links = member.port.name, sum(m.distributing for m in lag.members.values())
    what = "carries traffic" if used else "carries no traffic any more"
    text = f"member {name} of {lag.name} {what}: {links} of {len(lag.params.members)} do"
    data = {"lag": lag.name, "member": name, "links": links}
    return (LAG_MEMBER_UP if used else LAG_MEMBER_DOWN).event(text, lag.number, data)
