"""Reactions of a bridge to changes of its ports, its parameters and what protocols want of it.

Every change passes all protocols.  The effects of each are carried out before the next one acts.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from ofapp.bridge.effects import (
    Effect,
    PutPorts,
    PutSwitchPorts,
    RemovePorts,
    RenewPolicies,
    Reprogram,
    SetAccess,
)
from ofapp.bridge.fdb.fdb import NO_PORT
from ofapp.bridge.fdb.static_entries import StaticEntries
from ofapp.bridge.params.params import BridgeParams
from ofapp.bridge.ports.events import BRIDGE_CONFIGURED
from ofapp.bridge.ports.port import LOCAL_PORT, Port
from ofapp.bridge.protocol import Protocol, Reconfigured
from ofapp.bridge.relay.arrivals import departed, link_event, take_in
from ofapp.bridge.relay.flooding import Flooding
from ofapp.bridge.relay.granted import Granted
from ofapp.bridge.relay.own_address import OwnAddress
from ofapp.bridge.relay.policies import PortPolicies
from ofapp.bridge.relay.relearned import relearned
from ofapp.bridge.state import BridgeState
from ofapp.bridge.stp import PortState


class Reactions:
    """The reactions of one bridge.

    protocols: each gets inputs in this order, and the removal of ports in the reverse order.
    is_edge: whether spanning tree knows no bridge behind a port.
    """

    def __init__(
        self,
        state: BridgeState,
        protocols: Sequence[Protocol[object]],
        static_entries: StaticEntries,
        own_address: OwnAddress,
        is_edge: Callable[[int], bool],
    ) -> None:
        self._state = state
        self._protocols = protocols
        self._on_switch = [each for each in protocols if each.on_switch_ports]
        self._on_bridge = [each for each in protocols if not each.on_switch_ports]
        self._static_entries = static_entries
        self._own_address = own_address
        self._is_edge = is_edge
        self.flooding = Flooding(self._on_bridge, is_edge, static_entries)

    def all(
        self,
        act: Callable[[Protocol[object]], list[Effect]],
        now: float,
        protocols: Iterable[Protocol[object]] | None = None,
    ) -> list[Effect]:
        """Let each protocol act, or each of these, and carry out what it wants."""
        those = self._protocols if protocols is None else protocols
        return [effect for each in those for effect in self.carry_out(act(each), now)]

    # Ports

    def put_ports(self, ports: Sequence[Port], now: float) -> list[Effect]:
        """Add or update ports of the switch."""
        ports = [self._state.marked(port) for port in ports]
        return self.all(lambda each: each.put_ports(ports, now), now, self._on_switch)

    def remove_ports(self, numbers: Sequence[int], now: float) -> list[Effect]:
        """Remove ports of the switch."""
        protocols = reversed(self._on_switch)
        return self.all(lambda each: each.remove_ports(numbers, now), now, protocols)

    def retain(self, names: Mapping[int, str], now: float) -> list[Effect]:
        """Remove restored ports of the bridge that have none of these numbers and names."""
        return self.all(lambda each: each.retain(names, now), now, self._on_bridge)

    def _put(self, ports: Iterable[Port], now: float) -> list[Effect]:
        """Add or update ports of the bridge, including logical ones."""
        state = self._state
        news = take_in(state.ports, state.port_policies, ports, state.learning.counters)
        effects = news.events
        for old_name, name in news.renamed:
            self._static_entries.rename(old_name, name)
        if news.new:
            effects += self._renew_policies(now)
        for port in news.new:
            params = state.port_policies.port(port.number)
            effects += state.learning.set_port(port, params, now)
        for port, _ in news.changed:
            if port.number == LOCAL_PORT:
                effects += self._static_entries.set_local(port.mac)
        effects += self._set_links(news.changed, now)
        return effects + self._static_entries.place({port.name: port.number for port in news.new})

    def _remove(self, numbers: Iterable[int], now: float) -> list[Effect]:
        lost = [port for number in numbers if (port := self._state.ports.drop(number)) is not None]
        if not lost:
            return []
        gone, effects = [port.number for port in lost], list[Effect]()
        self._own_address.forget(gone)
        for number in gone:
            effects += self._state.relay.close(number)
        for protocol in reversed(self._on_bridge):
            effects += protocol.remove_ports(gone, now)
        effects = self.carry_out(effects, now)
        for port in lost:
            effects += self._state.learning.drop_port(port.number)
            if port.number == LOCAL_PORT:
                effects += self._static_entries.set_local(None)
        effects += self._static_entries.place({port.name: NO_PORT for port in lost})
        effects += self._renew_policies(now)
        return effects + departed(self._state.ports, lost)

    def _renew_policies(self, now: float) -> list[Effect]:
        """Compute the policies again after a change of ports or parameters."""
        before, granted = self._state.port_policies, dict[str, Granted]()
        for protocol in self._protocols:
            granted |= protocol.granted()
        policies = PortPolicies(self._state.params, self._state.ports, granted=granted)
        self._state.port_policies = policies
        if before.trivial and policies.trivial and before.configured == policies.configured:
            return []
        effects: list[Effect] = [Reprogram()]
        for protocol in self._on_bridge:
            effects += protocol.apply_policies(now)
        return effects

    def _set_links(self, changed: Sequence[tuple[Port, bool]], now: float) -> list[Effect]:
        """Apply changed ports (were they usable?): close those that are not, inform protocols."""
        effects: list[Effect] = []
        for port, was_usable in changed:
            usable = self._state.usable(port)
            if not usable:
                effects += self._state.relay.close(port.number)
            if usable is not was_usable:
                effects.append(link_event(self._state.port_policies, port))
        if changed:
            ports = [port for port, _ in changed]
            for protocol in self._on_bridge:
                effects += protocol.put_ports(ports, now)
        return self.carry_out(effects, now)

    def carry_out(self, effects: Iterable[Effect], now: float) -> list[Effect]:
        """Carry out what protocols want of the bridge; returns all other effects."""
        rest: list[Effect] = []
        for effect in self.flooding.follow(effects, now):
            if isinstance(effect, RemovePorts):
                rest += self._remove(effect.numbers, now)
            elif isinstance(effect, PutPorts):
                rest += self._put(effect.ports, now)
            elif isinstance(effect, PutSwitchPorts):
                rest += self.put_ports(effect.ports, now)
            elif isinstance(effect, RenewPolicies):
                rest += self._follow_grants(now)
            elif isinstance(effect, SetAccess):
                for protocol in self._on_bridge:
                    rest += self.carry_out(protocol.set_access(effect, now), now)
            else:
                rest.append(effect)
        return rest

    def _follow_grants(self, now: float) -> list[Effect]:
        """Apply other VLANs that hosts have brought to their ports."""
        before = self._state.port_policies
        return self._relearned(before, self._renew_policies(now))

    def _relearned(self, before: PortPolicies, renewed: list[Effect]) -> list[Effect]:
        """Add to the effects of other policies what becomes of learned addresses."""
        state = self._state
        changed = [each for each in renewed if not isinstance(each, Reprogram)]
        moved = relearned(state.ports, before, state.port_policies, state.learning, state.relay)
        return [*moved.forgotten, *changed, *moved.direct, Reprogram(), *moved.guarded]

    def set_params(self, params: BridgeParams, now: float) -> list[Effect]:
        """Apply the parameters that differ from before, and nothing else.

        Protocols on the bridge's ports come first: a port that is no longer shut down must not open
        before spanning tree, which starts at the same time, knows it.
        """
        old, before, ports = self._state.params, self._state.port_policies, self._state.ports
        if params == old:
            return []
        self._state.params = params
        both = [(p, old.port(p.name, p.number), params.port(p.name, p.number)) for p in ports]
        change = Reconfigured(old, [each for each in both if each[1] != each[2]])
        effects: list[Effect] = []
        for protocol in self._on_bridge:
            effects += self._reconfigure(protocol, change, now)
        effects += self._state.learning.set_policies(params, ports, now)
        effects += self._relearned(before, self._apply_policies(now))
        for protocol in self._on_switch:
            effects += self._reconfigure(protocol, change, now)
        return [*effects, BRIDGE_CONFIGURED.event("the configuration has changed")]

    def _reconfigure(
        self, protocol: Protocol[object], change: Reconfigured, now: float
    ) -> list[Effect]:
        effects = self.carry_out(protocol.set_params(change, now), now)
        was_off = getattr(change.before, protocol.name, None) is None
        if was_off and protocol.params is not None and not protocol.on_switch_ports:
            states = {
                number: (state is PortState.FORWARDING, self._is_edge(number))
                for number, state in self._state.relay.states.items()
            }
            effects += self.carry_out(protocol.set_port_states(states, now), now)
        return effects

    def _apply_policies(self, now: float) -> list[Effect]:
        """Apply changed parameters: which port may reach which, and which ports are enabled."""
        up = {port.number: self._state.usable(port) for port in self._state.ports}
        effects = self._renew_policies(now)
        changed = [p for p in self._state.ports if self._state.usable(p) is not up[p.number]]
        return effects + self._set_links([(port, up[port.number]) for port in changed], now)
