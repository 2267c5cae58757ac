"""Open vSwitch on any of its datapaths, with NORMAL or under ofapp.

Of a running Open vSwitch only the bridge is ours.  What is set for the daemon as a whole, such as
the cores of its polling threads, is taken as it is.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ofapp.bench import BenchError
from ofapp.bench.bed import Bed, bridge_name
from ofapp.bench.devices import Cycles, Device, Up
from ofapp.bench.devices.controller import Controller
from ofapp.bench.names import Datapath
from ofapp.bench.processes import run, wait_until

RUN_DIR = Path("/var/run/openvswitch")
AFXDP_LARGEST = 2048 - 256 - 32
"""A frame must fit a chunk of the shared memory, behind the kernel's headroom."""
_NO_ROOM_GIVEN = 8192
SECOND = 0x100
"""From the datapath id of a bridge to that of the second one; beyond those of all beds."""


@dataclass(frozen=True, slots=True)
class OpenVSwitch:
    """A running ovsdb-server and ovs-vswitchd, by their run directory."""

    run_dir: Path = RUN_DIR

    @property
    def _env(self) -> Mapping[str, str]:
        return os.environ | {"OVS_RUNDIR": str(self.run_dir)}

    def vsctl(self, *words: object) -> str:
        """ovs-vsctl, which returns when ovs-vswitchd has done it."""
        database = f"--db=unix:{self.run_dir}/db.sock"
        return run("ovs-vsctl", "--timeout=20", database, *words, env=self._env).strip()

    def appctl(self, *words: object) -> str:
        """A command of ovs-vswitchd."""
        return run("ovs-appctl", "--timeout=10", *words, env=self._env)

    def bridges(self) -> set[str]:
        """The names of all bridges."""
        return set(self.vsctl("list-br").split())

    def process(self) -> int:
        """The id of ovs-vswitchd."""
        path = self.run_dir / "ovs-vswitchd.pid"
        try:
            return int(path.read_text())
        except OSError as error:
            raise BenchError(
                f"Open vSwitch does not run: {path} is missing; start it, or give --ovs-rundir"
            ) from error

    def supports(self, datapath: Datapath) -> str:
        """Why it does not have this datapath; empty when it has."""
        self.process()
        if datapath is Datapath.SYSTEM and not Path("/sys/module/openvswitch").exists():
            return "the kernel has no openvswitch module loaded"
        kind = {"system": "system", "netdev": "system"}.get(datapath.value, datapath.value)
        if kind not in re.findall(r"[\w-]+", self.vsctl("get", "Open_vSwitch", ".", "iface_types")):
            return f"this Open vSwitch has no interfaces of the type {kind}"
        return ""


# One thread of `dpif-netdev/pmd-stats-show`.  Open vSwitch 4.0 answers it as pmd-perf-show, which
# tells the average: a thread without frames has none.
_COUNTED = re.compile(
    r"packets received: (\d+)$(?:\n  .*)*?\n  processing cycles: (\d+)", re.MULTILINE
)
_AVERAGED = re.compile(
    r"Used TSC cycles:(?:.*\n)*?  Rx packets: +(\d+)(?:  \(\S+ Kpps, (\d+) cycles/pkt\))?"
)


def parse_cycles(shown: str) -> Cycles | None:
    """Sum of `dpif-netdev/pmd-stats-show` over the threads that count cycles; None without any."""
    threads = [(int(cycles), int(frames)) for frames, cycles in _COUNTED.findall(shown)]
    for frames, average in _AVERAGED.findall(shown):
        threads.append((int(average or 0) * int(frames), int(frames)))
    if not threads:
        return None
    return Cycles(sum(cycles for cycles, _ in threads), sum(frames for _, frames in threads))


