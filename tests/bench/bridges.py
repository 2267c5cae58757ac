"""`ofapp bench` on every datapath that this machine can have, and one report of all of them.

Options that are not its own are for `ofapp bench run`.  Each datapath has a separate environment:
an Open vSwitch that does nothing else for netdev and AF_XDP, another with DPDK, user-mode Linux
for the kernel module.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.debs import dpdk_switch
from tests.support.ovs import Bridge
from tests.support.ownswitch import BRIDGE, ControllerInside, OwnSwitch
from tests.support.uml import run_inside

ROOT = Path(__file__).parents[2]
TAG = "obr"
UML_SECONDS = 1800
PLAIN = Path("/usr/sbin/ovs-vswitchd")
SIDE_BY_SIDE = ("--side-by-side", "--size=64", "--size=1518")
BRIDGES = ("--dut=linux", "--dut=normal", "--dut=ofapp")
RUNS = (
    ("flat out", ["--repeat=120", "--seconds=0.25", "--test=overload", *BRIDGES]),
    ("streams", ["--repeat=20", "--test=tcp", "--test=transactions", *BRIDGES]),
    (
        "RFC 2544",
        [
            *("--repeat=8", "--seconds=0.25", "--test=throughput", "--test=latency"),
            *("--dut=wire", *BRIDGES),
        ],
    ),
)
"""What every datapath is compared by, the surest comparison first."""
TABLES = [
    *("--repeat=3", "--seconds=0.25", "--test=flooding", "--test=addresses", "--test=learning"),
    *(*BRIDGES, *(f"--addresses={count}" for count in (1, 1_000, 10_000, 100_000))),
]
"""What depends on the table of addresses."""
ONCE = [
    *("--full", "--repeat=1", "--seconds=0.25"),
    *(f"--size={size}" for size in (64, 256, 1024, 1518, 9000)),
    *(f"--addresses={count}" for count in (1, 1_000, 10_000, 100_000)),
]
"""Everything else, whose outcome is a matter of the table of addresses or of the frame's size."""
DPDK = (
    "other_config:dpdk-init=true",
    # A pool of buffers for each port would not be given back: memory ends after seven bridges.
    'other_config:dpdk-extra="--no-huge --legacy-mem --no-pci -m 4096 --file-prefix=ofapp-bench"',
    f"other_config:dpdk-lcore-mask={1 << min(os.sched_getaffinity(0)):#x}",
)
KERNEL_SETUP = """
for module in openvswitch bridge veth; do modprobe $module; done
ip link set lo up
while [ "$(cut -d. -f1 /proc/uptime)" -lt 12 ]; do sleep 0.2; done  # else no upcall handlers
/usr/share/openvswitch/scripts/ovs-ctl start --system-id=random
"""


Words = list[str]
"""Arguments of `ofapp bench run`."""


def compared(datapath: str, title: str) -> tuple[Words, ...]:
    """The runs of a datapath."""
    return tuple(
        [f"--title={title}: {what}", f"--datapath={datapath}", *SIDE_BY_SIDE, *words]
        for what, words in RUNS
    )


@contextmanager
def own_switch(program: Path, settings: Sequence[str] = ()) -> Iterator[OwnSwitch]:
    """An Open vSwitch without a bridge, whose polling threads never sleep."""
    switch = OwnSwitch(program, *settings)
    try:
        switch.start()
        switch.vsctl("remove", "Open_vSwitch", ".", "other_config", "pmd-maxsleep")
        switch.vsctl("del-br", BRIDGE)
        yield switch
    finally:
        switch.close()


def attach(switch: OwnSwitch, controller: ControllerInside, bridge: str, dpid: int) -> None:
    """Have a bridge of the switch managed, and wait until it is set up."""
    switch.vsctl(
        *("set", "Bridge", bridge, "fail_mode=secure", "protocols=OpenFlow13"),
        *(f"other_config:datapath-id={dpid:016x}", "--"),
        *("set-controller", bridge, controller.target, "--"),
        *("set", "Controller", bridge, "connection_mode=out-of-band", "max_backoff=1000"),
    )
    controller.wait_ready(Bridge(switch, bridge, dpid))


def own_dpdk() -> AbstractContextManager[OwnSwitch]:
    """One with DPDK, without hugepages."""
    return own_switch(dpdk_switch(), DPDK)


def bench(switch: OwnSwitch, out: Path, words: Words) -> None:
    """Run it with this switch; what it could not measure is in its report."""
    prefix = ["ip", "netns", "exec", switch.namespace, sys.executable, "-m", "ofapp"]
    own = [f"--ovs-rundir={switch.dir}", f"--tag={TAG}", f"--out={out}"]
    subprocess.run([*prefix, "bench", "run", *own, *words], cwd=ROOT, check=False)


def plainly(out: Path, words: Words) -> None:
    """With the Open vSwitch that is installed."""
    with own_switch(PLAIN) as switch:
        bench(switch, out, words)


def with_dpdk(out: Path, words: Words) -> None:
    """With DPDK on AF_XDP devices."""
    with own_dpdk() as switch:
        bench(switch, out, words)


def in_uml(out: Path, words: Words) -> None:
    """In user-mode Linux, whose kernel has Open vSwitch's datapath."""
    said = " ".join(f"'{word}'" for word in [*words, f"--tag={TAG}", "--out=/results"])
    run = f".venv/bin/python -m ofapp bench run {said}"
    run_inside(f"{KERNEL_SETUP}\n{run}\n", out, UML_SECONDS)


@dataclass(frozen=True)
class Place:
    """Surroundings, and the runs to make in them."""

    run: Callable[[Path, Words], None]
    runs: tuple[Words, ...]


PLACES = {
    name: Place(run, compared(datapath, title))
    for name, run, datapath, title in (
        ("netdev", plainly, "netdev", "netdev"),
        ("afxdp", plainly, "afxdp", "AF_XDP"),
        ("dpdk", with_dpdk, "dpdk", "DPDK"),
        ("kernel", in_uml, "system", "Kernel datapath in user-mode Linux"),
    )
} | {
    "addresses": Place(plainly, (["--title=AF_XDP: addresses", "--datapath=afxdp", *TABLES],)),
    "whole": Place(plainly, (["--title=netdev: every test, once", "--datapath=netdev", *ONCE],)),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    parser.add_argument("--only", choices=PLACES, action="append", help="may be given repeatedly")
    known, extra = parser.parse_known_args()
    made = []
    for name in known.only or PLACES:
        place = PLACES[name]
        for number, words in enumerate(place.runs, 1):
            folder = known.out.absolute() / (f"{name}-{number}" if len(place.runs) > 1 else name)
            folder.mkdir(parents=True, exist_ok=True)
            place.run(folder, [*words, *extra])
            made.append(folder)
    found = [folder for folder in made if (folder / "results.json").exists()]
    for folder in found:  # what each has reported is in the report of all
        for path in folder.iterdir():
            if path.name != "results.json":
                path.unlink()
    words = [sys.executable, "-m", "ofapp", "bench", "report", *map(str, found)]
    os.execv(sys.executable, [*words, "--out", str(known.out)])


if __name__ == "__main__":
    main()
