"""Two virtual machines by QEMU as the ends of the test bed: client and server of `pairs`.

In the namespace of each end a bridge of the kernel joins the cable to the guest's tap; that is the
same for all devices.  A guest has the machine's own programs and libraries, and a kernel below a
directory that is given.  Without KVM, QEMU emulates the processor (TCG): then the emulation, and
not the bridge, sets the speed.
"""

from __future__ import annotations

import gzip
import lzma
import os
import platform
import re
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from ofapp.bench import BenchError
from ofapp.bench.bed import Bed, End
from ofapp.bench.frames import ADDRESS, Side, mac
from ofapp.bench.model import Plan
from ofapp.bench.names import Measurement
from ofapp.bench.processes import run
from ofapp.bench.shells import DONE, LOOP, Shell, shell
from ofapp.bench.spaces import netlink

QEMU = "qemu-system-x86_64"
PROGRAMS = ("busybox", "sockperf", "iperf3")
BOOT_SECONDS = 120
"""An emulated guest on a busy machine takes most of it."""
_DRIVERS = ("virtio_pci", "virtio_net")
_BRIDGE, _TAP = "gbr", "gtap"
_NO_OFFLOADS = "csum=off,gso=off,guest_csum=off,guest_tso4=off,guest_tso6=off,guest_ufo=off"
"""Nothing on the way fills in checksums, or cuts what a guest leaves to its NIC."""
_INIT = f"""#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
for module in /modules/*; do insmod $module; done
stty -echo -onlcr </dev/ttyS0
ip link set lo up; ip link set eth0 mtu $mtu up; ip addr add $address/15 dev eth0
echo '{DONE}'
{LOOP}
poweroff -f
"""


