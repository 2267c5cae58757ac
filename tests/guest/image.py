"""What a guest boots: Debian's cloud kernel, and busybox as all of its userland."""

from __future__ import annotations

import gzip
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.support.debs import unpacked

HERE = Path(__file__).parent
NIC = ("virtio_pci", "virtio_net")
"""The drivers of a guest's NIC; what they depend on comes with them."""


@dataclass(frozen=True, slots=True)
class Image:
    """The two files that QEMU starts from."""

    kernel: Path
    initrd: Path


def build(folder: Path) -> Image:
    """An image whose initrd is made in `folder`."""
    files = unpacked("linux-image-cloud-amd64")
    root = folder / "root"
    (root / "modules").mkdir(parents=True)
    (root / "bin").mkdir()
    shutil.copy(HERE / "guest-init", root / "init")
    shutil.copy("/bin/busybox", root / "bin")
    modules = {path.stem: path for path in files.glob("lib/modules/*/kernel/**/*.ko")}
    order = _with_dependencies(modules)
    for name in order:
        shutil.copy(modules[name], root / "modules")
    (root / "modules" / "order").write_text("".join(f"{name}\n" for name in order))
    initrd = folder / "initrd"
    initrd.write_bytes(gzip.compress(_archive(root), 1))
    return Image(next(files.glob("boot/vmlinuz-*")), initrd)


def _with_dependencies(modules: dict[str, Path]) -> list[str]:
    """The NIC's drivers, each after those that it names in its `depends`."""
    order: list[str] = []

    def add(name: str) -> None:
        found = re.search(rb"\0depends=([\w,]*)\0", modules[name].read_bytes())
        for needed in found[1].decode().split(",") if found and found[1] else ():
            add(needed)
        if name not in order:
            order.append(name)

    for name in NIC:
        add(name)
    return order


def _archive(root: Path) -> bytes:
    names = "\n".join(str(path.relative_to(root)) for path in [root, *sorted(root.rglob("*"))])
    made = subprocess.run(
        ["busybox", "cpio", "-o", "-H", "newc"],
        input=names.encode(),
        cwd=root,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=True,
    )
    return made.stdout
