"""Check third-party libraries of the page against their manifest.

    python -m ofapp.api.page.vendored              # checks what is here, without a network
    python -m ofapp.api.page.vendored --fetch      # against npm's packages of those versions, too

`manifest.json` in the folder (the page's own `vendor/`, or the one that is given as an argument)
says for each library its version, its licence, and for each file the path in npm's package and the
SHA-256.  A file that is not in the manifest is a fault, as is one that differs.  To renew a
library: change its version, run this with `--renew`, read what has changed, and commit.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

VENDOR = Path(__file__).with_name("vendor")
MANIFEST = "manifest.json"


def manifest(folder: Path = VENDOR) -> dict[str, Any]:
    """name -> {version, licence, files: {path here: {from: path in the package, sha256}}}."""
    loaded: dict[str, Any] = json.loads((folder / MANIFEST).read_text())
    return loaded


def faults(folder: Path = VENDOR) -> list[str]:
    """Differences from the manifest, in words; empty = none."""
    problems = []
    known = set()
    for name, library in manifest(folder).items():
        for path, about in library["files"].items():
            known.add(path)
            file = folder / path
            if not file.is_file():
                problems.append(f"{name}: {path} is missing")
            elif _digest(file.read_bytes()) != about["sha256"]:
                problems.append(f"{name}: {path} is not the file of version {library['version']}")
    here = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    strangers = here - known - {MANIFEST}
    return problems + [f"{path} is in no library of the manifest" for path in sorted(strangers)]


def fetch(name: str, version: str) -> dict[str, bytes]:
    """Download the files of a package of npm, by their path in it."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            ["npm", "pack", "--silent", f"{name}@{version}"],
            cwd=folder,
            check=True,
            stdout=subprocess.DEVNULL,
        )
        (packed,) = Path(folder).glob("*.tgz")
        with tarfile.open(packed) as archive:
            contents = {}
            for member in archive:
                content = archive.extractfile(member)
                if content is not None:
                    contents[member.name.removeprefix("package/")] = content.read()
            return contents


def differing(folder: Path = VENDOR) -> list[str]:
    """Differences from npm's packages, in words."""
    problems = []
    for name, library in manifest(folder).items():
        package = fetch(name, library["version"])
        for path, about in library["files"].items():
            if _digest(package.get(about["from"], b"")) != about["sha256"]:
                problems.append(f"{name}: {path} is not {about['from']} of npm's package")
    return problems


def renew(folder: Path = VENDOR) -> None:
    """Download the files of the manifest's versions, and write their hashes to the manifest."""
    libraries = manifest(folder)
    for name, library in libraries.items():
        package = fetch(name, library["version"])
        for path, about in library["files"].items():
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(package[about["from"]])
            about["sha256"] = _digest(package[about["from"]])
    (folder / MANIFEST).write_text(json.dumps(libraries, indent=2) + "\n")


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def main(arguments: list[str]) -> int:
    """Run the command; returns its exit status."""
    folder = next((Path(given) for given in arguments if not given.startswith("-")), VENDOR)
    if "--renew" in arguments:
        renew(folder)
    bad = faults(folder) + (differing(folder) if "--fetch" in arguments else [])
    print("\n".join(bad) or "all files are those of the manifest")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
