"""From names to devices: what can be measured here of what is asked for, and why not the rest."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from ofapp.bench import BenchError
from ofapp.bench.bed import Given, port_names
from ofapp.bench.devices import Device
from ofapp.bench.devices.controller import controller
from ofapp.bench.devices.linux import External, LinuxBridge, LinuxRouter, Wire
from ofapp.bench.devices.ovs import Normal, Ofapp, OpenVSwitch, OvsBridge
from ofapp.bench.model import Plan
from ofapp.bench.names import Datapath, Dut

_SIMPLE: dict[Dut, type[Device]] = {
    Dut.WIRE: Wire,
    Dut.LINUX: LinuxBridge,
    Dut.ROUTER: LinuxRouter,
    Dut.EXTERNAL: External,
}


@dataclass(frozen=True, slots=True)
class Where:
    """What devices are made with: the run's tag, given interfaces, Open vSwitch's directory."""

    tag: str
    given: Given | None
    run_dir: Path


def check(plan: Plan, where: Where) -> None:
    """BenchError when devices and interfaces do not go together."""
    given = where.given
    external = Dut.EXTERNAL in plan.duts
    if external and (given is None or given.ports):
        raise BenchError("--dut external: give --tx and --rx, and no --port")
    if external and len(plan.duts) > 1:
        raise BenchError(
            "--dut external: what is between --tx and --rx cannot be exchanged here;"
            " measure it alone, and compare with `ofapp bench report DIR DIR`"
        )
    if given and not external:
        if Dut.WIRE in plan.duts:
            raise BenchError("--dut wire: a cable between --tx and --rx is --dut external")
        if len(given.ports) != 2:
            raise BenchError("--tx and --rx: give the device's two interfaces, too: --port twice")


def devices(plan: Plan, where: Where, stack: ExitStack) -> tuple[list[Device], list[str]]:
    """The devices, in the order asked for, and what is left out and why.

    A controller that ofapp needs runs as long as the stack is open.
    """
    made: list[Device] = []
    left_out: list[str] = []
    switch = OpenVSwitch(where.run_dir)
    for dut in plan.duts:
        if dut in _SIMPLE:
            made.append(_SIMPLE[dut]())
            continue
        for datapath in plan.datapaths:
            if why := switch.supports(datapath):
                left_out.append(f"{dut} {datapath}: {why}")
            else:
                made.append(_bridge(dut, datapath, switch, where))
    ours = [device for device in made if isinstance(device, Ofapp)]
    if ours:
        ports = where.given.ports if where.given else port_names(where.tag)
        names = sorted({device.port(port) for device in ours for port in ports})
        running = stack.enter_context(controller(names))
        for device in ours:
            device.controller = running
    if not made:
        raise BenchError("nothing to measure: " + "; ".join(left_out))
    return made, left_out


def _bridge(dut: Dut, datapath: Datapath, switch: OpenVSwitch, where: Where) -> OvsBridge:
    kind = Ofapp if dut is Dut.OFAPP else Normal
    return kind(switch, datapath, bridge_name(where.tag))


def bridge_name(tag: str) -> str:
    """The bridge of a run: one at a time."""
    return f"{tag}br"
