"""The page's files: all that it loads comes from here, and nothing else is served."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

import pytest

from ofapp.api import page
from ofapp.api.page import vendored
from ofapp.controller.access import UserRole
from ofapp.controller.network import Network
from tests.unit.api.test_docs import references

ROOT = Path(page.__file__).parent
OWN = sorted(ROOT.glob("js/*.js"))


@pytest.mark.parametrize(
    "folder", [vendored.VENDOR, Path("ofapp/docs/vendor"), Path("tests/page/vendor")]
)
def test_what_others_wrote_is_what_they_have_published(folder: Path) -> None:
    assert vendored.faults(folder) == []
    for library in vendored.manifest(folder).values():
        assert library["version"]
        assert library["licence"] in ("BSD-3-Clause", "MIT", "MPL-2.0")
        assert any(path.endswith("LICENSE") for path in library["files"])


def test_a_file_that_was_changed_is_found(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text(
        '{"x": {"version": "1", "licence": "MIT", "files":'
        ' {"a.js": {"from": "a.js", "sha256": "0"}, "b.js": {"from": "b.js", "sha256": "0"}}}}'
    )
    (tmp_path / "a.js").write_text("changed")
    (tmp_path / "c.js").write_text("unused")
    assert vendored.faults(tmp_path) == [
        "x: a.js is not the file of version 1",
        "x: b.js is missing",
        "c.js is in no library of the manifest",
    ]


def test_all_that_the_page_loads_comes_from_here(client: Any) -> None:
    index = client.get("/")
    assert (index.status_code, index.mimetype) == (200, "text/html")
    loaded = [name for name in references(index.text) if name.startswith("page/")]
    assert len(loaded) > 5
    for name in loaded:
        assert client.get(f"/{name}").status_code == 200, name
    others = {name for name in references(index.text) if not name.startswith("page/")}
    assert others == {"#main", "docs", "guide/"}


def test_every_module_that_is_imported_is_there() -> None:
    for module in OWN:
        for name in re.findall(r'(?:\bfrom |\bimport[ (]+)"([^"\n]+)"', module.read_text()):
            assert name.startswith("."), f"{module.name} imports {name}, which no browser finds"
            path = posixpath.normpath(f"js/{name}")
            assert path in page.names(), f"{module.name} imports {name}"


def test_every_module_is_loaded_by_another() -> None:
    loaded = {name for module in OWN for name in re.findall(r'"\./(\w+\.js)"', module.read_text())}
    assert {module.name for module in OWN} - loaded == {"main.js"}


def test_no_module_makes_markup_of_text() -> None:
    unsafe = re.compile(
        r"innerHTML|outerHTML|insertAdjacentHTML|unsafeHTML|unsafe-html|document\.write|srcdoc"
        r"|\beval\(|new Function|\bstyle=|javascript:|DOMParser"
    )
    for module in OWN:
        assert not unsafe.findall(module.read_text()), module.name


def test_no_module_is_longer_than_one_sitting() -> None:
    assert {module.name for module in OWN if module.read_text().count("\n") > 300} == set()


@pytest.mark.parametrize("path", ["/", "/page/js/main.js", "/page/style/base.css"])
def test_nothing_may_run_that_is_no_file_of_ours(client: Any, path: str) -> None:
    headers = client.get(path).headers
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "require-trusted-types-for 'script'" in policy
    assert not re.findall(r"unsafe|//|\*", policy)
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["X-Content-Type-Options"] == "nosniff"


def test_nothing_is_written_into_the_page(client: Any) -> None:
    assert not re.findall(r"<script>|<style>|\son\w+=|\sstyle=", client.get("/").text)


@pytest.mark.parametrize(
    "name",
    [
        *("x", "__init__.py", "vendored.py", "js/../__init__.py", "..%2f__init__.py", "js"),
        *("vendor/manifest.json", "vendor/cytoscape/LICENSE", "/etc/passwd", "js//main.js"),
        "x" * 200,
    ],
)
def test_there_are_no_other_files(client: Any, name: str) -> None:
    assert client.get(f"/page/{name}").status_code in (404, 422)


def test_files_are_sent_once_and_packed(client: Any) -> None:
    path = "/page/vendor/cytoscape/cytoscape.esm.min.mjs"
    packed = client.get(path, headers={"Accept-Encoding": "gzip"})
    assert packed.headers["Content-Encoding"] == "gzip"
    assert len(packed.data) < 200_000
    clear = client.get(path, headers={"Accept-Encoding": "identity"})
    assert "Content-Encoding" not in clear.headers
    assert clear.headers["ETag"] == packed.headers["ETag"]
    again = client.get(path, headers={"If-None-Match": packed.headers["ETag"]})
    assert (again.status_code, again.data) == (304, b"")


def test_whoever_is_not_known_sees_the_login_and_no_more(network: Network, client: Any) -> None:
    network.access.tokens.create("ops", UserRole.OPERATOR, "root", 0.0)
    assert client.get("/").status_code == 200
    assert client.get("/page/js/session.js").status_code == 200
    for path in ("/v1/session", "/v1/bridges", "/v1/search?q=eth", "/v1/vendors?prefix=00:00:01"):
        assert client.get(path).status_code == 401
