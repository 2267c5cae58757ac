"""Effects of the core to OpenFlow messages, for one switch."""

from __future__ import annotations

from functools import lru_cache

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import (
    Barrier,
    ClosePort,
    Effect,
    Flush,
    InstallDestination,
    InstallEntry,
    Pin,
    RemoveDestination,
    RemoveSource,
    SendFrame,
    SetFlood,
    Unpin,
)
from ofapp.bridge.event import Event
from ofapp.bridge.multicast import RemoveGroup, SetGroup, SetUnregistered
from ofapp.bridge.stp import PortState, SetPortState
from ofapp.openflow import codec, flows, mdb
from ofapp.openflow.flow import Group, Match, Meter, vlan
from ofapp.openflow.learned import LearnedWriter
from ofapp.openflow.pipeline import FLOOD_GROUP, TableId

_ANY_PORT = 1  # a pin's removal does not depend on where it leads


class EffectWriter:
    """Knows what of groups and meters the switch has already, so that it is changed, not added.

    metered: whether the switch has meters.
    """

    def __init__(self, bridge: Bridge, metered: bool) -> None:
        self._bridge = bridge
        self._metered = metered
        self._learned = LearnedWriter(bridge.params.ageing_time)
        self.groups: set[int] = set()
        self.entries = mdb.GroupNumbers()
        self.meters: set[int] = set()

    def write(self, effects: list[Effect]) -> bytes:
        """The messages of all effects, in their order; events are nobody's message."""
        install = self._learned.install
        return b"".join(
            install(effect) if type(effect) is InstallEntry else self._message(effect)
            for effect in effects
        )

    def put_group(self, group: Group) -> bytes:
        """Add or change a group."""
        message = codec.put_group(group, group.id in self.groups)
        self.groups.add(group.id)
        return message

    def put_meter(self, meter: Meter) -> bytes:
        """Add or change a meter."""
        message = codec.put_meter(meter, meter.id in self.meters)
        self.meters.add(meter.id)
        return message

    def _message(self, effect: Effect) -> bytes:
        match effect:
            case Event() | Barrier():
                return b""
            case InstallEntry():
                return self._learned.install(effect)
            case InstallDestination():
                return self._learned.install_destination(effect)
            case RemoveSource():
                return self._learned.remove_source(effect)
            case RemoveDestination():
                return self._learned.remove_destination(effect)
            case SetFlood(ports):
                return self.put_group(Group(FLOOD_GROUP, ports))
            case SetPortState(port, state):
                return self._set_state(port, state)
            case ClosePort(port):
                return self._close(port)
            case SendFrame(ports, frame):
                return codec.send_frame(ports, frame)
            case SetGroup() | SetUnregistered():
                return self._set_entry(*mdb.entry_of(effect))
            case RemoveGroup(vid, group, source):
                return self._set_entry(mdb.key_of(vid, group, source), None)
            case Pin():
                return self._pin(effect)
            case Unpin(mac, vid):
                pinned = flows.pin_flows(Pin(mac, vid, _ANY_PORT))
                return b"".join(map(codec.delete_flow, pinned))
            case Flush():
                return _flush(effect)

    def trap_bpdus(self) -> bytes:
        """Renew the flows that bring BPDUs here; they end by themselves when nobody does."""
        return b"".join(
            _trap(port, flows.trap_seconds(self._bridge, port), self._metered)
            for port in self._bridge.relay.states
        )

    def _set_state(self, port: int, state: PortState) -> bytes:
        """What goes goes first, the outermost table first, so that no frame is half-way in."""
        traps = flows.trap_seconds(self._bridge, port)
        wanted = flows.port_flows(port, state, traps, self._metered)
        kept = {(flow.table, flow.priority, flow.feature) for flow in wanted}
        messages = [
            codec.delete_flow(flow)
            for flow in reversed(flows.possible_port_flows(port))
            if (flow.table, flow.priority, flow.feature) not in kept
        ]
        if self._metered:
            meters = flows.port_meters(self._bridge, port)
            messages += [self.put_meter(meter) for meter in meters if meter.id not in self.meters]
        if self._bridge.multicasting is not None:
            wanted += flows.snoop_flows(port, self._metered)
        return b"".join([*messages, *map(codec.add_flow, wanted)])

    def _set_entry(self, key: mdb.Key, ports: frozenset[int] | None) -> bytes:
        """The group before the flow that leads to it, and after it on the way out."""
        if ports is not None:
            number = self.entries.of(key)
            known = number in self.groups
            message = self.put_group(Group(number, ports))
            return message if known else message + codec.add_flow(mdb.entry_flow(key, number))
        released = self.entries.release(key)
        if released is None:
            return b""
        self.groups.discard(released)
        return codec.delete_flow(mdb.entry_flow(key, released)) + codec.delete_group(released)

    def _close(self, port: int) -> bytes:
        messages = [*map(codec.delete_flow, reversed(flows.possible_port_flows(port)))]
        messages += [codec.delete_flow(flow) for flow in flows.snoop_flows(port, self._metered)]
        for meter in self.meters & {flows.meter_id(port, copy) for copy in flows.Copy}:
            self.meters.discard(meter)
            messages.append(codec.delete_meter(meter))
        return b"".join(messages)

    def _pin(self, pin: Pin) -> bytes:
        messages = b"".join(map(codec.add_flow, flows.pin_flows(pin)))
        if pin.port is None:
            destination, _ = flows.pin_flows(Pin(pin.mac, pin.vid, _ANY_PORT))
            messages += codec.delete_flow(destination)
        return messages


@lru_cache(4096)
def _trap(port: int, seconds: int, metered: bool) -> bytes:
    """Made once: a switch of 48 ports is sent a hundred of these a second."""
    return b"".join(
        codec.add_flow(flow)
        for flow in flows.port_flows(port, PortState.DISCARDING, seconds, metered)
    )


def _flush(flush: Flush) -> bytes:
    """Two deletes, whatever the number of hosts."""
    tagged = [] if flush.vid is None else [vlan(flush.vid)]
    behind = [] if flush.port is None else [Match("in_port", flush.port)]
    return codec.delete_learned(TableId.SOURCE, tagged + behind) + codec.delete_learned(
        TableId.DESTINATION, tagged, flush.port
    )