class OvsBridge(Device):
    """A bridge of Open vSwitch; what makes it forward is its subclasses' matter."""

    def __init__(self, switch: OpenVSwitch, datapath: Datapath) -> None:
        self.switch, self.datapath = switch, datapath
        if datapath is Datapath.AFXDP:
            self.largest = AFXDP_LARGEST

    @contextmanager
    def up(self, bed: Bed, hosts: int) -> Iterator[Up]:
        names = [bridge_name(bed.tag, number) for number, _ in enumerate(bed.groups)]
        self._remove(names)
        with bed.cabled(None):
            try:
                for number, (name, ports) in enumerate(zip(names, bed.groups, strict=True)):
                    self._make(name, ports, bed.mtu, self._settings(hosts, number))
                yield Up(self._programs(), self._spinning())
            finally:
                self._remove(names)

    def _remove(self, names: Sequence[str]) -> None:
        for name in names:
            self.switch.vsctl("--if-exists", "del-br", name)

    def cycles(self) -> Cycles | None:
        """Sum over all threads of a userspace datapath, other bridges of the switch included."""
        if self.datapath is Datapath.SYSTEM:
            return None
        return parse_cycles(self.switch.appctl("dpif-netdev/pmd-stats-show"))

    def _settings(self, hosts: int, number: int) -> list[str]:
        """Columns of the bridge, or of the second one (number 1)."""
        raise NotImplementedError

    def _programs(self) -> tuple[int, ...]:
        return (self.switch.process(),)

    def _make(self, bridge: str, ports: list[str], mtu: int, settings: list[str]) -> None:
        kind = "system" if self.datapath is Datapath.SYSTEM else "netdev"
        words = ["add-br", bridge, "--", "set", "Bridge", bridge, f"datapath_type={kind}"]
        words += ["protocols=OpenFlow13", *settings]
        for number, port in enumerate(ports, 1):
            name = self.port(port)
            words += ["--", "add-port", bridge, name]
            words += ["--", "set", "Interface", name, f"ofport_request={number}"]
            words += self._interface(port, mtu)
        self.switch.vsctl(*words)
        for port in ports:
            answer = self.switch.vsctl("get", "Interface", self.port(port), "ofport", "error")
            number_, _, error = answer.partition("\n")
            if not number_.isdigit():
                raise BenchError(f"{self.label}: Open vSwitch cannot use {port}: {error.strip()}")

    def port(self, interface: str) -> str:
        """Return the switch's name of a port; DPDK ports differ from their interfaces."""
        return f"d{interface}" if self.datapath is Datapath.DPDK else interface

    def _interface(self, port: str, mtu: int) -> list[str]:
        if self.datapath is Datapath.AFXDP:
            return ["type=afxdp"]
        if self.datapath is not Datapath.DPDK:
            return []
        device = port if ":" in port else f"net_af_xdp_{port},iface={port}"
        return ["type=dpdk", f'options:dpdk-devargs="{device}"', f"mtu_request={mtu}"]

    def _spinning(self) -> frozenset[int]:
        if self.datapath not in (Datapath.AFXDP, Datapath.DPDK):
            return frozenset()
        shown = self.switch.appctl("dpif-netdev/pmd-rxq-show")
        return frozenset(int(core) for core in re.findall(r"core_id (\d+)", shown))


class Normal(OvsBridge):
    """The switch's own learning, NORMAL."""

    def __init__(self, switch: OpenVSwitch, datapath: Datapath) -> None:
        super().__init__(switch, datapath)
        self.label = f"OVS NORMAL {datapath}"

    def _settings(self, hosts: int, number: int) -> list[str]:
        size = max(_NO_ROOM_GIVEN, 2 * hosts)
        return ["fail_mode=standalone", f"other_config:mac-table-size={size}"]


class Ofapp(OvsBridge):
    """The same under ofapp, with all that it does by default."""

    controller: Controller
    datapath_id: str
    """Both to be set before it is set up."""

    def __init__(self, switch: OpenVSwitch, datapath: Datapath) -> None:
        super().__init__(switch, datapath)
        self.label = f"ofapp {datapath}"

    def _settings(self, hosts: int, number: int) -> list[str]:
        own = f"{int(self.datapath_id, 16) + number * SECOND:016x}"
        return ["fail_mode=secure", f"other_config:datapath-id={own}"]

    def _programs(self) -> tuple[int, ...]:
        return (*super()._programs(), self.controller.process)

    def _make(self, bridge: str, ports: list[str], mtu: int, settings: list[str]) -> None:
        super()._make(bridge, ports, mtu, settings)
        target = self.controller.target
        self._point_to(bridge, target)
        if not wait_until(lambda: self._connected(bridge), 15):
            raise BenchError(
                f"{self.label}: the bridge is not connected to {target} after 15 s."
                f" The controller said:\n{self.controller.log_tail()}"
            )

    @contextmanager
    def without_controller(self, bed: Bed) -> Iterator[None]:
        # A controller that is nowhere: without any, Open vSwitch would drop all flows.
        bridge = bridge_name(bed.tag)
        self._point_to(bridge, "tcp:127.0.0.1:1")
        if not wait_until(lambda: not self._connected(bridge), 15):
            raise BenchError(f"{self.label}: the bridge is still connected after 15 s")
        try:
            yield
        finally:
            self._point_to(bridge, self.controller.target)
            wait_until(lambda: self._connected(bridge), 15)

    def _point_to(self, bridge: str, target: str) -> None:
        self.switch.vsctl(
            *("set-controller", bridge, target, "--"),
            *("set", "Controller", bridge, "connection_mode=out-of-band", "max_backoff=1000"),
        )

    def _connected(self, bridge: str) -> bool:
        words = ("--columns=is_connected", "--format=csv", "--no-headings")
        return "true" in self.switch.vsctl(*words, "list", "Controller", bridge)
