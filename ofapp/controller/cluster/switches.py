"""Switches that are connected to this member, by the bridges that they belong to."""

from __future__ import annotations

from dataclasses import dataclass

from ofapp.controller.bridges.openflow_datapath import Channel
from ofapp.controller.bridges.owners import SwitchService
from ofapp.controller.cluster.election.election import Election
from ofapp.controller.cluster.election.ownership import Claim


@dataclass(frozen=True, slots=True)
class Owned:
    """A switch that this member owns, and the connection on which it is, or will be, MASTER.

    claim: claim of its bridge; switch: claim of the switch.
    """

    channel: Channel
    claim: Claim
    switch: Claim


class Switches:
    """waiting: elections, owned: won ones, by datapath id.  service: serves them; None at first."""

    def __init__(self) -> None:
        self.waiting: dict[int, Election] = {}
        self.owned: dict[int, Owned] = {}
        self.service: SwitchService | None = None

    def bridge_of(self, switch: int) -> int:
        """Datapath id of a switch's bridge: its own, unless it is a member of a fabric."""
        return switch if self.service is None else self.service.bridge_of(switch)

    def of(self, bridge: int) -> tuple[int, ...]:
        """Datapath ids of a bridge's switches."""
        return (bridge,) if self.service is None else self.service.switches(bridge)

    def owned_of(self, bridge: int) -> list[Owned]:
        """The switches of a bridge that this member owns."""
        there = (self.owned.get(switch) for switch in self.of(bridge))
        return [own for own in there if own is not None and own.claim.datapath_id == bridge]

    def connected(self, bridge: int) -> set[int]:
        """The switches of a bridge that are connected to this member."""
        return {
            switch
            for switch in self.of(bridge)
            if switch in self.waiting
            or ((owned := self.owned.get(switch)) is not None and not owned.channel.dead)
        }

    def are_complete(self, bridge: int) -> bool:
        """Whether all switches of a bridge are connected to this member."""
        return self.connected(bridge) >= {*self.of(bridge)}

    def need(self, claim: Claim) -> bool:
        """Whether a connection of this member needs a claim of it.

        A claim from before the fabrics changed is of no use.
        """
        datapath_id = claim.datapath_id
        if claim.bridge != self.bridge_of(datapath_id):
            return False
        switches = (datapath_id,) if claim.of_member else self.of(datapath_id)
        return any(switch in self.waiting or switch in self.owned for switch in switches)
