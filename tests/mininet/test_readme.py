"""README's first commands, typed as they stand: they work with and without the kernel module."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.controller import Controller
from tests.support.lab import sh
from tests.support.waiting import wait_for

README = Path(__file__).parents[2] / "README.md"
NAME = "ofreadme0"
DPID = "00000f0000adbe01"


def typed(controller: Controller) -> str:
    """The commands of *By hand* that set the switch up, with a name and port of this test."""
    section = re.search(r"## By hand\n(.*?)\n## ", README.read_text(), re.DOTALL)
    assert section is not None
    (block,) = re.findall(
        r"(?:^    \[ -d /sys.*?)(?=^    curl|\Z)", section[1], re.DOTALL | re.MULTILINE
    )
    assert "set-controller" in block
    changed = block.replace("br0", NAME).replace("0000000000000001", DPID)
    return changed.replace("6653", str(controller.ofp_port))


@pytest.fixture
def no_bridge_left() -> Iterator[None]:
    yield
    sh("ovs-vsctl", "--if-exists", "del-br", NAME)


def test_the_first_commands_give_a_bridge_in_line(
    controller: Controller, no_bridge_left: None
) -> None:
    done = subprocess.run(
        ["bash", "-c", typed(controller)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Error detected" not in done.stderr

    def in_line() -> bool:
        known = controller.get("/v1/bridges")["bridges"]
        return any(one["datapath_id"] == DPID and one["in_line"] for one in known)

    wait_for(in_line, "the bridge of README to be in line", seconds=20)
