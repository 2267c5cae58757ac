"""`ofapp bench paper ibm` between two virtual machines."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.support.debs import unpacked


def test_pairs_of_programs_in_guests(tmp_path: Path) -> None:
    words = ["--figure=1", "--payload=64", "--payload=0", "--pairs=2", "--repeat=1", "--seconds=1"]
    words += [
        f"--guests={unpacked('linux-image-cloud-amd64')}",
        "--tag=gbench",
        f"--out={tmp_path}",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "ofapp", "bench", "paper", "ibm", *words],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert not done.returncode, done.stderr
    text = (tmp_path / "report.md").read_text()
    assert "Pairs are in two virtual machines by QEMU" in text
    assert "Not measured" not in text
    (row,) = (line for line in text.splitlines() if line.startswith("| small transactions, 64"))
    figures = row.split("|")[5:8]
    assert all(float(figure.replace(",", "")) > 0 for figure in figures), row
