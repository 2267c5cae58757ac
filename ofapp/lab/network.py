"""Bridges and hosts with cables between them: BPDUs, LACPDUs and frames of hosts in virtual time.

A bridge relays a frame as its switch's tables would: ingress filter, learning, destination, flood.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import NamedTuple

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.multicast import SetGroup, SetUnregistered
from ofapp.bridge.packet.address import Family, group_mac
from ofapp.bridge.packet.checksum import checksum
from ofapp.bridge.packet.ethernet import IPV4, frame_vid, tagged
from ofapp.bridge.queries import fdb_tables, logical_port, port_states
from ofapp.bridge.relay.sending import sent
from ofapp.bridge.stp import PortState
from ofapp.bridge.twin.cable import SwitchPort
from ofapp.bridge.twin.network import HEARD, TwinNetwork

HOSTS = 1 << 62
"""Ids of hosts are from here on; a host has port 1 alone."""

HOST_DELAY = 0.05
"""Seconds that a frame of a host takes over a cable: so long that a student sees the frame."""

MOST = 16
"""Most frames of hosts on cables at the same time; what is above is lost."""

BROADCAST = (1 << 48) - 1

_IGMP = 2
_QUERY, _REPORT = 0x11, 0x16
_LEARNS = (PortState.LEARNING, PortState.FORWARDING)


class Underway(NamedTuple):
    """A frame on a cable."""

    arrives: float
    source: SwitchPort
    target: SwitchPort
    frame: bytes


class Received(NamedTuple):
    """A host that a frame has come to, by its id, and the sender's MAC address."""

    host: int
    source: int


class LabNetwork(TwinNetwork):
    """Bridges by datapath id, and hosts by id.

    under_way: frames on cables.  received: how many frames of each sender have come to each host.
    groups: multicast groups of each host.  lost: frames that found the cables full.
    """

    def __init__(self) -> None:
        super().__init__(0.0)
        self.under_way: list[Underway] = []
        self.received: Counter[Received] = Counter()
        self.groups: dict[int, set[bytes]] = {}
        self.lost = 0
        self._spoke: dict[tuple[int, int, int], float] = {}

    @property
    def next_event(self) -> float | None:
        """When something happens next."""
        return self._events[0][0] if self._events else None

    @property
    def carries_hosts(self) -> int:
        """How many frames of hosts are on cables."""
        return sum(each.frame[:6] not in HEARD for each in self.under_way)

    # Hosts

    def send(self, host: int, frame: bytes) -> None:
        """Send a frame of a host."""
        self.transmit(SwitchPort(host, 1), frame)

    def join(self, host: int, group: bytes) -> None:
        """Let a host become a member of an IPv4 group, and report it (RFC 2236 3)."""
        self.groups.setdefault(host, set()).add(group)
        self.send(host, ipv4(host, group, _IGMP, _igmp(_REPORT, group)))

    def _hear(self, host: int, frame: bytes) -> None:
        kind = _igmp_type(frame)
        if kind == _QUERY:
            for group in self.groups.get(host, ()):
                self._at(self.now + 1, partial(self._report, host, group))
        elif not kind:
            self.received[Received(host, mac_at(frame, 6))] += 1

    def _report(self, host: int, group: bytes) -> None:
        if group in self.groups.get(host, ()):
            self.join(host, group)

    # Cables

    def transmit(self, source: SwitchPort, frame: bytes) -> None:
        """Send a frame over the cable at a port of a switch or a host, if there is a cable."""
        far = self._far.get(source)
        if far is None:
            return
        control = frame[:6] in HEARD
        if not control and self.carries_hosts >= MOST:
            self.lost += 1
            return
        arrives = self.now + (self._delay if control else HOST_DELAY)
        self.under_way.append(Underway(arrives, source, far, frame))
        self._at(arrives, partial(self._end, self.under_way[-1]))

    def _end(self, way: Underway) -> None:
        self.under_way.remove(way)
        if self._far.get(way.source) == way.target:
            self.arrive(way.target, way.frame)

    def arrive(self, at: SwitchPort, frame: bytes) -> None:
        """Let a frame arrive at a port of a switch or at a host."""
        bridge = self.bridges.get(at.datapath_id)
        if bridge is None:
            self._hear(at.datapath_id, frame)
        elif HEARD.get(frame[:6]) == "lacp" or (bridge.stp.runs and frame[:6] in HEARD):
            super().arrive(at, frame)
        else:
            self._relay(bridge, at, frame)

    # The relay

    def _relay(self, bridge: Bridge, at: SwitchPort, frame: bytes) -> None:
        port, policies = logical_port(bridge, at.port), bridge.port_policies
        if port is None or not port.up or not policies.takes_part(port.number):
            return
        if port.number != at.port and at.port not in bridge.lags.in_use(port.number):
            return  # a member that is not in use
        vid, state = policies.vlans(port.number).classify(frame_vid(frame)), None
        if vid is not None:
            state = port_states(bridge).get(port.number)
        if vid is None or state not in _LEARNS:
            return
        self._learn(bridge, (port.number, vid, mac_at(frame, 6)))
        if state is not PortState.FORWARDING:
            return
        inside = frame if frame_vid(frame) else tagged(frame, vid)
        if bridge.multicast.runs and _igmp_type(inside):
            self.apply(bridge, bridge.hear("snooped", [(port.number, inside)], self.now))
        else:
            out = _ways(bridge, vid, inside) - {port.number}
            self.apply(bridge, sent(policies, out, port.number, inside))

    def _learn(self, bridge: Bridge, sample: tuple[int, int, int]) -> None:
        self.apply(bridge, bridge.addresses.learn([sample], self.now))
        host = (bridge.datapath_id, *sample[1:])
        if host not in self._spoke:
            self._at(self.now + bridge.params.ageing_time, partial(self._age, host))
        self._spoke[host] = self.now

    def _age(self, host: tuple[int, int, int]) -> None:
        """Forget an address that has not sent for the ageing time (802.1D-2004 7.9.2)."""
        datapath_id, vid, mac = host
        bridge = self.bridges.get(datapath_id)
        due = self._spoke[host] + (bridge.params.ageing_time if bridge else 0)
        if due > self.now:
            self._at(due, partial(self._age, host))
            return
        del self._spoke[host]
        entry = bridge.addresses.learned(vid, mac) if bridge else None
        if bridge and entry:
            self.apply(bridge, bridge.addresses.expired(vid, mac, entry.serial))


