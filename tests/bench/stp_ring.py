"""The same ring of three switches twice: with ofapp's spanning tree, and with Open vSwitch's own.

   S3 (root)
  /  \\            h1 is on S1, h2 on S2; S2 blocks its port to S1.
S1 -- S2
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

import yaml

from tests.support.controller import Controller
from tests.support.lab import Host, Switch, sh, vsctl
from tests.support.network import Network, port_state
from tests.support.stp_peers import OvsRstp
from tests.support.waiting import wait_for

PRIORITIES = (8192, 12288, 4096)
_DPIDS = (0xBE01, 0xBE02, 0xBE03)


class DefaultRstp(OvsRstp):
    """OVS with rstp_enable and the standard's timers, as ofapp has them."""

    def _create(self) -> None:
        vsctl(
            *("add-br", self.name, "--", "set", "Bridge", self.name, "datapath_type=netdev"),
            *("fail_mode=standalone", "rstp_enable=true"),
            f"other_config:rstp-priority={self.priority}",
        )

    def set_edge(self, interface: str) -> None:
        vsctl("set", "Port", interface, "other_config:rstp-port-admin-edge=true")


class Ring:
    """Three switches, two hosts."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.network = Network("sb")
        self.controller: Controller | None = None
        network = self.network
        if kind == "ofapp":
            settings = {
                f"{dpid:016x}": {
                    "stp": {"priority": priority},
                    "ports": {f"{network.tag}p3": {"stp": {"admin_edge": True}}},
                }
                for dpid, priority in zip(_DPIDS, PRIORITIES, strict=True)
            }
            config = {"defaults": {"stp": {"enabled": True}}, "bridges": settings}
            self.controller = Controller(yaml.safe_dump(config))
            self.controller.start()
            self.switches = [network.switch(dpid) for dpid in _DPIDS]
        else:
            self.switches = [network.peer(DefaultRstp, priority) for priority in PRIORITIES]  # type: ignore[misc]
        one, two, root = self.switches
        self.spare = network.cable(one, two)
        self.near = network.cable(two, root)
        self.far = network.cable(root, one)
        self.hosts = [network.host(one), network.host(two)]

    def start(self) -> None:
        """Until it has converged."""
        for switch in self.switches:
            if self.controller is not None:
                assert isinstance(switch, Switch)
                self.controller.connect(switch)
        self.wait()

    def wait(self) -> None:
        """Until everything is up and S2 blocks its port to S1."""

        def right() -> bool:
            hosts = {port_state(host.home, host.plug) for host in self.hosts}  # type: ignore[arg-type]
            states = [*self.near.states(), *self.far.states(), *hosts]
            return self.spare.states() == ("forwarding", "discarding") and set(states) == {
                "forwarding"
            }

        wait_for(right, f"the ring of {self.kind} to converge", seconds=60)
        time.sleep(0.3)

    def kill_root(self) -> None:
        """All its links go down together."""
        sh("sh", "-c", f"ip link set {self.near.ends[1]} down; ip link set {self.far.ends[0]} down")

    def revive_root(self) -> None:
        """And come back together."""
        sh("sh", "-c", f"ip link set {self.near.ends[1]} up; ip link set {self.far.ends[0]} up")

    def delete_root(self) -> None:
        """It vanishes, and its neighbours' links stay up: only its silence tells."""
        vsctl("del-br", self.switches[2].name)

    def edge_host(self) -> Host:
        """A further host on S1 whose port is administered as an edge (its name is in the file)."""
        host = self.network.host(self.switches[0])  # type: ignore[arg-type]
        if isinstance(self.switches[0], DefaultRstp):
            self.switches[0].set_edge(host.plug)
        return host

    def topology_changes(self) -> int | None:
        """How many there have been at S1, as far as anybody tells."""
        if self.controller is None:
            return None
        answer = self.controller.get(f"/v1/bridges/{_DPIDS[0]:016x}/stp")
        return int(answer["topology_change"]["count"])

    def close(self) -> None:
        self.network.close()
        if self.controller is not None:
            self.controller.close()


@contextlib.contextmanager
def ring(kind: str) -> Iterator[Ring]:
    """A ring that has converged."""
    made = Ring(kind)
    try:
        made.start()
        yield made
    finally:
        made.close()
