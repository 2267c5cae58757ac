"""What the Debian package takes from where: reads the table `libraries`, trims and documents.

libraries.py pins                     the requirements to install, with their versions
libraries.py depends                  Debian's packages, as the field Depends has them
libraries.py trim SITE                delete from SITE what is left out
libraries.py document SITE FOLDER     write `copyright` and `ofapp.cdx.json` (CycloneDX)
"""

from __future__ import annotations

import gzip
import json
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from email.message import Message
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PINS = HERE.parent / "requirements.txt"
OWN, NOT_INSTALLED = "own", "-"
COMMON = {"Apache-2.0": "Apache-2.0", "GPL-2.0-or-later": "GPL-2"}  # in common-licenses
NAMED = {  # as metadata has names that are not SPDX identifiers
    "Apache 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "ISC License": "ISC",
    "MIT License": "MIT",
}
KEPT_METADATA = ("METADATA", "entry_points.txt")


@dataclass(frozen=True)
class Library:
    """A line of the table."""

    name: str
    place: str
    left_out: tuple[str, ...]


@dataclass(frozen=True)
class Component:
    """A third-party work that is shipped.

    paths: where, below SITE; text: its licences; parts: what its authors say is compiled into it,
    as CycloneDX has it.
    """

    name: str
    version: str
    licence: str
    holders: str
    text: str
    purl: str
    paths: tuple[str, ...]
    parts: tuple[Any, ...] = ()


def normal(name: str) -> str:
    """Name of a Python package in the one form that names are compared in."""
    return re.sub(r"[-_.]+", "-", name).lower()


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
    # A third of the size of what is served to browsers only; `ofapp` reads it like this, too.
    for file in [*site.glob("flask_openapi3_swagger/**/*.js")]:
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


def components(site: Path) -> list[Component]:
    """Python packages in SITE besides ofapp, and what the web page has of others."""
    found = [_python(d) for d in distributions(path=[str(site)]) if d.metadata["Name"] != "ofapp"]
    return sorted(
        [*found, *_of_pages(site), _swagger(site)], key=lambda component: component.name.lower()
    )


def _python(package: Distribution) -> Component:
    about = package.metadata
    name, version = about["Name"], package.version
    files = [file for file in package.files or () if "__pycache__" not in file.parts]
    texts = [
        file.read_text()
        for file in files
        if re.match(r"(?i)(licen[cs]e|copying)", file.name) and ".dist-info" in file.parts[0]
    ]
    text = "\n\n".join(texts)
    folders = {f"{file.parts[0]}/*" if len(file.parts) > 1 else file.name for file in files}
    return Component(
        name,
        version,
        _licence(about),
        _holders(text) or about["Author"] or about["Author-email"] or f"the authors of {name}",
        text,
        f"pkg:pypi/{normal(name)}@{version}",
        tuple(sorted(f for f in folders if not f.startswith(".."))),
        tuple(
            part
            for file in files
            if "sboms" in file.parts
            for part in json.loads(file.read_text())["components"]
            if part.get("scope") != "excluded"
        ),
    )


def _licence(about: Message) -> str:
    named = about["License-Expression"] or about["License"] or ""
    if not named or "\n" in named or len(named) > 60:
        kinds = [c for c in about.get_all("Classifier", []) if c.startswith("License ::")]
        named = kinds[0].rpartition(" :: ")[2].partition(" (")[0] if kinds else ""
    named = NAMED.get(named, named)
    if not re.fullmatch(r"[A-Za-z0-9.+-]+( (OR|AND) [A-Za-z0-9.+-]+)*", named):
        sys.exit(f"{about['Name']} does not say its licence: {named!r}")
    return named


def _of_pages(site: Path) -> Iterator[Component]:
    """Yield the libraries of the web page and of the documentation, by their manifests."""
    for manifest in sorted(site.glob("ofapp/**/vendor/manifest.json")):
        folder = manifest.parent
        for name, about in json.loads(manifest.read_text()).items():
            where = folder / next(iter(about["files"])).partition("/")[0]
            text = "\n\n".join(f.read_text() for f in sorted(where.glob("LICENSE*")))
            version = about["version"]
            yield Component(
                name,
                version,
                about["licence"],
                _holders(text) or f"the authors of {name}",
                text,
                f"pkg:npm/{name}@{version}",
                (f"{where.relative_to(site)}/*",),
            )


def _swagger(site: Path) -> Component:
    """Swagger UI, which a Python package brings along under its own version."""
    (package,) = distributions(name="flask-openapi3-swagger", path=[str(site)])
    return Component(
        "swagger-ui",
        package.version,
        "Apache-2.0",
        "SmartBear Software Inc.",
        "",
        f"pkg:npm/swagger-ui-dist@{package.version}",
        ("flask_openapi3_swagger/templates/swagger/*",),
    )


def _holders(text: str) -> str:
    """Lines with a copyright and a year."""
    lines = re.findall(r"(?im)^\W*(copyright\s.*\d{4}.*)$", text)
    return "\n           ".join(dict.fromkeys(line.strip() for line in lines))


def copyright_file(parts: list[Component], site: str) -> str:
    """Debian's machine-readable copyright file.  site: where the packages are installed."""
    head = (HERE / "copyright").read_text().rstrip()
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


def bill(parts: list[Component], version: str) -> str:
    """Bill of materials in CycloneDX 1.5, of what is shipped; Debian's packages are in Depends."""
    shipped = [
        {
            "type": "library",
            "name": part.name,
            "version": part.version,
            "purl": part.purl,
            "bom-ref": part.purl,
            "licenses": [{"expression": part.licence}],
            **({"components": part.parts} if part.parts else {}),
        }
        for part in parts
    ]
    root = {
        "type": "application",
        "name": "ofapp",
        "version": version,
        "bom-ref": "ofapp",
        "licenses": [{"expression": "Apache-2.0"}],
    }
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": root},
        "components": shipped,
        "dependencies": [{"ref": "ofapp", "dependsOn": [part.purl for part in parts]}],
    }
    return json.dumps(document, indent=1) + "\n"


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
            version = next(d for d in distributions(path=[str(site)]) if d.name == "ofapp").version
            installed = re.sub(r".*/(usr/lib/ofapp/)", r"\1", str(site.resolve()))
            (folder / "copyright").write_text(copyright_file(parts, installed))
            (folder / "ofapp.cdx.json").write_text(bill(parts, version))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(*sys.argv[1:])
