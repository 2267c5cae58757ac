"""The files of the laboratory: complete, without a network, and without strange Python."""

from __future__ import annotations

import subprocess
import sys
import urllib.error
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ofapp.cli.app import app
from ofapp.lab import files
from tests.support.pyodide import NAMES, integrity, small_package


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The laboratory from such a package."""
    content = small_package()
    monkeypatch.setattr(files, "INTEGRITY", integrity(content))
    (tmp_path / "p.tgz").write_bytes(content)
    done = run("--pyodide", str(tmp_path / "p.tgz"), str(tmp_path / "site"))
    assert "http://localhost:8000/lab/" in done
    return tmp_path / "site" / "lab"


def run(*arguments: str) -> str:
    done = CliRunner().invoke(app, ["docs", "build", *arguments])
    assert done.exit_code == 0, done.output
    return " ".join(done.output.split())


def test_all_files_that_are_imported_are_there(built: Path) -> None:
    scripts = [each for each in built.rglob("*.js") if "pyodide" not in each.parts]
    assert len(scripts) > 10
    for script in scripts:
        for name in files.IMPORTED.findall(script.read_text()):
            assert (script.parent / name).is_file(), f"{script} imports {name}"
    assert all((built / "pyodide" / name).is_file() for name in NAMES)
    assert (built / "page" / "vendor" / "cytoscape" / "LICENSE").is_file()


def test_the_core_runs_alone(built: Path, tmp_path: Path) -> None:
    """With nothing but the standard library, as in a browser."""
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]); from ofapp.lab.session import Session;"
        'print(Session().handle(\'{"do": "step"}\'))'
    )
    command = [sys.executable, "-I", "-S", "-c", program, str(built / "core.zip")]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=tmp_path)
    assert '"title": "Which bridge is the root?"' in done.stdout, done.stderr


def test_another_package_is_refused(tmp_path: Path) -> None:
    (tmp_path / "p.tgz").write_bytes(small_package())
    arguments = ["docs", "build", "--pyodide", str(tmp_path / "p.tgz"), str(tmp_path / "site")]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code != 0
    assert "its SHA-512 differs" in str(done.output) + str(done.exception)
    assert not (tmp_path / "site" / "lab").exists()


def test_without_a_network_the_laboratory_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> bytes:
        raise urllib.error.URLError("no route to host")

    monkeypatch.setattr(files, "download", refuse)
    said = run(str(tmp_path / "site"))
    assert "the laboratory is left out" in said
    assert "no route to host" in said
    assert "--pyodide pyodide-" in said
    assert (tmp_path / "site" / "index.html").is_file()
    assert not (tmp_path / "site" / "lab").exists()
