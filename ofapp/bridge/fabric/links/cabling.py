"""What is known of cables beforehand: by the configuration, and from an earlier controller."""

from collections.abc import Container, Iterable, Mapping

from ofapp.bridge.fabric.params import FabricParams

Pair = tuple[str, str]
"""The names of a link's ports, as in `s1/eth1`."""


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


class EarlierLinks:
    """Links that an earlier controller has proven, and that this one cannot prove yet.

    They are here until all are `found`, and then those of members that are not connected.
    """

    def __init__(self, pairs: Iterable[Pair]) -> None:
        self._partners = {name: other for pair in pairs for name, other in (pair, pair[::-1])}
        self._found = False

    def __contains__(self, name: str) -> bool:
        """Whether a port with this name ends such a link."""
        return name in self._partners

    def pairs(self) -> set[Pair]:
        """The links."""
        return {(min(pair), max(pair)) for pair in self._partners.items()}

    def keep(self, members: Container[str]) -> None:
        """Forget the links of members that have left."""
        self._partners = {
            name: other
            for name, other in self._partners.items()
            if all(port.partition("/")[0] in members for port in (name, other))
        }

    def doubt(self, name: str) -> None:
        """Take note that a port has lost its carrier, so that its cable may be another one."""
        self._partners.pop(self._partners.pop(name, ""), None)

    def found(self, connected: Container[str]) -> None:
        """Take note that links were looked for.  connected: names of members."""
        self._found = True
        self.connect(connected)

    def connect(self, connected: Container[str]) -> None:
        """Take note that these members are connected: links between them have to be proven."""
        if self._found:
            self._partners = {
                name: other
                for name, other in self._partners.items()
                if not all(port.partition("/")[0] in connected for port in (name, other))
            }
