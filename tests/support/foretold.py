"""Random real networks with spanning tree, whose changes are predicted first and then made.

A network has switches of `ofapp` and up to two bridges of others, cables between them, of which
some are members of aggregations, and a host at most switches, in one of two VLANs or in none.
"""

from __future__ import annotations

import gzip
import json
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

import yaml

from tests.support.controller import Controller
from tests.support.lab import Host, Switch, sh
from tests.support.network import BridgeLike, Cable, Network
from tests.support.stp_peers import TIMERS, KernelStp, OvsRstp, Peer
from tests.support.waiting import wait_for

MOST_HOSTS = 6
SPARE = 4096
"""Priority of the bridge that is plugged in."""

Roles = dict[tuple[str, str], tuple[str, str]]
"""Role and state by bridge and port, of ports whose link is up."""


@dataclass(frozen=True)
class Shape:
    """What a network is made of.

    own: number of ofapp's switches; foreign: kinds of the other bridges; vlans: VID of each host's
    port in turn, 0 is none; doubled: cables that become aggregations of two.
    """

    own: int
    more: int
    foreign: tuple[type[Peer], ...] = ()
    vlans: tuple[int, ...] = (0,)
    doubled: int = 0


def random_shape(random: Random) -> Shape:
    """A network of 3 to 12 switches."""
    kinds: list[type[Peer]] = [KernelStp, OvsRstp]
    foreign = tuple(random.choice(kinds) for _ in range(random.choice([0, 0, 1, 1, 2])))
    own = random.randint(max(2, 3 - len(foreign)), 12 - len(foreign))
    vlans = random.choice([(0,), (10,), (10, 20)])
    return Shape(own, random.randint(1, 1 + own // 2), foreign, vlans, random.choice([0, 0, 1, 2]))


class RealNetwork:
    """The network with its controller, from `start` on.

    switches: ofapp's, peers: others'; spare: the cable of a bridge that is not plugged in yet.
    """

    def __init__(self, shape: Shape, random: Random) -> None:
        self.shape, self.random = shape, random
        self.network = Network("tw")
        self.own = [self.network.switch() for _ in range(shape.own)]
        priorities = random.sample(range(2, 16), min(14, shape.own + len(shape.foreign)))
        self.priorities = {
            switch: 4096 * priorities[at % len(priorities)] for at, switch in enumerate(self.own)
        }
        self.peers = [
            self.network.peer(kind, 4096 * random.randint(1, 15)) for kind in shape.foreign
        ]
        self.lags: dict[str, list[Cable]] = {}
        self.lacp: dict[str, str] = {}
        self.cut: list[Cable] = []
        self._connect()
        self.hosts = self._hosts()
        self.controller = Controller(yaml.safe_dump(self._file()), options=("--record",))

    def start(self) -> None:
        """Start the controller and wait until everything is at rest."""
        self.controller.start()
        for switch in self.own:
            self.controller.connect(switch)  # type: ignore[arg-type]
        self.wait_rest()

    def close(self) -> None:
        """Remove everything."""
        self.controller.close()
        self.network.close()

    # Building

    def _connect(self) -> None:
        random, nodes = self.random, [*self.own, *self.peers]
        pairs = [(random.randrange(at), at) for at in range(1, self.shape.own)]
        for at in range(self.shape.own, len(nodes)):  # others' bridges have two cables
            pairs += [(end, at) for end in random.sample(range(self.shape.own), 2)]
        while len(pairs) < len(nodes) - 1 + self.shape.more:
            one, other = random.sample(range(self.shape.own), 2)
            pairs.append((one, other))
        for one, other in pairs:
            self.network.cable(nodes[one], nodes[other])
        inner = [each for each in self.network.cables if self.is_own(each)]
        for number, first in enumerate(random.sample(inner, min(self.shape.doubled, len(inner)))):
            second = self.network.cable(first.left, first.right)
            self.lags[f"lag{number}"] = [first, second]
            self.lacp[f"lag{number}"] = random.choice(["off", "active"])

    def _hosts(self) -> dict[Host, int]:
        homes: list[BridgeLike] = [*self.own, *self.peers]
        chosen = self.random.sample(homes, min(MOST_HOSTS, len(homes)))
        vids = self.shape.vlans
        return {
            self.network.host(home): vids[at % len(vids)]  # type: ignore[arg-type]
            for at, home in enumerate(chosen)
            if isinstance(home, Switch) or vids == (0,)
        }

    def _file(self) -> dict[str, Any]:
        bridges: dict[str, Any] = {}
        for switch in self.own:
            bridges[switch.dpid16] = {"stp": {"priority": self.priorities[switch]}, "ports": {}}
        for host, vid in self.hosts.items():
            if vid and isinstance(host.home, Switch):
                bridges[host.home.dpid16]["ports"][host.plug] = {"vlan": vid}
        for name, cables in self.lags.items():
            for at, node in enumerate((cables[0].left, cables[0].right)):
                members = [each.ends[at] for each in cables]
                lags = bridges[node.dpid16].setdefault("lags", {})  # type: ignore[union-attr]
                lags[name] = {"members": members, "lacp": self.lacp[name], "rate": "fast"}
        tree = {"enabled": True, **(TIMERS | {"hello_time": 2} if self.peers else {})}
        return {"defaults": {"stp": tree, "lldp": {}}, "bridges": bridges}

    # Its present state

    def is_own(self, cable: Cable) -> bool:
        """Whether both ends are ofapp's."""
        return isinstance(cable.left, Switch) and isinstance(cable.right, Switch)

    def lag_of(self, cable: Cable) -> str | None:
        """The aggregation of a cable."""
        return next((name for name, cables in self.lags.items() if cable in cables), None)

    @staticmethod
    def ends(cable: Cable) -> Iterator[tuple[BridgeLike, str]]:
        """Each end of a cable: the bridge and its port."""
        yield from zip((cable.left, cable.right), cable.ends, strict=True)

    def trees(self) -> dict[str, Any]:
        """Spanning tree of each switch, by its name."""
        return {
            switch.name: self.controller.get(f"/v1/bridges/{switch.dpid16}/stp")
            for switch in self.own
        }

    def roles(self) -> Roles:
        """Roles and states of ofapp's ports."""
        return {
            (name, port["name"]): (port["role"], port["state"])
            for name, tree in self.trees().items()
            for port in tree["ports"]
            if port["role"] != "disabled"
        }

    def wait_rest(self, seconds: float = 90) -> None:
        """Wait until no port is about to change, here and at others' bridges."""

        def moving() -> object:
            """What is not at rest; None if all is."""
            roles = {}
            for name, tree in self.trees().items():
                if tree["topology_change"]["active"]:
                    return f"{name} reports a topology change"
                for port in tree["ports"]:
                    roles[name, port["name"]] = port["role"]
                    if port["role"] in ("root", "designated") and port["state"] != "forwarding":
                        return name, port
            for cable in self.network.cables:
                for node, end in self.ends(cable):
                    if isinstance(node, Peer) and node.state(end) == "learning":
                        return end
                    role = roles.get((node.name, end))
                    if role is not None and (role == "disabled") is not (cable in self.cut):
                        return end, role
            return None

        wait_for(lambda: moving() is None, "the network to be at rest", seconds=seconds)

    def recorded(self, since: float) -> Iterator[tuple[float, dict[str, Any]]]:
        """Recorded inputs and effects, with their times, since then."""
        url = f"http://127.0.0.1:{self.controller.api_port}/v1/recording"
        with urllib.request.urlopen(url, timeout=30) as answer:
            lines = gzip.decompress(answer.read()).splitlines()
        for text in lines:
            line = json.loads(text)
            given = line.get("with")
            plain = given[0] if isinstance(given, list) and isinstance(given[0], list) else ()
            times = [each for each in plain if isinstance(each, float)]
            if times and times[-1] >= since:
                yield times[-1], line


@dataclass
class Change:
    """A change: the question, and the commands that make it.

    links: interfaces that are set up or down; patch: a route and its body.
    gone: switches without power.
    """

    question: dict[str, Any]
    links: dict[str, str] = field(default_factory=dict)
    patch: tuple[str, dict[str, Any]] | None = None
    gone: tuple[Switch, ...] = ()

    def make(self, network: RealNetwork) -> float:
        """Make it; gives when."""
        begun = time.monotonic()
        if self.links:
            lines = "".join(f"link set {name} {way}\n" for name, way in self.links.items())
            sh("sh", "-c", f"printf '{lines}' | ip -batch -")
        if self.patch is not None:
            reply = network.controller.api("PATCH", *self.patch)
            assert reply.status == 200, reply
        return begun


def random_change(net: RealNetwork) -> Change:
    """The next change: a cable is cut or plugged in again, a switch fails, a setting changes."""
    random = net.random
    whole = [each for each in net.network.cables if each not in net.cut]
    kind = random.choice(["cut", "cut", "fail", "priority", "cost", "plug", "plug"])
    ours = [each for each in net.cut if net.is_own(each)]
    if kind == "plug" and ours:
        return plug(net, random.choice(ours))
    if kind == "priority":
        switch = random.choice(net.own)
        new = 4096 * random.randint(0, 15)
        settings = {"stp": {"priority": new}}
        return _setting(switch, settings)
    if kind == "cost":
        end, name = _an_end(net, random.choice(whole))
        cost = random.choice([100, 2000, 50000])
        return _setting(end, {"ports": {name: {"stp": {"path_cost": cost}}}})
    if kind == "fail" and len(net.own) > 2:
        return fail(net, random.choice(net.own))
    return cut(net, random.choice(whole))


def _setting(switch: Switch, settings: dict[str, Any]) -> Change:
    question = {"set": [{"bridge": switch.name, "settings": settings}]}
    return Change(question, patch=(f"/v1/bridges/{switch.dpid16}/settings", {"settings": settings}))


def _an_end(net: RealNetwork, cable: Cable) -> tuple[Switch, str]:
    """One of ofapp's ports of a cable: the aggregation's, for a member."""
    ends = [(node, name) for node, name in net.ends(cable) if isinstance(node, Switch)]
    switch, name = net.random.choice(ends)
    return switch, net.lag_of(cable) or name


def cut(net: RealNetwork, cable: Cable) -> Change:
    """Cut a cable."""
    end = next(f"{node.name}/{name}" for node, name in net.ends(cable) if isinstance(node, Switch))
    net.cut.append(cable)
    return Change({"cut": [end]}, dict.fromkeys(cable.ends, "down"))


def plug(net: RealNetwork, cable: Cable) -> Change:
    """Plug a cable in again."""
    net.cut.remove(cable)
    a, b = (f"{node.name}/{name}" for node, name in net.ends(cable))
    return Change({"plug": [{"a": a, "b": b}]}, dict.fromkeys(cable.ends, "up"))


def fail(net: RealNetwork, switch: Switch) -> Change:
    """Take a switch's power: all its links go down, at both ends."""
    links = {}
    for cable in net.network.cables:
        if switch in (cable.left, cable.right) and cable not in net.cut:
            net.cut.append(cable)
            links |= dict.fromkeys(cable.ends, "down")
    return Change({"fail": [switch.name]}, links, gone=(switch,))


def restore(net: RealNetwork) -> None:
    """Plug all cables in again, unasked."""
    for cable in net.cut:
        for end in cable.ends:
            sh("ip", "link", "set", end, "up")
    net.cut.clear()
