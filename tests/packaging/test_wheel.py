"""What `pip install .` gives: commands, units, default configuration."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import ofapp
from ofapp.config import load_config
from tests.packaging.machine import REPOSITORY
from tests.support.ownswitch import ControllerInside, OwnSwitch
from tests.support.waiting import wait_for

PYTHON = sys.executable
COMMIT = "0123abc"
BUILD_TIME = 1_700_000_000


def run(*command: object, cwd: Path = REPOSITORY) -> str:
    done = subprocess.run(
        [*map(str, command)],
        cwd=cwd,
        env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        | {"OFAPP_COMMIT": COMMIT, "SOURCE_DATE_EPOCH": str(BUILD_TIME)},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def build(kind: str, source: Path, folder: Path) -> Path:
    """The wheel or sdist that the sources in `source` give, in `folder`."""
    folder.mkdir(exist_ok=True)
    call = f"import backend, sys; print(backend.build_{kind}(sys.argv[1]))"
    printed = run(
        "env", f"PYTHONPATH={source}/deploy/wheel", PYTHON, "-c", call, folder, cwd=source
    )
    return folder / printed.splitlines()[-1]


def copy_sources(folder: Path, umask: int = 0o022) -> Path:
    """What a checkout has, without .git, as files of today."""
    listed = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    for name in filter(None, listed.split("\0")):
        source, copy = REPOSITORY / name, folder / name
        if name.startswith(("tests/", "mininet/")) or not source.exists():
            continue
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, copy)
        copy.chmod((0o777 if source.stat().st_mode & 0o100 else 0o666) & ~umask)
    return folder


def unpack(archive: Path, folder: Path) -> Path:
    """The folder that the archive has."""
    run("tar", "-xf", archive, "-C", folder)
    return folder / archive.name.removesuffix(".tar.gz")


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source archive."""
    folder = tmp_path_factory.mktemp("sdist")
    return build("sdist", copy_sources(folder / "sources"), folder / "dist")


@pytest.fixture(scope="module")
def environment(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with ofapp installed from its sdist; with the dependencies we run on.

    They are not fetched again: test_debian_package installs them from the lock.
    """
    folder = tmp_path_factory.mktemp("wheel")
    run(PYTHON, "-m", "venv", "--without-pip", folder / "venv", cwd=folder)
    python = folder / "venv/bin/python"
    wheel = build("wheel", unpack(sdist, folder), folder / "dist")
    run(PYTHON, "-m", "pip", "--python", python, "install", "--no-deps", wheel, cwd=folder)
    site = run(python, "-c", "import site; print(site.getsitepackages()[0])", cwd=folder).strip()
    Path(site, "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder / "venv"


def test_the_commands_are_those_of_the_installed_package(environment: Path, tmp_path: Path) -> None:
    python = environment / "bin/python"
    where = run(python, "-c", "import ofapp; print(ofapp.__file__)", cwd=tmp_path).strip()
    assert Path(where).is_relative_to(environment)
    assert "--wsapi-port" in run(environment / "bin/ofapp-manager", "--help", cwd=tmp_path)
    assert "deploy" in run(environment / "bin/ofapp", "--help", cwd=tmp_path)


def test_units_and_examples_come_along_executable_where_they_were(environment: Path) -> None:
    share = environment / "share/ofapp"
    for name in ("systemd", "guests", "libvirt", "dpdk", "afxdp", "tls", "monitoring", "container"):
        sources = sorted((REPOSITORY / "deploy" / name).iterdir())
        assert sources, name
        for source in sources:
            assert (share / name / source.name).read_bytes() == source.read_bytes()
    for script in ("tls/make", "dpdk/setup", "afxdp/setup", "monitoring/dashboards"):
        assert (share / script).stat().st_mode & 0o111


def test_the_default_configuration_changes_nothing(environment: Path) -> None:
    installed = environment / "share/ofapp/ofapp.yaml"
    assert load_config(installed) == load_config(None)


def test_what_it_shows_as_default_is_the_default(environment: Path, tmp_path: Path) -> None:
    """Everything that is commented out with a bare #, taken in."""
    lines = (environment / "share/ofapp/ofapp.yaml").read_text().splitlines()
    settings = [line[1:] for line in lines if re.match(r"#(\S|  )", line)]
    file = tmp_path / "ofapp.yaml"
    file.write_text("\n".join(settings))
    config = load_config(file)
    assert config.bridge(1, "another") == load_config(None).bridge(1, "another")
    assert config.bridge(1, "br0").stp.priority == 4096
    assert config.bridge(1, "br0").port("vnet7", 7).stp.bpdu_guard


def test_the_same_sources_give_the_same_bytes(sdist: Path, tmp_path: Path) -> None:
    """In another folder, later, and with another umask; the wheel also from the sdist alone."""
    again = copy_sources(tmp_path / "elsewhere/sources", umask=0o077)
    assert build("sdist", again, tmp_path / "a").read_bytes() == sdist.read_bytes()
    unpacked = unpack(sdist, tmp_path)
    wheel = build("wheel", again, tmp_path / "a")
    assert build("wheel", unpacked, tmp_path / "b").read_bytes() == wheel.read_bytes()
    assert not (again / "ofapp/_build.py").exists()


def test_both_commands_print_the_version_with_its_commit(environment: Path, tmp_path: Path) -> None:
    for command in ("ofapp", "ofapp-manager"):
        printed = run(environment / "bin" / command, "--version", cwd=tmp_path)
        assert printed == f"ofapp {ofapp.__version__} (commit {COMMIT})\n"


def test_what_was_installed_runs_a_bridge(environment: Path) -> None:
    """A real switch connects; the API answers, with the version."""
    program = shutil.which("ovs-vswitchd")
    assert program
    switch = OwnSwitch(Path(program))
    controller = ControllerInside(switch.namespace)
    controller.program = environment / "bin/ofapp-manager"
    try:
        switch.start()
        controller.start()
        switch.vsctl("set-controller", "br0", controller.target)
        wait_for(
            lambda: controller.api("GET", "/readyz").body["in_line"] == 1, "the switch", seconds=30
        )
        assert controller.api("GET", "/v1/version").body["commit"] == COMMIT
        assert controller.terminate() == 0
    finally:
        controller.close()
        switch.close()


def test_the_metadata_names_licence_and_pythons(environment: Path, tmp_path: Path) -> None:
    script = "import importlib.metadata as m; print(m.distribution('ofapp').read_text('METADATA'))"
    said = run(environment / "bin/python", "-c", script, cwd=tmp_path)
    assert "License-Expression: Apache-2.0\n" in said
    assert "License-File: LICENSE\n" in said
    assert "Requires-Python: >=3.11\n" in said
