"""`ofapp bench far`: half of a test bed, for `ofapp bench paper ibm --remote` on another machine.

It sets a bridge up between its end and the interface that is cabled to the other machine, and then
serves as the shell of its end until its input ends, as it does when ssh ends.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from ofapp.bench import BenchError
from ofapp.bench.bed import Bed, Half
from ofapp.bench.choose import Where, controlled, devices
from ofapp.bench.model import Plan
from ofapp.bench.names import Datapath, Dut, Measurement
from ofapp.bench.shells import DONE, LOOP
from ofapp.bench.spaces import command


@dataclass(frozen=True, slots=True)
class Far:
    """What the other machine asks for."""

    dut: Dut
    datapath: Datapath
    link: str
    mtu: int


def serve(far: Far, tag: str, run_dir: Path) -> None:
    """Be the far half until the input ends.  Raises BenchError."""
    plan = Plan(duts=(far.dut,), datapaths=(far.datapath,), tests=(Measurement.PAIRS,))
    made, left_out = devices(plan, Where(tag, None, run_dir))
    if left_out:
        raise BenchError("; ".join(left_out))
    with (
        Bed(tag, half=Half("rx", far.link), mtu=far.mtu) as bed,
        controlled(made, [bed]),
        made[0].up(bed, 0),
        bed.addressed(False),
    ):
        loop = f"echo '{DONE}'; {LOOP}"
        subprocess.run(command(bed.space("rx"), "sh", "-c", loop), check=False)
