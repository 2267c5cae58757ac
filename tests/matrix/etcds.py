"""Releases of etcd that no suite has: built from their source, which Go's proxy serves."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

from tests.support import roots

MODULE = "go.etcd.io/etcd"
PROGRAMS = {"server": "etcd", "etcdctl": "etcdctl", "etcdutl": "etcdutl"}


def built(version: str) -> dict[str, str]:
    """The environment in which tests find that release."""
    folder = roots.FOLDER / f"etcd-{version}"
    with roots.locked(folder.with_name(f"{folder.name}.lock")):
        if not (folder / "etcd").exists():
            _build(version, folder)
    return {"PATH": str(folder)}


def _build(version: str, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    modules = [f"{MODULE}/{name}/v3" for name in PROGRAMS]
    with tempfile.TemporaryDirectory() as scratch:
        for command in (
            ["go", "mod", "init", "ofapp/etcd"],
            ["go", "get", *(f"{module}@v{version}" for module in modules)],
            ["go", "build", "-o", f"{scratch}/", *modules],
        ):
            environment = os.environ | {"GOFLAGS": ""}
            subprocess.run(command, cwd=scratch, env=environment, check=True, timeout=3600)
        for made, name in sorted(PROGRAMS.items()):  # etcd is the last
            subprocess.run(["mv", f"{scratch}/{made}", folder / name], check=True)
