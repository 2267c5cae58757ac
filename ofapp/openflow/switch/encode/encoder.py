"""Effects of the core to OpenFlow messages, for one switch.

What the switch holds already is known (`installed`), so that any change of the bridge is the
smallest change of the switch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import islice
from typing import Any

from ofapp.bridge.effects import (
    NOTICES,
    Barrier,
    ClosePort,
    Effect,
    Flush,
    ForwardFrame,
    HoldDown,
    InstallDestination,
    InstallEntry,
    InstallSticky,
    LetGo,
    LookAgain,
    PutStatic,
    RemoveDestination,
    RemoveSource,
    RemoveStatic,
    Reprogram,
    SendFrame,
    SetBoundHost,
    SetFlood,
    SetGate,
    SetLag,
    SetRate,
    SetTrap,
)
from ofapp.bridge.event import Event
from ofapp.bridge.fabric.effects import (
    FlushRemote,
    PutRemote,
    RemoveRemote,
    SetFabric,
    SetShared,
)
from ofapp.bridge.first_hop.binding import BoundHost
from ofapp.bridge.lag.desired import DesiredLag
from ofapp.bridge.multicast import RemoveGroup, SetGroup, SetUnregistered
from ofapp.bridge.stp import PortState, SetPortState
from ofapp.common.portions import AT_ONCE, PORTION, Portions
from ofapp.openflow.model.cookie import Feature
from ofapp.openflow.model.flow import Action, Flow, Match, in_port, vlan
from ofapp.openflow.model.rule import TableId
from ofapp.openflow.model.trap import Place
from ofapp.openflow.model.traps import BPDU, LACP, OF_PORTS, TRAPS, lacp_places, trap_seconds
from ofapp.openflow.pipeline import flows, meters
from ofapp.openflow.pipeline.admission import ingress_marks
from ofapp.openflow.pipeline.away import PRESENT
from ofapp.openflow.pipeline.egress import entry_groups
from ofapp.openflow.pipeline.entries import Key, entry_of, key_of
from ofapp.openflow.pipeline.flood import flood_groups
from ofapp.openflow.pipeline.group_numbers import port_group
from ofapp.openflow.switch.encode.fabric import FabricWriter, RemoteWriter
from ofapp.openflow.switch.encode.learned import LearnedWriter
from ofapp.openflow.switch.installed import Installed
from ofapp.openflow.switch.program import difference
from ofapp.openflow.switch.switch_bridge import SwitchBridge
from ofapp.openflow.wire.messages import bundle, codec
from ofapp.openflow.wire.messages.oxm import AddressMatch

MANY = 16
"""Effects on learned addresses from which on they go as a bundle.

