"""Shells complete commands, options and values."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Run

BASH = """
. %s
COMP_WORDS=(%s) COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_ofapp_completion ofapp
printf '%%s\\n' "${COMPREPLY[@]}"
"""


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("ofapp fd", ["fdb"]),
        ("ofapp token cr", ["create"]),
        ("ofapp token create x --ro", ["--role"]),
        ("ofapp token create x --role o", ["operator"]),
        ("ofapp fdb show --api-t", ["--api-token-file"]),
        ("ofapp stp set br0 --hello", ["--hello-time"]),
        ("ofapp lag set br0 lag0 --hash layer3", ["layer3+4"]),
        ("ofapp port set br0 eth1 --isol", ["--isolated"]),
        ("ofapp fdb show b", ["br0", "br1"]),
        ("ofapp events --bridge b", ["br0", "br1"]),
        ("ofapp port set br0 eth", ["eth1", "eth2", "eth3"]),
        ("ofapp fdb show --port eth", ["eth1", "eth2", "eth3"]),
        ("ofapp fdb del br1 5", ["52-54-00-00-00-01"]),
        ("ofapp events --kind port.up,stp.root", ["port.up,stp.root", "port.up,stp.root-guard"]),
        ("ofapp fdb show --api http://127.0.0.1:1 b", []),
    ],
)
def test_bash_completes(live_ofapp: Run, tmp_path: Path, typed: str, offered: list[str]) -> None:
    ofapp = live_ofapp
    script = tmp_path / "ofapp.bash"
    script.write_text(ofapp("completion", "bash").out)
    command = tmp_path / "ofapp"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m ofapp "$@"\n')
    command.chmod(0o755)
    done = subprocess.run(
        ["bash", "-c", BASH % (script, typed)],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"},
    )
    assert done.stdout.split() == offered, done.stderr


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_so_do_others(ofapp: Run, tmp_path: Path, shell: str) -> None:
    said = ofapp("completion", shell)
    assert said.status == 0
    assert "_OFAPP_COMPLETE" in said.out
    if shutil.which(shell):
        (tmp_path / "script").write_text(said.out)
        subprocess.run([shell, "-n", tmp_path / "script"], check=True)


def test_no_other_shell(ofapp: Run) -> None:
    assert ofapp("completion", "cmd").status == 2
