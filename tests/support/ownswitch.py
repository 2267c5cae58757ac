"""An Open vSwitch of our own, with real ports, in a separate network namespace and folder.

DPDK and AF_XDP want settings, and CPUs, that the machine's own Open vSwitch must not be given; and
two with a userspace datapath do not fit into one network namespace.  The controller joins it there.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from contextlib import suppress
from fcntl import LOCK_EX, LOCK_NB, LOCK_SH, flock
from functools import cache
from pathlib import Path
from typing import IO, TypeVar

from tests.support.controller import Controller, Reply
from tests.support.lab import Host, _in_namespace, sh
from tests.support.ovs import SCHEMA, Bridge, VSwitchd, accepts
from tests.support.waiting import wait_for

T = TypeVar("T")

POLLING_CPU = max(os.sched_getaffinity(0))
"""The one whose thread polls ports."""

BRIDGE = "br0"
DPID = 0x0A00_0000_0D01

ROOM = 4 << 20
"""Octets that a port's socket keeps while ovs-vswitchd does not run: some 5,400 short frames.
Linux's default is 270, which a test sends in half a second."""
_ROOM_OF_ALL = Path("/proc/sys/net/core/rmem_default")


_USERS = Path("/run/lock/ofapp-tests-room")
"""Locked by each process that needs ROOM; its content is the value to put back."""


@cache
def _more_room() -> None:
    """Let sockets that Open vSwitch opens from now on keep ROOM, until the last such process ends.

    Tiers run side by side: a process that put the value back for itself took it from the others.
    """
    users = _USERS.open("a+")
    flock(users, LOCK_SH)
    before = _ROOM_OF_ALL.read_text()
    if int(before) < ROOM:
        users.write(before)
        users.flush()
        _ROOM_OF_ALL.write_text(str(ROOM))
    atexit.register(_less_room, users)


def _less_room(users: IO[str]) -> None:
    """Put the value back unless other processes need it."""
    with users, suppress(OSError):
        flock(users, LOCK_EX | LOCK_NB)
        users.seek(0)
        if before := users.read().split():
            _ROOM_OF_ALL.write_text(before[0])
            users.truncate(0)


