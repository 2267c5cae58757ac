"""Bonds nobody here wrote, on Open vSwitch: `add-bond` on a bridge that does NORMAL.

Each switch is an Open vSwitch in a namespace of its own, so that what one of them does (it stops
forwarding while it takes a new bridge, or is killed) is not seen by the other.  Cables join two of
them; each can be cut, as somebody pulls it, or deafened one way, as a broken transceiver does.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.support.lab import sh
from tests.support.ownswitch import BRIDGE, OwnSwitch
from tests.support.waiting import wait_for

PROGRAM = Path("/usr/sbin/ovs-vswitchd")
BOND = "bond0"
CARRIES = 50
"""Frames that make a member one of those that carry a stream; hellos and PDUs are fewer."""

OFFLOADS = ("tx", "off", "tso", "off", "gso", "off", "gro", "off")
SLOW_PROTOCOLS = 0x0004
"""As a bridge port's group_fwd_mask; BPDUs pass where there is no spanning tree."""

_numbers = itertools.count(1)


@dataclass(frozen=True)
class End:
    """One end of a cable: an interface in a namespace."""

    namespace: str
    interface: str

    def ip(self, *words: object) -> str:
        """`ip` in the namespace."""
        return sh("ip", "-n", self.namespace, *words)

    def count(self, what: str) -> int:
        """A counter of the kernel's: rx_packets, tx_packets."""
        path = f"/sys/class/net/{self.interface}/statistics/{what}"
        return int(sh("ip", "netns", "exec", self.namespace, "cat", path))


@dataclass(frozen=True)
class Cable:
    """A link between two namespaces, through a patch panel where it can be pulled.

    `left` and `right` are what is plugged in.  The panel is in the left namespace: two interfaces
    on a Linux bridge that passes everything, group addresses too.
    """

    left: End
    right: End
    number: int

    def cut(self) -> None:
        """Both ends lose their carrier, and nobody has set anything down there."""
        self.left.ip("link", "set", "group", self.number, "down")

    def restore(self) -> None:
        """Put it back."""
        self.left.ip("link", "set", "group", self.number, "up")

    def deafen(self, end: End) -> None:
        """Lose all that comes to `end`; the link stays up at both ends."""
        self._tc("replace", end, "pfifo", "limit", "0")

    def heal(self, end: End) -> None:
        """Lose nothing any more."""
        self._tc("del", end)

    def _tc(self, what: str, end: End, *words: str) -> None:
        panel = panel_of(end)
        qdisc = ("tc", "qdisc", what, "dev", panel, "root", *words)
        sh("ip", "netns", "exec", self.left.namespace, *qdisc)


def panel_of(end: End) -> str:
    """The interface of the patch panel that `end`'s cord is in."""
    return f"{end.interface}x"


def cable(left: str, right: str) -> Cable:
    """A cable between two namespaces; its ends are no ports yet.

    Checksums and large segments are left to nobody: a userspace datapath does neither.
    """
    number = next(_numbers)
    ends = End(left, f"m{number}a"), End(right, f"m{number}b")
    bridge = f"panel{number}"
    words = ("type", "bridge", "mcast_snooping", 0, "stp_state", 0)
    sh("ip", "-n", left, "link", "add", bridge, "up", *words)
    for end in ends:
        panel = panel_of(end)
        sh(
            *("ip", "link", "add", end.interface, "netns", end.namespace, "type", "veth"),
            *("peer", "name", panel, "netns", left),
        )
        for namespace, interface in ((end.namespace, end.interface), (left, panel)):
            sh("ip", "netns", "exec", namespace, "ethtool", "-K", interface, *OFFLOADS)
        sh("ip", "-n", left, "link", "set", panel, "group", number, "master", bridge)
        slave = ("type", "bridge_slave", "learning", "off", "group_fwd_mask", SLOW_PROTOCOLS)
        sh("ip", "-n", left, "link", "set", panel, *slave)
        sh("ip", "-n", left, "link", "set", panel, "up")
        end.ip("link", "set", end.interface, "up")
    return Cable(*ends, number)


class NormalSwitch(OwnSwitch):
    """An Open vSwitch whose bridge does NORMAL, and whose bonds are its own."""

    def __init__(self, datapath: str = "netdev") -> None:
        super().__init__(PROGRAM)
        self.datapath = datapath

    def start(self) -> None:
        super().start()
        self.vsctl("set", "Bridge", BRIDGE, "fail_mode=standalone")

    def add_bond(self, members: Sequence[End], *settings: str, name: str = BOND) -> None:
        """A bond of these ends; `settings` of its Port, as ovs-vsctl takes them."""
        interfaces = [end.interface for end in members]
        self.vsctl("add-bond", BRIDGE, name, *interfaces, *settings)
        for interface in interfaces:
            self.vsctl("set", "Interface", interface, "lldp:enable=false")

    def enabled(self, name: str = BOND) -> set[str]:
        """The members that its bond uses."""
        told = self.appctl("bond/show", name)
        return set(re.findall(r"^(?:member|slave) (\S+): enabled", told, re.MULTILINE))

    def lacp_status(self, name: str = BOND) -> str:
        """`negotiated`, `configured`, `defaulted` or `off`, as bond/show has it."""
        found = re.search(r"lacp_status: (\S+)", self.appctl("bond/show", name))
        return found[1] if found else ""

    def wait_enabled(self, members: Sequence[End], seconds: float = 10, name: str = BOND) -> None:
        """Wait until its bond uses just these."""
        wanted = {end.interface for end in members}
        try:
            wait_for(
                lambda: self.enabled(name) == wanted, f"{wanted} to be in use", seconds=seconds
            )
        except AssertionError as error:
            told = f"{self.appctl('bond/show', name)}{self.lacp_show(name)}"
            raise AssertionError(f"{error}\n{told}") from None

    def lacp_show(self, name: str = BOND) -> str:
        """What ovs-appctl tells of its LACP; empty when it runs none."""
        return "" if self.lacp_status(name) == "off" else self.appctl("lacp/show", name)


def carrier(ends: Sequence[End], what: str = "tx_packets") -> End:
    """The end that carries the stream which runs now."""
    before = [end.count(what) for end in ends]

    def found() -> End | None:
        for end, count in zip(ends, before, strict=True):
            if end.count(what) - count > CARRIES:
                return end
        return None

    return wait_for(found, "a member that carries the stream")
