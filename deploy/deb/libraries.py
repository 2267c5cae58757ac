"""What the Debian package takes from where: reads the table `libraries`, trims and documents.

libraries.py pins                     the requirements to install, with their versions
libraries.py depends                  Debian's packages, as the field Depends has them
libraries.py trim SITE                delete from SITE what is left out
libraries.py document SITE FOLDER     write `copyright` and `ofapp.cdx.json` (CycloneDX)
"""

from __future__ import annotations

import gzip
import re
import shutil
import sys
from dataclasses import dataclass
from importlib.metadata import distributions
from pathlib import Path

from bill import Component, bill, components, normal

HERE = Path(__file__).parent
PINS = HERE.parent / "requirements.txt"
OWN, NOT_INSTALLED = "own", "-"
COMMON = {"Apache-2.0": "Apache-2.0", "GPL-2.0-or-later": "GPL-2"}  # in common-licenses
KEPT_METADATA = ("METADATA", "entry_points.txt")


@dataclass(frozen=True)
class Library:
    """A line of the table."""

    name: str
    place: str
    left_out: tuple[str, ...]


def libraries() -> list[Library]:
    """Read the table; SystemExit where it and the pinned requirements differ."""
    rows = [line.split() for line in (HERE / "libraries").read_text().splitlines()]
    table = [Library(r[0], r[1], tuple(r[2:])) for r in rows if r and not r[0].startswith("#")]
    differing = {library.name for library in table} ^ set(pins())
    if differing:
        sys.exit(f"deploy/deb/libraries and deploy/requirements.txt differ: {sorted(differing)}")
    return table


def pins() -> dict[str, str]:
    """name -> its line of the pinned requirements."""
    lines = [line for line in PINS.read_text().splitlines() if "==" in line]
    return {normal(line.partition("==")[0]): line for line in lines}


def trim(site: Path) -> None:
    """Delete what is left out, and of each package's metadata what serves installers only."""
    for library in libraries():
        for pattern in library.left_out:
            if not _delete(site, pattern):
                sys.exit(f"deploy/deb/libraries: {library.name} has no {pattern}")
    # What pyroute2 itself publishes as pyroute2.minimal: without its database and 9p.
    (site / "pyroute2/minimal.py").replace(site / "pyroute2/__init__.py")
    for pattern in ("**/tests", "**/*.pyi", "**/*.pyx", "**/*.pxd", "**/*.c", "**/*.h"):
        _delete(site, pattern)
    for metadata in site.glob("*.dist-info"):
        for file in sorted(metadata.rglob("*"), reverse=True):
            if file.is_dir():
                file.rmdir()
            elif file.name not in KEPT_METADATA or file.parent != metadata:
                file.unlink()
        fields = (metadata / "METADATA").read_text().partition("\n\n")[0]
        (metadata / "METADATA").write_text(f"{fields}\n")
    # A third of the size of what is served to browsers, and of the documentation: see
    # `ofapp.common.assets`.
    scripts = (
        *("flask_openapi3_swagger/**/swagger-ui*", "ofapp/**/vendor/*/*.*js"),
        *("ofapp/api/page/js/*.js", "ofapp/lab/web/js/*.js"),
        *("ofapp/docs/pages/*.md", "ofapp/openflow/pipeline/PIPELINE.md"),
    )
    for file in [file for pattern in scripts for file in site.glob(pattern)]:
        file.with_name(f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes(), mtime=0))
        file.unlink()
    for file in site.rglob("*.py"):
        _without_interpreter(file)


def _delete(site: Path, pattern: str) -> bool:
    found = sorted(site.glob(pattern))
    for path in found:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    return bool(found)


def _without_interpreter(file: Path) -> None:
    """A module is not run by itself: its first line need not name an interpreter."""
    lines = file.read_bytes().split(b"\n", 1)
    if lines[0].startswith(b"#!"):
        file.write_bytes(b"#\n" + lines[1])


def copyright_file(parts: list[Component], site: str, contact: str) -> str:
    """Debian's machine-readable copyright file.  site: where the packages are installed."""
    head = (HERE / "copyright").read_text().rstrip().replace("@CONTACT@", contact)
    stanzas = [head]
    for part in parts:
        # A licence that Debian ships is named; any other is there word for word.
        common = [COMMON[one] for one in re.split(r" (?:OR|AND) ", part.licence) if one in COMMON]
        if common:
            body = f"On Debian systems: /usr/share/common-licenses/{common[0]}"
        elif part.text.strip():
            body = part.text
        else:
            body = f"{part.name} comes with no more than the name of its licence: {part.licence}."
        licence = re.sub(r" (OR|AND) ", lambda word: word[0].lower(), part.licence)
        stanzas.append(
            f"Files: {' '.join(f'{site}/{path}' for path in part.paths)}\n"
            f"Copyright: {part.holders}\n"
            f"License: {licence}\n{_indented(body)}\n"
            f"Comment: {part.name} {part.version}"
        )
    return "\n\n".join(stanzas) + "\n"


def _indented(text: str) -> str:
    lines = [line.rstrip() for line in text.strip().splitlines()]
    return "\n".join(f" {line}" if line else " ." for line in lines)


def main(command: str, *arguments: str) -> None:
    """Run one of the commands above."""
    match command, *map(Path, arguments):
        case ["pins"]:
            lines = pins()
            print("\n".join(lines[one.name] for one in libraries() if one.place == OWN))
        case ["depends"]:
            places = {one.place for one in libraries()} - {OWN, NOT_INSTALLED}
            print(", ".join(sorted(places)))
        case ["trim", site]:
            trim(site)
        case ["document", site, folder]:
            parts = components(site)
            (ofapp,) = distributions(name="ofapp", path=[str(site)])
            contact = f"{ofapp.metadata['Maintainer']} <{ofapp.metadata['Maintainer-email']}>"
            installed = re.sub(r".*/(usr/lib/ofapp/)", r"\1", str(site.resolve()))
            (folder / "copyright").write_text(copyright_file(parts, installed, contact))
            (folder / "ofapp.cdx.json").write_text(bill(parts, ofapp.version))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(*sys.argv[1:])
