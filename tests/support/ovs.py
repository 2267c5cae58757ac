"""A private Open vSwitch on dummy interfaces and a virtual clock.

Everything lives in one temporary directory: database, sockets, logs and a pcap file for each
port, so that several can run beside each other and beside the machine's own.  Frames are injected
with ``netdev-dummy/receive`` and read back from the pcap files.

The datapath polls its ports in the main loop and handles misses in line, and every command is
sent over its own connection, accepted only in a later round of that loop.  So once a command
that follows ``receive`` is answered, the frame has left by every port it leaves by:
:meth:`VSwitchd.barrier` uses that, and it is why a test may say that a frame did *not* come.

The clock is stopped at start.  OVS's own reconnect backoff runs on it as well, so a test that waits
for a connection has to warp while waiting (``tick=vswitchd.step``).
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path

from tests.support import logs
from tests.support.flows import Flow, parse_flow
from tests.support.waiting import wait_for

# Which Open vSwitch runs is said by PATH, and by this where another one's schema goes with it.
SCHEMA = Path(os.environ.get("OFAPP_OVS_SCHEMA", "/usr/share/openvswitch/vswitch.ovsschema"))
PROGRAMS = ("ovs-vswitchd", "ovsdb-server", "ovsdb-tool", "ovs-vsctl", "ovs-ofctl")
LOCAL = 0xFFFFFFFE
OWNER = 200  # table of leases, which come and go with the controller


def missing() -> str | None:
    """Why no vswitchd can run here, or None if one can."""
    absent = [name for name in PROGRAMS if shutil.which(name) is None]
    if absent:
        return f"not installed: {', '.join(absent)} (Debian: openvswitch-switch)"
    return None if SCHEMA.exists() else f"no {SCHEMA}"


def read_pcap(path: Path, offset: int) -> tuple[list[bytes], int]:
    """Frames of the pcap file *path* from *offset* on, and the offset after them."""
    frames: list[bytes] = []
    start, at = max(offset, 24), 0
    if not path.exists():
        return frames, offset
    with path.open("rb") as file:
        file.seek(start)
        data = file.read()
    while at + 16 <= len(data):
        (length,) = struct.unpack_from("<I", data, at + 8)
        if at + 16 + length > len(data):
            break
        frames.append(data[at + 16 : at + 16 + length])
        at += 16 + length
    return frames, start + at


class VSwitchd:
    """One ovsdb-server and one ovs-vswitchd, with their clock in the test's hands."""

    def __init__(self) -> None:
        self.dir = Path(tempfile.mkdtemp(prefix="ofapp-ovs-"))
        self.env = os.environ | dict.fromkeys(
            ("OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR", "OVS_SYSCONFDIR"), str(self.dir)
        )
        self._db: subprocess.Popen[bytes] | None = None
        self._switch: subprocess.Popen[bytes] | None = None
        self._bridges = 0

    # --- life ---------------------------------------------------------------------------------

    def start(self) -> None:
        """Start the database (made on first use) and the switch, and stop its clock."""
        if self._db is None:
            if not (self.dir / "conf.db").exists():
                self._run("ovsdb-tool", "create", "conf.db", str(SCHEMA))
            self._db = self._spawn(
                "ovsdb-server", f"--remote=punix:{self.dir}/db.sock", str(self.dir / "conf.db")
            )
            wait_for(lambda: accepts(self.dir / "db.sock"), "ovsdb-server's socket")
            self._run("ovs-vsctl", f"--db=unix:{self.dir}/db.sock", "--no-wait", "init")
        self._switch = self._spawn(
            "ovs-vswitchd",
            "--enable-dummy=override",
            "--disable-system",
            "--disable-system-route",
            f"unix:{self.dir}/db.sock",
        )
        logs.watch(self)
        wait_for(self._listens, "ovs-vswitchd's control socket")
        self.appctl("time/stop")
        # Any change to the database is waited for: afterwards its bridges exist.
        self.vsctl("set", "Open_vSwitch", ".", "external_ids:started=1")

    def _listens(self) -> bool:
        return accepts(self._ctl)

    def stop_switch(self, sig: int = signal.SIGTERM) -> None:
        """End ovs-vswitchd alone; the database stays."""
        _end(self._switch, sig)
        self._switch = None

    def restart_switch(self) -> None:
        """As a crash and restart of ovs-vswitchd: no flow survives, the database does."""
        self.stop_switch(signal.SIGKILL)
        self.start_again()

    def start_again(self) -> None:
        """Start ovs-vswitchd after `stop_switch(signal.SIGKILL)`."""
        self.start()
        for path in self.dir.glob("*.mgmt"):  # the killed one has left its sockets
            wait_for(partial(accepts, path), f"{path.name} to be served")

    @contextlib.contextmanager
    def stalled(self) -> Iterator[None]:
        """Stop ovs-vswitchd in its tracks: connections stay, nothing is answered."""
        assert self._switch is not None
        self._switch.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._switch.send_signal(signal.SIGCONT)

    def close(self) -> None:
        """End both daemons and remove their directory."""
        _end(self._switch, signal.SIGTERM)
        _end(self._db, signal.SIGTERM)
        logs.unwatch(self)
        shutil.rmtree(self.dir, ignore_errors=True)

    def logs(self) -> Iterator[tuple[str, str]]:
        """See `tests.support.logs`."""
        yield f"ovs-vswitchd's log, in {self.dir}", self.log_tail()

    def log_tail(self, lines: int = 30) -> str:
        """The end of ovs-vswitchd's log."""
        path = self.dir / "ovs-vswitchd.log"
        return "\n".join(path.read_text().splitlines()[-lines:]) if path.exists() else ""

    # --- commands -----------------------------------------------------------------------------

    def appctl(self, command: str, *args: str) -> str:
        """What ``ovs-appctl`` does: one command over a fresh connection."""
        with socket.socket(socket.AF_UNIX) as conn:
            conn.settimeout(30)
            conn.connect(str(self._ctl))
            request = {"id": 0, "method": command, "params": list(args)}
            conn.sendall(json.dumps(request).encode())
            data = b""
            while chunk := conn.recv(65536):
                data += chunk
                with contextlib.suppress(json.JSONDecodeError):
                    answer = json.loads(data)
                    break
            else:
                raise AssertionError(f"ovs-vswitchd hung up on {command}")
        if answer["error"] is not None:
            raise AssertionError(f"{command} {' '.join(args)}: {answer['error']}")
        return str(answer["result"])

    def vsctl(self, *args: str) -> str:
        """Run ovs-vsctl; returns once ovs-vswitchd has taken the change in."""
        return self._run("ovs-vsctl", "--timeout=10", f"--db=unix:{self.dir}/db.sock", *args)

    def ofctl(self, *args: str) -> str:
        """Run ovs-ofctl over OpenFlow 1.3."""
        return self._run("ovs-ofctl", "-O", "OpenFlow13", "--timeout=20", *args)

    def barrier(self) -> None:
        """Return once every frame injected so far has left by the ports it leaves by."""
        self.appctl("version")

    def settle(self) -> None:
        """Take in the counters of the frames so far, and let changed flows take effect.

        Revalidation would do both, but half a second later; emptying the datapath's cache does it
        at once.
        """
        self.barrier()
        self.appctl("revalidator/purge")

    # --- time ---------------------------------------------------------------------------------

    def warp(self, seconds: float) -> None:
        """Let *seconds* pass, after the counters of the frames so far have been taken in.

        Flows end when a revalidator has looked at all of them, at most twice a second.  It may be
        in the middle of that when the time passes, so the last second passes by itself.
        """
        self.settle()
        last = min(seconds, 1.0)
        for part in (seconds - last, last):
            if part:
                self.appctl("time/warp", str(round(part * 1000)))
                self.barrier()

    def step(self) -> None:
        """A little time: what waits for OVS's own timers (reconnecting) ticks with this."""
        self.appctl("time/warp", "300")

    def in_pace(self) -> Callable[[], None]:
        """A tick for `wait_for` by which as much time passes here as passes for everybody else.

        Where the controller's own timers count (a lease, a partner's timeout), a faster clock here
        ends what is renewed in time.
        """
        before = time.monotonic()

        def tick() -> None:
            nonlocal before
            now = time.monotonic()
            self.appctl("time/warp", str(max(int((now - before) * 1000), 1)))
            before = now

        return tick

    # --- bridges ------------------------------------------------------------------------------

    def add_bridge(
        self,
        *,
        ports: int | Iterable[str | None] = 0,
        dpid: int | None = None,
        name: str | None = None,
    ) -> Bridge:
        """A new bridge in secure mode that speaks OpenFlow 1.3, with dummy ports from number 1.

        ports: how many, or their names.
        """
        self._bridges += 1
        name = name or f"br{self._bridges}"
        bridge = Bridge(self, name, self._bridges if dpid is None else dpid)
        names = [None] * ports if isinstance(ports, int) else ports
        self.vsctl(
            *("add-br", name, "--", "set", "Bridge", name, "datapath_type=dummy"),
            *("fail_mode=secure", "protocols=OpenFlow13"),
            f"other_config:datapath-id={bridge.dpid16}",
            *("--", "set", "Interface", name, f"options:tx_pcap={self.dir}/{name}.pcap"),
            *(word for at in enumerate(names, 1) for word in ("--", *bridge.new_port(*at))),
        )
        return bridge

    # --- inside -------------------------------------------------------------------------------

    @property
    def _ctl(self) -> Path:
        pid = self._switch.pid if self._switch else 0
        return self.dir / f"ovs-vswitchd.{pid}.ctl"

    def _spawn(self, program: str, *args: str) -> subprocess.Popen[bytes]:
        with open(self.dir / f"{program}.out", "ab") as out:
            return subprocess.Popen(
                [program, "--no-chdir", "--pidfile", "--log-file", "-vconsole:off", *args],
                cwd=self.dir,
                env=self.env,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
            )

    def _run(self, *command: str) -> str:
        done = subprocess.run(
            command,
            check=False,
            cwd=self.dir,
            env=self.env,
            capture_output=True,
            text=True,
            timeout=60,
        )
        if done.returncode != 0:
            raise AssertionError(f"{' '.join(command)}: {done.stderr.strip()}")
        return done.stdout


