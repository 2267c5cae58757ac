"""/lab/: the laboratory, where it was built."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ofapp.api.app import create_app
from ofapp.controller.network import Network


@pytest.fixture
def built(network: Network, tmp_path: Path) -> Any:
    """A client of a controller with a laboratory of three files."""
    (tmp_path / "lab" / "pyodide").mkdir(parents=True)
    (tmp_path / "lab" / "index.html").write_text("<title>Laboratory</title>")
    (tmp_path / "lab" / "pyodide" / "pyodide.mjs").write_text("export {}")
    (tmp_path / "lab" / "pyodide" / "pyodide.asm.wasm").write_bytes(bytes(100_000))
    (tmp_path / "secret").write_text("of the state directory")
    return create_app(network, site=tmp_path).test_client()


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("", "text/html; charset=utf-8"),
        ("pyodide/pyodide.mjs", "text/javascript; charset=utf-8"),
        ("pyodide/pyodide.asm.wasm", "application/wasm"),
    ],
)
def test_its_files_are_sent_with_a_policy_that_lets_python_run(
    built: Any, name: str, kind: str
) -> None:
    answer = built.get(f"/lab/{name}")
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, kind)
    policy = answer.headers["Content-Security-Policy"]
    assert "script-src 'self' 'wasm-unsafe-eval';" in policy
    assert "default-src 'none'" in policy
    tag = {"If-None-Match": answer.headers["ETag"]}
    assert built.get(f"/lab/{name}", headers=tag).status_code == 304


@pytest.mark.parametrize("name", ["gone.js", "../secret", "..%2fsecret", "pyodide"])
def test_there_are_no_other_files(built: Any, name: str) -> None:
    assert built.get(f"/lab/{name}").status_code in (404, 422)


def test_where_it_is_not_built_the_answer_names_the_command(
    network: Network, tmp_path: Path
) -> None:
    answer = create_app(network, site=tmp_path).test_client().get("/lab/")
    assert answer.status_code == 404
    assert f"`ofapp docs build {tmp_path}`" in answer.json["detail"]
