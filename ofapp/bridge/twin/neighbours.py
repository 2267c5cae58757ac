"""Neighbours that are not in the twin: they go on as they are.

A bridge goes on with the hellos that it has sent last, and hosts with the multicast groups that
they have reported.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.multicast import parse, parse_group
from ofapp.bridge.multicast.decode import decode
from ofapp.bridge.multicast.encode import encode_report
from ofapp.bridge.multicast.message import Query, Record, RecordType
from ofapp.bridge.stp.bpdu import Bpdu, BpduType, encode
from ofapp.bridge.stp.port import InfoIs
from ofapp.bridge.stp.status import PortStatus
from ofapp.bridge.stp.vectors import ADDRESS_MASK
from ofapp.bridge.twin.cable import SwitchPort

ANSWER = 0.1
"""Seconds until a host answers a query; it may take up to the query's maximum response time."""

HOSTS = 0x0200_5E10_0000
"""MAC addresses from here on are those of hosts that answer."""


@dataclass(frozen=True, slots=True)
class Hello:
    """The hellos of a neighbour that is not ours.  period: in seconds."""

    at: SwitchPort
    frame: bytes
    period: float


def hellos(bridges: Mapping[int, Bridge], now: float) -> Iterator[list[Hello]]:
    """The hellos of neighbours that are none of these bridges, of one bridge after the other."""
    addresses = {bridge.address & ADDRESS_MASK for bridge in bridges.values()}
    for bridge in bridges.values():
        status, found = bridge.stp.status(now), []
        for port in status.ports if status is not None else ():
            sender = port.designated.bridge & ADDRESS_MASK
            member = member_of(bridge, port.port)
            if port.info_is is InfoIs.RECEIVED and sender not in addresses and member is not None:
                at = SwitchPort(bridge.datapath_id, member)
                found.append(Hello(at, _hello(port), port.times.hello_time))
        yield found


def member_of(bridge: Bridge, number: int) -> int | None:
    """The switch's port by which frames leave a port of the bridge."""
    in_use = bridge.lags.in_use(number)
    return in_use[0] if in_use else number if bridge.port_at(number) else None


def _hello(port: PortStatus) -> bytes:
    """The BPDU that a neighbour sent last, as the port holds its information."""
    kind = BpduType.RST if port.send_rstp else BpduType.CONFIG
    bpdu = Bpdu(
        kind,
        port.designated,
        port.times,
        learning=kind is BpduType.RST,
        forwarding=kind is BpduType.RST,
        version=2 if kind is BpduType.RST else 0,
    )
    return encode(bpdu, port.designated.bridge & ADDRESS_MASK)


class Membership(NamedTuple):
    """What the hosts of a port want in a VLAN, as the port's snooping has it."""

    vid: int
    record: Record


class Receivers:
    """The hosts that are members, by the port of the switch."""

    def __init__(self) -> None:
        self._at: dict[SwitchPort, tuple[Membership, ...]] = {}
        self._known: set[tuple[int, int, int, bytes]] = set()

    def __contains__(self, at: SwitchPort) -> bool:
        """Whether there are any at a port."""
        return at in self._at

    def take(self, bridge: Bridge, cabled: Container[SwitchPort], now: float) -> None:
        """Take the members of a bridge's groups that hosts have reported.

        cabled: ports with a cable to another bridge, which reports for the hosts behind it.
        """
        snapshot = bridge.multicast.status(now)
        for info in () if snapshot is None else snapshot.members:
            port = member_of(bridge, info.port)
            if info.permanent or port is None or (bridge.datapath_id, port) in cabled:
                continue
            exclude = info.mode == "exclude"
            sources = (each for each in info.sources if each.blocked is exclude)
            record = Record(
                RecordType.IS_EX if exclude else RecordType.IS_IN,
                parse_group(info.group),
                tuple(parse(each.address) for each in sources),
            )
            self._known.add((bridge.datapath_id, info.port, info.vid, record.group))
            at = SwitchPort(bridge.datapath_id, port)
            self._at[at] = (*self._at.get(at, ()), Membership(info.vid, record))

    def move(self, source: SwitchPort, to: SwitchPort, port: int, vid: int) -> None:
        """Move all hosts of a port to another one, in this VLAN; port: that of the bridge."""
        moved = [each._replace(vid=vid) for each in self._at.pop(source, ())]
        self._at[to] = (*self._at.get(to, ()), *moved)
        self._known |= {(to.datapath_id, port, vid, each.record.group) for each in moved}

    def had(self, datapath_id: int, port: int, vid: int, group: bytes) -> bool:
        """Whether hosts at a port of a bridge are members of a group, or were."""
        return (datapath_id, port, vid, group) in self._known

    def reports(self, at: SwitchPort, frame: bytes, vid: int | None) -> Iterator[bytes]:
        """Reports of the hosts at a port, as inside the bridge, to a query in this VLAN.

        Hosts do not answer other frames.
        """
        query = decode(frame)
        mac = HOSTS + (at.datapath_id & 0xFF) * 0x100 + (at.port & 0xFF)
        if not isinstance(query, Query):
            return
        for own, record in self._at.get(at, ()):
            if own == vid and len(record.group) == len(query.group):
                yield encode_report(record, mac, own)
