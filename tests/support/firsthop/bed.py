"""A switch, its controller and two LANs with the same peers: guarded, and open for comparison.

          gateway      victim      attacker     more guests
    guarded  up          guest        guest        guest      VLAN 10, first-hop security
    open     up          guest        guest        guest      VLAN 20, without

What is done to one LAN is done to the other, so that a test sees that the attack works where it is
not refused.  The switch and its controller are in a namespace of theirs.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from contextlib import AbstractContextManager, ExitStack
from ipaddress import ip_address
from pathlib import Path
from typing import Any, TypeVar

import yaml

from tests.support.background import Background, Closable
from tests.support.firsthop.claims import lie, same
from tests.support.firsthop.daemon import Daemon
from tests.support.firsthop.servers import POOLS, be_gateway
from tests.support.lab import Host
from tests.support.ownswitch import BRIDGE, ControllerInside, OwnSwitch
from tests.support.waiting import wait_for

T = TypeVar("T")


class Guest(Host):
    """A host that gets its addresses by itself."""

    def addresses(self) -> list[str]:
        """Its IP addresses that are usable, link-local ones too."""
        return [
            info["local"]
            for link in json.loads(self.run("ip", "-j", "addr", "show", "dev", "eth0"))
            for info in link.get("addr_info", ())
            if not info.get("tentative")
        ]

    def address(self, family: int) -> str | None:
        """One of its addresses that is not link-local."""
        wanted = ":" if family == 6 else "."
        found = [one for one in self.addresses() if wanted in one and not one.startswith("fe80")]
        return found[0] if found else None

    def link_local(self) -> str | None:
        """Its link-local IPv6 address."""
        return next((one for one in self.addresses() if one.startswith("fe80")), None)

    def wait_address(self, family: int, seconds: float = 20) -> str:
        """Wait for an address that is not link-local."""
        found = wait_for(lambda: self.address(family), f"an IPv{family} address", seconds=seconds)
        assert found is not None
        return found

    def wait_lease(self, family: int, seconds: float = 30) -> str:
        """Wait for an address of the servers' pool."""

        def leased() -> str | None:
            found = (
                one
                for one in self.addresses()
                if ip_address(one).version == family
                and ip_address(POOLS[family][0]) <= ip_address(one) <= ip_address(POOLS[family][1])
            )
            return next(found, None)

        lease = wait_for(leased, f"a lease of {self.namespace}, IPv{family}", seconds=seconds)
        assert lease is not None
        return lease

    def neighbour(self, address: str) -> str | None:
        """The MAC address that it has for an IP address."""
        found = json.loads(self.run("ip", "-j", "neigh", "show", address, "dev", "eth0") or "[]")
        return next((one["lladdr"] for one in found if "lladdr" in one), None)

    def routers(self) -> set[str]:
        """Its default gateways, of both families."""
        lines = (
            self.run("ip", "-6", "-j", "route", "show", "default"),
            self.run("ip", "-4", "-j", "route", "show", "default"),
        )
        return {one["gateway"] for line in lines for one in json.loads(line) if "gateway" in one}

    def still(self) -> None:
        """Take all its addresses and neighbours away, but for the link-local address."""
        self.run("ip", "-4", "addr", "flush", "dev", "eth0")
        self.run("ip", "-6", "addr", "flush", "dev", "eth0", "scope", "global")
        self.run("ip", "neigh", "flush", "dev", "eth0")


class Lan:
    """One of the two: its gateway, and its guests by number."""

    def __init__(self, bed: Bed, name: str, vid: int, base: int) -> None:
        self.bed, self.name, self.vid, self.base = bed, name, vid, base
        self.gateway = self._join(f"{name}up", be_gateway)
        self.guests: list[Guest] = []

    def guest(self) -> Guest:
        """Another guest, on a port of the LAN."""
        guest = self._join(f"{self.name}tap{len(self.guests)}", lambda _: None)
        self.guests.append(guest)
        return guest

    def _join(self, plug: str, prepare: Any) -> Guest:
        number = self.base + len(getattr(self, "guests", ())) + (plug != f"{self.name}up")
        plain = self.bed.switch.host(number, plug, addressed=False)
        host = Guest(plain.namespace, plain.plug, plain.number)
        self.bed.switch.add_port(plug, number)
        prepare(host)
        return host


