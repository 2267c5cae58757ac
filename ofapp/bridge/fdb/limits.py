"""Limits of learned addresses of the bridge, of ports and of VLANs; and the drop of further hosts.

A limit that is reached stays "reached" until a twentieth of it is free again, so a bridge that
ages and learns at its limit reports it once and not once a second.  Learning itself resumes with
the first free place.

At the limit of the bridge or of a VLAN a port with few addresses displaces addresses of the port
that has most (see `shares`).  All others are refused.  Addresses of a sticky port never make room,
so a sticky port without `fdb_max_learned` has an equal share of each of them as its limit there.

Beyond a limit frames flood, or they are dropped. In the latter case the limit is closed with the
last place taken, so that no frame of a further host passes, until it is not reached any more.
Frames that are dropped then still go to the controller.  So a new host can take a free place at
once, while frames of all others are dropped; and a known host that appears on another port of the
same VLAN can move.
"""

from collections import Counter
from collections.abc import Collection, Container, Mapping

from ofapp.bridge.effects import Effect, RemoveDestination, RemoveSource, RenewPort
from ofapp.bridge.event import PortNumber, Text, following
from ofapp.bridge.fdb.events import FDB_DELETED, FDB_LIMIT, FDB_LIMIT_CLEARED, change
from ofapp.bridge.fdb.fdb import Fdb
from ofapp.bridge.fdb.move_guard import Address
from ofapp.bridge.fdb.shares import Shares
from ofapp.bridge.params.params import PortParams
from ofapp.bridge.params.policy import VlanPolicy


