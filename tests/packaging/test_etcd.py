"""Three nodes of etcd as deploy/etcd makes them: TLS everywhere, and ofapp's user has its keys."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from ofapp.common import hub
from ofapp.config import load_config
from ofapp.controller.cluster.etcd.etcd import (
    EtcdError,
    Put,
    RefusedError,
    WatchResponse,
    absent,
    created,
)
from ofapp.controller.cluster.etcd.gateway import Access, Gateway
from tests.packaging.machine import REPOSITORY
from tests.packaging.test_units import analyze
from tests.support.waiting import wait_for

HERE = REPOSITORY / "deploy/etcd"
ADDRESSES = {"a": "127.31.7.1", "b": "127.31.7.2", "c": "127.31.7.3"}  # this machine's own, too


def run(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*map(str, words)], capture_output=True, text=True, check=False)


MEMBERS = "m1", "m_2"


def make(folder: Path, *nodes: str) -> subprocess.CompletedProcess[str]:
    return run(HERE / "make", folder, *nodes)


def start(name: str, own: Path, data: Path) -> subprocess.Popen[bytes]:
    """As the unit does, but for where its files are."""
    lines = (own / "etcd").read_text().replace("/etc/etcd/", f"{own}/").splitlines()
    settings = dict(line.split("=", 1) for line in lines if not line.startswith("#"))
    environment = {**os.environ, **settings, "ETCD_DATA_DIR": str(data / name)}
    with (data / f"{name}.log").open("wb") as log:
        return subprocess.Popen(["etcd"], env=environment, stdout=log, stderr=log)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """What `make` makes; its nodes run, and know their users."""
    folder = tmp_path_factory.mktemp("etcd") / "made"
    nodes = [f"{name}={address}" for name, address in ADDRESSES.items()]
    assert make(folder, *nodes, *MEMBERS[:1]).returncode == 0
    before = (folder / "nodes/a/key.pem").read_bytes()
    assert make(folder, *nodes, *MEMBERS).returncode == 0, "once more"
    assert (folder / "nodes/a/key.pem").read_bytes() == before, "what exists is kept"
    data = folder.parent
    processes = [start(name, folder / "nodes" / name, data) for name in ADDRESSES]
    try:
        anybody = client(folder, user="")

        def answers() -> bool:
            try:
                anybody.get("/ofapp/")
            except EtcdError:
                return False
            return True

        wait_for(answers, "etcd to answer", seconds=60)
        anybody.close()
        done = run(HERE / "users", folder)
        assert done.returncode == 0, done.stderr
        yield folder
    finally:
        for process in processes:
            process.kill()
            process.wait()
        shutil.rmtree(data, ignore_errors=True)


def client(folder: Path, **other: str) -> Gateway:
    """As a controller has it by `cluster.yaml`."""
    etc = folder.parent / "etc"
    if not etc.exists():
        etc.mkdir()
        (etc / "etcd").symlink_to(folder / "members/m_2")
    cluster = load_config(folder / "members/m_2/cluster.yaml").cluster
    assert cluster is not None
    assert cluster.tls is not None
    assert cluster.password_file is not None
    tls = cluster.tls
    assert tls.cert is not None
    assert tls.key is not None
    return Gateway(
        Access(
            tuple(cluster.etcd),
            etc / tls.ca,
            etc / tls.cert,
            etc / tls.key,
            other.get("user", cluster.user or ""),
            (etc / cluster.password_file).read_text().strip(),
        )
    )


def test_ofapp_has_all_that_it_needs(folder: Path) -> None:
    etcd = client(folder)
    batches: list[WatchResponse] = []
    etcd.watch("/ofapp/x/", batches.append)
    wait_for(lambda: batches, "the present keys", sleep=hub.sleep)
    lease = etcd.grant(10)
    claim = etcd.transact([absent("/ofapp/x/claim")], [Put("/ofapp/x/claim", b"", lease.number)])
    assert claim.done
    assert etcd.transact([created("/ofapp/x/claim", claim.revision)], [Put("/ofapp/x/a", b"")]).done
    wait_for(lambda: batches[-1].revision > claim.revision, "a change", sleep=hub.sleep)
    assert etcd.renew(lease.number) == lease.seconds
    assert etcd.remaining(lease.number) > 0
    etcd.revoke(lease.number)
    assert etcd.get("/ofapp/x/claim") is None
    nodes = etcd.nodes()
    assert [node.error for node in nodes] == ["", "", ""]
    assert sum(node.leader for node in nodes) == 1
    with pytest.raises(RefusedError, match="permission denied"):
        etcd.put("/elsewhere", b"")
    etcd.close()


def test_who_is_nobody_has_nothing(folder: Path) -> None:
    for user in ("", "root"):  # with ofapp's password
        etcd = client(folder, user=user)
        with pytest.raises(RefusedError):
            etcd.get("/ofapp/x/a")
        etcd.close()


def test_what_belongs_to_nobody_else_is_readable_for_nobody_else(folder: Path) -> None:
    for path in folder.rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path


def test_each_members_certificate_names_it(folder: Path) -> None:
    """And has no common name, which etcd's gateway does not take."""
    for name in MEMBERS:
        own = folder / "members" / name
        openssl = ("openssl", "x509", "-in", own / "cert.pem", "-noout", "-subject")
        output = run(*openssl, "-ext", "subjectAltName").stdout
        assert "CN" not in output
        assert output.splitlines()[-1].strip() == f"DNS:{name}"
        cluster = load_config(own / "cluster.yaml").cluster
        assert cluster is not None
        assert cluster.member == name


def test_the_password_of_an_earlier_folder_is_kept(tmp_path: Path) -> None:
    (tmp_path / "ofapp").mkdir()
    (tmp_path / "ofapp/password").write_text("known to etcd\n")
    nodes = [f"{name}={address}" for name, address in ADDRESSES.items()]
    assert make(tmp_path, *nodes, "m1").returncode == 0
    assert (tmp_path / "members/m1/password").read_text() == "known to etcd\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("a=192.0.2.1", "m1"), "odd number of nodes"),
        (("a=192.0.2.1", "b=192.0.2.2", "m1"), "odd number of nodes"),
        (("a=192.0.2.1", "b=192.0.2.2", "c=192.0.2.3"), "names of the controllers"),
        (("a=1", "b=2", "../c=3", "m1"), "../c=3 is neither"),
        (("a=1", "b=2", "c=3", "../m1"), "../m1 is neither"),
    ],
)
def test_what_is_of_no_use_is_refused(words: tuple[str, ...], said: str, tmp_path: Path) -> None:
    done = make(tmp_path / "made", *words)
    assert done.returncode == 1
    assert said in done.stderr
    assert not (tmp_path / "made").exists()


def test_systemd_finds_nothing_wrong_with_what_is_added_to_the_unit(tmp_path: Path) -> None:
    unit = Path("/lib/systemd/system/etcd.service").read_text().replace("User=etcd", "User=root")
    (tmp_path / "etcd.service").write_text(unit)
    shutil.copytree(HERE / "etcd.service.d", tmp_path / "etcd.service.d")
    said = analyze("verify", "--man=no", tmp_path / "etcd.service").splitlines()
    assert [line for line in said if "ofapp.conf" in line] == []
