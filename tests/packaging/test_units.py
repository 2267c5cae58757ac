"""The units as systemd's own tools judge them, without a running systemd."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.packaging.machine import REPOSITORY

UNITS = sorted((REPOSITORY / "deploy/systemd").iterdir())


def analyze(*words: object) -> str:
    done = subprocess.run(
        ["systemd-analyze", *map(str, words)], capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_systemd_finds_nothing_wrong(unit: Path) -> None:
    said = analyze("verify", "--man=no", unit).splitlines()
    # Nothing is installed here; that the commands run is shown in test_debian_package.  Units of
    # other packages, which systemd reads with ours, are not ours to judge.
    others = "is not executable: No such file", "/lib/systemd/system/"
    assert [line for line in said if not any(words in line for words in others)] == []


def test_a_mistake_would_be_found(tmp_path: Path) -> None:
    unit = tmp_path / "ofapp.service"
    text = (REPOSITORY / "deploy/systemd/ofapp.service").read_text()
    unit.write_text(text.replace("ProtectSystem=strict", "ProtectSystem=strickt"))
    assert "strickt" in analyze("verify", "--man=no", unit)


@pytest.mark.parametrize(("unit", "most"), [("ofapp", 1.5), ("ofapp-deploy-recover", 4.0)])
def test_little_is_left_to_an_intruder(unit: str, most: float) -> None:
    """systemd's figure: 10 is a service without any protection, 9.6 what most are."""
    file = REPOSITORY / f"deploy/systemd/{unit}.service"
    said = analyze("security", "--offline=true", "--no-pager", file)
    level = re.search(r"exposure level for \S+: (\S+)", said)
    assert level is not None, said
    assert float(level[1]) <= most
