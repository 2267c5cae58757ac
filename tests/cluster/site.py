"""A cluster's site: etcd, members, switches that know all of them, and hosts that talk.

           etcd (three nodes)
        m1       m2       m3          each cut off from anybody else at will
     switch 1 ====== switch 2         a ring, here of two: spanning tree closes a port
    h1 h2   x1      h3 h4   x2        h: known hosts that talk; x: listens

Each switch is a separate Open vSwitch, which logs all that it hears and says by OpenFlow.  With
bonds there are three switches, and two partners of another make (`partners`).
"""

from __future__ import annotations

import itertools
import shutil
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from ofapp.controller.cluster.election.placement import Candidate, line
from tests.cluster.etcd import Etcd
from tests.cluster.partners import Partner, Rate
from tests.cluster.wires import Wires
from tests.cluster.writers import Log
from tests.support.background import Background, Closable
from tests.support.controller import Reply
from tests.support.lab import Host, Stream, frame, sh
from tests.support.ownswitch import BRIDGE, ControllerInside, OwnSwitch, dropped
from tests.support.waiting import wait_for

RATE = 500
"""Frames a second of each stream."""
BONDS: tuple[Rate, ...] = ("fast", "slow")
"""Of the first switch's partner, and of the second's."""

HELLO = 2.0
STP = "01:80:c2:00:00:00"


FABRIC = "pod"

DPID = 0x0C00_0000_0000
"""Of the switch before the first."""


@dataclass(frozen=True)
class Plan:
    """etcd: whether controllers are members of a cluster; bonds: whether there are partners.

    fabric: whether all switches are one bridge.
    """

    switches: int
    members: int
    etcd: bool = True
    stp: bool = True
    bonds: bool = False
    fabric: bool = False


class Member(ControllerInside):
    """A controller in its own namespace; `address` is where switches find it."""

    def __init__(self, wires: Wires, number: int, plan: Plan, options: tuple[str, ...]) -> None:
        self.name = f"m{number}"
        self.number = number
        self._wires = wires
        self.space = wires.space(self.name)
        self.address = wires.attach(self.space, "sw", 10 + number)
        wires.attach(self.space, "et", 10 + number)
        self.peer_address = wires.attach(self.space, "mm", 10 + number)
        super().__init__(self.space)
        self._options = ("--ofp-listen-host", "0.0.0.0", *options)
        own = {"stp": {"enabled": plan.stp}, "lldp": {"enabled": plan.stp}}
        bonds = zip(range(1, plan.switches + 1), BONDS, strict=False) if plan.bonds else ()
        bridges = {f"{DPID + at:016x}": {"lags": Partner.lag(rate)} for at, rate in bonds}
        members = {
            f"s{at}": {"bridge": f"{DPID + at:016x}", "links": ["cable*"]}
            for at in range(1, plan.switches + 1)
        }
        file: dict[str, Any] = {"defaults": own, "bridges": bridges}
        if plan.fabric:
            file["fabrics"] = {FABRIC: {"members": members}}
        self.configure(yaml.safe_dump(file))

    @property
    def target(self) -> str:
        return f"tcp:{self.address}:{self.ofp_port}"

    def patiently(self, method: str, path: str, body: object = None) -> Reply:
        """One request, repeated as long as the answer is 503: no member serves the switch yet, as
        it is on its way to another one, or etcd has no leader just now."""

        def answer() -> Reply | None:
            reply = self.api(method, path, body)
            return None if reply.status == 503 else reply

        reply = wait_for(answer, f"another answer than 503 to {method} {path}", seconds=30)
        assert reply is not None
        return reply

    def cut(self, *nets: str) -> None:
        """Take its cables to these networks away."""
        self._wires.cut(self.space, *nets)

    def heal(self, *nets: str) -> None:
        """Give them back."""
        self._wires.heal(self.space, *nets)


