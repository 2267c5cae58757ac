"""A bridge that snoops, for tests: its ports, frames of its hosts, and what it makes of them."""

from collections.abc import Iterable, Sequence

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import Effect, SendFrame
from ofapp.bridge.event import Event
from ofapp.bridge.multicast import (
    Params,
    SetGroup,
    SetUnregistered,
    Snapshot,
    VlanParams,
)
from ofapp.bridge.multicast import PortParams as McastPort
from ofapp.bridge.multicast.on_bridge import SnoopingOnBridge
from ofapp.bridge.params.params import BridgeParams, PortParams
from ofapp.bridge.ports.port import LOCAL_PORT, Port
from ofapp.bridge.stp import BridgeParams as StpParams
from ofapp.bridge.stp import PortParams as StpPort
from ofapp.bridge.stp.transmit import EDGE_WAIT
from tests.unit.bridge.multicast.lan import V4, ip

OWN = 0x0200000000FE
QUERIER = Params(vlan=VlanParams(mcast_querier=True))
GROUP = ip("239.1.1.1")
MAC_GROUP = bytes.fromhex("010001c0ffee")
EDGE = PortParams(stp=StpPort(admin_edge=True))
TRUNK = PortParams(stp=StpPort(auto_edge=False))


def tag(vid: int, kind: int = 0x8100) -> bytes:
    return kind.to_bytes(2, "big") + vid.to_bytes(2, "big")


def join(vid: int = 0, group: str = "239.1.1.1") -> bytes:
    return V4.report((4, group, []), tags=tag(vid) if vid else b"")


def query(vid: int = 0) -> bytes:
    frame = V4.query()
    return frame[:12] + tag(vid) + frame[12:] if vid else frame


def port(number: int, up: bool = True, name: str = "") -> Port:
    return Port(number, name or f"p{number}", number, up, 1000)


def make(
    multicast: Params | None = None,
    vlans: dict[int, VlanParams] | None = None,
    ports: dict[str, McastPort] | None = None,
    stp: StpParams | None = None,
    edges: Iterable[str] | None = None,
) -> tuple[Bridge, list[Effect]]:
    """A bridge with ports 1 to 3 and LOCAL soon after time 0, and what it did.

    edges: ports that spanning tree has opened; it does not open the others for 30 s.
    """
    own = {name: PortParams(multicast=params) for name, params in (ports or {}).items()}
    if edges is not None:
        own |= {name: EDGE if name in edges else TRUNK for name in ("p1", "p2", "p3")}
    params = BridgeParams(
        stp=stp, multicast=multicast or Params(), ports=own, multicast_vlans=vlans or {}
    )
    bridge = Bridge(1, params)
    local = Port(LOCAL_PORT, "br0", OWN, True)
    effects = bridge.set_ports([port(1), port(2), port(3), local], 0.0)
    return bridge, effects + (bridge.tick(EDGE_WAIT) if edges else [])


def snooper(bridge: Bridge) -> SnoopingOnBridge:
    assert bridge.multicast.runs
    return bridge.multicast


def status(bridge: Bridge, now: float) -> Snapshot:
    found = bridge.multicast.status(now)
    assert found is not None
    return found


def desired(bridge: Bridge) -> Sequence[SetGroup | SetUnregistered]:
    return bridge.multicast.desired(bridge.params) or ()


def restricted(bridge: Bridge, vid: int = 0) -> float:
    """A querier is heard on port 3, and its members are known: gives the time."""
    bridge.hear("snooped", [(3, query(vid))], 1.0)
    bridge.tick(12.0)
    return 12.0


def members(bridge: Bridge, vid: int = 0, group: bytes = GROUP) -> frozenset[int] | None:
    """Where the datapath sends the group."""
    for wanted in desired(bridge):
        if isinstance(wanted, SetGroup) and (wanted.vid, wanted.group) == (vid, group):
            return wanted.ports
    return None


def sent(effects: list[Effect]) -> list[SendFrame]:
    return [effect for effect in effects if isinstance(effect, SendFrame)]


def kinds(effects: list[Effect]) -> list[str]:
    return [effect.kind for effect in effects if isinstance(effect, Event)]


def tagged(frame: bytes) -> bool:
    return frame[12:14] == b"\x81\x00"