class LearningLimit:
    """One limit.

    port, vid: its scope: both None for the bridge, both set for a sticky port in a VLAN; drops:
    frames of hosts beyond it are dropped and do not flood; reached: ports of which an address was
    refused lately; closed: such frames are dropped now; refused: how many sightings were not
    learned.
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
        self.reached: set[int] = set()
        self.closed = False
        self.refused = 0

    def refuse(self, port: int, learned: int) -> list[Effect]:
        """Count one address of a port that was not learned; gives the event for the first one.

        learned: how many the port has within the limit.
        """
        self.refused += 1
        if port in self.reached:
            return []
        self.reached.add(port)
        fate = "are dropped" if self.drops else "flood"
        text: Text = f"frames of further hosts {fate}"
        if self.port is None:
            text = (PortNumber(port), f" has {learned} of them: {text} there")
        text = following(f"{self.name} has learned {self.most} addresses, its limit: ", text)
        data = self._data() | {"limit": self.most, "drop": self.drops, "learned": learned}
        return [FDB_LIMIT.event(text, port, data)]

    def has_room(self, count: int) -> bool:
        """Whether `count` entries leave enough room for it to be open again."""
        return count <= self.most - max(1, self.most // 20)

    def fill(self, count: int) -> list[Effect]:
        """Close the limit if `count` entries reach it."""
        if not self.drops or self.closed or count < self.most:
            return []
        self.closed = True
        return [RenewPort(self.port)]

    def release(self, count: int) -> list[Effect]:
        """Open the limit, with the event, once `count` entries leave room again."""
        if not (self.reached or self.closed) or not self.has_room(count):
            return []
        return self.clear()

    def clear(self) -> list[Effect]:
        """Open the limit, with the event."""
        effects: list[Effect] = []
        if self.closed:
            effects.append(RenewPort(self.port))
        if self.reached:
            message = f"{self.name} has room for addresses again"
            data = self._data() | {"limit": self.most, "refused": self.refused}
            effects.append(FDB_LIMIT_CLEARED.event(message, self.port, data))
        self.closed = False
        self.reached.clear()
        return effects

    def administer(self, most: int, drops: bool, count: int) -> list[Effect]:
        """Set the number of the limit and whether it drops; learned addresses stay."""
        self.most, self.drops = most, drops
        effects = self.release(count)
        if self.closed and not drops:
            self.closed = False
            effects.append(RenewPort(self.port))
        return effects + self.fill(count)

    def _data(self) -> dict[str, object]:
        return {} if self.vid is None else {"vlan": self.vid}


class LearningLimits:
    """All limits of a bridge.  Ports and VLANs without one are not in `ports` and `vlans`.

    over_share: sightings that were not learned as the bridge or the VLAN was full, by port;
    displaced: addresses that made room for those of other ports, by port.
    """

    def __init__(
        self, fdb: Fdb, most: int, counters: Counter[str], held: Container[Address]
    ) -> None:
        """held: addresses that are held down; they never make room."""
        self.bridge = LearningLimit(most, "the bridge")
        self.ports: dict[int, LearningLimit] = {}
        self.vlans: dict[int, LearningLimit] = {}
        self.over_share: Counter[int] = Counter()
        self.displaced: Counter[int] = Counter()
        self._fdb = fdb
        self._counters = counters
        self._held = held
        self._shares: dict[int | None, Shares] = {None: Shares(fdb, held)}  # by VID
        self._displacing: set[int | None] = set()  # limits with displaced addresses, by VID
        self._present: set[int] = set()
        self._sticky: set[int] = set()  # those without `fdb_max_learned`
        self._sticky_in: dict[int, dict[int, LearningLimit]] = {}  # by port and VID, once asked

    def reached(self) -> list[LearningLimit]:
        """The limits that are reached now."""
        scoped = self.ports, self.vlans, *self._sticky_in.values()
        limits = (self.bridge, *(limit for each in scoped for limit in each.values()))
        return [limit for limit in limits if limit.reached or limit.closed]

    def room(self, port: int, vid: int, effects: list[Effect]) -> bool:
        """Whether one more address can be learned; if so, the caller must learn it.

        The address that makes room for it, if one does, is forgotten.
        """
        if (
            self._fdb.learned < self.bridge.most
            and port not in self.ports
            and vid not in self.vlans
        ):
            return True
        own, vlan = self.of_port(port), self.vlans.get(vid)
        if own is not None and self._full(own, port, "refused_port_limit", effects):
            return False
        if vlan is not None and port in self._sticky:
            share = self._sticky_share(port, vid, vlan)
            if self._full(share, port, "refused_vlan_limit", effects):
                return False
        if vlan is not None and self._count(vlan) >= vlan.most:  # leaves room in the bridge, too
            if not self._displace(vlan, port, vid, "refused_vlan_limit", effects):
                return False
        elif self._fdb.learned >= self.bridge.most and not self._displace(
            self.bridge, port, vid, "refused_bridge_limit", effects
        ):
            return False
        for limit in (own, vlan):
            if limit is not None:
                effects += limit.fill(self._count(limit) + 1)
        return True

    def room_to_move(self, port: int, effects: list[Effect]) -> bool:
        """Whether an address of the same VLAN can move to a port; if so, the caller moves it."""
        limit = self.of_port(port)
        if limit is None:
            return True
        if self._full(limit, port, "refused_port_limit", effects):
            return False
        effects += limit.fill(self._count(limit) + 1)
        return True

    def of_port(self, port: int) -> LearningLimit | None:
        """The limit of a port, None for none."""
        limit = self.ports.get(port)
        if limit is not None and port in self._sticky:
            limit.most = max(self.bridge.most // len(self._present), 1)
        return limit

    def released(self, ports: Collection[int], vids: Collection[int]) -> list[Effect]:
        """Open limits after entries have gone there, with their events."""
        effects = self._released(self.bridge)
        if self.ports or self.vlans:
            effects += self._released_in(ports, vids)
        return effects

    def set_bridge(self, most: int) -> list[Effect]:
        """Set the bridge's limit."""
        return self.bridge.administer(most, False, self._fdb.learned)

    def set_port(self, port: int, name: str, params: PortParams) -> list[Effect]:
        """Set a port's limit and whether it drops."""
        self._present.add(port)
        most, policy = params.fdb_max_learned, params.policy
        shares = most is None and policy.sticky
        (self._sticky.add if shares else self._sticky.discard)(port)
        gone_shares = [] if shares else self._drop_shares(port)
        if most is None and not shares:
            gone = self.ports.pop(port, None)
            return gone_shares + ([] if gone is None else gone.clear())
        limit = self.ports.setdefault(port, LearningLimit(most or 0, "", port))
        limit.name = f"port {name}"
        limit = self.of_port(port) or limit
        return gone_shares + limit.administer(
            limit.most if most is None else most, policy.drops_over_limit, self._count(limit)
        )

    def drop_port(self, port: int) -> list[Effect]:
        """Forget a port that is gone."""
        for ports in (self._present, self._sticky):
            ports.discard(port)
        for counts in (self.over_share, self.displaced):
            del counts[port]
        gone = self.ports.pop(port, None)
        return self._drop_shares(port) + ([] if gone is None else gone.clear())

    def set_vlans(self, policies: Mapping[int, VlanPolicy]) -> list[Effect]:
        """Set the limits of all VLANs."""
        limits = {
            vid: (policy.fdb_max_learned, policy.drops_over_limit)
            for vid, policy in policies.items()
            if policy.fdb_max_learned is not None
        }
        self._fdb.count_ports(limits)
        effects: list[Effect] = []
        for vid in [vid for vid in self.vlans if vid not in limits]:
            effects += self.vlans.pop(vid).clear()
            for of_port in self._sticky_in.values():
                if share := of_port.pop(vid, None):
                    effects += share.clear()
            del self._shares[vid]
            self._displacing.discard(vid)
        for vid, (most, drops) in limits.items():
            limit = self.vlans.setdefault(vid, LearningLimit(most, f"VLAN {vid}", vid=vid))
            self._shares.setdefault(vid, Shares(self._fdb, self._held, vid))
            effects += limit.administer(most, drops, self._count(limit))
        return effects

    # Inside

    def _sticky_share(self, port: int, vid: int, vlan: LearningLimit) -> LearningLimit:
        """The limit of a sticky port in a VLAN that has one: its hosts would never make room."""
        shares = self._sticky_in.setdefault(port, {})
        limit = shares.get(vid)
        if limit is None:
            name = f"sticky {self.ports[port].name} in {vlan.name}"
            limit = shares[vid] = LearningLimit(0, name, port, vid)
        limit.most = max(vlan.most // len(self._present), 1)
        return limit

    def _drop_shares(self, port: int) -> list[Effect]:
        """End the limits of a sticky port in VLANs."""
        gone = self._sticky_in.pop(port, {}).values()
        return [effect for limit in gone for effect in limit.clear()]

    def _displace(
        self, limit: LearningLimit, port: int, vid: int, counter: str, effects: list[Effect]
    ) -> bool:
        """Have an address of another port make room within a limit, if the port has its share."""
        shares = self._shares[limit.vid]
        found = shares.displaced_by(port)
        if found is None:
            self._counters[counter] += 1
            self.over_share[port] += 1
            effects += limit.refuse(port, shares.of(port))
            return False
        self._displacing.add(limit.vid)
        its_vid, mac, entry = found
        self._fdb.remove(its_vid, mac)
        self._counters["displaced"] += 1
        self.displaced[entry.port] += 1
        effects.append(RemoveSource(entry.port, its_vid, mac, entry.serial))
        effects.append(RemoveDestination(its_vid, mac, entry.serial))
        if self._fdb.traced:
            effects.append(change(FDB_DELETED, "displaced from", entry.port, its_vid, mac))
        # The place is taken at once, so the limits of the bridge and of this VLAN stay as they are.
        effects += self._released_in([entry.port], [] if its_vid == vid else [its_vid])
        return True

    def _full(self, limit: LearningLimit, port: int, counter: str, effects: list[Effect]) -> bool:
        learned = self._count(limit)
        if learned < limit.most:
            return False
        self._counters[counter] += 1
        effects += limit.refuse(port, learned)
        return True

    def _released_in(self, ports: Collection[int], vids: Collection[int]) -> list[Effect]:
        effects: list[Effect] = []
        for limits, keys in ((self.ports, ports), (self.vlans, vids)):
            for key in keys if limits else ():
                if limit := limits.get(key):
                    effects += self._released(limit)
        for port in ports if self._sticky_in else ():
            for share in self._sticky_in.get(port, {}).values():
                effects += self._released(share)
        return effects

    def _released(self, limit: LearningLimit) -> list[Effect]:
        count = self._count(limit)
        if self._displacing and limit.port is None and limit.has_room(count):
            self._shares[limit.vid].forget()
            self._displacing.discard(limit.vid)
        return limit.release(count)

    def _count(self, limit: LearningLimit) -> int:
        if limit.port is not None and limit.vid is not None:
            return self._fdb.ports_in[limit.vid].get(limit.port, 0)
        if limit.port is not None:
            return self._fdb.learned_by_port.get(limit.port, 0)
        return self._fdb.learned if limit.vid is None else self._fdb.learned_in(limit.vid)