Open vSwitch revalidates most of what it has whenever its flows have changed: every cached
flow, and every flow with an idle timeout.  With 100,000 hosts that takes milliseconds, and
without bundles it does so after every 50 messages [measured].
"""

_TRAPS = {trap.name: trap for trap in TRAPS}
_NOT_OF_PORT = {
    *(Feature.LAG, Feature.BINDING, Feature.FABRIC, Feature.VERSION),
    *(trap.feature for trap in TRAPS if trap.of_bridge),
}
"""Features of flows that match a port and stay when it closes: of the switch's ports, and of hosts.
"""
_OPENED, _COMMITTED = bundle.frame(bundle.LEARNED)
_Writers = dict[type[Effect], Callable[[Any], bytes]]


class Encoder:
    """Encoder of the effects of `bridge`, for a switch that holds what is `installed`."""

    def __init__(self, bridge: SwitchBridge, installed: Installed) -> None:
        self._bridge = bridge
        self._installed = installed
        self._bpdus: list[tuple[int, int]] = []
        self._fabric = FabricWriter(installed)
        self._renew()

    def leads_right(self, half: AddressMatch, instructions: bytes) -> bool:
        """Whether a destination half that a switch holds does what one of today would do."""
        return instructions == self._learned.instructions(half.port, half.vid)

    def encode(self, effects: list[Effect]) -> bytes:
        """The messages of all effects, in their order; events have no message."""
        if self._learned.port_policies is not self._bridge.port_policies:
            self._renew()
        if (
            len(effects) >= MANY
            and self._installed.bundles
            and self._parts.keys() >= set(map(type, effects))
        ):
            parts = self._parts
            return b"".join(
                [_OPENED, *[parts[type(effect)](effect) for effect in effects], _COMMITTED]
            )
        install = self._learned.install
        if len(effects) == 1 and type(effects[0]) is InstallEntry:
            return install(effects[0])
        return b"".join(
            install(effect) if type(effect) is InstallEntry else self._message(effect)
            for effect in effects
        )

    def take_bpdus(self) -> list[tuple[int, int]]:
        """The BPDUs among what was written since this was asked last: (port, number)."""
        taken, self._bpdus = self._bpdus, []
        return taken

    def _renew(self) -> None:
        policies, ageing_time = self._bridge.port_policies, self._bridge.params.ageing_time
        self._learned = LearnedWriter(ageing_time, policies)
        self._sticky = LearnedWriter(None, policies)
        self._single = _writers(self._learned, self._sticky, RemoteWriter(ageing_time))
        self._parts = _writers(
            LearnedWriter(ageing_time, policies, bundled=True),
            LearnedWriter(None, policies, bundled=True),
            RemoteWriter(ageing_time, bundled=True),
        )

    def _message(self, effect: Effect) -> bytes:
        if write := self._single.get(type(effect)):
            return write(effect)
        match effect:
            case LookAgain():
                return b""
            case _ if type(effect) in NOTICES:
                return b""
            case SetFlood(ports):
                return self._set_flood(ports)
            case Reprogram():
                return self.reprogramming()(AT_ONCE)
            case SetPortState(port, state):
                return self._set_state(port, state)
            case ClosePort(port):
                return self._close(port)
            case SendFrame(ports, frame, bpdu):
                if bpdu:
                    self._bpdus += [(port, bpdu) for port in ports]
                return codec.send_frame(ports, frame, self._bridge.port_policies.aggregated)
            case ForwardFrame(port, frame):
                return codec.forward_frame(port, self._marks(port), frame)
            case SetBoundHost(host):
                return self._set_bound_host(host)
            case SetLag(lag):
                return self._set_lag(lag)
            case SetTrap(kind, port, on):
                return self._set_trap(kind, port, on)
            case SetFabric(fabric):
                return self._fabric.set(fabric)
            case SetShared(lag, members):
                return self._fabric.share(lag, members)
            case FlushRemote():
                return self._fabric.flush(effect)
            case SetGroup() | SetUnregistered():
                return self._set_entry(*entry_of(effect))
            case RemoveGroup(vid, group, sender):
                return self._set_entry(key_of(vid, group, sender), None)
            case PutStatic():
                return self._put_static(effect)
            case RemoveStatic(mac, vid):
                return b"".join(map(self._installed.take_out, self._installed_static(mac, vid)))
            case Flush():
                return self._flush(effect)
            case SetGate():
                return self._set_gate(effect)
            case SetRate(port):
                return self._set_rate(port)
            case HoldDown():
                return self._installed.put(flows.hold_flow(effect))
            case LetGo(vid, mac):
                return self._installed.take_out(
                    flows.hold_flow(HoldDown(vid, mac, 0, 0, 0)), any_serial=True
                )
            case _:
                raise TypeError(f"{effect!r} has no message")

    def renewals(self) -> Iterator[bytes]:
        """Renew the flows that end when the controller is gone: they say that it is there.

        In portions, between which others may work.
        """
        if self._bridge.port_policies.checked:
            yield codec.add_flow(PRESENT)
        trapping = iter([*self._bridge.trapping()])
        while portion := [*islice(trapping, PORTION)]:
            yield b"".join(
                _trap(port, trap_seconds(hello_time), self._installed.metered)
                for port, hello_time in portion
            )

    def reprogramming(self) -> Callable[[Portions], bytes]:
        """A function that gives the messages that make the switch what its bridge wants now.

        It works in portions, between which `encode` must not be called.  `Installed.holds` may be:
        then the program is compared with what the switch was found to hold.
        """
        make = self._bridge.desired_as_of_now()
        installed = self._installed

        def reprogram(portions: Portions) -> bytes:
            desired = make(portions)
            wanted = installed.wanted(desired, portions)
            before = None
            while before is not installed.program:
                before = installed.program
                changes = difference(before, wanted, portions)
                messages = changes.messages(portions)
            installed.program, installed.flooded = wanted, desired.flooded
            installed.deleted(changes.flows_removed)
            return installed.read_fragments(desired.port_policies.checked) + messages

        return reprogram

    def _set_flood(self, ports: frozenset[int]) -> bytes:
        """These ports, and no others that open later: what blocks must come first."""
        touched = None if self._installed.flooded is None else self._installed.flooded ^ ports
        self._installed.flooded = ports
        return self._installed.put_groups(flood_groups(self._bridge.port_policies, ports, touched))

    def _set_state(self, port: int, state: PortState) -> bytes:
        """Delete before adding, from the outermost table on, so that no frame is half-way in."""
        desired = self._bridge.desired_port(port, state)
        wanted = [
            *flows.port_flows(desired, tuple(self._bridge.static_on(port)), self._installed.metered)
        ]
        kept = {flow.identity for flow in wanted}
        messages = [
            self._installed.take_out(flow) for flow in self._on(port) if flow.identity not in kept
        ]
        if self._installed.metered:
            messages += map(self._installed.put_meter, meters.port_meters(desired))
        return b"".join([*messages, *map(self._installed.put, wanted)])

    def _close(self, port: int) -> bytes:
        messages = [*map(self._installed.take_out, self._on(port))]
        messages += [self._installed.drop_meter(meters.meter_id(port, kind)) for kind in OF_PORTS]
        return b"".join(messages)

    def _on(self, port: int) -> list[Flow]:
        """The flows that come and go with a port of the bridge."""
        flows = (
            flow
            for flow in self._installed.program.flows.of_port(port)
            if flow.feature not in _NOT_OF_PORT
        )
        return sorted(flows, key=lambda flow: (flow.table, flow.priority))

    def _set_entry(self, key: Key, ports: frozenset[int] | None) -> bytes:
        """The group before the flow that leads to it, and after it on the way out."""
        if ports is not None:
            number = self._installed.entries.of(key)
            message = self._installed.put_groups(
                entry_groups(self._bridge.port_policies, number, key.vid, ports)
            )
            return message + self._installed.put(flows.entry_flow(key, number))
        released = self._installed.entries.release(key)
        if released is None:
            return b""
        gone = self._installed.take_out(flows.entry_flow(key, released))
        return gone + self._installed.drop_group(released)

    def _put_static(self, static: PutStatic) -> bytes:
        wanted = [*flows.static_flows(self._bridge.port_policies, static)]
        if static.port is not None and self._bridge.port_policies.policy(static.port).locked:
            wanted += flows.pass_flows(self._bridge.desired_port(static.port), static)
        kept = {flow.identity for flow in wanted}
        old = [
            flow
            for flow in self._installed_static(static.mac, static.vid)
            if flow.identity not in kept
        ]
        return b"".join([*map(self._installed.put, wanted), *map(self._installed.take_out, old)])

    def _set_bound_host(self, host: BoundHost) -> bytes:
        """Add before deleting: an address that the host keeps is never refused."""
        wanted = [*flows.bound_flows(host)]
        kept = {flow.identity for flow in wanted}
        here = {in_port(host.port), vlan(host.vid)}
        old = [
            flow
            for flow in self._installed.program.flows.of_address(host.mac)
            if flow.feature is Feature.BINDING
            and flow.identity not in kept
            and here.issubset(flow.match)
        ]
        return b"".join([*map(self._installed.put, wanted), *map(self._installed.take_out, old)])

    def _marks(self, port: int) -> tuple[Action, ...]:
        """The registers of a frame that the controller forwards."""
        return tuple(ingress_marks(self._bridge.desired_port(port)))

    def _set_gate(self, gate: SetGate) -> bytes:
        messages = []
        for port in self._bridge.active_ports() if gate.port is None else [gate.port]:
            flow = flows.gate_flow(port, gate.vid, self._installed.metered)
            desired = self._bridge.desired_port(port)
            full = desired.full if gate.vid is None else gate.vid in desired.full_vlans
            wanted = full and desired.forwards
            messages.append(self._installed.put(flow) if wanted else self._installed.take_out(flow))
        return b"".join(messages)

    def _set_lag(self, lag: DesiredLag) -> bytes:
        """Delete before adding: no frame of a former member enters any more."""
        wanted = [*flows.lag_flows(lag, self._installed.metered)]
        kept = {flow.identity for flow in wanted}
        old = [
            flow
            for flow in self._installed.program.flows.values()
            if flow.feature in (Feature.LAG, LACP.feature) and flow.serial == lag.number
        ]
        gone = [flow for flow in old if flow.identity not in kept]
        messages = [*map(self._installed.take_out, gone)]
        if self._installed.metered:
            messages += map(self._installed.drop_meter, meters.metered_by(gone))
            traps = (meters.trap_meter(LACP, place) for place in lacp_places(lag))
            messages += map(self._installed.put_meter, traps)
        return b"".join([*messages, *map(self._installed.put, wanted)])

    def _set_trap(self, kind: str, port: int, on: bool) -> bytes:
        trap, place = _TRAPS[kind], Place(port)
        flow, meter = (
            flows.trap_flow(trap, place, self._installed.metered),
            meters.trap_meter(trap, place),
        )
        if on:
            return (
                self._installed.put_meter(meter) if self._installed.metered else b""
            ) + self._installed.put(flow)
        return self._installed.take_out(flow) + self._installed.drop_meter(meter.id)

    def _set_rate(self, port: int) -> bytes:
        meter = meters.sighting_meter(self._bridge.desired_port(port))
        return (
            self._installed.put_meter(meter) if meter.id in self._installed.program.meters else b""
        )

    def _installed_static(self, mac: int, vid: int | None) -> list[Flow]:
        """The flows installed of a static or local address."""
        feature = Feature.LOCAL if vid is None else Feature.STATIC
        where = None if vid is None else vlan(vid)
        return [
            flow
            for flow in self._installed.program.flows.of_address(mac)
            if flow.feature is feature and (where is None or where in flow.match)
        ]

    def _flush(self, flush: Flush) -> bytes:
        """Two deletes for any number of hosts; those of a guarded port match its group."""
        tagged = [] if flush.vid is None else [vlan(flush.vid)]
        behind = [] if flush.port is None else [Match("in_port", flush.port)]
        sticky, destination = flush.sticky, TableId.DESTINATION
        messages = codec.delete_learned(TableId.SOURCE, tagged + behind, sticky=sticky)
        messages += codec.delete_learned(destination, tagged, flush.port, sticky=sticky)
        if flush.port is not None and port_group(flush.port) in self._installed.program.groups:
            group = port_group(flush.port)
            messages += codec.delete_learned(destination, tagged, out_group=group, sticky=sticky)
        return messages


def _writers(learned: LearnedWriter, sticky: LearnedWriter, remote: RemoteWriter) -> _Writers:
    """Encoders of effects on addresses of hosts, and of effects without messages."""
    return {
        Event: lambda _event: b"",
        Barrier: lambda _barrier: b"",
        InstallEntry: learned.install,
        InstallSticky: sticky.install,
        InstallDestination: learned.install_destination,
        RemoveSource: learned.remove_source,
        RemoveDestination: learned.remove_destination,
        PutRemote: remote.put,
        RemoveRemote: remote.remove,
    }


@lru_cache(4096)
def _trap(port: int, seconds: int, metered: bool) -> bytes:
    """Made once: a switch of 48 ports is sent a hundred of these a second."""
    place = Place(port, seconds=seconds)
    return codec.add_flow(flows.trap_flow(BPDU, place, metered)) if seconds else b""
