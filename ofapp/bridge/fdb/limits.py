"""Limits of learned addresses of the bridge, of ports and of VLANs; and the drop of further hosts.

A limit that is reached stays "reached" until a twentieth of it is free again, so a bridge that
ages and learns at its limit reports it once and not once a second.  Learning itself resumes with
the first free place.

Beyond a limit frames flood, or they are dropped. In the latter case the limit is closed with the
last place taken, so that no frame of a further host passes, until it is not reached any more.
Frames that are dropped then still go to the controller.  So a new host can take a free place at
once, while frames of all others are dropped; and a known host that appears on another port of the
same VLAN can move.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from ofapp.bridge.effects import Effect, SetGate
from ofapp.bridge.fdb.events import FDB_LIMIT, FDB_LIMIT_CLEARED
from ofapp.bridge.fdb.fdb import Fdb
from ofapp.bridge.params.policy import VlanPolicy


class LearningLimit:
    """One limit.

    port, vid: its scope, both None for the bridge; drops: frames of hosts beyond it are dropped and
    do not flood; reached: an address was refused lately; closed: such frames are dropped now;
    refused: how many sightings were not learned.
    """

    __slots__ = ("closed", "drops", "most", "name", "port", "reached", "refused", "vid")

    def __init__(
        self, most: int, name: str, port: int | None = None, vid: int | None = None
    ) -> None:
        self.most = most
        self.name = name
        self.port = port
        self.vid = vid
        self.drops = False
        self.reached = False
        self.closed = False
        self.refused = 0

    def refuse(self) -> list[Effect]:
        """Count one address that was not learned; gives the event for the first of a series."""
        self.refused += 1
        if self.reached:
            return []
        self.reached = True
        fate = "are dropped" if self.drops else "flood"
        message = (
            f"{self.name} has learned {self.most} addresses, its limit: "
            f"frames of further hosts {fate}"
        )
        data = self._data() | {"limit": self.most, "drop": self.drops}
        return [FDB_LIMIT.event(message, self.port, data)]

    def fill(self, count: int) -> list[Effect]:
        """Close the limit if `count` entries reach it."""
        if not self.drops or self.closed or count < self.most:
            return []
        self.closed = True
        return [SetGate(self.port, self.vid, True)]

    def release(self, count: int) -> list[Effect]:
        """Open the limit, with the event, once `count` entries leave room again."""
        if not (self.reached or self.closed) or count > self.most - max(1, self.most // 20):
            return []
        return self.clear()

    def clear(self) -> list[Effect]:
        """Open the limit, with the event."""
        effects: list[Effect] = []
        if self.closed:
            effects.append(SetGate(self.port, self.vid, False))
        if self.reached:
            message = f"{self.name} has room for addresses again"
            data = self._data() | {"limit": self.most, "refused": self.refused}
            effects.append(FDB_LIMIT_CLEARED.event(message, self.port, data))
        self.closed = self.reached = False
        return effects

    def administer(self, most: int, drops: bool, count: int) -> list[Effect]:
        """Set the number of the limit and whether it drops; learned addresses stay."""
        self.most, self.drops = most, drops
        effects = self.release(count)
        if self.closed and not drops:
            self.closed = False
            effects.append(SetGate(self.port, self.vid, False))
        return effects + self.fill(count)

    def _data(self) -> dict[str, object]:
        return {} if self.vid is None else {"vlan": self.vid}


class LearningLimits:
    """All limits of a bridge.  Ports and VLANs without one are not in `ports` and `vlans`."""

    def __init__(self, fdb: Fdb, most: int, counters: Counter[str]) -> None:
        self.bridge = LearningLimit(most, "the bridge")
        self.ports: dict[int, LearningLimit] = {}
        self.vlans: dict[int, LearningLimit] = {}
        self._fdb = fdb
        self._counters = counters

    def room(self, port: int, vid: int, effects: list[Effect]) -> bool:
        """Whether one more address can be learned; if so, the caller must learn it."""
        if self._fdb.learned >= self.bridge.most:
            self._counters["refused_bridge_limit"] += 1
            effects += self.bridge.refuse()
            return False
        if port not in self.ports and vid not in self.vlans:
            return True
        if self._full(self.ports.get(port), "refused_port_limit", effects):
            return False
        if self._full(self.vlans.get(vid), "refused_vlan_limit", effects):
            return False
        for limit in (self.ports.get(port), self.vlans.get(vid)):
            if limit is not None:
                effects += limit.fill(self._count(limit) + 1)
        return True

    def room_to_move(self, port: int, effects: list[Effect]) -> bool:
        """Whether an address of the same VLAN can move to a port; if so, the caller moves it."""
        limit = self.ports.get(port)
        if limit is None:
            return True
        if self._full(limit, "refused_port_limit", effects):
            return False
        effects += limit.fill(self._count(limit) + 1)
        return True

    def released(self, ports: Iterable[int], vids: Iterable[int]) -> list[Effect]:
        """Open limits after entries have gone there, with their events."""
        effects = self.bridge.release(self._fdb.learned)
        for limits, keys in ((self.ports, ports), (self.vlans, vids)):
            if limits:
                for key in keys:
                    if limit := limits.get(key):
                        effects += limit.release(self._count(limit))
        return effects

    def set_bridge(self, most: int) -> list[Effect]:
        """Set the bridge's limit."""
        return self.bridge.administer(most, False, self._fdb.learned)

    def set_port(self, port: int, name: str, most: int | None, drops: bool) -> list[Effect]:
        """Set a port's limit, None for none, and whether it drops."""
        if most is None:
            gone = self.ports.pop(port, None)
            return [] if gone is None else gone.clear()
        limit = self.ports.setdefault(port, LearningLimit(most, "", port))
        limit.name = f"port {name}"
        return limit.administer(most, drops, self._count(limit))

    def set_vlans(self, policies: Mapping[int, VlanPolicy]) -> list[Effect]:
        """Set the limits of all VLANs."""
        limits = {
            vid: (policy.fdb_max_learned, policy.drops_over_limit)
            for vid, policy in policies.items()
            if policy.fdb_max_learned is not None
        }
        effects: list[Effect] = []
        for vid in [vid for vid in self.vlans if vid not in limits]:
            effects += self.vlans.pop(vid).clear()
        for vid, (most, drops) in limits.items():
            limit = self.vlans.setdefault(vid, LearningLimit(most, f"VLAN {vid}", vid=vid))
            effects += limit.administer(most, drops, self._count(limit))
        return effects

    def _full(self, limit: LearningLimit | None, counter: str, effects: list[Effect]) -> bool:
        if limit is None or self._count(limit) < limit.most:
            return False
        self._counters[counter] += 1
        effects += limit.refuse()
        return True

    def _count(self, limit: LearningLimit) -> int:
        if limit.port is not None:
            return self._fdb.learned_by_port.get(limit.port, 0)
        return self._fdb.learned if limit.vid is None else self._fdb.learned_in(limit.vid)
