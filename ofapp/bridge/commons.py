"""Objects that the bridges of one controller share."""

from __future__ import annotations

from dataclasses import dataclass, field

from ofapp.bridge.lldp.own import OwnAgents
from ofapp.bridge.ports.port import PortRoom
from ofapp.bridge.stp import OwnTrees


@dataclass(frozen=True)
class Commons:
    """trees: their spanning trees, which know each other; room: for all their ports.

    agents: their LLDP agents, which distinguish each other's frames from forged ones.
    """

    trees: OwnTrees = field(default_factory=OwnTrees)
    room: PortRoom = field(default_factory=PortRoom)
    agents: OwnAgents = field(default_factory=OwnAgents)
