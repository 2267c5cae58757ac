"""Links that an earlier controller has proven, and that this one cannot prove yet."""

from __future__ import annotations

from collections.abc import Container, Iterable

Pair = tuple[str, str]
"""The names of a link's ports, as in `s1/eth1`."""


class EarlierLinks:
    """The links, until all are `found`, and then those of members that are not connected."""

    def __init__(self, pairs: Iterable[Pair]) -> None:
        self._partners = {name: other for pair in pairs for name, other in (pair, pair[::-1])}
        self._found = False

    def __contains__(self, name: str) -> bool:
        """Whether a port with this name ends such a link."""
        return name in self._partners

    def pairs(self) -> set[Pair]:
        """The links."""
        return {(min(pair), max(pair)) for pair in self._partners.items()}

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