class Switch(OwnSwitch):
    """One switch, its two known hosts and the one that listens."""

    def __init__(self, wires: Wires, number: int) -> None:
        program = Path(shutil.which("ovs-vswitchd") or "")
        super().__init__(program, dpid=DPID + number)
        self.number = number
        self._wires = wires

    def start(self) -> None:
        super().start()
        self.appctl("vlog/disable-rate-limit", "vconn")
        self.appctl("vlog/set", "vconn:file:dbg")
        self._wires.attach(self.namespace, "sw", 20 + self.number)
        self.log = Log(self.dir / "ovs-vswitchd.log")
        self.hosts: list[Host] = []
        for place in (1, 2, 3):
            host = self.host(10 * self.number + place)
            self.add_port(host.plug, place)
            self.hosts.append(host)

    @property
    def pair(self) -> tuple[Host, Host]:
        """The two that talk."""
        return self.hosts[0], self.hosts[1]

    @property
    def listener(self) -> Host:
        """The one that does not."""
        return self.hosts[2]

    def follow(self, members: Iterable[Member]) -> None:
        """Set its controllers."""
        self.vsctl("set-controller", BRIDGE, *(member.target for member in members))
        for row in self.vsctl("--bare", "--columns=_uuid", "list", "Controller").split():
            settings = ("max_backoff=1000", "inactivity_probe=2000", "connection_mode=out-of-band")
            self.vsctl("set", "Controller", row, *settings)

    def controllers(self) -> int:
        """How many are connected."""
        output = self.vsctl("--bare", "--columns=is_connected", "list", "Controller")
        return output.split().count("true")

    def write(self) -> None:
        """Change a flow by hand, beside the controllers."""
        self._run("ovs-ofctl", "-O", "OpenFlow13", "add-flow", BRIDGE, "table=250,actions=drop")

    def forwards(self) -> bool:
        """Whether the two that talk reach each other: they are known then."""
        one, other = self.pair
        return one.reaches(other.ip, seconds=1)

    def knows(self, mac: str) -> bool:
        """Whether frames to that address go by a separate flow."""
        return f"dl_dst={mac}" in self._run("ovs-ofctl", "-O", "OpenFlow13", "dump-flows", BRIDGE)


class Hellos(Background):
    """What a switch says of spanning tree on a port where no other bridge does."""

    def __init__(self, host: Host) -> None:
        self.times = [time.monotonic()]
        self._wire = host.wire()
        super().__init__(self._listen)

    def _to_close(self) -> Iterable[Closable]:
        return (self._wire.socket,)

    def longest(self) -> float:
        """Seconds between two of them, or since the last one."""
        times = [*self.times, time.monotonic()]
        return max(later - earlier for earlier, later in itertools.pairwise(times))

    def _listen(self) -> None:
        mac = bytes.fromhex(STP.replace(":", ""))
        while not self._stop.wait(0.02):
            if any(got.startswith(mac) for got in self._wire.received()):
                self.times.append(time.monotonic())


class Newcomer(Background):
    """An unknown host that sends a frame ten times a second."""

    def __init__(self, switch: Switch, number: int) -> None:
        self.mac = f"02:0c:{switch.number:02x}:00:{number >> 8:02x}:{number & 255:02x}"
        self.begun = time.monotonic()
        self._switch = switch
        self._wire = switch.listener.wire()
        super().__init__(self._speak)

    def _to_close(self) -> Iterable[Closable]:
        return (self._wire.socket,)

    def learned(self, seconds: float) -> float:
        """Wait until the switch knows it; seconds since it began to speak."""
        wait_for(lambda: self._switch.knows(self.mac), f"{self.mac} to be known", seconds=seconds)
        return time.monotonic() - self.begun

    def _speak(self) -> None:
        said = frame("ff:ff:ff:ff:ff:ff", self.mac)
        while not self._stop.wait(0.1):
            self._wire.send(said)


