"""Independent bridges with their own spanning trees: Linux's and Open vSwitch's two.

Timers are the shortest that each allows, so that STP takes 8 s and not 30.  Path costs are set
to 2000, what RSTP makes of 10 Gbit/s, because the old tables of STP are not comparable.
"""

from __future__ import annotations

import re
from pathlib import Path

from tests.support.lab import quiet, sh, vsctl

HELLO, MAX_AGE, FORWARD_DELAY = 1, 6, 4
COST = 2000

TIMERS = {"hello_time": HELLO, "max_age": MAX_AGE, "forward_delay": FORWARD_DELAY}
"""The same for `ofapp`."""


class Peer:
    """A bridge by name.  Ports are interfaces; their numbers only serve the plan of links."""

    kind = ""
    rapid = False

    def __init__(self, name: str, priority: int) -> None:
        self.name = name
        self.priority = priority
        self.ports: dict[str, int] = {}
        self.links: dict[int, object] = {}
        self._create()
        quiet(name)

    def add_port(self, interface: str) -> int:
        """Plug an interface in."""
        quiet(interface)
        self._plug(interface)
        self.ports[interface] = len(self.ports) + 1
        return self.ports[interface]

    def state(self, interface: str) -> str:
        """forwarding, learning, discarding (also: listening, blocking) or down."""
        raise NotImplementedError

    def root(self) -> str:
        """Priority and address of the root it believes in, as 16 hexadecimal digits."""
        raise NotImplementedError

    def drop_stale_flows(self) -> list[str]:
        """Delete cached flows that contradict the bridge's present state; gives them."""
        return []

    def close(self) -> None:
        """Remove it."""
        raise NotImplementedError

    def _create(self) -> None:
        raise NotImplementedError

    def _plug(self, interface: str) -> None:
        raise NotImplementedError


class KernelStp(Peer):
    """The Linux bridge with stp_state 1."""

    kind = "linux-stp"
    _STATES = ("down", "discarding", "learning", "forwarding", "discarding")

    def _create(self) -> None:
        sh(
            *("ip", "link", "add", self.name, "type", "bridge", "stp_state", 1),
            *("hello_time", HELLO * 100, "max_age", MAX_AGE * 100),
            *("forward_delay", FORWARD_DELAY * 100, "priority", self.priority),
            *("mcast_snooping", 0),
        )
        quiet(self.name)
        sh("ip", "link", "set", self.name, "up")

    def _plug(self, interface: str) -> None:
        sh("ip", "link", "set", interface, "master", self.name)
        sh("ip", "link", "set", interface, "type", "bridge_slave", "cost", COST)

    def state(self, interface: str) -> str:
        return self._STATES[int(Path(f"/sys/class/net/{interface}/brport/state").read_text())]

    def root(self) -> str:
        return self._id("root_id")

    def _id(self, which: str) -> str:
        return (
            Path(f"/sys/class/net/{self.name}/bridge/{which}").read_text().strip().replace(".", "")
        )

    def close(self) -> None:
        sh("ip", "link", "del", self.name, check=False)


class _Ovs(Peer):
    protocol = ""

    def _create(self) -> None:
        settings = {
            "priority": self.priority,
            "hello-time": HELLO,
            "max-age": MAX_AGE,
            "forward-delay": FORWARD_DELAY,
        }
        vsctl(
            *("add-br", self.name, "--", "set", "Bridge", self.name, "datapath_type=netdev"),
            *("fail_mode=standalone", f"{self.protocol}_enable=true"),
            *(f"other_config:{self.protocol}-{key}={value}" for key, value in settings.items()),
        )

    def _plug(self, interface: str) -> None:
        vsctl(
            *("add-port", self.name, interface, "--", "set", "Port", interface),
            f"other_config:{self.protocol}-path-cost={COST}",
        )

    def _show(self) -> str:
        return sh("ovs-appctl", f"{self.protocol}/show", self.name)

    def state(self, interface: str) -> str:
        shown = re.escape(interface[:10])  # Open vSwitch cuts names there
        found = re.search(rf"^\s*{shown}\s+(\w+)\s+(\w+)", self._show(), re.MULTILINE)
        if found is None:
            return "down"
        state = found[2].lower()
        if state in ("disabled", "forwarding", "learning"):
            return "down" if state == "disabled" else state
        up = "LOWER_UP" in sh("ip", "-br", "link", "show", interface)
        return "discarding" if up else "down"

    def root(self) -> str:
        text = self._show()
        section = text[re.search(r"Root ID", text).end() :]  # type: ignore[union-attr]
        priority = re.search(r"priority\s+(\d+)", section)
        address = re.search(r"([0-9a-f]{2}(?::[0-9a-f]{2}){5})", section)
        assert priority
        assert address
        return f"{int(priority[1]):04x}{address[1].replace(':', '')}"

    def drop_stale_flows(self) -> list[str]:
        """Delete cached drops of frames that the bridge would forward now.

        Open vSwitch 3.1 sometimes keeps one for a minute or more after its RSTP has opened a port:
        in 1 of 30 runs on a busy machine [measured].
        """
        shown = sh("ovs-appctl", "dpctl/dump-flows", "-m")
        stale = []
        for line in shown.splitlines():
            cached = re.match(r"ufid:([^,]+), .*?(in_port\(([^)]+)\).*?), packets:", line)
            if cached is None or cached[3] not in self.ports or "actions:drop" not in line:
                continue
            trace = sh("ovs-appctl", "ofproto/trace", "ovs-netdev", cached[2])
            if "Datapath actions: drop" not in trace:
                sh("ovs-appctl", "dpctl/del-flow", "netdev@ovs-netdev", f"ufid:{cached[1]}")
                stale.append(cached[2])
        return stale

    def close(self) -> None:
        sh("ovs-vsctl", "--timeout=20", "--if-exists", "del-br", self.name, check=False)


class OvsStp(_Ovs):
    """Open vSwitch with stp_enable."""

    kind = "ovs-stp"
    protocol = "stp"


class OvsRstp(_Ovs):
    """Open vSwitch with rstp_enable."""

    kind = "ovs-rstp"
    protocol = "rstp"
    rapid = True


KINDS = (KernelStp, OvsStp, OvsRstp)
