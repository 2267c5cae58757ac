"""Limits of dynamic bindings of the bridge, of ports and of VLANs.

A limit that was reached stays so until a twentieth of it is free again: it is reported once, and
not with each host that comes and goes.
"""

from collections import Counter

from ofapp.bridge.effects import Effect
from ofapp.bridge.first_hop.bindings.table import BindingTable
from ofapp.bridge.first_hop.events import BINDINGS_FULL, BINDINGS_FULL_CLEARED

Scope = str | int | None
"""A port by its name, a VLAN by its VID, or the bridge."""


class BindingLimits:
    """The limits.

    A DHCP client that has asked for a lease takes room, too: see `Clients`.

    refused: number of bindings that were refused, by scope; full: the limits that are reached.
    """

    def __init__(self, table: BindingTable, counters: Counter[str]) -> None:
        self.refused: Counter[Scope] = Counter()
        self.full: dict[Scope, int] = {}
        self._table = table
        self._counters = counters
        self._reserved: Counter[Scope] = Counter()

    def reserve(self, port: str, vid: int) -> None:
        """Take the room of one binding."""
        self._reserved.update((port, vid, None))

    def forgo(self, port: str, vid: int) -> None:
        """Give the room of one binding back."""
        self._reserved -= Counter((port, vid, None))

    def has_room(self, scope: Scope, most: int | None) -> bool:
        """Whether there is room for one more binding."""
        return most is None or self._used(scope) < most

    def refuse(self, scope: Scope, most: int, port: int | None) -> list[Effect]:
        """Count a binding that has no room; gives the event for the first of a series.

        port: the number of the port, if the limit is that of a port.
        """
        kind = {str: "port", int: "vlan"}.get(type(scope), "bridge")
        self._counters[f"refused_{kind}_limit"] += 1
        self.refused[scope] += 1
        if scope in self.full:
            return []
        self.full[scope] = most
        text = f"{_name(scope)} has {most} bindings, its limit: hosts get no further addresses"
        return [BINDINGS_FULL.event(text, port, {"limit": most} | _vlan(scope))]

    def release(self, scope: Scope, most: int | None, port: int | None) -> list[Effect]:
        """End the series once there is room again; with the event."""
        if scope not in self.full:
            return []
        if most is not None and self._used(scope) > most - max(1, most // 20):
            return []
        data = {"limit": self.full.pop(scope), "refused": self.refused[scope]} | _vlan(scope)
        text = f"{_name(scope)} has room for bindings again"
        return [BINDINGS_FULL_CLEARED.event(text, port, data)]

    def rename(self, old: str, new: str) -> None:
        """Follow a port to its new name."""
        if old in self.refused:
            self.refused[new] += self.refused.pop(old)
        if old in self.full:
            self.full[new] = self.full.pop(old)

    def _used(self, scope: Scope) -> int:
        reserved, table = self._reserved[scope], self._table
        if scope is None:
            return reserved + table.dynamic
        return reserved + (table.by_port if isinstance(scope, str) else table.by_vlan)[scope]  # type: ignore


def _name(scope: Scope) -> str:
    if scope is None:
        return "the bridge"
    return f"port {scope}" if isinstance(scope, str) else f"VLAN {scope}"


def _vlan(scope: Scope) -> dict[str, object]:
    return {"vlan": scope} if isinstance(scope, int) else {}
