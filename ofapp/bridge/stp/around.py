"""The neighbour of each port, as far as BPDUs tell: for a map of the network.

A port that holds another bridge's vector knows the port that sent it (17.5: designated bridge and
designated port). A designated port hears BPDUs that agree or disagree, but these name no port.
There only the address of the bridge behind it is known (see `neighbour`); the other end knows the
rest.
"""

from typing import NamedTuple

from ofapp.bridge.effects.content import PortState
from ofapp.bridge.stp.core import Core
from ofapp.bridge.stp.port import InfoIs, PortRole, TreePort


class PortAround(NamedTuple):
    """A port whose link is up, and its neighbour.

    port: OpenFlow port number; number: the one of 12 bits in its port identifier.
    bridge: the identifier of the bridge behind it, with priority 0 where its address alone is
    known; 0 where no bridge was heard.  far_port: its port's identifier, None where not known.
    """

    port: int
    number: int
    role: PortRole
    state: PortState
    bridge: int
    far_port: int | None


class Around(NamedTuple):
    """A tree, the root that it has found, and the ports whose links are up."""

    bridge_id: int
    root: int
    ports: tuple[PortAround, ...]


def around(core: Core) -> Around:
    """Describe the tree as of the last call; ports in the order in which they were added."""
    ports = tuple(_port(port) for port in core.ports.values() if port.link.up)
    return Around(core.bridge_id, core.root_priority.root, ports)


def _port(port: TreePort) -> PortAround:
    bridge, far_port = 0, None
    if port.info_is is InfoIs.RECEIVED:
        bridge, far_port = port.port_priority.bridge, port.port_priority.port
    elif not port.oper_edge:
        bridge = port.peer
    return PortAround(port.port_no, port.number, port.role, port.state, bridge, far_port)
