"""LLDP on a bridge: the information that its ports send, from parameters and ports.

LLDP runs on the switch's physical ports. The configuration and the VLANs of an aggregation hold for
its members.
"""

from collections.abc import Iterable, Sequence

from ofapp.bridge.effects import Effect, SetTrap
from ofapp.bridge.lldp import Agents, AgentStatus, Local, System
from ofapp.bridge.lldp import BridgeParams as LldpParams
from ofapp.bridge.lldp.information import Identifier, VlanName
from ofapp.bridge.lldp.own import OwnAgents
from ofapp.bridge.params.params import BridgeParams
from ofapp.bridge.ports.port import LOCAL_PORT, Port
from ofapp.bridge.protocol import Protocol, Reconfigured
from ofapp.bridge.state import BridgeState

MOST_VLANS = 16
"""Most VLAN names in a frame: each takes up to 39 of its 1,500 octets."""


class LldpOnBridge(Protocol[LldpParams]):
    """The LLDP agents of a switch's ports."""

    name = "lldp"
    hears = ("lldp",)
    on_switch_ports = True

    def __init__(self, state: BridgeState) -> None:
        super().__init__(state)
        self._agents = Agents(state.shared.of(OwnAgents))
        state.inner_ports[self.name] = self._agents.inner
        self._ports: dict[int, Port] = {}

    def put_ports(self, ports: Sequence[Port], now: float) -> list[Effect]:
        """Apply new and changed ports of the switch."""
        self._ports.update((port.number, port) for port in ports)
        if self.params is None:
            return []
        effects: list[Effect] = []
        if not self._agents or any(port.number == LOCAL_PORT for port in ports):
            effects += self._set_system(now)  # the bridge's name and address are sent
        return effects + self._put(ports, now)

    def _put(self, ports: Sequence[Port], now: float) -> list[Effect]:
        local = {port.number: local_of(self._state.params, port) for port in ports}
        silent = [number for number, sends in local.items() if sends is None]
        sending = [*filter(None, local.values())]
        return [*self._agents.remove(silent, now), *self._agents.put(sending, now)]

    def _set_system(self, now: float) -> list[Effect]:
        state, params = self._state, self.params
        if params is None:
            return self._agents.set_system(None, now)
        about = state.datapath_id, state.address, state.name
        system = System(*about, params.tx_interval, params.management_address)
        return self._agents.set_system(system, now)

    def remove_ports(self, numbers: Sequence[int], now: float) -> list[Effect]:
        """Forget ports that are gone."""
        for number in numbers:
            self._ports.pop(number, None)
        return self._agents.lose(numbers, now)

    def set_params(self, change: Reconfigured, now: float) -> list[Effect]:
        """Apply changed parameters, of the bridge, ports, VLANs and aggregations."""
        effects = self._set_system(now)
        return effects if self.params is None else effects + self._put([*self._ports.values()], now)

    def hear(self, kind: str, frames: Sequence[tuple[int, bytes]], now: float) -> list[Effect]:
        """Handle LLDP frames, each with the port of the switch that received it."""
        return self._agents.hear(frames, now)

    def tick(self, now: float) -> list[Effect]:
        """Let time pass."""
        return self._agents.tick(now)

    def next_wakeup(self) -> float | None:
        """When `tick` is due; None while paused or when nothing is."""
        return self._agents.next_wakeup()

    def pause(self, now: float) -> None:
        """Pause while the switch is disconnected."""
        self._agents.pause()

    def resume(self, now: float) -> None:
        """Run again: the switch has reconnected."""
        self._agents.resume(now)

    def status(self, now: float) -> tuple[AgentStatus, ...]:
        """The status of each port of the switch where it runs."""
        return self._agents.status(now)

    def returned(self, now: float) -> list[tuple[int, int]]:
        """The switch's ports by which frames left and came back, as (sent, heard)."""
        return self._agents.returned(now)

    def chassis(self, port: int) -> Identifier | None:
        """The chassis ID of the only neighbour of a port; None for none and for several."""
        return self._agents.chassis(port)

    def desired(self, params: BridgeParams) -> tuple[SetTrap, ...]:
        """The traps of the ports of the switch whose LLDP goes to the controller."""
        numbers: Iterable[int] = self._agents.ports
        if params is not self._state.params:
            ports = self._ports.values()
            numbers = sorted(port.number for port in ports if local_of(params, port) is not None)
        return tuple(SetTrap(self.name, number, True) for number in numbers)


def local_of(params: BridgeParams, port: Port) -> Local | None:
    """Return the information that a port sends; None if LLDP is disabled there.

    A port that is shut down does not send, nor does the destination of a mirror.
    """
    if params.lldp is None or port.number == LOCAL_PORT:
        return None
    lag = params.lag_of(port.name)
    port_params = params.port(port.name, port.number) if lag is None else params.port(lag)
    mirrors = params.policies.mirrors
    listens = port_params.policy.monitor or (lag or port.name) in (mirror.to for mirror in mirrors)
    if not port_params.lldp.enabled or port_params.policy.shutdown or listens:
        return None
    pvid, vlans = None, tuple[VlanName, ...]()
    if not port_params.vlans.transparent:
        pvid = port_params.vlans.pvid
        names = sorted(params.vlan_names.items())
        vlans = tuple(VlanName(vid, name) for vid, name in names if port_params.vlans.has(vid))
    about = port.number, port.name, port.mac, port.up, port_params.lldp.link
    return Local(*about, pvid, vlans[:MOST_VLANS], port_params.lldp.one_way)
