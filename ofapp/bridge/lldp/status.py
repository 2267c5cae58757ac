"""Frozen values with the state of LLDP, for an API."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ofapp.bridge.lldp.agent import Agent
from ofapp.bridge.lldp.information import Information
from ofapp.bridge.lldp.own import Relative, Sender


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
    """

    number: int
    name: str
    up: bool
    link: bool
    crowded: bool
    counters: Mapping[str, int]
    neighbours: tuple[NeighbourStatus, ...]
    sent: tuple[int, ...] = ()


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
    )
