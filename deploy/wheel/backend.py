"""Builds wheel and sdist: setuptools, with the commit recorded and reproducible archives.

The commit and its time are OFAPP_COMMIT and SOURCE_DATE_EPOCH, or what git says, or, in an
unpacked sdist, what its `ofapp/_build.py` says.
"""

from __future__ import annotations

import contextlib
import gzip
import os
import runpy
import subprocess
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import gmtime
from typing import Any, NamedTuple

from setuptools import build_meta
from setuptools.build_meta import (
    build_editable,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

RECORD = Path("ofapp/_build.py")
DESCRIBE = ("describe", "--always", "--dirty", "--abbrev=7", "--exclude=*")
EPOCH_OF_ZIP = 315532800  # 1980: no file of a zip archive is older


class Origin(NamedTuple):
    """Where the sources are from: the commit, "" if unknown, and its time in Unix seconds."""

    commit: str
    time: int


def build_wheel(folder: str, settings: Any = None, metadata: str | None = None) -> str:
    """Build the wheel in `folder`; return its name."""
    return _built(lambda: build_meta.build_wheel(folder, settings, metadata), folder, _settle_zip)


def build_sdist(folder: str, settings: Any = None) -> str:
    """Build the source archive in `folder`; return its name."""
    return _built(lambda: build_meta.build_sdist(folder, settings), folder, _settle_tar)


def _built(build: Callable[[], str], folder: str, settle: Callable[[Path, int], None]) -> str:
    origin = _origin()
    with _recorded(origin), _clean():
        name = build()
    settle(Path(folder, name), origin.time)
    return name


def _origin() -> Origin:
    if RECORD.exists() and not Path(".git").exists():
        recorded = runpy.run_path(str(RECORD))
        commit, time = recorded["COMMIT"] or "", recorded["TIME"]
    else:
        commit, time = _git(*DESCRIBE), int(_git("log", "-1", "--format=%ct") or EPOCH_OF_ZIP)
    given = os.environ.get
    return Origin(given("OFAPP_COMMIT", commit), int(given("SOURCE_DATE_EPOCH", time)))


def _git(*words: str) -> str:
    """What git says of this checkout; "" without git, or where this is not a checkout."""
    if not Path(".git").exists():
        return ""
    with contextlib.suppress(OSError):
        done = subprocess.run(["git", *words], capture_output=True, text=True, check=False)
        return done.stdout.strip()
    return ""


@contextlib.contextmanager
def _recorded(origin: Origin) -> Iterator[None]:
    """Have the sources say where they are from, while they are built."""
    before = RECORD.read_bytes() if RECORD.exists() else None
    RECORD.write_text(
        f'"""Written by the build."""\n\nCOMMIT = {origin.commit or None!r}\nTIME = {origin.time}\n'
    )
    try:
        yield
    finally:
        if before is None:
            RECORD.unlink()
        else:
            RECORD.write_bytes(before)


@contextlib.contextmanager
def _clean() -> Iterator[None]:
    """Have setuptools write elsewhere: what an earlier build left would be packed again."""
    with tempfile.TemporaryDirectory() as scratch:
        extra = Path(scratch, "extra.cfg")
        extra.write_text(f"[build]\nbuild_base={scratch}\n[egg_info]\negg_base={scratch}\n")
        os.environ["DIST_EXTRA_CONFIG"] = str(extra)
        try:
            yield
        finally:
            del os.environ["DIST_EXTRA_CONFIG"]


def _mode(mode: int, is_folder: bool = False) -> int:
    """Permissions that do not depend on the umask of the checkout."""
    return 0o755 if is_folder or mode & 0o100 else 0o644


def _settle_tar(path: Path, time: int) -> None:
    """Pack the archive again: sorted, with one time, owner and kind of permissions."""
    with tarfile.open(path) as old:
        members = [(member, old.extractfile(member)) for member in old]
        with (
            path.with_suffix(".new").open("wb") as raw,
            gzip.GzipFile("", "wb", 9, raw, mtime=time) as packed,
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as new,
        ):
            for member, content in sorted(members, key=lambda pair: pair[0].name):
                member.mtime, member.mode = time, _mode(member.mode, member.isdir())
                member.uid = member.gid = 0
                member.uname = member.gname = ""
                member.pax_headers = {}
                new.addfile(member, content)
    path.with_suffix(".new").replace(path)


def _settle_zip(path: Path, time: int) -> None:
    """Pack the archive again, with one time and kind of permissions."""
    when = gmtime(max(time, EPOCH_OF_ZIP))[:6]
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(path.with_suffix(".new"), "w") as new:
        for member in sorted(old.infolist(), key=lambda info: info.filename):
            settled = zipfile.ZipInfo(member.filename, when)
            settled.external_attr = (0o100000 | _mode(member.external_attr >> 16)) << 16
            settled.create_system = 3  # Unix
            new.writestr(settled, old.read(member), zipfile.ZIP_DEFLATED, 9)
    path.with_suffix(".new").replace(path)
