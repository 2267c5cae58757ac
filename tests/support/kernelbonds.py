"""Bonds nobody here wrote, of Linux: the bonding driver, and team with teamd.

Their driver is in user-mode Linux's kernel and seldom in a container's, so what is here runs inside
(tests.guest).  A bonded host is a namespace whose eth0 is the bond.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.support.bonds import Cable, End, cable
from tests.support.lab import Host, sh
from tests.support.waiting import wait_for

MIIMON = 100  # ms between its looks at its members' links, which the driver's documentation has
DOWN = {"AD_MUX_DETACHED", "AD_MUX_WAITING", "AD_MUX_ATTACHED"}


@dataclass(eq=False)
class BondedHost(Host):
    """A host that hangs on several cables; their right ends are its members."""

    cables: tuple[Cable, ...] = ()

    @property
    def members(self) -> tuple[End, ...]:
        """Its ends of the cables."""
        return tuple(cable.right for cable in self.cables)

    def used(self) -> set[str]:
        """The members that its bond sends and receives by."""
        raise NotImplementedError

    def told(self) -> str:
        """What its system tells of the bond, for a person."""
        raise NotImplementedError

    def wait_used(self, members: Sequence[End], seconds: float = 10) -> None:
        """Wait until its bond uses just these."""
        wanted = {end.interface for end in members}
        try:
            wait_for(lambda: self.used() == wanted, f"{wanted} to be in use", seconds=seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.told()}") from None

    def close(self) -> None:
        """Remove it, with its ends of the cables."""
        sh("ip", "netns", "del", self.namespace, check=False)


class KernelBond(BondedHost):
    """The bonding driver."""

    def enslave(self, mode: str, options: Mapping[str, object]) -> None:
        """Make the bond; options by the names of `ip link add type bond`."""
        words = [str(word) for pair in options.items() for word in pair]
        self.run("ip", "link", "add", "eth0", "type", "bond", "mode", mode, *words)
        for end in self.members:
            end.ip("link", "set", end.interface, "down")
            end.ip("link", "set", end.interface, "master", "eth0")
            end.ip("link", "set", end.interface, "up")

    def used(self) -> set[str]:
        """Active ones: with 802.3ad those that collect and distribute."""
        links = json.loads(self.run("ip", "-j", "-d", "link", "show", "master", "eth0"))
        return {link["ifname"] for link in links if self._carries(link["linkinfo"])}

    def told(self) -> str:
        return self.run("cat", "/proc/net/bonding/eth0")

    def partner(self) -> tuple[str, int]:
        """System id and key of the partner of its aggregator."""
        told = self.told()
        system = re.search(r"Partner Mac Address: (\S+)", told)
        key = re.search(r"Partner Key: (\d+)", told)
        assert system is not None, told
        assert key is not None, told
        return system[1], int(key[1])

    @staticmethod
    def _carries(info: Mapping[str, object]) -> bool:
        data = info["info_slave_data"]
        assert isinstance(data, dict)
        if data["mii_status"] != "UP":
            return False
        state = data.get("ad_actor_oper_port_state")
        return data["state"] == "ACTIVE" and (state is None or state & 0x30 == 0x30)


class Team(BondedHost):
    """The team driver, and teamd with its own LACP."""

    def enslave(self, runner: Mapping[str, object]) -> None:
        """Start teamd with this runner."""
        config = {
            "device": "eth0",
            "runner": dict(runner),
            "link_watch": {"name": "ethtool"},
            "ports": {end.interface: {} for end in self.members},
        }
        for end in self.members:
            end.ip("link", "set", end.interface, "down")
        # It stays, and would hold the pipes of whoever reads what it says.
        self.run("sh", "-c", 'exec teamd -d -c "$0" >/dev/null 2>&1', json.dumps(config))

    def used(self) -> set[str]:
        ports = self._state()["ports"]
        return {name for name, port in ports.items() if self._carries(port)}

    def told(self) -> str:
        return json.dumps(self._state(), indent=1)

    def close(self) -> None:
        self.run("teamd", "-k", "-t", "eth0", check=False)
        super().close()

    def _state(self) -> dict[str, dict[str, dict[str, dict[str, object]]]]:
        told = self.run("teamdctl", "eth0", "state", "dump", check=False)
        return json.loads(told) if told else {"ports": {}}

    @staticmethod
    def _carries(port: Mapping[str, Mapping[str, object]]) -> bool:
        runner = port.get("runner")
        if not port["link"]["up"]:
            return False
        return runner is None or runner["state"] == "current"


def kernel_bond(
    left: str, number: int, cables: int = 2, mode: str = "802.3ad", **options: object
) -> KernelBond:
    """A bonded host, its cables' left ends in the namespace `left`."""
    host = KernelBond(f"{left}k{number}", "", number)
    _wire(host, left, cables)
    host.enslave(mode, {"miimon": MIIMON, **options})
    _address(host)
    return host


def team(left: str, number: int, runner: Mapping[str, object], cables: int = 2) -> Team:
    """A host with a team device, its cables' left ends in the namespace `left`."""
    host = Team(f"{left}t{number}", "", number)
    _wire(host, left, cables)
    host.enslave(runner)
    _address(host)
    return host


def _wire(host: BondedHost, left: str, cables: int) -> None:
    sh("ip", "netns", "add", host.namespace)
    host.run("ip", "link", "set", "lo", "up")
    host.cables = tuple(cable(left, host.namespace) for _ in range(cables))


def _address(host: BondedHost) -> None:
    for words in (
        f"link set eth0 address {host.mac} up",
        f"addr add {host.ip}/24 dev eth0",
        f"addr add {host.ip6}/64 dev eth0 nodad",
    ):
        host.run("ip", *words.split())
