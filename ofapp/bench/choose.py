"""From names to devices: what can be measured here of what is asked for, and why not the rest."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ofapp.bench import BenchError
from ofapp.bench.bed import Bed, Given
from ofapp.bench.devices import Device
from ofapp.bench.devices.controller import controller, datapath_id
from ofapp.bench.devices.linux import External, LinuxBridge, LinuxRouter, Wire
from ofapp.bench.devices.ovs import Normal, Ofapp, OpenVSwitch
from ofapp.bench.model import Plan
from ofapp.bench.names import SAMPLED, Dut
from ofapp.bench.runner import TASKS

_SIMPLE: dict[Dut, type[Device]] = {
    Dut.WIRE: Wire,
    Dut.LINUX: LinuxBridge,
    Dut.ROUTER: LinuxRouter,
    Dut.EXTERNAL: External,
}


@dataclass(frozen=True, slots=True)
class Where:
    """Inputs for creating devices: the run's tag, given interfaces, Open vSwitch's directory."""

    tag: str
    given: Given | None
    run_dir: Path


def check(plan: Plan, where: Where) -> None:
    """BenchError when devices and interfaces do not go together, or a program is missing."""
    given = where.given
    if plan.side_by_side:
        _check_side_by_side(plan, given)
    external = Dut.EXTERNAL in plan.duts
    if external and SAMPLED.intersection(plan.tests):
        raise BenchError(
            "--dut external: a profile shows only what this machine's processors do; measure the"
            " device's latency with `ofapp bench run --test latency`"
        )
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
    needed = dict.fromkeys(name for test in plan.tests for name in TASKS[test].programs)
    missing = [name for name in ("ethtool", *needed) if shutil.which(name) is None]
    if missing:
        packages = " ".join({"ping": "iputils-ping"}.get(name, name) for name in missing)
        raise BenchError(f"not installed: {', '.join(missing)}: apt install {packages}")


def _check_side_by_side(plan: Plan, given: Given | None) -> None:
    if given:
        raise BenchError("--side-by-side: each device has its own cables: leave out --tx, --rx")
    fills = [test for test in plan.tests if TASKS[test].fills]
    if fills:
        raise BenchError(
            f"--side-by-side: {', '.join(fills)}: needs a new device each time; measure it"
            " in a separate run"
        )


def devices(plan: Plan, where: Where) -> tuple[list[Device], list[str]]:
    """The devices, in the order asked for, and what is left out and why; BenchError without any."""
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
                made.append((Ofapp if dut is Dut.OFAPP else Normal)(switch, datapath))
    if not made:
        raise BenchError("nothing to measure: " + "; ".join(left_out))
    return made, left_out


@contextmanager
def controlled(made: Sequence[Device], beds: Sequence[Bed]) -> Iterator[None]:
    """The controller that ofapp's bridges need, each on its bed, if there are any."""
    ours: dict[str, list[str]] = {}
    number = itertools.count(1)
    for device, bed in zip(made, beds, strict=True):
        if isinstance(device, Ofapp):
            device.datapath_id = datapath_id(next(number))
            ours[device.datapath_id] = [device.port(port) for port in bed.ports]
    if not ours:
        yield
        return
    with controller(ours) as running:
        for device in made:
            if isinstance(device, Ofapp):
                device.controller = running
        yield
