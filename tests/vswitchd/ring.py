"""A fabric of real switches and a real controller: three switches in a ring.

Each switch has hosts' ports 1 and 2, and link ports 3 and 4 with cables to its neighbours.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from tests.support import frames
from tests.support.controller import Controller
from tests.support.ovs import LOCAL, Bridge, VSwitchd, read_pcap
from tests.support.waiting import wait_for

EDGES = (1, 2)
NO_EDGES = (3, 4, LOCAL)
MTU = 1600
SPEED = 2
"""How much faster the clock of the controller is than that of the test."""


class Ring:
    """Three members, s1 to s3, of the fabric `pod`."""

    def __init__(self, switch: VSwitchd, controller: Controller) -> None:
        self.switch = switch
        self.controller = controller
        self.members = [switch.add_bridge(ports=2) for _ in range(3)]
        for at, one in enumerate(self.members):
            self._cable(one, self.members[(at + 1) % 3])
        self.dpid = self.members[0].dpid16
        self.more: dict[str, Any] = {}
        """Other sections of the file."""
        controller.configure(yaml.safe_dump(self.file()))

    def file(self, **fabric: Any) -> dict[str, Any]:
        """The configuration.  fabric: more of the fabric's settings."""
        members = {
            f"s{at}": {"bridge": bridge.dpid16, "links": ["*to*"]}
            for at, bridge in enumerate(self.members, 1)
        }
        return {"fabrics": {"pod": {"members": members, **fabric}}, **self.more}

    def configure(self, **more: Any) -> None:
        """Have the controller read a file with other sections, too."""
        self.more = more
        self.controller.configure(yaml.safe_dump(self.file()))
        reply = self.controller.api("POST", "/v1/config/reload", force=True)
        assert reply.status == 200, reply

    def _cable(self, one: Bridge, other: Bridge) -> None:
        """Port 3 of one to port 4 of the other."""
        path = self.switch.dir / f"{one.name}-{other.name}.sock"
        ends = (one, other, 3, f"pstream=punix:{path}"), (other, one, 4, f"stream=unix:{path}")
        for bridge, beyond, number, stream in ends:
            name = f"{bridge.name}to{beyond.name}"
            bridge.add_port(number, name, f"options:{stream}", f"mtu_request={MTU}")

    def connect(self) -> None:
        """Connect all switches to the controller, and wait until the fabric carries frames."""
        for bridge in self.members:
            bridge.set_controller(self.controller.target)
        self.wait()

    @property
    def status(self) -> Any:
        """The fabric as the API tells it."""
        return self.controller.get("/v1/fabrics/pod")

    def wait(self, links: int = 3) -> None:
        """Wait until all members use a plan with so many links."""

        def missing() -> Any:
            """What is not as it is to be; None if all is."""
            reply = self.controller.api("GET", "/v1/fabrics/pod")
            if reply.status != 200:
                return reply
            carrying = [link for link in reply.body["links"] if link["state"] == "carries"]
            ready = all(member["ready"] for member in reply.body["members"])
            whole = len(carrying) == links and reply.body["settled"] and ready
            return None if whole else reply

        last: list[Any] = []

        def is_ready() -> bool:
            last[:] = [missing()]
            return last == [None]

        try:
            wait_for(is_ready, f"{links} links", tick=self.switch.in_pace(), seconds=40)
        except AssertionError as error:
            raise AssertionError(f"{error}: {last}") from None

    def name(self, member: int, port: int) -> str:
        """The bridge's name of a port."""
        return f"s{member}/{self.members[member - 1].port_name(port)}"

    def settle(self) -> None:
        """Let frames between switches arrive."""
        for _ in range(8):
            self.switch.barrier()

    def send(self, member: int, port: int, frame: bytes) -> dict[tuple[int, int], int]:
        """Let a frame arrive at a port; how often it left by which edge ports."""
        for bridge in self.members:
            bridge.forget_sent()
        self.members[member - 1].inject(port, frame)
        self.settle()
        return {
            (at, edge): count
            for at, bridge in enumerate(self.members, 1)
            for edge in bridge.ports
            if edge not in NO_EDGES and (count := bridge.sent(edge).count(frame))
        }

    def learn(self, number: int, member: int, port: int = 1) -> None:
        """Let a host send until it is known."""

        def known() -> bool:
            self.members[member - 1].inject(port, frames.arp_request(frames.host(number)))
            return any(entry["mac"] == frames.host(number) for entry in self.fdb())

        wait_for(known, f"host {number} to be learned", tick=self.switch.in_pace())

    def fdb(self) -> list[dict[str, Any]]:
        """All entries."""
        return self.controller.fdb(self.members[0])

    def fail(self, member: int, port: int, *, up: bool = False) -> None:
        """Fail a link at both ends: a dummy's carrier says nothing of the other."""
        one = self.members[member - 1]
        other = self.members[member % 3 if port == 3 else (member - 2) % 3]
        one.link(port, up=up)
        other.link(4 if port == 3 else 3, up=up)


class Neighbour:
    """A switch with a cable `n1`, `n2` to a port of some members, and a host at `there`.

    cables: the port of each member that leads to it.
    """

    def __init__(self, ring: Ring, name: str, cables: Mapping[int, int]) -> None:
        self.ring, self.name, self._cables = ring, name, cables
        self._switch = ring.switch
        self._there = self._switch.dir / f"{name}.pcap"
        self._read = 0

    def fail(self, member: int, *, up: bool = False) -> None:
        """Fail a cable: both ends lose their carrier."""
        self.ring.members[member - 1].link(self._cables[member], up=up)
        state = "up" if up else "down"
        self._switch.appctl("netdev-dummy/set-admin-state", f"n{member}", state)

    def say(self, frame: bytes) -> None:
        """A host there sends."""
        self._switch.settle()
        self._switch.appctl("netdev-dummy/receive", "there", frame.hex())

    def heard(self) -> list[bytes]:
        """Frames that have come to the host since the last call."""
        self.ring.settle()
        heard, self._read = read_pcap(self._there, self._read)
        return heard


def everywhere(but: tuple[int, int]) -> dict[tuple[int, int], int]:
    """Once at each edge port but the one where the frame came in."""
    ports = {(member, port) for member in (1, 2, 3) for port in EDGES}
    return dict.fromkeys(ports - {but}, 1)
