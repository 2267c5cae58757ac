"""Two sides of an aggregation with cables between them, each with a host behind it.

A side is a namespace: here Open vSwitch with its own bond on a bridge that does NORMAL, and
ofapp's switch; Linux's bonds are in `kernelbonds`.  Each Open vSwitch is a separate one, so that
what happens to one is not seen by the other.  Cables can be cut, as a person pulls them, or
deafened one way, as a broken transceiver is.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import yaml

from tests.support.lab import Host, sh
from tests.support.ownswitch import BRIDGE, ControllerInside, OwnSwitch
from tests.support.waiting import wait_for

PROGRAM = Path("/usr/sbin/ovs-vswitchd")
BOND = "bond0"
CARRIES = 50
"""Frames that make a member one of those that carry a stream; hellos and PDUs are fewer."""

OFFLOADS = ("tx", "off", "tso", "off", "gso", "off", "gro", "off")
SLOW_PROTOCOLS = 0x0004
"""As a bridge port's group_fwd_mask; BPDUs pass where there is no spanning tree."""

HOST_PORT = 11
FIRST_PLUG = 10_000
"""The panel's interfaces are numbered from here."""
LAG = "lag0"

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

    `left` and `right` are what is plugged in.  The panel is a namespace: two interfaces on a Linux
    bridge there that passes everything, group addresses too.
    """

    left: End
    right: End
    number: int
    panel: str

    def cut(self) -> None:
        """Both ends lose their carrier, and no interface was set down there."""
        self._group("down")

    def restore(self) -> None:
        """Put it back."""
        self._group("up")

    def deafen(self, end: End) -> None:
        """Lose all that comes to `end`; the link stays up at both ends."""
        self._tc("replace", end, "pfifo", "limit", "0")

    def heal(self, end: End) -> None:
        """Lose nothing any more, if something was lost."""
        self._tc("del", end, check=False)

    def _group(self, state: str) -> None:
        sh("ip", "-n", self.panel, "link", "set", "group", self.number, state)

    def _tc(self, what: str, end: End, *words: str, check: bool = True) -> None:
        qdisc = ("tc", "qdisc", what, "dev", panel_of(end), "root", *words)
        sh("ip", "netns", "exec", self.panel, *qdisc, check=check)


def panel_of(end: End) -> str:
    """The interface of the patch panel that `end`'s cord is in."""
    return f"{end.interface}x"


def cable(left: str, right: str, panel: str = "") -> Cable:
    """A cable between two namespaces; its ends are no ports yet.

    panel: the patch panel's namespace, the left one without it.  Open vSwitch looks at all its
    flows again when it hears of any interface of its namespace, and not again within five
    milliseconds: where frames are counted, it should not hear of the panel's first.

    Checksums and large segments are left to no other: a userspace datapath does neither.
    """
    number = next(_numbers)
    panel = panel or left
    ends = End(left, f"m{number}a"), End(right, f"m{number}b")
    bridge = f"panel{number}"
    words = ("type", "bridge", "mcast_snooping", 0, "stp_state", 0)
    sh("ip", "-n", panel, "link", "add", bridge, "up", *words)
    for side, end in enumerate(ends):
        plug = panel_of(end)
        # Of another number than its end's: Linux tells of the carrier of such a pair at once.
        index = FIRST_PLUG + 2 * number + side
        sh(
            *("ip", "-n", panel, "link", "add", plug, "index", index, "type", "veth"),
            *("peer", "name", end.interface, "netns", end.namespace),
        )
        for namespace, interface in ((end.namespace, end.interface), (panel, plug)):
            sh("ip", "netns", "exec", namespace, "ethtool", "-K", interface, *OFFLOADS)
        sh("ip", "-n", panel, "link", "set", plug, "group", number, "master", bridge)
        slave = ("type", "bridge_slave", "learning", "off", "group_fwd_mask", SLOW_PROTOCOLS)
        sh("ip", "-n", panel, "link", "set", plug, *slave)
        sh("ip", "-n", panel, "link", "set", plug, "up")
        end.ip("link", "set", end.interface, "up")
    return Cable(*ends, number, panel)


@dataclass(frozen=True)
class Mode:
    """How a side is to aggregate."""

    lacp: Literal["active", "passive", "off"] = "active"
    rate: Literal["slow", "fast"] = "slow"


class Side:
    """One side: a namespace, a host behind it, and a bond of the ends that it takes.

    Make it, `take` its ends of the cables, `close` it.
    """

    namespace: str
    host: Host

    def take(self, ends: Sequence[End], mode: Mode) -> None:
        """Make one bond of these ends."""
        raise NotImplementedError

    def used(self) -> set[str]:
        """The interfaces that its bond sends by."""
        raise NotImplementedError

    def describe(self) -> str:
        """What it tells of its bond, for a person."""
        raise NotImplementedError

    def close(self) -> None:
        """Remove it."""
        raise NotImplementedError

    def wait_used(self, ends: Sequence[End], seconds: float = 15) -> None:
        """Wait until its bond uses just these."""
        wanted = {end.interface for end in ends}
        try:
            wait_for(lambda: self.used() == wanted, f"{wanted} to be in use", seconds=seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.describe()}") from None


