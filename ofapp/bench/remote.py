"""A device on two machines: the far half is set up by `ofapp bench far`, over ssh."""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Iterator, Mapping

from ofapp.bench import BenchError
from ofapp.bench.bed import Bed
from ofapp.bench.devices import Device, Up
from ofapp.bench.devices.ovs import OvsBridge
from ofapp.bench.frames import ADDRESS, Side
from ofapp.bench.model import Remote
from ofapp.bench.names import Datapath, device_of
from ofapp.bench.shells import LOOP, Shell, shell
from ofapp.bench.station import Station

SSH = shlex.split(os.environ.get("OFAPP_BENCH_SSH", "ssh -o BatchMode=yes --"))
"""What runs a command on another machine: its words, then the machine and the command."""
READY_SECONDS = 60


def words(remote: Remote, device: Device, bed: Bed) -> list[str]:
    """The command by which the other machine sets its half up."""
    datapath = device.datapath if isinstance(device, OvsBridge) else Datapath.NETDEV
    asked = f"ofapp bench far --dut {device_of(device.label)} --datapath {datapath}"
    asked += f" --tag {bed.tag[:7]}f --mtu {bed.mtu} --link"
    return [*SSH, remote.host, *asked.split(), shlex.quote(remote.far_link)]


class RemoteStation(Station):
    """A device on two machines: no frames are counted, only programs talk to each other."""

    def __init__(self, bed: Bed, device: Device, up: Up, remote: Remote) -> None:
        self.bed, self.device, self.up = bed, device, up
        self.monitored, self.others = False, []
        with contextlib.ExitStack() as stack:
            self._far = stack.enter_context(shell(words(remote, device, bed)))
            self._far.wait(READY_SECONDS)
            self._stack = stack.pop_all()

    @contextlib.contextmanager
    def shells(self) -> Iterator[Mapping[Side, Shell]]:
        """A shell of the end here, and the one of the end there."""
        near = self.bed.ends["tx"].run("sh", "-c", LOOP)
        with self.bed.addressed(False), shell(near) as here:
            yield {Side.TX: here, Side.RX: self._far}

    def wait_ready(self) -> None:
        """Return when the ends reach each other."""
        ping = f"ping -n -c 1 -w {READY_SECONDS} {ADDRESS[Side.RX]}"
        with self.shells() as ends:
            said = ends[Side.TX].run(ping, READY_SECONDS + 10)
        if " 0% packet loss" not in said:
            raise BenchError(
                f"{self.device.label}: no frame passes between the machines: are the interfaces"
                f" {' and '.join(self.bed.ports[1:])} and --far-link cabled to each other?"
            )