def accelerated() -> bool:
    """Whether KVM works here.  /dev/kvm may be there without the processor's support."""
    flags = re.search(r"^flags\s*:.*\b(vmx|svm)\b", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return flags is not None and os.access("/dev/kvm", os.R_OK | os.W_OK)


def in_guests(plan: Plan, root: Path | None) -> Plan:
    """Have the pairs of a plan in guests, with the kernel below a directory.

    root: None for / where KVM works.  Raises BenchError where a directory is given and cannot be
    used, or nothing of the plan is done by pairs.
    """
    paired = Measurement.PAIRS in plan.tests
    if root is None:
        if not (paired and accelerated()):
            return plan
        try:
            kernel(Path("/"))
        except BenchError:
            return plan
    elif not paired:
        raise BenchError("--guests: nothing of that is done by pairs of programs; ibm is")
    else:
        kernel(root)
    changes = {"guests": str(root or "/"), "emulated": not accelerated()}
    return plan.model_copy(update=changes)


def kernel(root: Path) -> tuple[Path, Path]:
    """The kernel below a directory, the running one's by preference, and its modules.

    Raises BenchError if there is none, or if a program is missing.
    """
    missing = [name for name in (QEMU, *PROGRAMS) if shutil.which(name) is None]
    if missing:
        raise BenchError(f"guests: not installed: {', '.join(missing)}")
    images = sorted((root / "boot").glob("vmlinuz-*"))
    own = [image for image in images if image.name == f"vmlinuz-{platform.release()}"]
    for image in (*own, *reversed(images)):
        version = image.name.removeprefix("vmlinuz-")
        for folder in ("lib/modules", "usr/lib/modules"):
            if (modules := root / folder / version).is_dir():
                return image, modules
    raise BenchError(f"guests: no boot/vmlinuz-* with modules below {root}")


def initrd(modules: Path) -> bytes:
    """What a guest boots: its programs with their libraries, and its NIC's drivers."""
    files = {"init": _INIT.encode()}
    for name in PROGRAMS:
        program = Path(shutil.which(name) or name)
        files[f"bin/{name}"] = program.read_bytes()
        for library in re.findall(r"(/\S+) \(0x", _libraries(program)):
            files[library[1:]] = Path(library).read_bytes()
    for number, driver in enumerate(_drivers(modules)):
        files[f"modules/{number:02}.ko"] = driver
    return gzip.compress(_archive(files), 1)


def _libraries(program: Path) -> str:
    """What ldd says; nothing of a program that is linked statically."""
    done = subprocess.run(["ldd", program], capture_output=True, text=True, check=False)
    return done.stdout


def _drivers(modules: Path) -> list[bytes]:
    """The drivers, each after those that it names; what the kernel has built in is left out."""
    paths = {path.name.partition(".")[0]: path for path in modules.glob("kernel/**/*.ko*")}
    order: dict[str, bytes] = {}

    def add(name: str) -> None:
        if name in order or name not in paths:
            return
        data = paths[name].read_bytes()
        if paths[name].suffix == ".xz":
            data = lzma.decompress(data)
        needs = re.search(rb"\0depends=([\w,]*)\0", data)
        for one in needs[1].decode().split(",") if needs else ():
            add(one)
        order[name] = data

    for name in _DRIVERS:
        add(name)
    return list(order.values())


def _archive(files: Mapping[str, bytes]) -> bytes:
    """A cpio archive of executable files, in the format `newc`."""
    folders = {str(up) for name in files for up in Path(name).parents} - {"."}
    folders |= {"proc", "sys", "dev", "tmp"}
    entries = [(name, stat.S_IFDIR | 0o755, b"") for name in sorted(folders)]
    entries += [(name, stat.S_IFREG | 0o755, data) for name, data in files.items()]
    made = bytearray()
    for number, (name, mode, data) in enumerate((*entries, ("TRAILER!!!", 0, b"")), 1):
        head = (number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0)
        made += b"070701" + b"".join(b"%08x" % value for value in head) + name.encode() + b"\0"
        made += bytes(-len(made) % 4) + data
        made += bytes(-len(made) % 4)
    return bytes(made)


@contextmanager
def guests(bed: Bed, root: Path) -> Iterator[dict[Side, Shell]]:
    """Both guests, with the addresses of the ends."""
    image, modules = kernel(root)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ofapp-bench-")))
        (folder / "initrd").write_bytes(initrd(modules))
        made = {}
        for side, name in ((Side.TX, "tx"), (Side.RX, "rx")):
            stack.enter_context(_joined(bed.ends[name], bed.mtu))
            words = _command(image, folder / "initrd", side, bed.mtu)
            made[side] = stack.enter_context(shell(bed.ends[name].run(*words), 0))
        for guest in made.values():
            guest.wait(BOOT_SECONDS)
        yield made


def _command(image: Path, initrd_file: Path, side: Side, mtu: int) -> list[str]:
    accel = ["-accel", "kvm"] if accelerated() else ["-accel", "tcg,thread=multi"]
    device = f"virtio-net-pci,netdev=n,romfile=,mac={mac(side).hex(':')},{_NO_OFFLOADS}"
    return [
        *("setpriv", "--pdeathsig", "KILL"),  # it does not outlive a killed run
        *(QEMU, "-M", "q35", *accel, "-cpu", "max", "-m", "384", "-nodefaults"),
        *("-display", "none", "-no-reboot", "-serial", "stdio"),
        *("-netdev", f"tap,id=n,ifname={_TAP},script=no,downscript=no"),
        *("-device", f"{device},host_mtu={mtu}", "-kernel", str(image)),
        *("-initrd", str(initrd_file), "-append"),
        # The kernel's test of the timer fails if the emulation is late.
        f"console=ttyS0 quiet panic=-1 no_timer_check address={ADDRESS[side]} mtu={mtu}",
    ]


@contextmanager
def _joined(cable: End, mtu: int) -> Iterator[None]:
    """A tap beside the cable's end, joined to it by a bridge of the kernel."""
    run(*cable.run("ip", "tuntap", "add", _TAP, "mode", "tap"))
    try:
        with netlink(cable.namespace) as net:
            net.link("add", ifname=_BRIDGE, kind="bridge", br_stp_state=0, br_mcast_snooping=0)
            (bridge,) = net.link_lookup(ifname=_BRIDGE)
            for name in (_TAP, cable.interface):
                (index,) = net.link_lookup(ifname=name)
                net.link("set", index=index, master=bridge, mtu=mtu, state="up")
            net.link("set", index=bridge, mtu=mtu, state="up")
        yield
    finally:
        with netlink(cable.namespace) as net:
            for name in (_BRIDGE, _TAP):
                for index in net.link_lookup(ifname=name):
                    net.link("del", index=index)
