"""What the command line and the file say of the cluster."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ofapp.config import ConfigError
from ofapp.config.load import parse_config
from ofapp.launcher import cluster
from ofapp.launcher.errors import StartError
from ofapp.launcher.options import CONF

Settings = Callable[..., "cluster.ClusterSettings | None"]


@pytest.fixture
def settings(tmp_path: Path) -> Iterator[Settings]:
    """Of a command line and the file's `cluster:`."""

    def made(*arguments: str, file: str = "") -> cluster.ClusterSettings | None:
        CONF(list(arguments), default_config_files=[], default_config_dirs=[])
        config = parse_config(f"cluster: {file}".encode() if file else b"", "f")
        return cluster.settings(config.cluster, tmp_path)

    yield made
    CONF.clear()


def test_there_is_none_unless_somebody_says_so(settings: Settings) -> None:
    assert settings() is None
    with pytest.raises(StartError, match="--member needs --cluster"):
        settings("--member", "a")


def test_the_command_line_goes_before_the_file(settings: Settings) -> None:
    found = settings(file="{etcd: ['[::1]:2379'], member: a, lease: 5}")
    assert found is not None
    assert (found.cluster.etcd, found.member, found.cluster.lease) == (["[::1]:2379"], "a", 5)
    line = ("--cluster", "etcd=e1:2379,e2:2379", "--member", "b")
    found = settings(*line, file="{etcd: ['[::1]:2379'], member: a}")
    assert found is not None
    assert (found.cluster.etcd, found.member) == (["e1:2379", "e2:2379"], "b")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--cluster", "e1:2379"), "say etcd=HOST:PORT"),
        (("--cluster", "etcd=e1"), "'e1' is not HOST:PORT"),
        (("--cluster", "etcd=::1:2379"), r"as in .*\[2001:db8::1\]:2379"),
        (("--cluster", "etcd=e1:0"), "no port from 1 to 65535"),
        (("--cluster", "etcd=e1:2379", "--member", "a/b"), "--member: 'a/b' is no name"),
    ],
)
def test_a_wrong_command_line_is_reported(
    settings: Settings, arguments: tuple[str, ...], said: str
) -> None:
    with pytest.raises(StartError, match=said) as error:
        settings(*arguments)
    assert error.value.status == 2


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("{member: a}", "cluster.etcd is empty"),
        ("{etcd: [e:1], tls: {ca: there.pem}}", "cannot read cluster.tls.ca"),
        ("{etcd: [e:1], user: u, password_file: p}", "cannot read cluster.password_file"),
    ],
)
def test_files_that_are_not_there_are_reported(settings: Settings, file: str, said: str) -> None:
    with pytest.raises(StartError, match=said):
        settings(file=file)


@pytest.mark.parametrize(
    ("file", "field", "said"),
    [
        ("{etcd: [e1]}", "cluster.etcd.0", "HOST:PORT"),
        ("{etcd: [e:1], lease: 1}", "cluster.lease", "2"),
        ("{etcd: [e:1], lease: 61}", "cluster.lease", "60"),
        ("{etcd: [e:1], member: ''}", "cluster.member", "no name"),
        ("{etcd: [e:1], user: u}", "cluster.password_file", "needed with `user`"),
        ("{etcd: [e:1], tls: {ca: x, cert: y}}", "cluster.tls.key", "needed with `cert`"),
    ],
)
def test_a_wrong_file_names_the_field(file: str, field: str, said: str) -> None:
    with pytest.raises(ConfigError) as error:
        parse_config(f"cluster: {file}".encode(), "f")
    (fault,) = error.value.faults
    assert fault.path == field
    assert said in fault.what


def test_the_password_is_the_first_line_and_certificates_are_looked_at(
    settings: Settings, tmp_path: Path
) -> None:
    (tmp_path / "p").write_text("s3cret \nsecond line\n")
    found = settings(file="{etcd: [e:1], user: u, password_file: p}")
    assert found is not None
    assert found.password == "s3cret "
    (tmp_path / "p").write_text("\n")
    with pytest.raises(StartError, match="first line is empty"):
        settings(file="{etcd: [e:1], user: u, password_file: p}")
    (tmp_path / "ca.pem").write_text("no certificate")
    with pytest.raises(StartError, match=r"cluster.tls.ca .* is of no use"):
        settings(file="{etcd: [e:1], tls: {ca: ca.pem}}")


def test_a_controller_in_no_cluster_imports_none_of_it() -> None:
    look = "import sys, ofapp.app; print(*(n for n in sys.modules if 'controller.cluster' in n))"
    found = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", look], check=True, capture_output=True, text=True
    )
    assert found.stdout.strip() == ""
