"""A bridge with guest ports, for tests of first-hop security."""

from dataclasses import replace
from ipaddress import ip_address, ip_network

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import Effect, ForwardFrame, Reprogram, SendFrame
from ofapp.bridge.effects.content import BoundAddress, BoundHost
from ofapp.bridge.event import Event
from ofapp.bridge.first_hop.params import PortParams as Guard
from ofapp.bridge.params.params import BridgeParams, PortParams
from ofapp.bridge.ports.port import LOCAL_PORT, Port
from ofapp.bridge.state import SharedState
from tests.support.dhcp_frames import ack, request

GUEST = Guard("ip", arp_inspection=True, nd_inspection=True, dhcp_server=False, router=False)
PARAMS = BridgeParams(ports={"tap*": PortParams(first_hop=GUEST)})
UPLINK = 1
A, B, C = 0x02000000000A, 0x02000000000B, 0x02000000000C


def address(text: str) -> BoundAddress:
    """An address or a prefix."""
    if "/" in text:
        network = ip_network(text)
        return BoundAddress(network.network_address.packed, network.prefixlen)
    octets = ip_address(text).packed
    return BoundAddress(octets, 8 * len(octets))


def tap(number: int, up: bool = True) -> Port:
    """A guest's port; numbers from 11 on."""
    return Port(number, f"tap{number}", 0x020000000100 + number, up, 1000)


def uplink() -> Port:
    """The port of routers and DHCP servers."""
    return Port(UPLINK, "eth0", 0x020000000101, True, 1000)


def guarded_bridge(
    params: BridgeParams = PARAMS, taps: int = 3, shared: SharedState | None = None, number: int = 1
) -> Bridge:
    """A bridge with an uplink and guest ports 11, 12 and so on, whose switch is connected."""
    bridge = Bridge(number, params, shared)
    local = Port(LOCAL_PORT, f"br{number}", 0x020000000001 + (number << 8), True)
    bridge.set_ports([local, uplink(), *(tap(11 + each) for each in range(taps))], 0.0)
    return bridge


def with_guard(params: BridgeParams, **values: object) -> BridgeParams:
    """The same with other parameters of guest ports."""
    port = PortParams(first_hop=replace(GUEST, **values))  # type: ignore[arg-type]
    return replace(params, ports={"tap*": port})


class Guarded:
    """A bridge in virtual time, with what it sends and the events."""

    def __init__(self, bridge: Bridge) -> None:
        self.bridge = bridge
        self.first_hop = bridge.first_hop
        self.now = 1.0
        self.forwarded: list[ForwardFrame] = []
        self.sent: list[SendFrame] = []
        self.events: list[Event] = []
        self.effects: list[Effect] = []
        self.switch: dict[tuple[int, int, int], tuple[BoundAddress, ...]] = {}
        """The hosts that the switch knows by the effects, with their addresses."""

    def do(self, effects: list[Effect]) -> list[Effect]:
        """Apply effects, as the switch would."""
        self.effects = effects
        for effect in effects:
            if isinstance(effect, BoundHost):
                self.switch.pop((effect.port, effect.vid, effect.mac), None)
                if effect.addresses:
                    self.switch[effect.port, effect.vid, effect.mac] = effect.addresses
            elif isinstance(effect, Reprogram):
                self.switch = self.wanted()
            elif isinstance(effect, ForwardFrame):
                self.forwarded.append(effect)
            elif isinstance(effect, SendFrame):
                self.sent.append(effect)
            elif isinstance(effect, Event):
                self.events.append(effect)
        return effects

    def wanted(self) -> dict[tuple[int, int, int], tuple[BoundAddress, ...]]:
        """What the switch should know."""
        hosts: tuple[BoundHost, ...] = self.bridge.desired().protocols["first_hop"]
        return {(host.port, host.vid, host.mac): host.addresses for host in hosts}

    def hear(self, kind: str, port: int, frame: bytes) -> bool:
        """A frame for the controller; whether it was forwarded."""
        before = len(self.forwarded)
        self.do(self.bridge.hear(kind, [(port, frame)], self.now))
        return len(self.forwarded) > before

    def wait(self, seconds: float) -> None:
        """Let time pass, with all timers."""
        end = self.now + seconds
        while (due := self.bridge.next_wakeup()) is not None and due <= end:
            self.now = max(self.now, due)
            self.do(self.bridge.tick(self.now))
        self.now = end

    def lease(self, port: int, mac: int, address: str, seconds: int = 3600, vid: int = 0) -> bool:
        """A host gets an address by DHCP; whether the server's answer reached it."""
        if not self.hear("dhcp", port, request(mac, address, vid=vid)):
            return False
        return self.hear("dhcp_server", UPLINK, ack(mac, address, vid=vid, seconds=seconds))

    def link(self, port: int, up: bool) -> None:
        """The link of a guest's port goes up or down."""
        self.do(self.bridge.put_port(tap(port, up), self.now))

    def owner(self, text: str, vid: int = 0) -> tuple[str, int] | None:
        """The port and MAC address of the host with an address."""
        found = [each for each in self.first_hop.having(address(text).octets) if each.vid == vid]
        return (found[0].port, found[0].mac) if found else None

    def kinds(self) -> list[str]:
        """The kinds of events about bindings."""
        return [event.kind for event in self.events if event.kind.startswith("bindings")]


def hosts(effects: list[Effect]) -> list[BoundHost]:
    """The hosts that are set in the switch."""
    return [effect for effect in effects if isinstance(effect, BoundHost)]