class OwnSwitch(VSwitchd):
    """One bridge, with a userspace datapath; `program` is ovs-vswitchd, or stands in for it."""

    def __init__(
        self, program: Path, *settings: str, datapath: str = "netdev", dpid: int = DPID
    ) -> None:
        super().__init__()
        self.datapath = datapath
        self.dpid = dpid
        settings = (
            *settings,
            f"other_config:pmd-cpu-mask={1 << POLLING_CPU:#x}",
            "other_config:pmd-maxsleep=200",  # microseconds, when there is nothing to do
        )
        self.namespace = f"og{os.getpid()}{self.dir.name[-4:]}"
        self._program = program
        self._settings = settings
        self._hosts: list[Host] = []

    def start(self) -> None:
        """Start the database and the switch, and make the bridge."""
        _more_room()
        sh("ip", "netns", "add", self.namespace)
        self.inside("ip", "link", "set", "lo", "up")
        self.inside("sysctl", "-q", "-w", "net.ipv6.conf.default.disable_ipv6=1")
        # By this name its control socket is found; and a package's file may not be in the PATH.
        (self.dir / "ovs-vswitchd").symlink_to(self._program)
        self._run("ovsdb-tool", "create", "conf.db", str(SCHEMA))
        database = f"unix:{self.dir}/db.sock"
        self._db = self._spawn("ovsdb-server", f"--remote=p{database}", "conf.db")
        wait_for(lambda: accepts(self.dir / "db.sock"), "ovsdb-server's socket")
        self._run("ovs-vsctl", f"--db={database}", "--no-wait", "init")
        words = ("--no-wait", "set", "Open_vSwitch", ".", *self._settings)
        self._run("ovs-vsctl", f"--db={database}", *words)
        self._switch = self._spawn("./ovs-vswitchd", database)
        wait_for(self._listens, "ovs-vswitchd's control socket", seconds=30)
        self.vsctl(
            *("add-br", BRIDGE, "--", "set", "Bridge", BRIDGE),
            *(f"datapath_type={self.datapath}", "fail_mode=secure", "protocols=OpenFlow13"),
            f"other_config:datapath-id={self.dpid:016x}",
        )

    @property
    def process(self) -> int:
        """The process id of ovs-vswitchd."""
        return int((self.dir / "ovs-vswitchd.pid").read_text())

    def inside(self, *command: object, check: bool = True) -> str:
        """The output of a command that runs in the switch's namespace."""
        return sh("ip", "netns", "exec", self.namespace, *command, check=check)

    @property
    def bridge(self) -> Bridge:
        """As a controller is to be reported it."""
        return Bridge(self, BRIDGE, self.dpid)

    def host(self, number: int, plug: str = "", *, addressed: bool = True) -> Host:
        """A host whose cable ends in the switch's namespace and is no port yet."""
        host = Host(f"{self.namespace}h{number}", plug or f"plug{number}", number)
        self._hosts.append(host)
        sh("ip", "netns", "add", host.namespace)
        sh(
            *("ip", "-n", self.namespace, "link", "add", host.plug, "up", "type", "veth"),
            *("peer", "name", "eth0", "netns", host.namespace),
        )
        # No device fills in checksums on the way, or cuts large segments.
        offloads = ("tx", "off", "tso", "off", "gso", "off", "gro", "off")
        self.inside("ethtool", "-K", host.plug, *offloads)
        host.run("ethtool", "-K", "eth0", *offloads)
        host.run("ip", "link", "set", "lo", "up")
        host.run("ip", "link", "set", "eth0", "address", host.mac, "up")
        if addressed:
            host.run("ip", "addr", "add", f"{host.ip}/24", "dev", "eth0")
            host.run("ip", "addr", "add", f"{host.ip6}/64", "dev", "eth0", "nodad")
        return host

    def add_port(self, interface: str, number: int, *settings: str) -> None:
        """A port with these settings of its Interface; AssertionError when it does not open."""
        self.vsctl(
            *("add-port", BRIDGE, interface, "--", "set", "Interface", interface),
            *(f"ofport_request={number}", *settings),
        )
        error = self.vsctl("get", "Interface", interface, "error").strip()
        assert error == "[]", f"{interface}: {error}\n{self.log_tail()}"

    def polled_flows(self) -> list[str]:
        """What the thread that polls ports has in its datapath, line by line."""
        text = self.appctl("dpctl/dump-flows", "-m")
        return text.partition(f"from pmd on cpu core: {POLLING_CPU}")[2].splitlines()

    def step(self) -> None:
        """Time passes by itself here."""

    def in_pace(self) -> Callable[[], None]:
        """A tick for `wait_for`, as of a switch whose clock tests move."""
        return self.step

    def close(self) -> None:
        super().close()
        for host in self._hosts:
            sh("ip", "netns", "del", host.namespace, check=False)
        sh("ip", "netns", "del", self.namespace, check=False)

    def _listens(self) -> bool:
        assert self._switch is not None
        if self._switch.poll() is not None:
            raise AssertionError(f"ovs-vswitchd ended:\n{self.log_tail()}")
        return self._ctl.exists()

    def _spawn(self, program: str, *args: str) -> subprocess.Popen[bytes]:
        path = program if program.startswith("./") else shutil.which(program) or program
        with open(self.dir / f"{Path(program).name}.out", "ab") as out:
            return subprocess.Popen(
                [
                    *("ip", "netns", "exec", self.namespace, "setpriv", "--pdeathsig", "KILL"),
                    *(path, "--no-chdir", "--pidfile", "--log-file", "-vconsole:off", *args),
                ],
                cwd=self.dir,
                env=self.env,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
            )


def dropped(switch: OwnSwitch) -> dict[str, int]:
    """By interface, frames for which the switch's sockets there had no room, as it was busy."""
    output = switch.inside("ss", "-0", "-m")
    found = re.findall(r" \*:(\S+) [^*]*\*[^(]*skmem:\([^)]*,d(\d+)\)", output)
    counts: dict[str, int] = {}
    for name, count in found:
        counts[name] = counts.get(name, 0) + int(count)
    return counts


class ControllerInside(Controller):
    """`ofapp-manager` in a switch's namespace: the only one that the switch can reach."""

    def __init__(self, namespace: str, config: str = "") -> None:
        super().__init__(config)
        self._namespace = namespace

    def start(self) -> None:
        self._there(super().start)

    def api(
        self, method: str, path: str, body: object = None, timeout: float = 10, **query: object
    ) -> Reply:
        ask = super().api
        return self._there(lambda: ask(method, path, body, timeout, **query))

    def _there(self, call: Callable[[], T]) -> T:
        return _in_namespace(self._namespace, call)
