"""Effects of the core to OpenFlow messages, for one switch.

What the switch holds already is known (`installed`), so that any change of the bridge is the
smallest change of the switch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import chain, islice
from typing import Any

from ofapp.bridge.desired import DesiredPort
from ofapp.bridge.effects import (
    NOTICES,
    Barrier,
    Effect,
    Flush,
    ForwardFrame,
    InstallDestination,
    InstallEntry,
    InstallSticky,
    LookAgain,
    RemoveDestination,
    RemoveSource,
    RenewPort,
    Reprogram,
    SendFrame,
    SetFlood,
)
from ofapp.bridge.effects.fabric import FlushRemote, PutRemote, RemoveRemote, SetFabric
from ofapp.bridge.event import Event
from ofapp.bridge.stp import SetPortState
from ofapp.common.portions import AT_ONCE, PORTION, Portions
from ofapp.openflow.model.flow import Action, Match, vlan
from ofapp.openflow.model.rule import TableId
from ofapp.openflow.model.trap import TrapPort
from ofapp.openflow.model.traps import BPDU, trap_seconds
from ofapp.openflow.pipeline import flows
from ofapp.openflow.pipeline.admission import ingress_marks
from ofapp.openflow.pipeline.away import PRESENT
from ofapp.openflow.pipeline.egress import egress_flows, port_groups
from ofapp.openflow.pipeline.flood import flood_groups
from ofapp.openflow.pipeline.group_numbers import port_group
from ofapp.openflow.pipeline.part import Context
from ofapp.openflow.pipeline.parts import KINDS, part_of, port_key
from ofapp.openflow.pipeline.rate import rate_flows, rate_meters
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
            if new := self._new_ways_out():
                return new + self.encode(effects)
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
        """BPDUs encoded since the last call, as (port, number)."""
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

    def _new_ways_out(self) -> bytes:
        """Add the groups of ports that have another way out than before, and their flows.

        `Reprogram` brings them, too, but may wait for a barrier: the bridge is ahead of its switch,
        and what is sent meanwhile leads to these groups.
        """
        policies, program = self._bridge.port_policies, self._installed.program
        if policies.plain or not program.flows:
            return b""
        new = [
            port.number
            for port in self._bridge.ports
            if port_group(port.number) not in program.groups
        ]
        limited = new if self._installed.metered else []
        return self._installed.add(
            rate_meters(policies, limited),
            port_groups(policies, new),
            chain(rate_flows(policies, limited), egress_flows(policies, new)),
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
                return self._put(self._bridge.desired_port(port, state))
            case RenewPort():
                renewed = self._ports() if effect.port is None else [effect.port]
                return b"".join(map(self._renew_port, renewed))
            case _ if type(effect) in KINDS:
                return self._put(effect)
            case SendFrame(ports, frame, bpdu):
                if bpdu:
                    self._bpdus += [(port, bpdu) for port in ports]
                return codec.send_frame(ports, frame, self._bridge.port_policies.aggregated)
            case ForwardFrame(port, frame):
                return codec.forward_frame(port, self._marks(port), frame)
            case SetFabric(fabric):
                return self._fabric.set(fabric, self._context())
            case FlushRemote():
                return self._fabric.flush(effect)
            case Flush():
                return self._flush(effect)
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
            installed.deleted(changes.flows.removed)
            return installed.read_fragments(desired.port_policies.checked) + messages

        return reprogram

    def _set_flood(self, ports: frozenset[int]) -> bytes:
        """These ports, and no others that open later: what blocks must come first.

        Groups without a changed port are not made again: with 25 VLANs on 24 trunks that takes
        2 ms, on the way to a port's barrier [measured].
        """
        touched = None if self._installed.flooded is None else self._installed.flooded ^ ports
        self._installed.flooded = ports
        return self._installed.put_groups(flood_groups(self._bridge.port_policies, ports, touched))

    def _put(self, value: Any) -> bytes:
        """Put what is made for a value in the place of what was made before."""
        closes = KINDS[type(value)].closes
        return self._installed.replace(*part_of(value, self._context()), closes)

    def _context(self) -> Context:
        installed = self._installed
        return Context(self._bridge.port_policies, installed.metered, installed.entries)

    def _renew_port(self, port: int) -> bytes:
        """Renew a port in the state that the switch has, which the bridge's may be ahead of.

        The port does not close, so what is new comes first: no frame meets a gap between tables.
        """
        there = self._installed.program.parts.get(port_key(port))
        if there is None:
            return b""
        value = self._bridge.desired_port(port, there.value.state)
        return self._installed.replace(*part_of(value, self._context()), closes=False)

    def _ports(self) -> list[int]:
        """The ports that the switch has flows of."""
        parts = self._installed.program.parts.values()
        return [part.value.number for part in parts if type(part.value) is DesiredPort]

    def _marks(self, port: int) -> tuple[Action, ...]:
        """The registers of a frame that the controller forwards."""
        return tuple(ingress_marks(self._bridge.desired_port(port)))

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
    place = TrapPort(port, seconds=seconds)
    return codec.add_flow(flows.trap_flow(BPDU, place, metered)) if seconds else b""
