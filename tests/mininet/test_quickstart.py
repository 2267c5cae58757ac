"""deploy/quickstart as a newcomer runs it, on a machine whose usual ports are taken."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import socket
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.lab import sh
from tests.support.waiting import wait_for

ROOT = Path(__file__).parents[2]
QUICKSTART = ROOT / "deploy/quickstart"
RUN = Path("/run/ofapp-quickstart")


def left_over() -> list[str]:
    """What of a quickstart is on the machine."""
    found = [name for name in sh("ovs-vsctl", "list-br").split() if name.startswith("ofq")]
    found += [path.name for path in Path("/sys/class/net").glob("ofq*")]
    found += [str(RUN)] if RUN.exists() else []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (process / "cmdline").read_bytes().decode(errors="replace").split("\0")
            if any(
                re.fullmatch(r"mininet:ofq\w+|/run/ofapp-quickstart\S*", word) for word in words
            ):
                found.append(" ".join(words))
    return found


def quickstart(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [QUICKSTART, *args],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=300,
        cwd="/",
        check=False,
    )


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    if left := left_over():
        pytest.fail(f"a quickstart runs here already (deploy/quickstart --stop): {left}")
    yield
    if left_over():
        quickstart("--stop")


@pytest.fixture
def taken_ports() -> Iterator[None]:
    """A process listens on 6653 and 8080."""
    with contextlib.ExitStack() as stack:
        for port in (6653, 8080):
            sock = stack.enter_context(socket.socket())
            with contextlib.suppress(OSError):
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                sock.bind(("127.0.0.1", port))
                sock.listen()
        yield


def test_it_shows_the_bridges_and_leaves_nothing(taken_ports):
    done = quickstart()
    said = done.stdout
    assert done.returncode == 0, said + done.stderr
    assert done.stderr == ""
    assert "port 6653 is taken" in said
    assert "port 8080 is taken" in said
    assert "all 12 pings were answered" in said
    hosts = [f"02:00:00:00:00:0{number}" for number in range(1, 5)]
    table, _, after = said.partition("$ ofapp fdb show")[2].partition("$ curl")
    for mac in hosts:
        assert table.count(mac) == 2, f"{mac} is on both switches: {table}"
    page = json.loads(after[after.index("{") : after.rindex("}") + 1])
    assert page["entries"]
    assert "Where to look next" in said
    assert len(said.splitlines()) < 60
    assert re.fullmatch(r" +http://127.0.0.1:\d+/", said.splitlines()[-1])
    assert left_over() == []


def test_kept_it_runs_until_it_is_stopped():
    done = quickstart("--keep")
    said = done.stdout
    assert done.returncode == 0, said + done.stderr
    url = re.search(r"curl -s (http://127.0.0.1:\d+)/openapi.json", said)[1]
    with urllib.request.urlopen(f"{url}/v1/bridges", timeout=5) as answer:
        bridges = json.load(answer)["bridges"]
    assert ["the", "page:", f"{url}/"] in [line.split() for line in said.splitlines()]
    status = re.search(r"what is wrong now: +(.*)", said)[1]
    shown = subprocess.run(status.split(), capture_output=True, text=True, check=False)
    assert "ofq1" in shown.stdout, shown
    with urllib.request.urlopen(f"{url}/", timeout=5) as answer:
        assert "text/html" in answer.headers["Content-Type"]
    assert sorted(bridge["name"] for bridge in bridges) == ["ofq1", "ofq2"]
    pid = re.search(r"mnexec -a (\d+) bash", said)[1]
    assert " 1 received" in sh("mnexec", "-a", pid, "ping", "-c", "1", "-W", "2", "10.99.0.4")

    again = quickstart()
    assert again.returncode == 1
    assert "deploy/quickstart --stop" in again.stderr
    assert len(again.stderr.splitlines()) == 1

    stopped = quickstart("--stop")
    assert stopped.returncode == 0, stopped.stdout + stopped.stderr
    assert left_over() == []
    nothing = quickstart("--stop")
    assert nothing.returncode == 1
    assert "nothing was kept running" in nothing.stderr


def test_interrupted_it_leaves_nothing():
    process = subprocess.Popen(
        [QUICKSTART], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        said: list[str] = []
        while not said or "a network of 2 switches" not in said[-1]:
            said.append(process.stdout.readline())
            assert said[-1], "".join(said)
        process.terminate()
        rest = process.stdout.read()
        assert process.wait(20) == 1
        assert rest.splitlines()[-1] == "quickstart: interrupted; nothing is left running"
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    wait_for(lambda: left_over() == [], "everything to be gone")


@pytest.mark.thorough  # it downloads all packages again
def test_on_a_fresh_clone(tmp_path):
    clone = tmp_path / "clone"
    sh("git", "clone", "-q", "--depth=1", f"file://{ROOT}", clone, seconds=60)
    try:
        done = subprocess.run(
            [clone / "deploy/quickstart"], capture_output=True, text=True, timeout=400, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert "making the virtual environment" in done.stdout
        assert "all 12 pings were answered" in done.stdout
    finally:
        shutil.rmtree(clone, ignore_errors=True)
