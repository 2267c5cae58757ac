"""The package on other Debian releases: built, installed by the guide, tested, removed.

Thorough: each release needs its own root, and its own build.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.packaging.machine import REPOSITORY, Machine
from tests.support import roots

pytestmark = pytest.mark.thorough

GUIDE = REPOSITORY / "ofapp/docs/pages/installation.md"
MOST_SECONDS = 300
# The kernel here has no datapath of Open vSwitch: what the guide says of such machines.
USERSPACE = "ovs-vsctl set bridge br0 datapath_type=netdev"
# A proxy's CA that only this machine knows; apt overwrites the file of the root.
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
# A fresh clone in another folder, at another time.
BUILD = 'cp -r "$1"/. /clone; cd /clone; deploy/deb/build "$2"'


def typed() -> list[str]:
    """The commands of the guide's section on the package."""
    section = GUIDE.read_text().partition("## Debian 12 and 13")[2].partition("### Check")[0]
    blocks = re.findall(r"^```sh.*?\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    return [line for block in blocks for line in block.splitlines()]


@pytest.fixture(scope="module", params=["bookworm", "trixie"])
def suite(request: pytest.FixtureRequest) -> str:
    if reason := roots.missing():
        pytest.skip(reason)
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the repository, without what was made in it."""
    folder = tmp_path_factory.mktemp("clone")
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=REPOSITORY, capture_output=True, check=True
    ).stdout.split(b"\0")[:-1]
    for name in map(bytes.decode, listed):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(REPOSITORY / name, folder / name)
    return folder


def trusting(folder: Path) -> dict[str, str]:
    """Environment in which pip trusts this machine's CAs; folder: bound in the root."""
    return {"PIP_CERT": str(shutil.copy(CERTIFICATES, folder / "ca.crt"))}


@pytest.fixture(scope="module")
def built(suite: str, clone: Path) -> tuple[Path, float]:
    """The package, built as the guide says in an empty root, and the seconds that it took."""
    base = roots.root(suite)
    began = time.monotonic()
    build = [line for line in typed() if "dist/" not in line and "ovs-vsctl" not in line]
    script = "set -e; " + "; ".join(build)
    shutil.rmtree(clone / "dist", ignore_errors=True)
    environment = trusting(clone)
    words = ("bash", "-c", script)
    roots.enter(base, *words, bind=[clone], cwd=clone, environment=environment, seconds=1200)
    (package,) = (clone / "dist").glob("ofapp_*.deb")
    kept = clone.parent / f"{suite}-{package.name}"
    return package.rename(kept), time.monotonic() - began


@pytest.fixture(scope="module")
def host(suite: str) -> Iterator[Machine]:
    """A booted release with an init, and nothing else."""
    with Machine(roots.root(suite, ["systemd-sysv"])) as booted:
        for path in ("/etc/resolv.conf", "/etc/hosts"):
            booted.put(path, Path(path).read_text())
        yield booted


def test_the_commands_of_the_guide_give_a_bridge_in_five_minutes(
    host: Machine, built: tuple[Path, float]
) -> None:
    package, seconds = built
    host.put(f"/root/dist/{package.name.partition('-')[2]}", package.read_bytes())
    began = time.monotonic()
    host.run("apt-get", "update", online=True, seconds=300)
    for line in typed():
        if "apt-get install" in line:
            script = f"cd /root; DEBIAN_FRONTEND=noninteractive {line}"
            host.run("bash", "-c", script, online=True, seconds=600)
        elif "ovs-vsctl" in line:
            host.run("bash", "-c", line)
            if "add-br" in line:
                host.run("bash", "-c", USERSPACE)
    host.wait(
        lambda: "1 switch connected" in host.unit("ofapp", "StatusText")[0],
        "the switch to be connected",
    )
    assert "br0" in host.run("ofapp", "bridge", "show")
    taken = seconds + time.monotonic() - began
    print(f"{package.name}: {taken:.0f} s")
    assert taken < MOST_SECONDS


def test_two_builds_give_the_same_bytes(
    suite: str, clone: Path, built: tuple[Path, float], tmp_path: Path
) -> None:
    base = roots.root(suite)
    script = f"apt-get update -qq; mkdir /clone; {BUILD}"
    words = ("bash", "-ec", script, "build", clone, tmp_path)
    epoch = str(int((clone / "setup.cfg").stat().st_mtime))
    roots.enter(
        base,
        *words,
        bind=[clone, tmp_path],
        environment=trusting(clone) | {"SOURCE_DATE_EPOCH": epoch},
        seconds=1200,
    )
    (again,) = tmp_path.glob("ofapp_*.deb")
    assert again.read_bytes() == built[0].read_bytes()


def test_the_package_passes_its_autopkgtest(suite: str, built: tuple[Path, float]) -> None:
    package = built[0]
    source = package.parent / f"source-{suite}"
    (source / "debian/tests").mkdir(parents=True)
    for file in (REPOSITORY / "deploy/deb/tests").iterdir():
        shutil.copy(file, source / "debian/tests")
    version = package.name.split("_")[1]
    (source / "debian/control").write_text(
        "Source: ofapp\nMaintainer: ofapp\n\nPackage: ofapp\nArchitecture: any\n"
    )
    (source / "debian/changelog").write_text(
        f"ofapp ({version}) stable; urgency=medium\n\n  * Test.\n\n"
        " -- ofapp <ofapp@localhost>  Thu, 01 Jan 2026 00:00:00 +0000\n"
    )
    base = roots.root(suite, ["autopkgtest"])
    command = (
        "apt-get update -qq; status=0;"
        f" autopkgtest --no-built-binaries {package} {source}/ -- null || status=$?;"
        " exit $status"
    )
    roots.enter(base, "bash", "-ec", command, bind=[package.parent], seconds=1200)


def test_piuparts_finds_nothing_left(suite: str, built: tuple[Path, float]) -> None:
    package = built[0]
    tarball = package.parent / f"{suite}.tar.gz"
    subprocess.run(["tar", "-C", roots.root(suite), "-czf", tarball, "."], check=True, timeout=300)
    done = subprocess.run(
        [
            *("unshare", "--mount", "--propagation", "private", "piuparts"),
            *("--basetgz", tarball, "--distribution", suite, "--mirror", f"{roots.MIRROR} main"),
            *("--no-upgrade-test", "--warn-on-leftovers-after-purge", package),
        ],
        capture_output=True,
        text=True,
        timeout=1200,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:]
