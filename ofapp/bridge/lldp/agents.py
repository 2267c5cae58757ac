"""All LLDP agents of a bridge: one for each port of the switch on which LLDP runs.

They are the switch's own ports: a member of an aggregation speaks for itself, as its neighbour at
the other end of the cable does (802.1AX-2020 clause 6, figure 6-2).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice

from ofapp.bridge.effects import Effect, SetTrap
from ofapp.bridge.lldp.agent import Agent
from ofapp.bridge.lldp.information import Identifier, Information, Local, System
from ofapp.bridge.lldp.own import OwnAgents, Relative, Sender
from ofapp.bridge.lldp.transmit import REINIT_DELAY
from ofapp.common.deadlines import Deadlines


@dataclass(frozen=True, slots=True)
class NeighbourStatus:
    """A neighbour behind a port; what it says of itself is not authenticated.

    sender: the port of this controller, or of its cluster, that it has proven to be.
    since, seen: seconds ago; expires: seconds left.
    """

    said: Information
    sender: Sender | Relative | None
    since: float
    seen: float
    expires: float


@dataclass(frozen=True, slots=True)
class AgentStatus:
    """The LLDP agent of one port.

    number: OpenFlow's; of a member, not of its aggregation; link: see
    `PortParams`; crowded: there are more neighbours than are remembered; sent: serial numbers of
    its last frames.
    heard: whether its neighbours hear it, None while that is not known (`hearing`).
    """

    number: int
    name: str
    up: bool
    link: bool
    crowded: bool
    counters: Mapping[str, int]
    neighbours: tuple[NeighbourStatus, ...]
    sent: tuple[int, ...] = ()
    heard: bool | None = None


def agent_status(agent: Agent, now: float) -> AgentStatus:
    """The agent's status at `now`."""
    return AgentStatus(
        number=agent.local.number,
        name=agent.local.name,
        up=agent.local.up,
        link=agent.local.link,
        crowded=agent.crowded(),
        counters=dict(agent.counters),
        neighbours=tuple(
            NeighbourStatus(
                said=known.information,
                sender=known.sender,
                since=now - known.since,
                seen=now - known.seen,
                expires=known.expires - now,
            )
            for known in agent.neighbours(now)
        ),
        sent=agent.sent(),
        heard=agent.heard(),
    )


MOST = 1024
"""Neighbours of a bridge that are remembered, beyond the first one of each port."""
PORTION = 64
"""Agents that one call of `tick` handles; the others follow with the next."""


class Agents:
    """All agents of one bridge.

    inner: the ports that are marked as links, or with another bridge of this controller behind.
    """

    def __init__(self, own: OwnAgents) -> None:
        """own: for recognising frames of this controller's bridges."""
        self.inner: set[int] = set()
        self._own = own
        self._agents: dict[int, Agent] = {}
        self._system: System | None = None
        self._deadlines: Deadlines[int] = Deadlines()
        self._known = 0
        self._resting: dict[int, float] = {}
        self._away = False

    def __bool__(self) -> bool:
        return self._system is not None

    @property
    def ports(self) -> tuple[int, ...]:
        """The ports whose LLDP is heard."""
        return tuple(sorted(self._agents))

    def status(self, now: float) -> tuple[AgentStatus, ...]:
        """The status of each agent, by port number."""
        return tuple(agent_status(self._agents[port], now) for port in self.ports)

    def chassis(self, port: int) -> Identifier | None:
        """The chassis ID of the only neighbour of a port; None for none and for several."""
        agent = self._agents.get(port)
        return None if agent is None else agent.chassis()

    def returned(self, now: float) -> list[tuple[int, int]]:
        """Pairs of this bridge's ports: one that has sent, and one that has heard, a frame.

        The second one is the same port if the frame came back there.
        """
        return [pair for agent in self._agents.values() for pair in agent.heard_own(now)]

    # What happens

    def set_system(self, system: System | None, now: float) -> list[Effect]:
        """Set the bridge's values; None: it runs no LLDP."""
        if system is None:
            effects = self.remove(self.ports, now)
            self._system = None
            return effects
        self._system = system
        effects = []
        for agent in self._agents.values():
            effects += self._update(agent, agent.follow(system, agent.local, now))
        return effects

    def put(self, ports: Iterable[Local], now: float) -> list[Effect]:
        """Ports are new, or have changed."""
        system = self._system
        if system is None:
            return []
        effects: list[Effect] = []
        for local in ports:
            agent = self._agents.get(local.number)
            if agent is None:
                begin = max(now, self._resting.pop(local.number, now))
                agent = Agent(system, local, self._own, begin)
                self._agents[local.number] = agent
                effects += [SetTrap("lldp", local.number, True), *self._update(agent, [])]
            else:
                effects += self._update(agent, agent.follow(system, local, now))
        return effects

    def remove(self, ports: Iterable[int], now: float) -> list[Effect]:
        """Stop LLDP on these ports and send their neighbours a shutdown; it starts again only
        after reinitDelay."""
        effects: list[Effect] = []
        for number in ports:
            agent = self._agents.get(number)
            if agent is not None:
                self._resting[number] = now + REINIT_DELAY
                effects += [*agent.shut(now), *self._drop(agent)]
        return effects

    def lose(self, ports: Iterable[int], now: float) -> list[Effect]:
        """Forget ports that are gone."""
        effects: list[Effect] = []
        for number in ports:
            self._resting.pop(number, None)
            agent = self._agents.get(number)
            if agent is not None:
                effects += [*agent.end(now), *self._drop(agent)]
        return effects

    def hear(self, frames: Iterable[tuple[int, bytes]], now: float) -> list[Effect]:
        """Handle frames to the nearest bridge, each with its port."""
        effects: list[Effect] = []
        for port, frame in frames:
            agent = self._agents.get(port)
            if agent is not None:
                room = not agent.known() or self._known < MOST
                effects += self._update(agent, agent.hear(frame, room, now))
        return effects

    def tick(self, now: float) -> list[Effect]:
        """Let time pass; due at `next_wakeup`."""
        effects: list[Effect] = []
        due = () if self._away else self._deadlines.expired(now)
        for agent in map(self._agents.__getitem__, islice(due, PORTION)):
            effects += self._update(agent, agent.tick(now))
        return effects

    def next_wakeup(self) -> float | None:
        """When `tick` is due, None when nothing is."""
        return None if self._away else self._deadlines.next()

    def pause(self) -> None:
        """Pause while the switch is disconnected: frames sent before count no more."""
        self._away = True
        if self._system is not None:
            for number in self._agents:
                self._own.leave(Sender(self._system.datapath_id, number))

    def resume(self, now: float) -> None:
        """Run again after the switch has reconnected."""
        if self._away:
            self._away = False
            for agent in self._agents.values():
                agent.restart(now)
                self._update(agent, [])

    # Inside

    def _drop(self, agent: Agent) -> list[Effect]:
        self._update(agent, [])
        self._deadlines.set(agent.local.number, None)
        self.inner.discard(agent.local.number)
        del self._agents[agent.local.number]
        return [SetTrap("lldp", agent.local.number, False)]

    def _update(self, agent: Agent, effects: list[Effect]) -> list[Effect]:
        """Update what follows from an agent after it has handled something."""
        (self.inner.add if agent.leads_to_own() else self.inner.discard)(agent.local.number)
        self._known += agent.known() - agent.counted
        agent.counted = agent.known()
        self._deadlines.set(agent.local.number, agent.due())
        return effects
