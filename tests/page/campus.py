"""A campus of twelve switches, 21 links and 216 hosts on an Open vSwitch with dummy ports.

Two cores, four distribution switches and six access switches; each of the lower ones has a cable to
two of the upper ones.  Cables are sockets between dummy ports: both ends of a cut one are down.
"""

from __future__ import annotations

import yaml

from tests.page.site import Ticking
from tests.support import frames
from tests.support.controller import Controller
from tests.support.ovs import Bridge
from tests.support.waiting import wait_for

CORES = ("core1", "core2")
DISTRIBUTION = ("dist1", "dist2", "dist3", "dist4")
ACCESS = ("access1", "access2", "access3", "access4", "access5", "access6")
CABLES = [
    ("core1", "core2"),
    *((core, dist) for dist in DISTRIBUTION for core in CORES),
    *((dist, access) for access in ACCESS[:3] for dist in DISTRIBUTION[:2]),
    *((dist, access) for access in ACCESS[3:] for dist in DISTRIBUTION[2:]),
]
HOST_PORTS = (1, 2, 3)
HOSTS = 12
"""Hosts behind each of these ports of an access switch."""
GUARDED = 4
"""Port of an access switch with BPDU guard."""
PRIORITIES = {"core1": 4096, "core2": 8192}
TIMERS = {"enabled": True, "hello_time": 1, "forward_delay": 4, "max_age": 6}

CONFIG = {
    "defaults": {"stp": TIMERS, "lldp": {"enabled": True}},
    "bridges": {
        **{name: {"stp": {"priority": priority}} for name, priority in PRIORITIES.items()},
        **{
            name: {
                "vlans": {10: {"name": "office"}, 20: {"name": "voice"}},
                "ports": {
                    **{
                        f"{name}-p{port}": {"stp": {"admin_edge": True}}
                        for port in (*HOST_PORTS, GUARDED)
                    },
                    f"{name}-p{GUARDED}": {"stp": {"admin_edge": True, "bpdu_guard": True}},
                },
            }
            for name in ACCESS
        },
    },
}


class Campus:
    """The network and its controller."""

    def __init__(self) -> None:
        self.controller = Controller(yaml.safe_dump(CONFIG))
        self.switch = Ticking()
        self.controller.start()
        self.switch.start()
        names = (*CORES, *DISTRIBUTION, *ACCESS)
        self.bridges = {name: self.switch.add_bridge(name=name) for name in names}
        self._next = dict.fromkeys(names, 11)
        for name in ACCESS:
            own = self.bridges[name]
            own.add_ports({port: (f"{name}-p{port}",) for port in (*HOST_PORTS, GUARDED)})
        for one, other in CABLES:
            self._join(self.bridges[one], self.bridges[other])
        for bridge in self.bridges.values():
            bridge.set_controller(self.controller.target)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.controller.api_port}/"

    def _join(self, one: Bridge, other: Bridge) -> None:
        names = (f"{one.name}-{other.name}"[:15], f"{other.name}-{one.name}"[:15])
        socket = self.switch.dir / f"{names[0]}.sock"
        ends = (f"options:pstream=punix:{socket}", f"options:stream=unix:{socket}")
        for bridge, name, end in zip((one, other), names, ends, strict=True):
            bridge.add_ports({self._next[bridge.name]: (name, end)})
            self._next[bridge.name] += 1

    def settle(self) -> None:
        """Until the tree has no loop, all cables are known and all hosts have been heard."""
        for bridge in self.bridges.values():
            self.controller.wait_ready(bridge)

        def known() -> bool:
            links = self.controller.get("/v1/topology")["links"]
            ends = [end for link in links for end in link["stp"].values()]
            states = [end["state"] for end in ends if end]
            redundant = len(CABLES) - len(self.bridges) + 1
            return len(links) == len(CABLES) and (
                sorted(states) == ["discarding"] * redundant + ["forwarding"] * (42 - redundant)
            )

        wait_for(known, "the campus to settle", seconds=120)
        self.greet()

    def greet(self) -> None:
        """Let all hosts send a frame until they are learned, as after a topology change."""

        def heard() -> bool:
            for number, name in enumerate(ACCESS):
                for port in HOST_PORTS:
                    first = 0x1000 + number * 256 + port * 64
                    self.bridges[name].inject(
                        port, *(hello(first + host, number, port, host) for host in range(HOSTS))
                    )
            fdb = self.controller.get("/v1/fdb", attached="true", limit=1000)
            return len(fdb["entries"]) >= len(ACCESS) * len(HOST_PORTS) * HOSTS

        wait_for(heard, "all hosts to be learned", seconds=120)

    def cut(self, one: str, other: str, *, whole: bool = False) -> None:
        """Take both ends of the cable between two switches down, or (whole) up again."""
        for here, there in ((one, other), (other, one)):
            state = "up" if whole else "down"
            self.switch.appctl("netdev-dummy/set-admin-state", f"{here}-{there}"[:15], state)

    def close(self) -> None:
        self.switch.close()
        self.controller.close()


def hello(host: int, switch: int, port: int, number: int) -> bytes:
    """The ARP request of a host for its own address."""
    return frames.arp_request(frames.host(host), f"10.{switch}.{port}.{number + 1}")
