"""Manual pages say what the commands declare, and man has nothing to say against them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from ofapp.cli import manual


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("man")
    manual.write(made)
    return made


def test_there_is_a_page_for_each_command_and_every_parameter(folder: Path) -> None:
    first = (folder / "ofapp.1").read_text()
    names = {page.stem for page in folder.glob("ofapp-*.1")}
    assert {"ofapp-fdb", "ofapp-stp", "ofapp-lldp", "ofapp-doctor", "ofapp-events"} <= names
    commands = [name.removeprefix("ofapp-").replace("-", "\\-") for name in names]
    assert all(f"ofapp-{command} (1)" in first for command in commands)
    tree = (folder / "ofapp-stp.1").read_text()
    assert "hello\\-time" in tree  # what is declared in the core, and made when the command runs
    assert "Seconds between BPDUs: 1 to 2." in tree


def test_the_manager_has_a_page_with_its_options(folder: Path) -> None:
    page = (folder / "ofapp-manager.8").read_text()
    assert page.count(".TP") >= 30
    for option in ("ofp\\-listen\\-host ADDRESS", "insecure", "ofp\\-tcp\\-listen\\-port PORT"):
        assert f".B \\-\\-{option}\n" in page
    assert "os\\-ken applications" in page
    assert "SIGHUP" in page


@pytest.mark.skipif(shutil.which("man") is None, reason="no man here")
def test_man_shows_them_and_warns_of_nothing(folder: Path) -> None:
    pages = sorted(folder.glob("*.[18]"))
    done = subprocess.run(
        ["man", "--warnings", "-l", *pages], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    assert "ofapp fdb show" in done.stdout
