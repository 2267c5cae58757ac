"""Pyodide for tests of the laboratory: npm's package, and a small one of the same shape."""

from __future__ import annotations

import io
import tarfile
from base64 import b64encode
from hashlib import sha512

NAMES = (
    *("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm"),
    *("python_stdlib.zip", "pyodide-lock.json"),
)
"""Files of the package that a browser loads."""


def small_package() -> bytes:
    """A package with files of these names, of a few octets each."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name in (*NAMES, "README.md"):
            member = tarfile.TarInfo(f"package/{name}")
            member.size = len(name)
            archive.addfile(member, io.BytesIO(name.encode()))
    return packed.getvalue()


def integrity(package: bytes) -> str:
    """Its SHA-512 as npm's registry writes it."""
    return b64encode(sha512(package).digest()).decode()
