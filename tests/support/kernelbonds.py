"""Bonds of Linux: the bonding driver, and team with teamd.

Their drivers are in user-mode Linux's kernel and seldom in a container's, so what is here runs
inside (tests.guest).  The host of such a side is the namespace itself: its eth0 is the bond.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from tests.support.bonds import End, Mode, Side
from tests.support.lab import Host, sh
from tests.support.stp_peers import FORWARD_DELAY, HELLO, MAX_AGE

STP = (
    *("stp_state", 1, "mcast_snooping", 0),
    *("hello_time", HELLO * 100, "max_age", MAX_AGE * 100, "forward_delay", FORWARD_DELAY * 100),
)
MIIMON = 100  # ms between looks at members' links, as the driver's documentation has it
IN_USE = 0x30  # collecting and distributing, of a state octet (IEEE 802.1AX-2020 6.4.2.3)

_numbers = itertools.count(1)


class LinuxSide(Side):
    """A namespace whose eth0 is the bond."""

    def __init__(self, number: int) -> None:
        self.namespace = f"ok{os.getpid()}{next(_numbers)}"
        sh("ip", "netns", "add", self.namespace)
        self.host = Host(self.namespace, "", number)
        self.host.run("ip", "link", "set", "lo", "up")

    def take(self, ends: Sequence[End], mode: Mode) -> None:
        self._dissolve()
        self._make(ends, mode)
        self._address()

    def _address(self) -> None:
        """Be the host, by eth0."""
        for words in (
            f"link set eth0 address {self.host.mac} up",
            f"addr add {self.host.ip}/24 dev eth0",
            f"addr add {self.host.ip6}/64 dev eth0 nodad",
        ):
            self.host.run("ip", *words.split())

    def close(self) -> None:
        self._dissolve()
        sh("ip", "netns", "del", self.namespace, check=False)

    def _make(self, ends: Sequence[End], mode: Mode) -> None:
        raise NotImplementedError

    def _dissolve(self) -> None:
        raise NotImplementedError


class KernelSide(LinuxSide):
    """The bonding driver; options by the names of `ip link add type bond`."""

    def __init__(self, number: int, **options: object) -> None:
        super().__init__(number)
        self._options = {"miimon": MIIMON, **options}

    def used(self) -> set[str]:
        links = json.loads(self.host.run("ip", "-j", "-d", "link", "show", "master", "eth0"))
        return {link["ifname"] for link in links if self._carries(link["linkinfo"])}

    def carries(self) -> bool:
        """Whether the bond itself has a carrier, which min_links is about."""
        return self.host.run("cat", "/sys/class/net/eth0/carrier").strip() == "1"

    def describe(self) -> str:
        return self.host.run("cat", "/proc/net/bonding/eth0")

    def _make(self, ends: Sequence[End], mode: Mode) -> None:
        _bond(self.host, "eth0", ends, mode, self._options)

    def _dissolve(self) -> None:
        self.host.run("ip", "link", "del", "eth0", check=False)

    @staticmethod
    def _carries(info: Mapping[str, Any]) -> bool:
        data = info["info_slave_data"]
        state = data.get("ad_actor_oper_port_state")
        in_use = state is None or state & IN_USE == IN_USE
        return data["mii_status"] == "UP" and data["state"] == "ACTIVE" and in_use


class BridgedSide(LinuxSide):
    """Linux's bridge with its spanning tree over several bonds: the bridge is the host's eth0."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.host.run("ip", "link", "add", "eth0", "type", "bridge", *STP)

    def bond(self, name: str, ends: Sequence[End], mode: Mode) -> None:
        """Make a bond of these ends a port of the bridge."""
        _bond(self.host, name, ends, mode, {"miimon": MIIMON})
        self.host.run("ip", "link", "set", name, "master", "eth0", "up")
        if not self.states().keys() - {name}:
            self._address()

    def states(self) -> dict[str, str]:
        """What spanning tree does with each bond: forwarding, blocking, ..."""
        links = json.loads(self.host.run("ip", "-j", "-d", "link", "show", "master", "eth0"))
        return {link["ifname"]: link["linkinfo"]["info_slave_data"]["state"] for link in links}

    def describe(self) -> str:
        return self.host.run("ip", "-d", "link", "show", "master", "eth0")

    def _dissolve(self) -> None:
        self.host.run("ip", "link", "del", "eth0", check=False)


class TeamSide(LinuxSide):
    """The team driver, and teamd with its own LACP."""

    def used(self) -> set[str]:
        ports = self._state()["ports"]
        return {name for name, port in ports.items() if self._carries(port)}

    def describe(self) -> str:
        return json.dumps(self._state(), indent=1)

    def _make(self, ends: Sequence[End], mode: Mode) -> None:
        for end in ends:
            end.ip("link", "set", end.interface, "down")
        runner: dict[str, object] = {"name": "loadbalance"}
        if mode.lacp != "off":
            runner = {"name": "lacp", "active": mode.lacp == "active"}
            runner["fast_rate"] = mode.rate == "fast"
        config = {
            "device": "eth0",
            "runner": runner | {"tx_hash": ["eth", "ipv4", "ipv6"]},
            "link_watch": {"name": "ethtool"},
            "ports": {end.interface: {} for end in ends},
        }
        # It stays, and would hold the pipes of its reader.
        self.host.run("sh", "-c", 'exec teamd -d -c "$0" >/dev/null 2>&1', json.dumps(config))

    def _dissolve(self) -> None:
        self.host.run("teamd", "-k", "-t", "eth0", check=False)

    def _state(self) -> Any:
        output = self.host.run("teamdctl", "eth0", "state", "dump", check=False)
        return json.loads(output) if output else {"ports": {}}

    @staticmethod
    def _carries(port: Mapping[str, Any]) -> bool:
        runner = port.get("runner")
        return port["link"]["up"] and (runner is None or runner["state"] == "current")


def _bond(
    host: Host, name: str, ends: Sequence[End], mode: Mode, options: Mapping[str, object]
) -> None:
    """A bond of the driver's in a namespace."""
    options = dict(options)
    if mode.lacp == "off":
        options["mode"] = "balance-xor"
    else:
        options |= {"mode": "802.3ad", "lacp_rate": mode.rate}
        options["lacp_active"] = "on" if mode.lacp == "active" else "off"
    words = [str(word) for pair in options.items() for word in pair]
    host.run("ip", "link", "add", name, "type", "bond", *words)
    for end in ends:
        end.ip("link", "set", end.interface, "down")
    for end in ends:
        end.ip("link", "set", end.interface, "master", name)
        end.ip("link", "set", end.interface, "up")