class NormalSide(Side):
    """Open vSwitch with its own bond and LACP."""

    def __init__(self, number: int, datapath: str = "netdev", bond_mode: str = "") -> None:
        self.switch = OwnSwitch(PROGRAM, datapath=datapath)
        self.switch.start()
        self.switch.vsctl("set", "Bridge", BRIDGE, "fail_mode=standalone")
        self.namespace = self.switch.namespace
        self.host = self.switch.host(number)
        self.switch.add_port(self.host.plug, HOST_PORT)
        self._bond_mode = bond_mode

    def take(self, ends: Sequence[End], mode: Mode) -> None:
        self.bond(BOND, ends, mode)

    def bond(self, name: str, ends: Sequence[End], mode: Mode) -> None:
        """Make a bond of these ends, from new on if there is one."""
        interfaces = [end.interface for end in ends]
        usual = "balance-slb" if mode.lacp == "off" else "balance-tcp"
        self.switch.vsctl("--if-exists", "del-port", BRIDGE, name)
        self.switch.vsctl(
            *("add-bond", BRIDGE, name, *interfaces, f"lacp={mode.lacp}"),
            f"bond_mode={self._bond_mode or usual}",
            f"other_config:lacp-time={mode.rate}",
        )

    def expiries(self) -> list[str]:
        """How often it has given up each member, by its own count."""
        output = self.switch.appctl("lacp/show-stats", BOND)
        return re.findall(r"(?:Expired|Defaulted|expired|defaulted)[^\n]*", output)

    def change(self, name: str, mode: Mode) -> None:
        """Have a bond that is there agree in another way."""
        self.switch.vsctl(
            *("set", "Port", name, f"lacp={mode.lacp}", f"other_config:lacp-time={mode.rate}"),
        )

    def used(self) -> set[str]:
        output = self.switch.appctl("bond/show", BOND)
        if "lacp_status: configured" in output:
            return set()
        return set(re.findall(r"^(?:member|slave) (\S+): enabled", output, re.MULTILINE))

    def describe(self) -> str:
        output = self.switch.appctl("bond/show", BOND)
        return (
            output
            if "lacp_status: off" in output
            else output + self.switch.appctl("lacp/show", BOND)
        )

    def close(self) -> None:
        self.switch.close()


class OfappSide(Side):
    """ofapp's switch, with its controller."""

    def __init__(self, number: int, datapath: str = "netdev", config: str = "") -> None:
        self.switch = OwnSwitch(PROGRAM, datapath=datapath)
        self.switch.start()
        self.namespace = self.switch.namespace
        self.host = self.switch.host(number)
        self.switch.add_port(self.host.plug, HOST_PORT)
        self.controller = ControllerInside(self.namespace)
        self.controller.start()
        self.controller.connect(self.switch.bridge)
        self._config: dict[str, Any] = yaml.safe_load(config) or {}
        self._ports: dict[str, int] = {}

    def take(self, ends: Sequence[End], mode: Mode) -> None:
        self.configure({LAG: ends}, mode)
        for end in ends:
            self.plug(end)

    def configure(self, lags: dict[str, Sequence[End]], mode: Mode, **more: object) -> None:
        """Have just these aggregations in the file, and the controller read it."""
        bridge = self._config.setdefault("bridges", {}).setdefault(BRIDGE, {})
        bridge["lags"] = {
            name: {
                "members": [end.interface for end in ends],
                "lacp": mode.lacp,
                "rate": mode.rate,
                **more,
            }
            for name, ends in lags.items()
        }
        self.controller.configure(yaml.safe_dump(self._config))
        reply = self.controller.api("POST", "/v1/config/reload", force="true")
        assert reply.status == 200, reply

    def plug(self, end: End) -> None:
        """Make an end a port, if it is none."""
        if end.interface not in self._ports:
            self._ports[end.interface] = len(self._ports) + 1
            self.switch.add_port(end.interface, self._ports[end.interface])

    def lag(self, name: str = LAG) -> Any:
        """What the API tells of an aggregation."""
        return self.controller.get(f"/v1/bridges/{self.switch.bridge.dpid16}/lags/{name}")

    def used(self) -> set[str]:
        return {one["name"] for one in self.lag()["members"] if one["distributing"]}

    def describe(self) -> str:
        return yaml.safe_dump(self.lag())

    def close(self) -> None:
        self.controller.close()
        self.switch.close()


class Pair:
    """Two sides and the cables between them, in use."""

    def __init__(
        self,
        left: Side,
        right: Side,
        cables: int = 2,
        *,
        mode: Mode = Mode(),
        right_mode: Mode | None = None,
        panel: str = "",
    ) -> None:
        """panel: see `cable`."""
        self.left, self.right = left, right
        self.cables = [cable(left.namespace, right.namespace, panel) for _ in range(cables)]
        self._modes: tuple[Mode, Mode] | None = None
        self.mode(mode, right_mode)

    def mode(self, left: Mode, right: Mode | None = None) -> None:
        """Have both aggregate like that, from new on if they do not."""
        if self._modes == (left, right or left):
            self.wait_all()
            return
        self._modes = left, right or left
        self.right.take([cable.right for cable in self.cables], right or left)
        self.left.take([cable.left for cable in self.cables], left)
        self.wait_all()

    def wait_all(self, seconds: float = 40) -> None:
        """Wait until all cables are in use, both ways, and the hosts have met."""
        self.left.wait_used([cable.left for cable in self.cables], seconds)
        self.right.wait_used([cable.right for cable in self.cables], seconds)
        one, other = self.left.host, self.right.host
        wait_for(lambda: one.reaches(other.ip), "the hosts to meet", seconds=seconds)

    def carrying(self) -> Cable:
        """The cable that the left side sends the stream by which runs now."""
        before = [cable.left.count("tx_packets") for cable in self.cables]

        def found() -> Cable | None:
            for cable, count in zip(self.cables, before, strict=True):
                if cable.left.count("tx_packets") - count > CARRIES:
                    return cable
            return None

        return wait_for(found, "a cable that carries the stream")

    def close(self) -> None:
        """Remove both sides."""
        self.left.close()
        self.right.close()