@dataclass
class Site:
    """All of it."""

    plan: Plan
    wires: Wires
    etcd: Etcd | None
    members: list[Member]
    switches: list[Switch]
    partners: list[Partner] = field(default_factory=list)
    spares: list[Member] = field(default_factory=list)

    def name(self, peer: str) -> str:
        """Whose connection that is: tcp:HOST:PORT."""
        return next((one.name for one in self.members if one.target == peer), peer or "nobody")

    def owner(self, switch: Switch) -> Member:
        """Who is MASTER, as the switch has it; waits until a member is, and has it in line."""
        wait_for(lambda: self._owner(switch), "an owner in line", seconds=60)
        return self._owner(switch) or self.owner(switch)

    def _owner(self, switch: Switch) -> Member | None:
        if self.etcd is None and len(self.members) == 1:
            (only,) = self.members
            return only if only.alive and self.in_line(only, switch) else None
        master = switch.log.master()
        return next(
            (one for one in self.members if one.target == master and self.in_line(one, switch)),
            None,
        )

    def served(self, switch: Switch) -> bool:
        """Whether its MASTER has it in line."""
        return self._owner(switch) is not None

    def all_served(self) -> bool:
        """Whether each switch is in line with some member."""
        return all(self.served(switch) for switch in self.switches)

    def start(self, *members: Member) -> None:
        """Start these at the same time."""
        with ThreadPoolExecutor() as pool:
            list(pool.map(Member.start, members))

    def spare(self, name: str) -> Member:
        """One more process that takes itself for the member of that name; not started."""
        number = len(self.members) + len(self.spares) + 1
        member = Member(self.wires, number, self.plan, _options(self.etcd, name))
        self.spares.append(member)
        return member

    def dropped(self) -> int:
        """Frames, save those of bonds, for which the switches' sockets had no room."""
        bonds = {name for one in self.partners for name in one.interfaces}
        return sum(
            count
            for switch in self.switches
            for name, count in dropped(switch).items()
            if name not in bonds
        )

    def usual(self, switch: Switch) -> str:
        """The name of the member that a switch falls to while all are there."""
        dpid = self.bridge_of(switch).dpid
        return line([Candidate(one.name) for one in self.members], dpid).order[0]

    def bridge_of(self, switch: Switch) -> Switch:
        """The switch whose bridge it belongs to: its own, or the first one of the fabric."""
        return self.switches[0] if self.plan.fabric else switch

    def balanced(self) -> bool:
        """Whether each switch is there, and in line: nothing is on its way to anybody."""
        owners = {switch: self._owner(switch) for switch in self.switches}
        return all(own is not None and own.name == self.usual(at) for at, own in owners.items())

    def whole(self) -> bool:
        """Whether every member is connected to every switch."""
        return all(switch.controllers() == len(self.members) for switch in self.switches)

    def in_line(self, member: Member, switch: Switch) -> bool:
        """Whether that member says so of the switch."""
        reply = member.api("GET", f"/v1/bridges/{self.bridge_of(switch).bridge.dpid16}")
        return bool(reply.status == 200 and reply.body["connected"] and reply.body["in_line"])

    def well(self) -> bool:
        """Whether each switch is with its usual owner and each bond uses both cables."""
        there = self.balanced() if self.etcd is not None else self.all_served()
        return there and self.whole() and all(partner.whole() for partner in self.partners)

    def tree(self, member: Member, switch: Switch) -> dict[str, Any]:
        """What spanning tree must not change: bridge and root, ports' roles and states."""
        reply = member.patiently("GET", f"/v1/bridges/{switch.bridge.dpid16}/stp")
        assert reply.status == 200, reply
        answer = reply.body
        ports = {port["name"]: (port["role"], port["state"]) for port in answer["ports"]}
        return {"bridge": answer["bridge_id"], "root": answer["root_id"], "ports": ports}

    def recovers(self) -> bool:
        """Whether all is well within a minute."""
        try:
            wait_for(self.well, "each switch with its usual owner, and all bonds", seconds=60)
        except AssertionError:
            return False
        return True

    def renew(self) -> None:
        """Kill and start all processes but the switches, etcd with nothing in it."""
        for member in self.members:
            member.kill9()
        if self.etcd is not None:
            self.etcd.wipe()
        self.start(*self.members)
        assert self.recovers()

    def close(self) -> None:
        """Remove it."""
        for member in (*self.members, *self.spares):
            member.close()
        for partner in self.partners:
            partner.close()
        for switch in self.switches:
            switch.close()
        if self.etcd is not None:
            self.etcd.close()
        self.wires.close()


