"""`ofapp bench` on every datapath that this machine can have, and one report of all of them.

Options that are not its own are for `ofapp bench run`.  Each datapath wants surroundings of its
own: an Open vSwitch that does nothing else for netdev and AF_XDP, another with DPDK, user-mode
Linux for the kernel module.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.guest.debs import unpacked
from tests.guest.ownswitch import BRIDGE, OwnSwitch
from tests.guest.test_dpdk import PROGRAM
from tests.guest.uml import run_inside

ROOT = Path(__file__).parents[2]
TAG = "obr"
PLAIN = Path("/usr/sbin/ovs-vswitchd")
REPEATED = [
    *("--repeat=3", "--seconds=0.25", "--size=64", "--size=1518", "--test=throughput"),
    *("--test=latency", "--test=tcp", "--test=transactions"),
    *("--dut=wire", "--dut=linux", "--dut=normal", "--dut=ofapp"),
]
"""What every datapath is compared by."""
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


def options(datapaths: Sequence[str], title: str, out: str | Path) -> list[str]:
    """Words of `ofapp bench run` for these datapaths."""
    words = [f"--title={title}", f"--tag={TAG}", f"--out={out}"]
    return [*words, *(f"--datapath={datapath}" for datapath in datapaths)]


def with_switch(program: Path, settings: Sequence[str], words: Sequence[str]) -> None:
    """Run it with an Open vSwitch of its own; what it could not measure is in its report."""
    switch = OwnSwitch(program, *settings)
    try:
        switch.start()
        switch.vsctl("remove", "Open_vSwitch", ".", "other_config", "pmd-maxsleep")
        switch.vsctl("del-br", BRIDGE)
        prefix = ["ip", "netns", "exec", switch.namespace, sys.executable, "-m", "ofapp"]
        command = [*prefix, "bench", "run", f"--ovs-rundir={switch.dir}", *words]
        subprocess.run(command, cwd=ROOT, check=False)
    finally:
        switch.close()


def userspace(out: Path, extra: list[str]) -> None:
    """netdev and AF_XDP."""
    words = [*options(("netdev", "afxdp"), "netdev and AF_XDP", out), *REPEATED, *extra]
    with_switch(PLAIN, (), words)


def whole(out: Path, extra: list[str]) -> None:
    """Every test and more sizes, once, on netdev."""
    with_switch(PLAIN, (), [*options(("netdev",), "netdev, every test", out), *ONCE, *extra])


def dpdk(out: Path, extra: list[str]) -> None:
    """DPDK on AF_XDP devices, without hugepages."""
    program = unpacked("openvswitch-switch-dpdk") / PROGRAM
    with_switch(program, DPDK, [*options(("dpdk",), "DPDK", out), *REPEATED, *extra])


def kernel(out: Path, extra: list[str]) -> None:
    """The kernel datapath, in user-mode Linux."""
    words = [*options(("system",), "Kernel datapath", "/results"), *REPEATED, *extra]
    said = " ".join(f"'{word}'" for word in words)
    run_inside(f"{KERNEL_SETUP}\n.venv/bin/python -m ofapp bench run {said}\n", out, 900)


PLACES = {"userspace": userspace, "kernel": kernel, "dpdk": dpdk, "whole": whole}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    parser.add_argument("--only", choices=PLACES, action="append", help="may be given repeatedly")
    known, extra = parser.parse_known_args()
    folders = [known.out.absolute() / name for name in known.only or PLACES]
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
        PLACES[folder.name](folder, extra)
    found = [folder for folder in folders if (folder / "results.json").exists()]
    for folder in found:  # what each has reported is in the report of all
        for path in folder.iterdir():
            if path.name != "results.json":
                path.unlink()
    words = [sys.executable, "-m", "ofapp", "bench", "report", *map(str, found)]
    os.execv(sys.executable, [*words, "--out", str(known.out)])


if __name__ == "__main__":
    main()
