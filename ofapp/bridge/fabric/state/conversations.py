"""Which member has sent for which host, so that its flows follow the host.

A member learns no addresses of the others.  Its first frame to one is copied to the controller,
which sends it the member where the host is.  The switch removes such a flow when no frame uses it,
and does not report that.  So this knows the hosts that a member may have, and never fewer.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence

from ofapp.bridge.effects import Effect, InstallDestination, OnMember
from ofapp.bridge.effects.fabric import FlushRemote, PutRemote, RemoveRemote
from ofapp.bridge.fabric.events import CONVERSATIONS, CONVERSATIONS_CLEARED
from ofapp.bridge.fabric.state.places import Places
from ofapp.bridge.fdb.learning import Learning
from ofapp.bridge.packet.ethernet import frame_vid

MOST = 16_384
"""Hosts at other members that one member may have."""

Host = tuple[int, int]
"""(VID, MAC address)."""

MOST_AGED = 65_536
"""Most hosts of which it is known that some members have aged them out; the latest."""


class Conversations:
    """Hosts that members may have flows for, by the member where the host is.

    counters: answered; unknown: the address is not known, so its frames flood; refused: no room.
    """

    def __init__(self, learning: Learning, places: Places, most: int = MOST) -> None:
        """places: of the bridge's ports."""
        self.counters: Counter[str] = Counter()
        self._learning = learning
        self._places = places
        self._most = most
        self._asked: dict[int, dict[Host, int]] = defaultdict(dict)  # members as bits
        self._count: Counter[int] = Counter()
        self._clear_at: dict[int, float] = {}  # members that have reached the limit

    def __len__(self) -> int:
        """Count the pairs of a member and a host of another one."""
        return self._count.total()

    def of(self, member: int) -> int:
        """Count the hosts that a member may have flows for."""
        return self._count[member]

    def ask(
        self, member: int, frames: Sequence[tuple[int, bytes]], ageing_time: float, now: float
    ) -> list[Effect]:
        """Answer a member that sends to hosts without a flow.

        Past the limit, all of its flows for hosts elsewhere are removed after an ageing time.
        Those in use come back.
        """
        effects: list[Effect] = []
        hosts = {(frame_vid(frame), int.from_bytes(frame[:6], "big")) for _, frame in frames}
        for host in sorted(hosts):
            at = self._member_of(host)
            if local := self._on_aggregation(host, member):
                self.counters["answered"] += 1
                effects.append(OnMember(member, local))
            elif at is None or at == member:
                self.counters["unknown"] += 1
            elif self._enter(at, host, member):
                self.counters["answered"] += 1
                effects.append(OnMember(member, PutRemote(*host, at)))
            else:
                self.counters["refused"] += 1
                if member not in self._clear_at:
                    self._clear_at[member] = now + ageing_time
                    text = f"member {member} has flows for {self._most} hosts of other members"
                    data = {"member": member, "limit": self._most}
                    effects.append(CONVERSATIONS.event(text, data=data))
        return effects

    def tick(self, now: float) -> list[Effect]:
        """Make room at members that have reached the limit; due at `next_wakeup`."""
        effects: list[Effect] = []
        for member in [member for member, due in self._clear_at.items() if due <= now]:
            del self._clear_at[member]
            self.forget_member(member)
            data = {"member": member, "limit": self._most}
            text = f"there is room for conversations of member {member} again"
            effects += [
                OnMember(member, FlushRemote()),
                CONVERSATIONS_CLEARED.event(text, data=data),
            ]
        return effects

    def next_wakeup(self) -> float | None:
        """When `tick` is due, None when nothing is."""
        return min(self._clear_at.values(), default=None)

    def move(self, host: Host, old: int, new: int, others: Collection[int] = ()) -> list[Effect]:
        """Redirect a host's frames, as it has moved from one member to another.

        Hosts at the former member have probably talked to it: that member gets a flow, too.
        others: further members where it was by an aggregation, and is not now.
        """
        local = {old, *others}
        members = {*self._take(old, host), *local} - {new}
        for member in members:
            self._asked[new][host] = self._asked[new].get(host, 0) | 1 << member
            self._count[member] += 1
        return [
            OnMember(member, PutRemote(*host, new, moved=member not in local))
            for member in sorted(members)
        ]

    def remove(self, host: Host, at: int | None = None) -> list[Effect]:
        """Remove a host's flows at other members.  at: the host's member; None: not known."""
        places = [*self._asked] if at is None else [at]
        members = [member for each in places for member in self._take(each, host)]
        return [OnMember(member, RemoveRemote(*host)) for member in members]

    def remove_everywhere(self, mac: int) -> list[Effect]:
        """Remove the flows of an address in all VLANs."""
        hosts = {host for hosts in self._asked.values() for host in hosts if host[1] == mac}
        return [effect for host in sorted(hosts) for effect in self.remove(host)]

    def flush(self, at: int | None, vid: int | None) -> None:
        """Forget hosts that were flushed: those at a member, in a VLAN, or all."""
        for each in [*self._asked] if at is None else [at]:
            for host in [host for host in self._asked[each] if vid in (None, host[0])]:
                self._take(each, host)

    def forget_member(self, member: int) -> None:
        """Take note that a member has none of these flows any more."""
        for hosts in self._asked.values():
            for host in [host for host, members in hosts.items() if members >> member & 1]:
                hosts[host] &= ~(1 << member)
                if not hosts[host]:
                    del hosts[host]
        self._count.pop(member, None)

    def hosts_on(self, lag: int) -> list[Effect]:
        """The effects that have a member send by an aggregation to the hosts that are known there.

        Frames to them have left by the aggregation at other members.
        """
        return [
            InstallDestination(lag, vid, mac, entry.serial)
            for vid, mac, entry in self._learning.fdb
            if entry.port == lag and entry.was_learned and self._learning.forwards(lag)
        ]

    def _on_aggregation(self, host: Host, member: int) -> Effect | None:
        """The effect by which a member reaches a host on an aggregation with ports at several."""
        vid, mac = host
        entry = self._learning.fdb.get(vid, mac)
        if entry is None or not entry.was_learned or not self._learning.forwards(entry.port):
            return None
        places = self._places.attachments(entry.port)
        if len(places) > 1 and any(place.member == member for place in places):
            return InstallDestination(entry.port, vid, mac, entry.serial)
        return None

    def _member_of(self, host: Host) -> int | None:
        vid, mac = host
        entry = self._learning.fdb.get(vid, mac)
        if entry is None:
            port = self._learning.local.get(mac)
        else:
            port = entry.port if self._learning.forwards(entry.port) else None
        return None if port is None else self._places.member_of(port)

    def _enter(self, at: int, host: Host, member: int) -> bool:
        members = self._asked[at].get(host, 0)
        if members >> member & 1:
            return True
        if self._count[member] >= self._most:
            return False
        self._count[member] += 1
        self._asked[at][host] = members | 1 << member
        return True

    def _take(self, at: int, host: Host) -> list[int]:
        """Forget which members have a host; return them."""
        bits = self._asked[at].pop(host, 0)
        members = [member for member in range(1, bits.bit_length()) if bits >> member & 1]
        for member in members:
            self._count[member] -= 1
        return members


class AgedOut:
    """Hosts on aggregations that some of several members have aged out.

    The host may send by another member still.
    """

    def __init__(self) -> None:
        self._members: dict[tuple[int, int], tuple[int, set[int]]] = {}

    def at_all(self, host: tuple[int, int], serial: int, member: int, members: set[int]) -> bool:
        """Whether all members that reach a host have aged it out, now that one more has.

        serial: serial of its entry; it has another one when it is learned again.
        """
        known, aged = self._members.pop(host, (serial, set[int]()))
        aged = {*(aged if known == serial else ()), member}
        if members <= aged:
            return True
        self._members[host] = serial, aged
        if len(self._members) > MOST_AGED:
            del self._members[next(iter(self._members))]
        return False