def alone(members: int) -> Site:
    """One switch and controllers that do not know of each other, without spanning tree: one that
    takes the switch over knows nothing of the tree that there was."""
    return _made(Plan(1, members, etcd=False, stp=False))


def clustered(members: int = 3, switches: int = 2, *, stp: bool = True) -> Site:
    """Switches in a ring, and the members of a cluster."""
    return _made(Plan(switches, members, stp=stp))


def ring(members: int = 3) -> Site:
    """Three switches with partners, and a cluster; with one member just a controller."""
    return _made(Plan(3, members, etcd=members > 1, bonds=True))


def fabric(members: int = 3) -> Site:
    """Three switches in a ring that are one bridge, and a cluster."""
    return _made(Plan(3, members, fabric=True))


def _made(plan: Plan) -> Site:
    site = Site(plan, Wires(), None, [], [])
    try:
        if plan.etcd:
            space = site.wires.space("etcd")
            site.etcd = Etcd(space, site.wires.attach(space, "et", 1))
        for number in range(1, plan.switches + 1):
            switch = Switch(site.wires, number)
            site.switches.append(switch)
            switch.start()
        for cable in _cables(site.switches):
            _join(*cable)
        if plan.bonds:
            for number, (switch, rate) in enumerate(zip(site.switches, BONDS, strict=False)):
                site.partners.append(Partner(switch, rate, 101 + number))
        for number in range(1, plan.members + 1):
            options = _options(site.etcd, f"m{number}")
            site.members.append(Member(site.wires, number, plan, options))
        site.start(*site.members)
        for switch in site.switches:
            switch.follow(site.members)
    except BaseException:
        site.close()
        raise
    return site


def _options(etcd: Etcd | None, name: str) -> tuple[str, ...]:
    if etcd is None:
        return ()
    return ("--cluster", f"etcd={etcd.endpoints}", "--member", name)


def _cables(switches: list[Switch]) -> Iterator[tuple[Switch, int, Switch, int]]:
    """Of a ring, with the ports at both ends."""
    if len(switches) == 2:
        one, other = switches
        yield from ((one, port, other, port) for port in (4, 5))
    elif len(switches) > 2:
        for one, other in itertools.pairwise((*switches, switches[0])):
            yield one, 4, other, 5


def _join(one: Switch, port: int, other: Switch, far: int) -> None:
    ends = f"cable{port}", f"cable{far}"
    sh(
        *("ip", "-n", one.namespace, "link", "add", ends[0], "up", "type", "veth"),
        *("peer", "name", ends[1], "netns", other.namespace),
    )
    sh("ip", "-n", other.namespace, "link", "set", ends[1], "up")
    for switch, end in ((one, ends[0]), (other, ends[1])):  # a fabric's frames are longer
        sh("ip", "-n", switch.namespace, "link", "set", end, "mtu", 1600)
    one.add_port(ends[0], port)
    other.add_port(ends[1], far)


def streams(site: Site) -> Iterator[Stream]:
    """Between known hosts: one each way at a switch without others; five with three switches, of
    which two go around the ring."""
    pairs = [switch.pair for switch in site.switches]
    if len(pairs) < 3:
        ways = [way for one, other in pairs for way in ((one, other), (other, one))]
    else:
        (first, _), (second, _), (_, last) = pairs[:3]
        ways = [*pairs, (first, second), (last, first)]
    yield from (Stream(one, other, RATE) for one, other in ways)