class Bridge:
    """One bridge of a :class:`VSwitchd`.  Ports go by their OpenFlow number."""

    def __init__(self, switch: VSwitchd, name: str, dpid: int) -> None:
        self.switch = switch
        self.name = name
        self.dpid = dpid
        self.names: dict[int, str] = {LOCAL: name}
        self._read: dict[int, int] = {}

    @property
    def dpid16(self) -> str:
        """The datapath id as the API writes it."""
        return f"{self.dpid:016x}"

    @property
    def ports(self) -> list[int]:
        """Numbers of the ports, LOCAL last."""
        return sorted(self.names)

    def port_name(self, number: int) -> str:
        """The interface's name."""
        return self.names[number]

    def add_port(self, number: int, name: str | None = None, *settings: str) -> None:
        """Plug in a dummy interface as OpenFlow port *number*, with settings of its row."""
        self.switch.vsctl(*self.new_port(number, name, *settings))

    def add_ports(self, ports: Mapping[int, tuple[str, ...]]) -> None:
        """Plug in several at once; each has its name, and settings of its interface."""
        commands = [self.new_port(number, *words) for number, words in ports.items()]
        self.switch.vsctl(*[word for command in commands for word in ("--", *command)][1:])

    def new_port(self, number: int, name: str | None = None, *settings: str) -> tuple[str, ...]:
        """ovs-vsctl's words for a new port, which is known by its number from now on."""
        name = self.names[number] = name or f"{self.name}p{number}"
        return (
            *("add-port", self.name, name, "--", "set", "Interface", name, "type=dummy"),
            f"ofport_request={number}",
            f"options:tx_pcap={self.switch.dir}/{self.name}-{number}.pcap",
            *settings,
        )

    def del_port(self, number: int) -> None:
        """Unplug the port."""
        self.switch.vsctl("del-port", self.name, self.names.pop(number))

    def replace_port(self, number: int, name: str) -> None:
        """In one transaction: the interface of that number goes, another called *name* comes."""
        old = self.names[number]
        self.switch.vsctl("del-port", self.name, old, "--", *self.new_port(number, name))

    def link(self, number: int, *, up: bool) -> None:
        """Set the port's link state."""
        state = "up" if up else "down"
        self.switch.appctl("netdev-dummy/set-admin-state", self.names[number], state)

    def destroy(self) -> None:
        """Remove the bridge."""
        self.switch.vsctl("--if-exists", "del-br", self.name)

    # --- frames -------------------------------------------------------------------------------

    def inject(self, port: int, *frames: bytes) -> None:
        """Let *frames* arrive at *port*."""
        self.switch.settle()
        for frame in frames:
            self.switch.appctl("netdev-dummy/receive", self.names[port], frame.hex())

    def sent(self, port: int) -> list[bytes]:
        """Frames that left by *port* since this was last asked."""
        self.switch.barrier()
        stem = self.name if port == LOCAL else f"{self.name}-{port}"
        frames, self._read[port] = read_pcap(
            self.switch.dir / f"{stem}.pcap", self._read.get(port, 0)
        )
        return frames

    def forget_sent(self) -> None:
        """Start afresh: what has left so far does not count."""
        for port in self.ports:
            self.sent(port)

    def send(self, port: int, frame: bytes) -> set[int]:
        """Let *frame* arrive at *port*; the ports by which exactly that frame left, once each."""
        self.forget_sent()
        self.inject(port, frame)
        out = {number: self.sent(number).count(frame) for number in self.ports}
        doubled = [number for number, count in out.items() if count > 1]
        assert not doubled, f"frame left more than once by {doubled}"
        return {number for number, count in out.items() if count}

    def deliver(self, port: int, frame: bytes) -> dict[int, list[bytes]]:
        """Let *frame* arrive at *port*; what left by which ports, in any form."""
        self.forget_sent()
        self.inject(port, frame)
        out = {number: self.sent(number) for number in self.ports}
        return {number: frames for number, frames in out.items() if frames}

    # --- OpenFlow -----------------------------------------------------------------------------

    def set_controller(self, target: str | None) -> None:
        """Point the bridge at *target* (``tcp:127.0.0.1:PORT``), or at none.

        No inactivity probe: a warp of minutes would look to OVS like a silent controller.
        """
        if target is None:
            self.switch.vsctl("del-controller", self.name)
            return
        self.switch.vsctl(
            *("set-controller", self.name, target),
            *("--", "set", "Controller", self.name, "inactivity_probe=0", "max_backoff=1000"),
            "connection_mode=out-of-band",  # in-band looks for routes, and there are none here
        )

    def disconnect(self) -> None:
        """Lose the controller.  OVS flushes its flows when it is configured to have none any
        more, so it is reported one that does not answer."""
        self.set_controller("tcp:127.0.0.1:1")

    @property
    def connected(self) -> bool:
        """True while OVS says that its controller is there."""
        return "true" in self.switch.vsctl(
            "--columns=is_connected",
            "--format=csv",
            "--no-headings",
            "list",
            "Controller",
            self.name,
        )

    def flows(self) -> list[Flow]:
        """All flows but the controller's lease, in the order of OVS's dump."""
        return [flow for flow in self.all_flows() if flow.table != OWNER]

    def all_flows(self) -> list[Flow]:
        """And the lease."""
        lines = self.switch.ofctl("dump-flows", "--no-names", self.name).splitlines()
        return [parse_flow(line) for line in lines if "cookie=" in line]

    def limit_table(self, table: int, flows: int) -> None:
        """Let a table hold so many flows; the switch refuses others."""
        self.switch.vsctl(
            *("--id=@t", "create", "Flow_Table", f"flow_limit={flows}", "overflow_policy=refuse"),
            *("--", "set", "Bridge", self.name, f"flow_tables:{int(table)}=@t"),
        )

    def unlimit_tables(self) -> None:
        """Let tables hold what they can."""
        self.switch.vsctl("clear", "Bridge", self.name, "flow_tables")

    def groups(self) -> dict[int, set[int | str]]:
        """Group id -> the ports of its buckets (name of a reserved port as it is)."""
        found: dict[int, set[int | str]] = {}
        for line in self.switch.ofctl("dump-groups", "--no-names", self.name).splitlines():
            if number := re.search(r"group_id=(\d+)", line):
                outputs = re.findall(r"(?:output:|actions=)(LOCAL|\d+)\b", line)
                found[int(number[1])] = {LOCAL if out == "LOCAL" else int(out) for out in outputs}
        return found

    def meters(self) -> dict[int, str]:
        """Meter id -> its line in the dump."""
        text = self.switch.ofctl("dump-meters", self.name)
        return {int(m[1]): m[0] for m in re.finditer(r"meter=(\d+)[^\n]*(?:\n[^\n]+)?", text)}

    def meter_packets(self) -> dict[int, int]:
        """Meter id -> the packets it has seen."""
        text = self.switch.ofctl("meter-stats", self.name)
        found = re.findall(r"meter:(\d+).*?packet_in_count:(\d+)", text)
        return {int(number): int(packets) for number, packets in found}


def accepts(path: Path) -> bool:
    """Whether a process listens there: a socket is there a moment before."""
    with socket.socket(socket.AF_UNIX) as conn, contextlib.suppress(OSError):
        conn.connect(str(path))
        return True
    return False


def _end(process: subprocess.Popen[bytes] | None, sig: int) -> None:
    if process is None:
        return
    if process.poll() is None:
        process.send_signal(sig)
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(60)  # the kernel closes the sockets of a thousand ports one by one
