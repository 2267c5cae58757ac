"""Programs of another suite that run among this machine's files.

Each is started by the dynamic linker of its root and gets its libraries from there.
"""

from __future__ import annotations

from pathlib import Path

from tests.support import roots

OPEN_VSWITCH = "openvswitch-switch"
ETCD = ("etcd-server", "etcd-client")
SCHEMA = "usr/share/openvswitch/vswitch.ovsschema"


def open_vswitch(suite: str) -> dict[str, str]:
    """The environment in which tests find that suite's Open vSwitch."""
    folder = roots.root(suite, [OPEN_VSWITCH])
    wrappers = _wrappers(folder, "ov*")
    return {"PATH": str(wrappers), "OFAPP_OVS_SCHEMA": str(folder / SCHEMA)}


def etcd(suite: str) -> dict[str, str]:
    """The environment in which tests find that suite's etcd."""
    return {"PATH": str(_wrappers(roots.root(suite, ETCD), "etcd*"))}


def _wrappers(folder: Path, pattern: str) -> Path:
    """A folder of scripts, named like the programs that they start."""
    wrappers = folder.with_name(f"{folder.name}.programs")
    wrappers.mkdir(exist_ok=True)
    for found in [*folder.glob(f"usr/bin/{pattern}"), *folder.glob(f"usr/sbin/{pattern}")]:
        program = _resolved(folder, found)
        if program.read_bytes()[:4] != b"\x7fELF":
            continue
        script = wrappers / found.name
        script.write_text(
            f"#!/bin/sh\nexec {folder}/lib64/ld-linux-x86-64.so.2 --argv0 {found.name}"
            f' --library-path {folder}/usr/lib/x86_64-linux-gnu {program} "$@"\n'
        )
        script.chmod(0o755)
    return wrappers


def _resolved(folder: Path, path: Path) -> Path:
    """Follow links as they are meant in the root."""
    while path.is_symlink():
        target = path.readlink()
        path = folder / target.relative_to("/") if target.is_absolute() else path.parent / target
    return path
