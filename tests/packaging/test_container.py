"""The image is built, and runs a controller for a real switch.

No registry is asked: a root of the same Debian release stands in for the base image.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.packaging.containerfile import FILE, health_check
from tests.packaging.machine import REPOSITORY
from tests.support import roots
from tests.support.ownswitch import OwnSwitch
from tests.support.waiting import wait_for

BASE = "docker.io/library/debian:12-slim"
COMMIT = "0123abc"
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
BUILD_SECONDS = 1800
BILL = "/opt/ofapp/share/ofapp/ofapp.cdx.json"
DISTRIBUTIONS = """
from importlib.metadata import distributions
for one in distributions(path=["/opt/ofapp/lib/python3.11/site-packages"]):
    print(one.metadata["Name"], one.version)
"""

Buildah = Callable[..., str]

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def buildah(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Buildah]:
    """Run buildah with storage that is removed in the end."""
    folder = tmp_path_factory.mktemp("buildah")

    def run(*words: object) -> str:
        done = subprocess.run(
            ["buildah", *store(folder), *map(str, words)],
            cwd=REPOSITORY,
            capture_output=True,
            text=True,
            timeout=BUILD_SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
        return done.stdout.strip()

    run.__dict__["folder"] = folder
    try:
        yield run
    finally:
        run("rm", "--all")
        run("rmi", "--all", "--force")
        shutil.rmtree(folder, ignore_errors=True)


def store(folder: Path) -> list[str]:
    return ["--storage-driver=vfs", f"--root={folder}/storage", f"--runroot={folder}/run"]


@pytest.fixture(scope="module")
def image(buildah: Buildah, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The image's name."""
    archive = tmp_path_factory.mktemp("base") / "base.tar"
    excluded = ("--one-file-system", "--exclude=./var/cache/apt/archives/*.deb")
    pack = ["tar", "-C", str(roots.root("bookworm")), *excluded, "-cf", str(archive), "."]
    subprocess.run(pack, check=True)
    base = buildah("from", "scratch")
    buildah("add", "--quiet", base, archive, "/")
    archive.unlink()
    # A proxy before PyPI may have a separate certificate authority.
    buildah("copy", "--quiet", base, CERTIFICATES, "/etc/ssl/build.crt")
    buildah("config", "--env", "PIP_CERT=/etc/ssl/build.crt", base)
    buildah("commit", "--quiet", "--rm", base, BASE)
    buildah(
        *("bud", "--isolation=chroot", "--pull-never", "--file", FILE, "--tag", "ofapp"),
        *("--build-arg", f"OFAPP_COMMIT={COMMIT}", REPOSITORY),
    )
    return "ofapp"


def test_the_bill_of_materials_names_all_packages(buildah: Buildah, image: str) -> None:
    """Debian's and Python's, as dpkg and Python list them in the image."""
    container = buildah("from", "--pull-never", image)

    def said(*words: str) -> list[str]:
        return buildah("run", "--isolation=chroot", container, "--", *words).splitlines()

    bill = json.loads("\n".join(said("cat", BILL)))
    listed: dict[str, set[tuple[str, str]]] = {}
    for part in bill["components"]:
        kind = part["purl"].partition("/")[0]
        listed.setdefault(kind, set()).add((part["name"], part["version"]))
    assert listed.keys() == {"pkg:deb", "pkg:pypi", "pkg:npm"}
    packages = said("dpkg-query", "--show", "--showformat=${Package} ${Version}\n")
    assert listed["pkg:deb"] == {tuple(line.split()) for line in packages}
    wheels = {tuple(line.split()) for line in said("python", "-c", DISTRIBUTIONS)}
    assert {name for name, _ in wheels} >= {"ofapp", "os-ken", "pydantic"}
    assert listed["pkg:pypi"] == {one for one in wheels if one[0] != "ofapp"}


def test_the_image_runs_a_bridge(buildah: Buildah, image: str) -> None:
    """It answers the health check, knows its commit, and is not root."""
    container = buildah("from", "--pull-never", image)
    program = shutil.which("ovs-vswitchd")
    assert program
    switch = OwnSwitch(Path(program))
    folder: Path = buildah.__dict__["folder"]

    def inside(*words: str) -> list[str]:
        return [
            *("ip", "netns", "exec", switch.namespace, "buildah", *store(folder)),
            *("run", "--isolation=chroot", "--user=ofapp", container, "--", *words),
        ]

    def healthy() -> bool:
        asked = subprocess.run(inside(*health_check()), capture_output=True, text=True, check=False)
        return asked.returncode == 0 and "br0" in asked.stdout

    try:
        switch.start()
        with subprocess.Popen(inside("ofapp-manager")) as manager:
            try:
                switch.vsctl("set-controller", "br0", "tcp:127.0.0.1:6653")
                wait_for(healthy, "the container's health check", seconds=60)
                version = subprocess.check_output(inside("ofapp", "--version"), text=True)
                assert f"(commit {COMMIT})" in version
                assert "uid=990(ofapp)" in subprocess.check_output(inside("id"), text=True)
            finally:
                manager.terminate()
    finally:
        switch.close()
