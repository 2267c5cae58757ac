"""What the configuration says of cables: names of ports, pairs that are to be linked, and costs."""

from __future__ import annotations

from collections.abc import Mapping

from ofapp.bridge.fabric.params import FabricParams


class Cabling:
    """The cables of a configuration, by names of ports as in `s1/eth1`."""

    def __init__(self, params: FabricParams) -> None:
        self._costs = params.costs
        partners: dict[str, str] = {}
        for one, other in params.cables:
            partners[one], partners[other] = other, one
        self.partners: Mapping[str, str] = partners

    def cost(self, one: str, other: str) -> int:
        """Cost of the link between two ports; of different ones at its ends the higher counts."""
        return max(self._costs.get(one, 0), self._costs.get(other, 0)) or 1

    def difference(self, one: str, other: str) -> str:
        """How a cable differs from the configuration, for the port `one`; empty if it does not."""
        partner = self.partners.get(one)
        if not self.partners or partner == other:
            return ""
        if partner is not None:
            return f"it is cabled to {other}, and the configuration says {partner}"
        return f"it is cabled to {other}, which is not in the list of cables"