def _ways(bridge: Bridge, vid: int, frame: bytes) -> frozenset[int]:
    """The ports for a frame as it is inside the bridge, by its destination."""
    entry = fdb_tables(bridge).get(vid, {}).get(mac_at(frame, 0))
    if entry is not None:
        return frozenset({entry.port})
    forwarding, at = PortState.FORWARDING, 18 if vid else 14
    flood = frozenset(port for port, state in port_states(bridge).items() if state is forwarding)
    if frame[0] & 1 and frame[at - 2 : at] == IPV4:
        group = frame[at + 16 : at + 20]
        wanted = bridge.multicast.desired(bridge.params) or ()
        for each in wanted:
            if isinstance(each, SetGroup) and (each.vid, each.group) == (vid, group):
                return each.ports & flood
        for rest in wanted:
            if isinstance(rest, SetUnregistered) and (rest.vid, rest.family) == (vid, Family.IPV4):
                return flood if rest.ports is None else rest.ports & flood
    return flood


def mac_of(host: int) -> int:
    """The MAC address of a host."""
    return 0x02_0A_00_00_00_00 + host - HOSTS


def mac_at(frame: bytes, at: int) -> int:
    """The address at a position of a frame: 0 its destination, 6 its source."""
    return _number(frame[at : at + 6])


def _number(octets: bytes) -> int:
    return int.from_bytes(octets, "big")


def plain(host: int, destination: int) -> bytes:
    """A frame of a host, of the type for experiments (802-2014 9.2.4)."""
    addresses = destination << 48 | mac_of(host)
    return addresses.to_bytes(12, "big") + b"\x88\xb5" + bytes(46)


def ipv4(host: int, group: bytes, protocol: int = 17, payload: bytes = bytes(8)) -> bytes:
    """An IPv4 packet of a host to a group."""
    source = bytes((10, 0, 0, host - HOSTS & 0xFF))
    length = (24 + len(payload)).to_bytes(2, "big")
    head = b"\x46\xc0" + length + bytes(4) + bytes((1, protocol))
    tail = source + group + b"\x94\x04\x00\x00"
    packet = head + checksum(head + bytes(2) + tail).to_bytes(2, "big") + tail + payload
    return group_mac(group) + mac_of(host).to_bytes(6, "big") + IPV4 + packet


def _igmp(kind: int, group: bytes) -> bytes:
    message = bytes((kind, 0, 0, 0)) + group
    return message[:2] + checksum(message).to_bytes(2, "big") + group


def _igmp_type(frame: bytes) -> int:
    """The type of an IGMP message, 0 for any other frame."""
    at = 18 if frame_vid(frame) else 14
    is_igmp = frame[at - 2 : at] == IPV4 and frame[at + 9] == _IGMP
    return frame[at + 4 * (frame[at] & 15)] if is_igmp else 0
