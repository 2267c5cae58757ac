"""A host and its router, each a namespace, with an Open vSwitch and an ofapp of the host's own.

Everything of the host is private to its namespace, ports and paths included, so the defaults hold
(6653, 8080) and nothing of the machine is touched.  The router holds addresses to ping from, and
is the host's gateway for both families.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

from tests.deploy.runner import ROOT, Runner
from tests.support import logs
from tests.support.lab import sh
from tests.support.ovs import SCHEMA, accepts
from tests.support.waiting import wait_for

HOST4, HOST6 = "10.77.0.2", "fd77::2"
SECOND4 = "10.77.0.3"
ROUTER4, ROUTER6 = "10.77.0.1", "fd77::1"
BEYOND4 = "10.99.0.1"  # behind the router: by the default route alone
BEYOND6 = "fd99::1"
CONFIG = "defaults: {stp: {enabled: false}}\n"

_sites = itertools.count(1)


class Site:
    """Make with `start`, end with `close`."""

    def __init__(self) -> None:
        tag = f"od{os.getpid() % 65536:04x}{next(_sites):x}"
        self.host, self.router = f"{tag}h", f"{tag}r"
        self.dir = Path(tempfile.mkdtemp(prefix="ofapp-deploy-"))
        self.journal = self.dir / "journal"
        self.database = f"unix:{self.dir}/db.sock"
        self.env = os.environ | dict.fromkeys(
            ("OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR", "OVS_SYSCONFDIR"), str(self.dir)
        )
        self._daemons: dict[str, subprocess.Popen[bytes]] = {}
        self.runner: Runner | None = None

    # --- life

    def start(self) -> None:
        """Namespaces, addresses, Open vSwitch, the controller."""
        for name in (self.host, self.router):
            sh("ip", "netns", "add", name)
            self._in(name, "ip", "link", "set", "lo", "up")
        self.cables()
        for words in (
            f"addr add {ROUTER4}/24 dev r0",
            f"addr add {ROUTER6}/64 dev r0 nodad",
            f"addr add {BEYOND4}/32 dev lo",
            f"addr add {BEYOND6}/128 dev lo nodad",
        ):
            self._in(self.router, "ip", *words.split())
        for words in (
            f"addr add {HOST4}/24 dev eth0",
            f"addr add {SECOND4}/24 dev eth0 valid_lft 5000 preferred_lft 4000",
            f"addr add {HOST6}/64 dev eth0 nodad",
            f"route add default via {ROUTER4} dev eth0 metric 100 proto dhcp",
            f"-6 route add default via {ROUTER6} dev eth0 metric 1024 proto ra expires 3000",
            f"route add 10.88.0.0/16 via {ROUTER4} dev eth0 table 77",
        ):
            self.run("ip", *words.split())
        self.runner = Runner(self.host, self.journal, self.database)
        self.start_switch()
        self.start_controller()

    def cables(self) -> None:
        """What is between the host and its router."""
        self.plug("eth0", "r0")

    def plug(self, nic: str, far: str) -> None:
        """A cable between the host's `nic` and the router's `far`."""
        sh(
            "ip",
            "link",
            "add",
            nic,
            "netns",
            self.host,
            "type",
            "veth",
            "peer",
            "name",
            far,
            "netns",
            self.router,
        )
        for namespace, name in ((self.host, nic), (self.router, far)):
            # No device fills in checksums on the way through a userspace datapath.
            self._in(namespace, "ethtool", "-K", name, "tx", "off")
            self._in(namespace, "ip", "link", "set", name, "up")

    def start_switch(self) -> None:
        """Open vSwitch, on the database of before if there was one."""
        if not (self.dir / "conf.db").exists():
            sh("ovsdb-tool", "create", self.dir / "conf.db", SCHEMA)
        if "ovsdb-server" not in self._daemons:
            self._spawn("ovsdb-server", f"--remote=punix:{self.dir}/db.sock", self.dir / "conf.db")
            wait_for(lambda: accepts(self.dir / "db.sock"), "ovsdb-server")
            self.vsctl("--no-wait", "init")
        self._spawn("ovs-vswitchd", self.database)
        number = self._daemons["ovs-vswitchd"].pid
        wait_for((self.dir / f"ovs-vswitchd.{number}.ctl").exists, "ovs-vswitchd")

    def start_controller(self, config: str = CONFIG) -> None:
        """ofapp-manager in the host's namespace, on its usual ports."""
        (self.dir / "ofapp.yaml").write_text(config)
        (self.dir / "controller.out").unlink(missing_ok=True)
        self._spawn(
            sys.executable,
            *("-m", "ofapp.launcher.manager", "ofapp.app", "--state-dir", self.dir / "state"),
            *("--config-file", self.dir / "ofapp.yaml"),
            name="controller",
        )
        wait_for(self._controlled, "the controller", seconds=60)

    def stop(self, name: str, sig: int = signal.SIGTERM) -> None:
        """End a daemon: ovsdb-server, ovs-vswitchd or controller."""
        process = self._daemons.pop(name, None)
        if process is not None:
            process.send_signal(sig)
            process.wait(10)

    def close(self) -> None:
        """Remove everything."""
        if self.runner is not None:
            self.runner.close()
        for name in ("controller", "ovs-vswitchd", "ovsdb-server"):
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.stop(name)
        for name in (self.host, self.router):
            sh("ip", "netns", "del", name, check=False)
        shutil.rmtree(self.dir, ignore_errors=True)

    # --- what is seen

    def reachable(self) -> bool:
        """Whether both addresses of the host answer the router, and it gets beyond the router."""
        return all(
            self.answers(where, address)
            for where, address in (
                (self.router, HOST4),
                (self.router, HOST6),
                (self.router, SECOND4),
                (self.host, BEYOND4),
                (self.host, BEYOND6),
            )
        )

    def answers(self, where: str, address: str) -> bool:
        """Whether three of three pings are answered, each once."""
        ping = ("ping", "-n", "-q", "-c", 3, "-i", 0.01, "-W", 1, address)
        output = self._in(where, *ping, check=False)
        return "3 received, 0%" in output

    def layout(self) -> str:
        """Addresses and routes of the host, without what counts down or comes by itself."""
        lines = []
        for words in ("addr show dev eth0", "route show table all", "-6 route show table all"):
            for line in self.run("ip", "-o", *words.split()).splitlines():
                kept = [word for word in line.split() if not word.endswith("sec")]
                if "fe80::" not in line and "table local" not in line:
                    lines.append(" ".join(kept))
        names = (
            "ipv4/conf/eth0/arp_ignore",
            "ipv4/conf/eth0/rp_filter",
            "ipv6/conf/eth0/disable_ipv6",
        )
        lines += [f"{name}={self.run('cat', f'/proc/sys/net/{name}').strip()}" for name in names]
        lines.append(self.run("ip", "-o", "link", "show", "eth0").partition(" state")[0])
        return "\n".join(lines)

    def logs(self) -> Iterator[tuple[str, str]]:
        """See `tests.support.logs`."""
        for name in ("controller", "ovs-vswitchd"):
            yield name, self.log_tail(name)
        for log in self.journal.glob("*.log"):
            yield "the watcher", log.read_text()

    def log_tail(self, name: str, lines: int = 20) -> str:
        """The end of what a daemon has said."""
        path = self.dir / f"{name}.out"
        return "\n".join(path.read_text().splitlines()[-lines:]) if path.exists() else ""

    # --- doing

    def deploy(self, command: str, *words: object, check: bool = True) -> str:
        """`ofapp deploy` in the host; what it says, errors included."""
        own: tuple[object, ...] = ("--journal", self.journal)
        if command in {"plan", "apply"}:
            own += ("--db", self.database, "--datapath", "netdev")
        return self.ofapp("deploy", command, *own, *words, check=check)

    def ofapp(self, *words: object, check: bool = True) -> str:
        """`ofapp` in the host; with `check` it must succeed, without it must fail."""
        assert self.runner is not None
        outcome = self.runner.ofapp(*map(str, words))
        assert (outcome.status == 0) == check, f"status {outcome.status}: {outcome.said}"
        return outcome.said

    def run(self, *words: object, check: bool = True) -> str:
        """A command in the host's namespace."""
        return self._in(self.host, *words, check=check)

    def vsctl(self, *words: object) -> str:
        """ovs-vsctl on the host's Open vSwitch."""
        return sh("ovs-vsctl", "--timeout=10", f"--db={self.database}", *words).strip()

    def bridges(self) -> list[str]:
        """Bridges of the host."""
        return self.vsctl("list-br").split()

    def _controlled(self) -> bool:
        """The ports are tried out before the log says that they are listened to."""
        listening = self.run("ss", "-Hltn")
        return "listening for switches" in self.log_tail("controller") and all(
            port in listening for port in (":6653", ":8080")
        )

    def _in(self, namespace: str, *words: object, check: bool = True) -> str:
        return sh("ip", "netns", "exec", namespace, *words, check=check)

    def _spawn(self, program: str, *words: object, name: str | None = None) -> None:
        name = name or program
        if name != "controller":
            words = ("--no-chdir", "--pidfile", "--log-file", "-vconsole:off", *words)
        with open(self.dir / f"{name}.out", "ab") as out:
            self._daemons[name] = subprocess.Popen(
                ["ip", "netns", "exec", self.host, program, *map(str, words)],
                cwd=ROOT, env=self.env, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
            )  # fmt: skip


AnySite = TypeVar("AnySite", bound=Site)


@contextlib.contextmanager
def running(site: AnySite) -> Iterator[AnySite]:
    """The host, started; its logs are shown with a test that fails meanwhile."""
    logs.watch(site)
    try:
        site.start()
        yield site
    finally:
        logs.unwatch(site)
        site.close()
