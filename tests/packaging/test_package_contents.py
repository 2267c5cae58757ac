"""What the Debian package holds: how much, whose it is, and what lintian says of it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from configparser import ConfigParser
from fnmatch import fnmatch
from importlib.metadata import distributions
from pathlib import Path

import pytest

from tests.packaging.conftest import build_package
from tests.packaging.machine import REPOSITORY
from tests.support import pyodide

MOST_BYTES = 20_000_000
SITE = "usr/lib/ofapp/lib/python3*/site-packages"


@pytest.fixture(scope="module")
def unpacked(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("unpacked")
    subprocess.run(["dpkg-deb", "--extract", package, folder], check=True)
    return folder


@pytest.fixture(scope="module")
def site(unpacked: Path) -> Path:
    (found,) = unpacked.glob(SITE)
    return found


def field(package: Path, name: str) -> str:
    return subprocess.check_output(["dpkg-deb", "--field", package, name], text=True).strip()


def document(unpacked: Path, name: str) -> str:
    return (unpacked / "usr/share/doc/ofapp" / name).read_text()


def test_lintian_finds_nothing_that_has_no_reason(package: Path) -> None:
    done = subprocess.run(
        ["lintian", "--allow-root", "--fail-on", "error,warning", package],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "")


def test_it_is_small_and_byte_code_is_made_where_it_is_installed(unpacked: Path) -> None:
    files = [path for path in unpacked.rglob("*") if path.is_file() and not path.is_symlink()]
    assert sum(path.stat().st_size for path in files) < MOST_BYTES
    assert not [path for path in files if path.suffix == ".pyc"]


def test_the_maintainer_is_the_one_that_is_declared(package: Path, unpacked: Path) -> None:
    setup = ConfigParser()
    setup.read(REPOSITORY / "setup.cfg")
    declared = setup["metadata"]
    maintainer = f"{declared['maintainer']} <{declared['maintainer_email']}>"
    assert field(package, "Maintainer") == maintainer
    assert f"\nUpstream-Contact: {maintainer}\n" in document(unpacked, "copyright")


def test_the_build_takes_another_maintainer(tmp_path: Path) -> None:
    """By the variables of Debian's tools; the contact of the authors stays."""
    given = {"DEBFULLNAME": "R & D/Net", "DEBEMAIL": "net@example.org"}
    built = build_package(tmp_path, given)
    assert built.returncode == 0, built.stderr
    (package,) = tmp_path.glob("*.deb")
    assert field(package, "Maintainer") == "R & D/Net <net@example.org>"
    refused = build_package(tmp_path, {"DEBEMAIL": "R & D <net@example.org>"})
    assert refused.returncode == 1
    assert "DEBEMAIL" in refused.stderr


def test_pyodide_is_not_in_it_and_the_laboratory_is_built_from_it(
    unpacked: Path, site: Path, tmp_path: Path
) -> None:
    assert not [path for path in unpacked.rglob("*") if "pyodide" in path.name]
    (tmp_path / "p.tgz").write_bytes(pyodide.small_package())
    program = (
        "import sys, pathlib; sys.path.insert(0, sys.argv[1]); from ofapp.lab import files;"
        "from ofapp.docs import site; assert site.text('vlans') and site.text('pipeline');"
        "files.INTEGRITY = sys.argv[2]; folder = pathlib.Path(sys.argv[3]);"
        "files.build(folder / 'lab', (folder / 'p.tgz').read_bytes())"
    )
    known = pyodide.integrity((tmp_path / "p.tgz").read_bytes())
    subprocess.run([sys.executable, "-I", "-S", "-c", program, site, known, tmp_path], check=True)
    for path in ("index.html", "core.zip", "js/worker.js", "page/vendor/dagre/dagre.esm.js"):
        assert (tmp_path / "lab" / path).stat().st_size > 500


def test_the_bill_of_materials_names_what_is_shipped(unpacked: Path, site: Path) -> None:
    bill = json.loads(document(unpacked, "ofapp.cdx.json"))
    listed = {part["purl"]: part for part in bill["components"]}
    for package in distributions(path=[str(site)]):
        name = package.metadata["Name"].lower().replace("_", "-").replace(".", "-")
        assert name == "ofapp" or f"pkg:pypi/{name}@{package.version}" in listed
    for manifest in site.glob("ofapp/**/vendor/manifest.json"):
        for name, about in json.loads(manifest.read_text()).items():
            assert f"pkg:npm/{name}@{about['version']}" in listed
    assert all(part["licenses"][0]["expression"] for part in listed.values())
    (core,) = [part for purl, part in listed.items() if "pydantic-core" in purl]
    assert any(part["purl"].startswith("pkg:cargo/") for part in core["components"])


def test_the_copyright_file_has_a_licence_for_every_library(unpacked: Path, site: Path) -> None:
    stanzas = document(unpacked, "copyright").split("\n\nFiles: ")[2:]
    patterns = [pattern for stanza in stanzas for pattern in stanza.partition("\n")[0].split()]
    for path in sorted(site.iterdir()):
        own = path.name == "debian.pth" or path.name.startswith("ofapp")
        inside = f"{path.relative_to(unpacked)}{'/x' if path.is_dir() else ''}"
        assert own or any(fnmatch(inside, pattern) for pattern in patterns), path.name
    for stanza in stanzas:
        licence = stanza.partition("\nLicense: ")[2].partition("\nComment: ")[0].splitlines()
        assert licence[0], stanza
        # One that comes without its text is named by its identifier.
        assert len(licence) > 3 or re.search(r"/common-licenses/|no more than", licence[1]), stanza
    for file in site.glob("ofapp/**/vendor/*/*"):
        inside = str(file.relative_to(unpacked))
        (stanza,) = [s for s in stanzas if fnmatch(inside, s.partition("\n")[0])]
        assert "Permission is hereby" in stanza or "Redistribution" in stanza, inside
