"""The bridge of one member of a fabric, for the session that programs the member's switch.

It is a view of the fabric's one bridge, in the numbers of the switch's ports (see `SwitchBridge`).
Inputs are translated.  All effects are for the fabric, which splits them among its members.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.desired import Asked, Desired, DesiredPort
from ofapp.bridge.effects import Effect, ForFabric
from ofapp.bridge.effects.fabric import FABRIC_PORT
from ofapp.bridge.event import Event
from ofapp.bridge.fabric.events import NO_NUMBER
from ofapp.bridge.fabric.member.addresses import MemberAddresses, for_fabric
from ofapp.bridge.fabric.member.protocols import (
    MemberEntries,
    MemberIpAddresses,
    MemberLags,
    MemberTree,
)
from ofapp.bridge.fabric.params import FabricParams
from ofapp.bridge.fabric.state.ports import MemberPorts
from ofapp.bridge.fabric.state.projection import FABRIC, Projection
from ofapp.bridge.fabric.state.state import FabricState
from ofapp.bridge.params.params import BridgeParams
from ofapp.bridge.ports.port import Port, PortTable
from ofapp.bridge.relay.policies import PortPolicies
from ofapp.bridge.stp import PortState
from ofapp.common.portions import Portions


class MemberBridge:
    """View of a fabric's bridge by one member; it implements `SwitchBridge`.

    An empty notice `ForFabric` means that members may have to hold something else than before.
    """

    def __init__(self, state: FabricState, member: int) -> None:
        bridge, places = state.bridge, state.places
        self.member = member
        self.ports = MemberPorts(state.params, bridge, places, member)
        self.addresses = MemberAddresses(bridge, places, member, state.aged)
        self.ip_addresses = MemberIpAddresses(bridge, places, member)
        self.stp = MemberTree(bridge, places, member)
        self.lags = MemberLags(bridge, places, self.ports, member)
        self.multicast = MemberEntries(state.found, member)
        self._state = state
        self._bridge: Bridge = bridge
        self._places = places
        self._projection = Projection(places, member)
        self._policies: PortPolicies | None = None
        self._policies_of: PortPolicies | None = None  # of the bridge, when these were made
        state.ports[member] = self.ports

    @property
    def name(self) -> str:
        """The member's name."""
        return self._state.params.members[self.member - 1].name

    @property
    def params(self) -> BridgeParams:
        """The bridge's parameters."""
        return self._bridge.params

    @property
    def port_policies(self) -> PortPolicies:
        """Which port of the member may reach which; the same object while nothing changes."""
        of = self._bridge.port_policies
        if self._policies is None or self._policies_of is not of:
            self._policies_of = of
            self._policies = self._make_policies(self.params, self._bridge.ports)
        return self._policies

    def _make_policies(self, params: BridgeParams, ports: PortTable) -> PortPolicies:
        if params.numbered:
            numbered = self._places.out(self.member, params.numbered.items())
            params = replace(params, numbered=dict(numbered))
        granted = self._bridge.port_policies.granted
        return PortPolicies(params, self.ports.among(ports), FABRIC_PORT, granted)

    @property
    def has_raised_rates(self) -> bool:
        """Whether some port of the bridge has more than its guaranteed rate."""
        return self._bridge.has_raised_rates

    # Ports

    def not_among(self, ports: Iterable[Port]) -> list[int]:
        """The numbers of the switch's ports that are not in such a list."""
        return self.ports.not_among(ports)

    def retain(self, ports: Iterable[Port], now: float) -> list[Effect]:
        """Remove restored ports of this member that are not in this complete list."""
        edges = [port for port in ports if not self.ports.is_link(port)]
        there = [*filter(None, map(self.ports.of_bridge, edges))]
        others = self._state.names_elsewhere(self.member)
        return for_fabric(self._bridge.retain(there, now, others))

    def set_fabric(self, params: FabricParams, now: float) -> list[Effect]:
        """Apply changed parameters of the fabric: the roles and the names of ports."""
        self.ports.set_params(params)
        return self._put_ports(self.ports.physical(), now)

    def put_ports(self, ports: Iterable[Port], now: float) -> list[Effect]:
        """Add ports of the switch, or update their names, addresses or links."""
        return self._out(self._put_ports(ports, now))

    def _put_ports(self, ports: Iterable[Port], now: float) -> list[Effect]:
        edges: list[Port] = []
        links: list[Port] = []
        moved: list[int] = []
        effects = self._state.put_local(now) if self.member != 1 else []
        for port in ports:
            is_link = self.ports.is_link(port)
            if port.number in (self.ports.edges if is_link else self.ports.links):
                moved.append(port.number)  # its name fits another pattern
            (links if is_link else edges).append(port)
        effects += self._remove(moved, now)
        known = [(port, self.ports.of_bridge(port)) for port in edges]
        effects += [
            _no_number(self.ports.name(port.name)) for port, of_bridge in known if of_bridge is None
        ]
        self.ports.edges.update((port.number, port) for port, there in known if there is not None)
        self.ports.links.update((port.number, port) for port in links)
        effects += self._bridge.put_ports([there for _, there in known if there is not None], now)
        if links:
            self._state.news = True
            effects += self._state.links.put_ports(self.member, links, now)
            effects += self._state.follow(now)
        return effects

    def remove_ports(self, numbers: Iterable[int], now: float) -> list[Effect]:
        """Remove ports of the switch."""
        numbers = list(numbers)
        effects = self._remove(numbers, now)
        return self._out([*effects, *self._state.follow(now)])

    def _remove(self, numbers: Sequence[int], now: float) -> list[Effect]:
        links = [number for number in numbers if self.ports.links.pop(number, None) is not None]
        gone: list[int] = []
        for port in numbers:
            number = self._places.number(self.member, port)
            if self.ports.edges.pop(port, None) is not None and number is not None:
                gone.append(number)
                self._places.leave(self.member, port)
        effects = self._bridge.remove_ports(gone, now) if gone else []
        if links:
            self._state.news = True
            effects += self._state.links.remove_ports(self.member, links, now)
        return effects

    def add_static(self, vid: int, mac: int, port_name: str, now: float) -> list[Effect]:
        """Fix an address to a port of the bridge.  Raises InputError."""
        return for_fabric(self._bridge.add_static(vid, mac, port_name, now))

    # Frames

    def hear(self, kind: str, frames: Sequence[tuple[int, bytes]], now: float) -> list[Effect]:
        """Handle frames of one kind, each with its port of the switch.

        Frames of the bridge's protocols on links between members are no part of the bridge.
        """
        if kind == "probe":
            effects = self._state.links.hear(self.member, frames, now)
            return self._out([*effects, *self._state.follow(now)])
        if kind == "remote":
            ageing_time = self.params.ageing_time
            return for_fabric(self._state.conversations.ask(self.member, frames, ageing_time, now))
        heard = self._places.into(self.member, frames)
        return for_fabric(self._bridge.hear(kind, heard, now)) if heard else []

    # Time and the connection

    def tick(self, now: float) -> list[Effect]:
        """Do nothing: the fabric's time passes in `Fabric.tick`."""
        return []

    def next_wakeup(self) -> float | None:
        """Return None: see `Fabric.next_wakeup`."""
        return None

    def resume(self, now: float) -> None:
        """Note that the switch has connected; its flows are not known yet."""
        self._state.expect(self.member, now)

    def go_on(self, now: float) -> list[Effect]:
        """Note that the switch holds what it is to hold."""
        return self._out(self._state.connect(self.member, now))

    def pause(self, now: float) -> None:
        """Do nothing: the end of a connection has effects on other members, so it is passed to
        `Fabric.disconnected`."""

    def send_last(self, now: float) -> list[Effect]:
        """Send the last frames before the controller ends: those of the whole bridge, once."""
        first = min(self._state.presence.connected, default=None)
        return for_fabric(self._bridge.send_last(now)) if first == self.member else []

    def restart_stp(self, lost: bool, clock: Callable[[], float]) -> Iterator[list[Effect]]:
        """Start the member's ports again, as it has not the states of the tree; others go on.

        An aggregation goes on that has ports at another member.
        """
        if lost:
            self._state.conversations.forget_member(self.member)
        ports = [
            port
            for port in self._bridge.relay.states
            if self._places.on(self.member, port) is not None
            and not self._state.presence.connected.intersection(
                place.member for place in self._places.of(port)
            )
        ]
        yield for_fabric(self._bridge.restart_ports(ports, lost, clock()))

    # The desired state

    def desired_as_of_now(
        self, params: BridgeParams | None = None
    ) -> Callable[[Portions], Desired]:
        """A function that computes later what the switch should hold: see `Asked.as_of_now`."""
        asked = Asked(self._bridge, params)
        here = {
            port.number
            for port in asked.ports
            if self._places.on(self.member, port.number) is not None
        }
        policies = (
            self.port_policies if params is None else self._make_policies(params, asked.ports)
        )
        fabric, make = self._state.desired(self.member), asked.as_of_now(here)

        def made(portions: Portions) -> Desired:
            desired = self._projection.whole(make(portions), policies, fabric)
            if not desired.snoops:
                return desired
            kept = self._state.found.kept(self.member, desired.entries)
            return replace(
                desired,
                protocols={**desired.protocols, "multicast": (*desired.entries, *kept)},
            )

        return made

    def desired_port(self, number: int, state: PortState | None = None) -> DesiredPort:
        """The part of one port, in its state or in this one."""
        if number == FABRIC_PORT:
            return FABRIC
        known = self._places.number(self.member, number) or 0
        return self._projection.port(self._bridge.desired_port(known, state), number)

    def trapping(self) -> Iterator[tuple[int, float]]:
        """The ports whose BPDUs go to the spanning tree, and its hello time.

        There are none while it is paused.  Then BPDUs pass after a short time, so that the bridges
        around the fabric hear each other through it (see `stp.absence`).
        """
        trapping = self._bridge.trapping() if self._state.runs else ()
        return iter(self._places.out(self.member, trapping))

    def sighting_rate(self, port: int) -> int:
        """Frames of unknown sources a second that a port may send to the controller now."""
        return self._bridge.sighting_rate(self._places.number(self.member, port) or 0)

    def _out(self, effects: list[Effect]) -> list[Effect]:
        if self._state.news and not effects:
            return [ForFabric(())]
        return for_fabric(effects)


def _no_number(name: str) -> Event:
    text = f"port {name} is not used: there is no number left for it"
    return NO_NUMBER.event(text, data={"name": name})
