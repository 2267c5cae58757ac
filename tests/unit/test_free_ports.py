"""TCP ports that tests of several processes choose at the same time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROGRAM = """
import random, sys
from tests.support.ports import free_port
random.seed(0)
print(*(free_port() for _ in range(8)), flush=True)
sys.stdin.read()
"""


def test_two_processes_never_choose_the_same_port() -> None:
    """Also before any of them listens there, and with equal random numbers."""
    command = [sys.executable, "-c", PROGRAM]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "cwd": ROOT}
    with subprocess.Popen(command, **pipes) as one, subprocess.Popen(command, **pipes) as other:
        chosen = [each.stdout.readline().split() for each in (one, other)]
        one.stdin.close()
        other.stdin.close()
    assert len(set(chosen[0] + chosen[1])) == 16, chosen
