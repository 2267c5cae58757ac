"""The flows of a program, found by port or by address as well as by what makes them the same flow.

A bridge of thousands of ports changes one at a time: the flows of that one are found without
a search among all flows.
"""

from __future__ import annotations

from collections.abc import Iterator

from ofapp.openflow.model.flow import Flow, Identity
from ofapp.openflow.model.rule import TableId

_ADDRESSES = ("eth_src", "eth_dst")


class Flows(dict[Identity, Flow]):
    """Flows by their identity.  The look-ups are made ready when the first of them is used."""

    _ports: dict[int, dict[Identity, None]] | None = None
    _addresses: dict[int, dict[Identity, None]]

    def put(self, flow: Flow) -> None:
        """Add the flow, or put it in the place of the same one."""
        identity = flow.identity
        self[identity] = flow
        if self._ports is not None:
            self._enter(identity)

    def take_out(self, flow: Flow) -> bool:
        """Remove the flow, or one with the same identity; returns whether there was one."""
        identity = flow.identity
        if self.pop(identity, None) is None:
            return False
        if self._ports is not None:
            for index, key in self._keys(identity):
                index[key].pop(identity, None)
                if not index[key]:
                    del index[key]
        return True

    def of_port(self, port: int) -> list[Flow]:
        """The flows that a port has while it is up, by which its frames enter."""
        return self._look_up(port, by_port=True)

    def of_address(self, address: int) -> list[Flow]:
        """The flows that match the address, as the source or the destination."""
        return self._look_up(address, by_port=False)

    def _look_up(self, key: int, by_port: bool) -> list[Flow]:
        if self._ports is None:
            self._ports, self._addresses = {}, {}
            for identity in self:
                self._enter(identity)
        index = self._ports if by_port else self._addresses
        return [self[identity] for identity in index.get(key, ())]

    def _enter(self, identity: Identity) -> None:
        for index, key in self._keys(identity):
            index.setdefault(key, {})[identity] = None

    def _keys(self, identity: Identity) -> Iterator[tuple[dict[int, dict[Identity, None]], int]]:
        table, _, matches = identity
        assert self._ports is not None
        for match in matches:
            if match.field == "in_port" and table != TableId.EGRESS:
                yield self._ports, match.value
            elif match.field in _ADDRESSES and match.mask is None:
                yield self._addresses, match.value
