"""What others have made and ofapp ships: components with their licences, and their CycloneDX.

bill.py SITE PACKAGES     print the bill of materials of an image: Python packages in SITE, and
                          Debian's, as `dpkg-query --show` has written them to the file PACKAGES
"""

from __future__ import annotations

import json
import platform
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from email.message import Message
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any
from urllib.parse import quote

NAMED = {  # as metadata has names that are not SPDX identifiers
    "Apache 2.0": "Apache-2.0",
    "Apache-2.0 or BSD": "Apache-2.0 OR BSD-3-Clause",
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "ISC License": "ISC",
    "MIT License": "MIT",
}


@dataclass(frozen=True)
class Component:
    """A third-party work that is shipped.

    paths: where, below SITE; licence: "" if only its own files have it; text: its licences;
    parts: what its authors say is compiled into it, as CycloneDX has it.
    """

    name: str
    version: str
    purl: str
    licence: str = ""
    holders: str = ""
    text: str = ""
    paths: tuple[str, ...] = ()
    parts: tuple[Any, ...] = ()


def normal(name: str) -> str:
    """Name of a Python package in the one form that names are compared in."""
    return re.sub(r"[-_.]+", "-", name).lower()


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
        f"pkg:pypi/{normal(name)}@{version}",
        _licence(about),
        _holders(text) or about["Author"] or about["Author-email"] or f"the authors of {name}",
        text,
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
                f"pkg:npm/{name}@{version}",
                about["licence"],
                _holders(text) or f"the authors of {name}",
                text,
                (f"{where.relative_to(site)}/*",),
            )


def _swagger(site: Path) -> Component:
    """Swagger UI, which a Python package brings along under its own version."""
    (package,) = distributions(name="flask-openapi3-swagger", path=[str(site)])
    return Component(
        "swagger-ui",
        package.version,
        f"pkg:npm/swagger-ui-dist@{package.version}",
        "Apache-2.0",
        "SmartBear Software Inc.",
        paths=("flask_openapi3_swagger/templates/swagger/*",),
    )


def _holders(text: str) -> str:
    """Lines with a copyright and a year."""
    lines = re.findall(r"(?im)^\W*(copyright\s.*\d{4}.*)$", text)
    return "\n           ".join(dict.fromkeys(line.strip() for line in lines))


def debian(packages: str) -> list[Component]:
    """Debian's packages, of a list with a name, a tab and a version in each line."""
    about = platform.freedesktop_os_release()
    release = f"{about['ID']}-{about['VERSION_ID']}"
    rows = [line.split("\t") for line in packages.splitlines()]
    return [
        Component(name, version, f"pkg:deb/debian/{quote(name)}@{quote(version)}?distro={release}")
        for name, version in ((row[0].partition(":")[0], row[1]) for row in rows)
    ]


def bill(parts: list[Component], version: str) -> str:
    """Bill of materials in CycloneDX 1.5; version: of ofapp."""
    shipped = [
        {
            "type": "library",
            "name": part.name,
            "version": part.version,
            "purl": part.purl,
            "bom-ref": part.purl,
            **({"licenses": [{"expression": part.licence}]} if part.licence else {}),
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


def main(site: Path, packages: Path) -> None:
    """Write the bill of an image."""
    (ofapp,) = distributions(name="ofapp", path=[str(site)])
    parts = [*components(site), *debian(packages.read_text())]
    print(bill(parts, ofapp.version), end="")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
