"""A cluster's site: etcd, members, switches that know all of them, and hosts that talk.

           etcd (three nodes)
        m1       m2       m3          each cut off from anybody else at will
     switch 1 ====== switch 2         two cables: spanning tree closes a port
    h1 h2   x1      h3 h4   x2        h: known hosts, 1,000 frames a second; x: listens

Each switch is an Open vSwitch of its own, which logs all that it hears and says by OpenFlow.
"""

from __future__ import annotations

import itertools
import re
import shutil
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from ofapp.controller.cluster.placement import Candidate, line
from tests.cluster.etcd import Etcd
from tests.cluster.wires import Wires
from tests.cluster.writers import Log
from tests.support.background import Background, Closable
from tests.support.lab import Host, Stream, frame, sh
from tests.support.ownswitch import BRIDGE, ControllerInside, OwnSwitch
from tests.support.waiting import wait_for

RATE = 1000
"""Frames a second of each stream."""

HELLO = 2.0
STP = "01:80:c2:00:00:00"


class Member(ControllerInside):
    """A controller in a namespace of its own; `address` is where switches find it."""

    def __init__(self, wires: Wires, number: int, options: tuple[str, ...], stp: bool) -> None:
        self.name = f"m{number}"
        self.number = number
        self._wires = wires
        self.space = wires.space(self.name)
        self.address = wires.attach(self.space, "sw", 10 + number)
        wires.attach(self.space, "et", 10 + number)
        self.peer_address = wires.attach(self.space, "mm", 10 + number)
        super().__init__(self.space)
        self._options = ("--ofp-listen-host", "0.0.0.0", *options)
        own = {"stp": {"enabled": stp}, "lldp": {"enabled": stp}}
        self.configure(yaml.safe_dump({"defaults": own}))

    @property
    def target(self) -> str:
        return f"tcp:{self.address}:{self.ofp_port}"

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
        super().__init__(program, dpid=0x0C00_0000_0000 + number)
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
        """Be looked after by these."""
        self.vsctl("set-controller", BRIDGE, *(member.target for member in members))
        for row in self.vsctl("--bare", "--columns=_uuid", "list", "Controller").split():
            settings = ("max_backoff=1000", "inactivity_probe=2000", "connection_mode=out-of-band")
            self.vsctl("set", "Controller", row, *settings)

    def dropped(self) -> int:
        """Frames for which the switch's own sockets had no room, as it was busy for too long."""
        told = self.inside("ss", "-0", "-m")
        return sum(int(count) for count in re.findall(r",d(\d+)\)", told))

    def controllers(self) -> int:
        """How many are connected."""
        told = self.vsctl("--bare", "--columns=is_connected", "list", "Controller")
        return told.split().count("true")

    def write(self) -> None:
        """Change a flow, as somebody who asks nobody."""
        self._run("ovs-ofctl", "-O", "OpenFlow13", "add-flow", BRIDGE, "table=250,actions=drop")

    def forwards(self) -> bool:
        """Whether the two that talk reach each other: they are known then."""
        one, other = self.pair
        return one.reaches(other.ip, seconds=1)

    def knows(self, mac: str) -> bool:
        """Whether frames to that address go by a flow of their own."""
        return f"dl_dst={mac}" in self._run("ovs-ofctl", "-O", "OpenFlow13", "dump-flows", BRIDGE)


