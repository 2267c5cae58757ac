"""Debian packages that are unpacked, not installed.

A guest's kernel would rebuild the host's initramfs, and Open vSwitch with DPDK would take the place
of the one without.  The files are all that is needed; they are kept for the next run.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from pathlib import Path

from tests.support.lab import sh

CACHE = Path("/var/cache/ofapp-tests")


def dpdk_switch() -> Path:
    """An ovs-vswitchd with DPDK."""
    folder = unpacked("openvswitch-switch-dpdk")
    return folder / "usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk"


def unpacked(package: str) -> Path:
    """The folder that holds the package's files; fetched when it is not there yet."""
    package = _meant(package)
    folder = CACHE / package
    if not folder.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
            archive = _fetch(package, Path(scratch))
            sh("dpkg-deb", "--extract", archive, Path(scratch, "files"), seconds=120)
            os.rename(Path(scratch, "files"), folder)
    return folder


def _meant(package: str) -> str:
    """What a package that only points to the newest kernel stands for."""
    depends = re.findall(r"Depends: (linux-image-\S+)", sh("apt-cache", "depends", package))
    return depends[0] if depends else package


def _fetch(package: str, folder: Path) -> Path:
    for attempt in (1, 2):  # the lists of a fresh machine may be missing or old
        got = subprocess.run(
            ["apt-get", "download", "-q", "-o", "APT::Sandbox::User=root", package],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        if not got.returncode:
            return next(folder.glob("*.deb"))
        if attempt == 1:
            sh("apt-get", "update", "-q", seconds=120)
    raise AssertionError(f"cannot fetch {package}: {got.stderr.strip()}")
