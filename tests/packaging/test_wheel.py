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

from ofapp.config import load_config
from tests.packaging.machine import REPOSITORY

SOURCES = ("setup.cfg", "pyproject.toml", "README.md", "LICENSE", "ofapp", "deploy")


def run(*command: object, cwd: Path) -> str:
    done = subprocess.run(
        [*map(str, command)],
        cwd=cwd,
        env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with ofapp installed; its dependencies are the ones we run on.

    They are not fetched again: test_debian_package installs them from the lock.
    """
    folder = tmp_path_factory.mktemp("wheel")
    for name in SOURCES:
        source = REPOSITORY / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder)
    run(sys.executable, "-m", "venv", "--without-pip", folder / "venv", cwd=folder)
    python = folder / "venv/bin/python"
    pip = (sys.executable, "-m", "pip")
    run(*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", "dist", ".", cwd=folder)
    (wheel,) = (folder / "dist").iterdir()
    run(*pip, "--python", python, "install", "--no-deps", wheel, cwd=folder)
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
