"""Networks with loops in them: the Mininet tier's laboratory, cables that can be cut, and peers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.support.lab import Host, Lab, Switch, sh, vsctl
from tests.support.stp_peers import Peer
from tests.support.waiting import wait_for

BridgeLike = Switch | Peer


@dataclass(frozen=True)
class Cable:
    """A link between two bridges; `ends` are the interfaces, the left bridge's first."""

    left: BridgeLike
    right: BridgeLike
    ends: tuple[str, str]

    def cut(self, end: int = 0) -> None:
        """Take an end down; the other loses its carrier."""
        sh("ip", "link", "set", self.ends[end], "down")

    def restore(self, end: int = 0) -> None:
        """Put it back."""
        sh("ip", "link", "set", self.ends[end], "up")

    def states(self) -> tuple[str, str]:
        """The states of both ends' ports."""
        return port_state(self.left, self.ends[0]), port_state(self.right, self.ends[1])


class Network(Lab):
    """A laboratory whose names begin with `prefix`."""

    def __init__(self, prefix: str, datapath: str = "netdev") -> None:
        super().__init__(datapath)
        self.tag = prefix + self.tag[2:]
        self.cables: list[Cable] = []
        self.peers: list[Peer] = []

    def peer(self, make: Callable[[str, int], Peer], priority: int) -> Peer:
        """A bridge that is not ofapp's."""
        peer = make(f"{self.tag}x{len(self.peers) + 1}", priority)
        self.peers.append(peer)
        return peer

    def cable(self, left: BridgeLike, right: BridgeLike, rate: str = "") -> Cable:
        """Join two bridges of any kind.  rate: tc's, in bits a second; unlimited without it."""
        ends = (f"{self.tag}l{len(self.cables)}a", f"{self.tag}l{len(self.cables)}b")
        sh("ip", "link", "add", ends[0], "type", "veth", "peer", "name", ends[1])
        self.own(ends[0])
        for end in ends:
            sh("ip", "link", "set", end, "up")
            if rate:
                limit = ("rate", rate, "burst", "32kb", "latency", "5ms")
                sh("tc", "qdisc", "add", "dev", end, "root", "tbf", *limit)
        left.links[left.add_port(ends[0])] = right  # type: ignore[assignment]
        right.links[right.add_port(ends[1])] = left  # type: ignore[assignment]
        cable = Cable(left, right, ends)
        self.cables.append(cable)
        return cable

    def between(self, left: BridgeLike, right: BridgeLike) -> Cable:
        """The cable that joins two bridges."""
        return next(c for c in self.cables if {c.left, c.right} == {left, right})

    def blocked(self) -> list[str]:
        """Ports that do not forward, as "bridge>neighbour", of the cables that are up."""
        return sorted(
            f"{self.label(one)}>{self.label(other)}"
            for cable in self.cables
            for one, other, state in zip(
                (cable.left, cable.right),
                (cable.right, cable.left),
                cable.states(),
                strict=True,
            )
            if state not in ("forwarding", "down")
        )

    def label(self, bridge: BridgeLike) -> str:
        """A letter for one of ofapp's bridges, P1, P2, ... for peers."""
        if isinstance(bridge, Peer):
            return f"P{self.peers.index(bridge) + 1}"
        return chr(ord("A") + self.switches.index(bridge))

    def wait_blocked(self, expected: set[str], what: str, seconds: float = 40) -> None:
        """Wait until exactly these ports block."""
        last: list[str] = []

        def right() -> bool:
            nonlocal last
            last = self.blocked()
            return last == sorted(expected)

        try:
            wait_for(right, what, seconds=seconds)
        except AssertionError as error:
            states = {c.ends: c.states() for c in self.cables}
            raise AssertionError(
                f"{what}: expected {expected} to block, but {last} do: {states}"
            ) from error

    def wait_count(self, ports: int, what: str, seconds: float = 20) -> None:
        """Wait until so many ports block."""
        wait_for(lambda: len(self.blocked()) == ports, f"{ports} blocked: {what}", seconds=seconds)

    def delete(self, switch: Switch) -> None:
        """Destroy one of ofapp's bridges; its cables hang loose at that end."""
        vsctl("del-br", switch.name)
        self.cables = [c for c in self.cables if switch not in (c.left, c.right)]

    def close(self) -> None:
        """Remove everything; what may still loop goes first."""
        for cable in self.cables:
            sh("ip", "link", "del", cable.ends[0], check=False)
        for peer in self.peers:
            peer.close()
        super().close()


def port_state(bridge: BridgeLike, interface: str) -> str:
    """forwarding, learning, discarding or down: what the datapath does, not what anybody says."""
    if isinstance(bridge, Peer):
        return bridge.state(interface)
    number = bridge.ports[interface]
    actions = [
        flow.actions
        for flow in bridge.flows()
        if flow.table == 0 and flow.priority == 100 and flow.match == f"in_port={number}"
    ]
    if actions and "goto_table" in actions[0]:
        return "forwarding"
    if actions:
        return "learning"
    return "discarding" if _carrier(interface) else "down"


def _carrier(interface: str) -> bool:
    return "LOWER_UP" in sh("ip", "-br", "link", "show", interface)


def hosts_on(network: Network, *bridges: BridgeLike) -> list[Host]:
    """A host on each."""
    return [network.host(bridge) for bridge in bridges]  # type: ignore[arg-type]