class Hellos(Background):
    """What a switch says of spanning tree on a port where nobody else does."""

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
    """A host that nobody knows, which says something ten times a second."""

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

    wires: Wires
    etcd: Etcd | None
    members: list[Member]
    switches: list[Switch]

    def name(self, peer: str) -> str:
        """Whose connection that is: tcp:HOST:PORT."""
        return next((one.name for one in self.members if one.target == peer), peer or "nobody")

    def owner(self, switch: Switch) -> Member:
        """Who is MASTER, as the switch has it; waits until somebody is, and has it in line."""
        wait_for(lambda: self._owner(switch), "an owner in line", seconds=60)
        return self._owner(switch) or self.owner(switch)

    def _owner(self, switch: Switch) -> Member | None:
        master = switch.log.master()
        return next(
            (one for one in self.members if one.target == master and self.in_line(one, switch)),
            None,
        )

    def served(self, switch: Switch) -> bool:
        """Whether its MASTER has it in line."""
        return self._owner(switch) is not None

    def usual(self, switch: Switch) -> str:
        """The name of the member that a switch falls to while all are there."""
        return line([Candidate(one.name) for one in self.members], switch.dpid).order[0]

    def balanced(self) -> bool:
        """Whether each switch is there, and in line: nothing is on its way to anybody."""
        owners = {switch: self._owner(switch) for switch in self.switches}
        return all(own is not None and own.name == self.usual(at) for at, own in owners.items())

    def whole(self) -> bool:
        """Whether every member is connected to every switch."""
        return all(switch.controllers() == len(self.members) for switch in self.switches)

    def in_line(self, member: Member, switch: Switch) -> bool:
        """Whether that member says so of the switch."""
        reply = member.api("GET", f"/v1/bridges/{switch.bridge.dpid16}")
        return bool(reply.status == 200 and reply.body["connected"] and reply.body["in_line"])

    def tree(self, member: Member, switch: Switch) -> dict[str, Any]:
        """What spanning tree must not change: bridge and root, ports' roles and states."""
        told = member.get(f"/v1/bridges/{switch.bridge.dpid16}/stp")
        ports = {port["name"]: (port["role"], port["state"]) for port in told["ports"]}
        return {"bridge": told["bridge_id"], "root": told["root_id"], "ports": ports}

    def close(self) -> None:
        """Remove it."""
        for member in self.members:
            member.close()
        for switch in self.switches:
            switch.close()
        if self.etcd is not None:
            self.etcd.close()
        self.wires.close()


def alone(members: int) -> Site:
    """One switch and controllers that do not know of each other, without spanning tree: one that
    takes the switch over knows nothing of the tree that there was."""
    return _made(1, members, with_etcd=False)


def clustered(members: int = 3, switches: int = 2) -> Site:
    """Switches joined by two cables, and the members of a cluster."""
    return _made(switches, members, with_etcd=True)


def _made(switches: int, members: int, *, with_etcd: bool) -> Site:
    site = Site(Wires(), None, [], [])
    try:
        if with_etcd:
            space = site.wires.space("etcd")
            site.etcd = Etcd(space, site.wires.attach(space, "et", 1))
        for number in range(1, switches + 1):
            switch = Switch(site.wires, number)
            site.switches.append(switch)
            switch.start()
        if switches == 2:
            for number in (4, 5):
                _join(*site.switches, number)
        for number in range(1, members + 1):
            options = _options(site.etcd, number)
            member = Member(site.wires, number, options, stp=with_etcd)
            site.members.append(member)
            member.start()
        for switch in site.switches:
            switch.follow(site.members)
    except BaseException:
        site.close()
        raise
    return site


def _options(etcd: Etcd | None, number: int) -> tuple[str, ...]:
    if etcd is None:
        return ()
    return ("--cluster", f"etcd={etcd.endpoints}", "--member", f"m{number}")


def _join(one: Switch, other: Switch, port: int) -> None:
    ends = f"cable{port}"
    sh(
        *("ip", "-n", one.namespace, "link", "add", ends, "up", "type", "veth"),
        *("peer", "name", ends, "netns", other.namespace),
    )
    sh("ip", "-n", other.namespace, "link", "set", ends, "up")
    for switch in (one, other):
        switch.add_port(ends, port)


def streams(site: Site) -> Iterator[Stream]:
    """One each way between the known hosts of each switch."""
    for switch in site.switches:
        one, other = switch.pair
        yield Stream(one, other, RATE)
        yield Stream(other, one, RATE)
