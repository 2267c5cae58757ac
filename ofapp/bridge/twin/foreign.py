"""Bridges of other owners in the twin: they react to a change as 802.1D-2004 has it.

A bridge is known by the BPDUs that it has sent last. It is put into the twin where all of its path
to the root is known: it is the root, or its root port is at one of our ports. Of a bridge with STP
a root port sends no more than notifications, without an identifier (802.1D-2004, 9.3.2): it is
taken for that of a known bridge if just one fits by its cost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.params.params import BridgeParams, PortParams
from ofapp.bridge.ports.port import LOCAL_PORT, Port
from ofapp.bridge.state import SharedState
from ofapp.bridge.stp import BridgeParams as TreeParams
from ofapp.bridge.stp import OwnTrees, ParameterError
from ofapp.bridge.stp import PortParams as TreePortParams
from ofapp.bridge.stp.bpdu import BpduRole
from ofapp.bridge.stp.params import MAX_PATH_COST
from ofapp.bridge.stp.port import InfoIs
from ofapp.bridge.stp.status import PortStatus
from ofapp.bridge.stp.vectors import ADDRESS_MASK, PORT_NUMBER_MASK, PriorityVector, Times
from ofapp.bridge.twin.cable import SwitchPort, cable
from ofapp.bridge.twin.network import TwinNetwork

FOREIGN = 0xFFFF_FFFF_FFFF_0000
"""Datapath ids from here on are those of bridges of other owners."""

SPEED = 1000
"""Mbit/s of ports of such a bridge; their path costs are set."""


@dataclass(frozen=True, slots=True)
class FarPort:
    """A port of a bridge of another owner, at the other end of one of our ports.

    number, priority: the parts of its port identifier; number 0 is not known.
    cost: its path cost; None: by the speed.
    """

    at: SwitchPort
    cost: int | None = None
    number: int = 0
    priority: int = 128


@dataclass(frozen=True, slots=True)
class Foreign:
    """A bridge of another owner.  rapid: it speaks RSTP."""

    address: int
    priority: int
    ports: tuple[FarPort, ...]
    times: Times | None = None
    rapid: bool = True


@dataclass(frozen=True, slots=True)
class _Seen:
    """A port of ours, and the identifier of the bridge that was heard there; 0: a TCN alone."""

    at: SwitchPort
    port: PortStatus
    bridge: int

    @property
    def hears(self) -> bool:
        """Whether the other bridge is the designated one."""
        return self.port.info_is is InfoIs.RECEIVED

    @property
    def vector(self) -> PriorityVector:
        """The priority vector that the other bridge has sent last."""
        heard = self.port.heard
        return self.port.designated if self.hears or heard is None else heard.vector


def is_foreign(datapath_id: int) -> bool:
    """Whether a bridge of the twin is one of another owner."""
    return datapath_id >= FOREIGN


def attach(network: TwinNetwork, foreign: Foreign) -> None:
    """Put a bridge of another owner into a network, with cables to ports that have none yet."""
    datapath_id = FOREIGN + len(network.bridges)
    used = {port.number for port in foreign.ports}
    free = (number for number in range(1, 4096) if number not in used)
    numbers = [port.number or next(free) for port in foreign.ports]
    ports = {
        str(number): PortParams(stp=TreePortParams(priority=port.priority, path_cost=port.cost))
        for number, port in zip(numbers, foreign.ports, strict=True)
    }
    params = BridgeParams(stp=_tree(foreign), ports=ports)
    bridge = Bridge(datapath_id, params, SharedState(OwnTrees()), f"{foreign.address:012x}")
    made = [Port(LOCAL_PORT, "own", foreign.address, up=True)]
    for number, port in zip(numbers, foreign.ports, strict=True):
        made.append(Port(number, str(number), foreign.address, up=True, speed_mbps=SPEED))
        network.connect(cable(port.at, SwitchPort(datapath_id, number)))
    effects = bridge.set_ports(made, network.now)
    network.add(bridge, [*effects, *bridge.go_on(network.now)])


def _tree(foreign: Foreign) -> TreeParams:
    """Its parameters; times that no bridge may have are replaced by the defaults."""
    version = 2 if foreign.rapid else 0
    if foreign.times is not None:
        _, max_age, forward_delay, hello_time = foreign.times
        try:
            return TreeParams(
                foreign.priority,
                hello_time=hello_time,
                max_age=max_age,
                forward_delay=forward_delay,
                force_version=version,  # type: ignore[arg-type]
            )
        except ParameterError:
            pass
    return TreeParams(foreign.priority, force_version=version)  # type: ignore[arg-type]


class Around(NamedTuple):
    """Bridges of other owners around ours.  unknown: ports to those whose path is not known."""

    bridges: list[Foreign]
    unknown: list[SwitchPort]


def around(bridges: Iterable[Bridge], now: float, rest: Callable[[], object]) -> Around:
    """The bridges of other owners that these bridges hear.

    rest: called after each bridge, which lets other work run.
    """
    bridges = [*bridges]
    own = {bridge.address & ADDRESS_MASK for bridge in bridges}
    groups: dict[int, list[_Seen]] = {}
    notifiers: list[_Seen] = []
    for seen in _all_seen(bridges, now, rest):
        address = seen.bridge & ADDRESS_MASK
        if not address:
            notifiers.append(seen)
        elif address not in own:
            groups.setdefault(address, []).append(seen)
    result, known = [], set[SwitchPort]()
    for address, group in sorted(groups.items()):
        free = [seen for seen in notifiers if seen.at not in known]
        foreign = _foreign(address, group, free)
        if foreign is not None:
            result.append(foreign)
            known.update(port.at for port in foreign.ports)
    silent = [seen for group in [notifiers, *groups.values()] for seen in group if not seen.hears]
    return Around(result, [seen.at for seen in silent if seen.at not in known])


def _all_seen(bridges: Iterable[Bridge], now: float, rest: Callable[[], object]) -> Iterator[_Seen]:
    for bridge in bridges:
        status = bridge.stp.status(now)
        for port in status.ports if status is not None else ():
            aggregated = bridge.lags.in_use(port.port)
            if port.info_is is InfoIs.DISABLED or port.heard is None or aggregated:
                continue
            at = SwitchPort(bridge.datapath_id, port.port)
            known = port.designated if port.info_is is InfoIs.RECEIVED else port.heard.vector
            yield _Seen(at, port, known.bridge)
        rest()


def _foreign(address: int, group: Sequence[_Seen], notifiers: Sequence[_Seen]) -> Foreign | None:
    """The bridge with this address; None if its path to the root is not known."""
    serving = [seen for seen in group if seen.hears]
    vector = (serving or group)[0].vector
    times = serving[0].port.times if serving else None
    rapid = group[0].port.send_rstp
    links, cost = [*group], None
    if vector.root & ADDRESS_MASK != address or not serving:
        root = _root_port(vector, group, () if rapid else notifiers)
        if root is None:
            return None
        links += [] if root in links else [root]
        cost = _cost(vector, root)
    ports = tuple(_far(seen, cost) for seen in links)
    return Foreign(address, vector.bridge >> 48 & 0xF000, ports, times, rapid)


def _root_port(
    vector: PriorityVector, group: Sequence[_Seen], notifiers: Sequence[_Seen]
) -> _Seen | None:
    """The port of ours that leads to a bridge's root port.

    One where it has said so, or else the only one that fits its cost. A bridge that serves no port
    of ours has the best of them, unless notifications come from one of them alone.
    """
    silent = [seen for seen in group if not seen.hears]
    by_role = [seen for seen in silent if seen.port.heard and seen.port.heard.role is BpduRole.ROOT]
    if len(silent) == len(group) and notifiers:
        return notifiers[0] if len(notifiers) == 1 else None
    if by_role or len(silent) == len(group):
        return min(by_role or silent, key=lambda seen: seen.port.designated)
    fitting = [seen for seen in [*silent, *notifiers] if _cost(vector, seen) is not None]
    return fitting[0] if len(fitting) == 1 else None


def _cost(vector: PriorityVector, seen: _Seen) -> int | None:
    """The path cost that the other bridge has for this link if that is its root port.

    None for a cost that no port may have: a host can send any.
    """
    ours = seen.port.designated
    cost = vector.cost - ours.cost
    return cost if ours.root == vector.root and 1 <= cost <= MAX_PATH_COST else None


def _far(seen: _Seen, cost: int | None) -> FarPort:
    identifier = seen.vector.port if seen.hears or seen.bridge else 0
    number, priority = identifier & PORT_NUMBER_MASK, identifier >> 8 & 0xF0
    return FarPort(seen.at, cost or seen.port.path_cost, number, priority if number else 128)