class Bed:
    """The switch with both LANs, or with the guarded one alone.

    guest, uplink: the parameters of guarded guests' ports and of the gateway's; bridge: more of
    the bridge's.
    """

    def __init__(
        self,
        guest: dict[str, Any],
        uplink: dict[str, Any],
        *,
        bridge: dict[str, Any] | None = None,
        guests: int = 2,
        compare: bool = True,
    ) -> None:
        self.guest_port, self.uplink_port, self.more = guest, uplink, bridge or {}
        self._stack = ExitStack()
        self.switch = OwnSwitch(Path(shutil.which("ovs-vswitchd") or ""))
        self._stack.callback(self.switch.close)
        self.switch.start()
        self.bridge = self.switch.bridge
        self.controller = ControllerInside(self.switch.namespace, self.config())
        self._stack.callback(self.controller.close)
        self.controller.start()
        self.guarded = Lan(self, "g", 10, 1)
        self.lans = [self.guarded]
        if compare:
            self.lans.append(Lan(self, "o", 20, 101))
        for lan in self.lans:
            for _ in range(guests):
                lan.guest()
        self.switch.vsctl("set-controller", BRIDGE, self.controller.target)
        self.switch.vsctl("set", "Controller", BRIDGE, "max_backoff=1000")
        self.controller.wait_ready(self.bridge)

    @property
    def open(self) -> Lan:
        """The LAN where nothing is refused."""
        return self.lans[1]

    def config(self, **bridge: Any) -> str:
        """The configuration file, with other parameters of the bridge."""
        ports = {
            "gup": {"vlan": 10, **self.uplink_port},
            "gtap*": {"vlan": 10, **self.guest_port},
            "oup": {"vlan": 20},
            "otap*": {"vlan": 20},
        }
        settings = {"ports": ports, **self.more, **bridge}
        return yaml.safe_dump({"bridges": {f"{self.switch.dpid:016x}": settings}})

    def keep(self, thing: AbstractContextManager[T]) -> T:
        """Enter it; it ends with the bed."""
        return self._stack.enter_context(thing)

    def bindings(self, host: Host | None = None) -> list[dict[str, Any]]:
        """The bindings of the bridge, or of one host."""
        body = self.controller.get(f"/v1/bridges/{self.bridge.dpid16}/bindings")
        return [one for one in body["entries"] if host is None or one["mac"] == host.mac]

    def fdb(self) -> list[dict[str, Any]]:
        """The learned addresses of the bridge."""
        body = self.controller.get(f"/v1/bridges/{self.bridge.dpid16}/fdb")
        return list(body["entries"])

    def refused(self) -> list[dict[str, Any]]:
        """What was refused last."""
        path = f"/v1/bridges/{self.bridge.dpid16}/bindings/refused"
        return list(self.controller.get(path)["refused"])

    def close(self) -> None:
        """End everything."""
        self._stack.close()

    def __enter__(self) -> Bed:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Capture(Background):
    """All frames of some hosts' wires while it is open: those they sent, those that came in."""

    def __init__(self, *hosts: Host) -> None:
        self._wires = {host.number: host.wire() for host in hosts}
        self._seen: dict[int, list[tuple[bool, bytes]]] = {host.number: [] for host in hosts}
        super().__init__(self._listen)

    def sent(self, host: Host) -> list[bytes]:
        """Frames that left the host."""
        return [data for came_in, data in self._seen[host.number] if not came_in]

    def received(self, host: Host) -> list[bytes]:
        """Frames that came to the host."""
        return [data for came_in, data in self._seen[host.number] if came_in]

    def lies(self, host: Host, addresses: Iterable[str]) -> dict[bytes, str]:
        """Frames that the host must not send with these addresses, and why."""
        known = list(addresses)
        found = ((same(data), lie(data, host.mac, known)) for data in self.sent(host))
        return {data: why for data, why in found if why}

    def arrived(self, lies: dict[bytes, str], *at: Host) -> list[str]:
        """Which of these frames came to one of the hosts: why each is a lie, and its octets."""
        came = {same(data) for host in at for data in self.received(host)}
        return [f"{why}: {data[:80].hex()}" for data, why in lies.items() if data in came]

    def _to_close(self) -> Iterable[Closable]:
        return [wire.socket for wire in self._wires.values()]

    def _listen(self) -> None:
        while not self._stop.wait(0.01):
            self._take()
        self._take()

    def _take(self) -> None:
        for number, wire in self._wires.items():
            self._seen[number] += wire.passed()


class Pings(Background):
    """Echo requests from a host to addresses, 20 a second each, while it is open."""

    def __init__(self, host: Host, *addresses: str) -> None:
        self.host, self.addresses = host, addresses
        self._daemons: list[Daemon] = []
        super().__init__()

    def __enter__(self) -> Pings:
        self._daemons = [
            Daemon(self.host, "ping", "-n", "-i", "0.05", address) for address in self.addresses
        ]
        return self

    def __exit__(self, *_: object) -> None:
        for daemon in self._daemons:
            daemon.close()

    def answers(self) -> list[set[int]]:
        """The numbers of the requests that were answered so far, by address."""
        return [
            {
                int(word.removeprefix("icmp_seq="))
                for line in daemon.log().splitlines()
                if "bytes from" in line
                for word in line.split()
                if word.startswith("icmp_seq=")
            }
            for daemon in self._daemons
        ]

    def more(self, count: int = 20, seconds: float = 10) -> None:
        """Wait until so many more are answered, of each address."""
        wanted = [max(got, default=0) + count for got in self.answers()]
        wait_for(
            lambda: all(
                max(got, default=0) >= least
                for got, least in zip(self.answers(), wanted, strict=True)
            ),
            f"{count} more answers to {self.host.namespace}",
            seconds=seconds,
        )

    def lost(self) -> dict[str, list[int]]:
        """By address, the numbers of requests before the last answer that were not answered."""
        self.more(2)
        return {
            address: lost
            for address, got in zip(self.addresses, self.answers(), strict=True)
            if (lost := sorted(set(range(1, max(got))) - got))
        }
