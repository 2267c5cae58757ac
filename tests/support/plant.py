"""Many bridges in a separate Open vSwitch, in a network namespace with their controller."""

from __future__ import annotations

import random

from tests.support.ownswitch import ControllerInside, OwnSwitch
from tests.support.waiting import wait_for
from tests.unit.bridge.stp.meshes import mesh

HOSTS = 4
_CONFIG = "defaults: {stp: {enabled: true}}"


class Plant:
    """The bridges, numbered from 1, their cables and the hosts."""

    def __init__(self, switch: OwnSwitch, size: int, links: int, rng: random.Random) -> None:
        self._switch = switch
        self.rng = rng
        self.size = size
        self.cables = mesh(size, links, rng.randrange(1 << 30))
        self.hosts = [switch.host(number) for number in range(1, HOSTS + 1)]
        self.controller = ControllerInside(switch.namespace)
        self.controller.configure(_CONFIG)

    def build(self) -> None:
        """Everything at once: ovs-vswitchd looks at all its ports whenever one is added."""
        homes = self.rng.sample(range(1, self.size + 1), HOSTS)
        plugs = [(host.plug, home) for host, home in zip(self.hosts, homes, strict=True)]
        self.controller.start()
        self._vsctl(*map(self._bridge, range(1, self.size + 1)))
        self._vsctl(*(["add-port", f"s{home}", plug] for plug, home in plugs), *self._plug())
        wait_for(self._in_line, "all bridges to be set up", seconds=120)

    def _plug(self) -> list[list[str]]:
        """What joins the bridges by the cables."""
        for number in range(len(self.cables)):
            self._wire(f"c{number}a", f"c{number}b")
        return [
            ["add-port", f"s{home}", f"c{number}{end}"]
            for number, homes in enumerate(self.cables)
            for home, end in zip(homes, "ab", strict=True)
        ]

    def _wire(self, *ends: str) -> None:
        self.ip(
            f"link add {ends[0]} type veth peer name {ends[1]}",
            *(f"link set {end} up" for end in ends),
        )

    def _bridge(self, number: int) -> list[str]:
        name = f"s{number}"
        return [
            *("add-br", name, "--", "set", "Bridge", name, "datapath_type=netdev"),
            *("fail_mode=secure", "protocols=OpenFlow13", "other_config:disable-in-band=true"),
            f"other_config:datapath-id={0x0A00_0000_0000 + number:016x}",
            *("--", "set-controller", name, self.controller.target),
            *("--", "set", "Controller", name, "max_backoff=1000", "connection_mode=out-of-band"),
        ]

    def _vsctl(self, *commands: list[str]) -> None:
        words = [word for command in commands for word in ("--", *command)]
        self._switch.vsctl("--timeout=60", *words)

    def _in_line(self) -> bool:
        bridges = self.controller.get("/v1/bridges")["bridges"]
        return len(bridges) == self.size and all(bridge["in_line"] for bridge in bridges)

    def ip(self, *commands: str) -> None:
        batch = self._switch.dir / "batch"
        batch.write_text("\n".join(commands) + "\n")
        self._switch.inside("ip", "-batch", batch)

    def close(self) -> None:
        """End the controller; what else there is goes with the switch."""
        self.controller.close()
