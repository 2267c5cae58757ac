"""The package of the last release is upgraded to this one's on a machine whose hosts talk."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.packaging.conftest import BUILD_SECONDS
from tests.packaging.machine import REPOSITORY, Machine

FORMER = "d33218e"
"""The commit whose package is upgraded."""
STATIC = "02:00:00:00:00:99"
EDITED = "defaults: {ageing_time: 77}\n"

HOSTS = """
ovs-vsctl add-br br0 -- set bridge br0 datapath_type=netdev fail_mode=secure protocols=OpenFlow13
for number in 1 2; do
    ip netns add h$number
    ip link add port$number up type veth peer name eth0 netns h$number
    ip netns exec h$number ethtool -K eth0 tx off
    ip -n h$number address add 10.0.0.$number/24 dev eth0
    ip -n h$number link set eth0 up
    ovs-vsctl add-port br0 port$number
done
ovs-vsctl set-controller br0 tcp:127.0.0.1:6653
"""
PINGS = """
ip netns exec h1 ping -n -i 0.01 10.0.0.2 >/tmp/pings 2>&1 &
echo $! >/tmp/ping
"""
END = "kill -INT $(cat /tmp/ping); tail --pid=$(cat /tmp/ping) -f /dev/null; tail -n 4 /tmp/pings"

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def former(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The former package, built from that commit."""
    known = subprocess.run(["git", "cat-file", "-e", FORMER], cwd=REPOSITORY, check=False)
    if known.returncode:
        pytest.skip(f"the clone is without commit {FORMER}")
    folder = tmp_path_factory.mktemp("former")
    sources, archive = folder / "sources", folder / "sources.tar"
    sources.mkdir()
    subprocess.run(["git", "archive", "-o", archive, FORMER], cwd=REPOSITORY, check=True)
    subprocess.run(["tar", "-xf", archive, "-C", sources], check=True)
    done = subprocess.run(
        [sources / "deploy/deb/build", folder],
        env=os.environ | {"OFAPP_COMMIT": FORMER},
        capture_output=True,
        text=True,
        timeout=BUILD_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (package,) = folder.glob("*.deb")
    return package


def test_no_frame_is_lost_and_what_was_set_stays(
    machine: Machine, former: Path, package: Path
) -> None:
    for name, file in (("former", former), ("present", package)):
        machine.put(f"/tmp/{name}.deb", file.read_bytes())
    machine.run("dpkg", "--install", "/tmp/former.deb", seconds=180)
    assert FORMER in machine.run("ofapp", "--version")
    machine.put("/etc/ofapp/ofapp.yaml", EDITED)
    machine.run("bash", "-ec", HOSTS)
    machine.run("systemctl", "restart", "ofapp")
    machine.wait(
        lambda: machine.succeeds("ip", "netns", "exec", "h1", "ping", "-c1", "-W1", "10.0.0.2"),
        "the hosts to meet",
        seconds=60,
    )
    machine.run("ofapp", "fdb", "add", "br0", STATIC, "--port", "port1")
    machine.run("bash", "-ec", PINGS)
    machine.run("dpkg", "--install", "/tmp/present.deb", seconds=180)
    assert FORMER not in machine.run("ofapp", "--version")
    machine.wait(
        lambda: "1 switch connected" in machine.unit("ofapp", "StatusText")[0],
        "the switch to be connected",
        seconds=60,
    )
    said = machine.run("bash", "-c", END)
    counts = re.search(r"(\d+) packets transmitted, (\d+) received", said)
    assert counts, said
    assert int(counts[1]) > 100
    assert counts[1] == counts[2], said
    assert machine.run("cat", "/etc/ofapp/ofapp.yaml") == EDITED
    assert STATIC in machine.run("ofapp", "fdb", "show", "br0")
