"""Settings of a cluster, and joining it at the start.

The cluster itself is imported only when it is joined: a single controller needs none of it.
"""

from __future__ import annotations

import re
import socket
import ssl
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ofapp.common import hub
from ofapp.common.files import read_regular
from ofapp.config.cluster import Cluster as ClusterSection
from ofapp.config.cluster import endpoint, member_name, split_listener
from ofapp.controller.member_events import CLUSTER_WAITING
from ofapp.controller.state.saving import Emit
from ofapp.launcher.errors import StartError, check_readable
from ofapp.launcher.options import CONF
from ofapp.openflow.switch.mastership.ownership import identity

if TYPE_CHECKING:
    from ofapp.controller.cluster.cluster import Cluster
    from ofapp.controller.cluster.etcd.history import History
    from ofapp.controller.cluster.peers.surface import Surface
    from ofapp.controller.cluster.sharing.configuration import SharedConfiguration
    from ofapp.controller.cluster.sharing.state import SharedState
    from ofapp.controller.network import Network

WAIT = 45.0
"""Seconds to wait for etcd at a start; systemd gives a minute."""

RETRY = 0.2
"""Seconds between two tries."""

MOST_PASSWORD = 4096
"""Bytes of its file."""


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """Settings of the file and the command line.  member: this member's name.

    ca, cert, key: files for TLS with etcd, None without it; password: password of etcd's user.
    """

    cluster: ClusterSection
    member: str
    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None
    password: str = ""


def settings(filed: ClusterSection | None, directory: Path) -> ClusterSettings | None:
    """Read and check the settings; None without a cluster.  StartError if they are invalid.

    directory: directory of the file; its paths are relative to it.
    """
    if CONF.cluster is None and filed is None:
        if CONF.member is not None:
            raise StartError("--member needs --cluster, or `cluster:` in the file", status=2)
        return None
    cluster = filed or ClusterSection()
    if CONF.cluster is not None:
        cluster = cluster.model_copy(update={"etcd": _endpoints(CONF.cluster)})
    if not cluster.etcd:
        raise StartError(
            "cluster.etcd is empty: say there where etcd is, or with --cluster etcd=HOST:PORT"
        )
    ca = cert = key = None
    if (tls := cluster.tls) is not None:
        ca = _file("cluster.tls.ca", directory / tls.ca)
        if tls.cert is not None and tls.key is not None:
            cert = _file("cluster.tls.cert", directory / tls.cert)
            key = _file("cluster.tls.key", directory / tls.key)
        _check_tls(ca, cert, key)
    password = ""
    if cluster.password_file is not None:
        password = _password(directory / cluster.password_file)
    return ClusterSettings(cluster, _member(cluster), ca, cert, key, password)


class Joined(NamedTuple):
    """State, ownership and configuration of a member, in place of a single controller's."""

    state: SharedState
    owners: Cluster
    configuration: SharedConfiguration

    def share(self, network: Network) -> None:
        """Apply pushed configurations to the network from now on."""
        from ofapp.controller.cluster.sharing.configuration import LocalConfiguration

        reloader, lease_keeper = network.reloader, self.owners.lease_keeper
        local = LocalConfiguration(
            network.apply_pushed,
            reloader.check_pushed,
            reloader.local_config,
            lambda: lease_keeper.held.number,
        )
        reloader.sharing, reloader.pushed = self.configuration, self.configuration.taken
        self.configuration.start(local)


def join(settings: ClusterSettings, directory: Path, emit: Emit) -> Joined:
    """Become a member.  Raises EtcdError."""
    from ofapp.controller.cluster.cluster import Cluster, Membership
    from ofapp.controller.cluster.etcd.gateway import Access, Gateway
    from ofapp.controller.cluster.etcd.guard import GuardedEtcd
    from ofapp.controller.cluster.etcd.history import History
    from ofapp.controller.cluster.etcd.keys import Keys
    from ofapp.controller.cluster.sharing.configuration import SharedConfiguration
    from ofapp.controller.cluster.sharing.state import SharedState

    cluster = settings.cluster
    where = tuple(cluster.etcd), settings.ca, settings.cert, settings.key
    keys = Keys(cluster.name)
    gateway = Gateway(Access(*where, cluster.user or "", settings.password))
    etcd = GuardedEtcd(gateway, keys, emit)
    place = f"{identity(str(directory)):016x}"
    history = History(etcd, keys, emit)
    _wait_for_etcd(history, emit)
    state = SharedState(directory, emit, etcd, keys)
    membership = Membership(keys, settings.member, float(cluster.lease), place)
    configuration = SharedConfiguration(etcd, keys, settings.member, emit)
    return Joined(state, Cluster(history, membership, state, emit), configuration)


def _wait_for_etcd(history: History, emit: Emit) -> None:
    """Wait until etcd's history is known: after a power cut all start at once.  EtcdError."""
    from ofapp.controller.cluster.etcd.etcd import UnreachableError

    end, reported = time.monotonic() + WAIT, False
    while True:
        try:
            history.begin()
        except UnreachableError as error:
            if time.monotonic() > end:
                raise
            if not reported:
                message = f"waiting for etcd before anything else: {error}"
                emit(None, CLUSTER_WAITING.event(message))
            reported = True
            hub.sleep(RETRY)
        else:
            return


def surface(settings: ClusterSettings, member: Cluster) -> Surface:
    """The API's view of the cluster; StartError if other members could not reach this one."""
    from ofapp.controller.cluster.peers.surface import PeerListener, Surface

    listen = settings.cluster.listen
    host, port = split_listener(listen) if listen else (_towards(settings.cluster.etcd), 0)
    return Surface(member, PeerListener(host, port))


def _towards(endpoints: Iterable[str]) -> str:
    """The address that this machine reaches etcd from; nothing is sent."""
    reasons = []
    for place in endpoints:
        host, _, port = place.rpartition(":")
        try:
            infos = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_DGRAM)
            with socket.socket(infos[0][0], socket.SOCK_DGRAM) as probe:
                probe.connect(infos[0][4])
                return str(probe.getsockname()[0])
        except OSError as error:
            reasons.append(f"{place}: {error.strerror or error}")
    raise StartError(
        "where other members reach this one is not known, as there is no way to etcd"
        f" ({'; '.join(reasons)}): say cluster.listen in the file"
    )


def _endpoints(given: str) -> list[str]:
    kind, equals, places = given.partition("=")
    if kind != "etcd" or not equals:
        raise StartError(f"--cluster {given}: say etcd=HOST:PORT[,HOST:PORT...]", status=2)
    try:
        return [endpoint(place) for place in places.split(",")]
    except ValueError as error:
        raise StartError(f"--cluster: {error}", status=2) from None


def _member(cluster: ClusterSection) -> str:
    if CONF.member is not None:
        try:
            return member_name(CONF.member)
        except ValueError as error:
            raise StartError(f"--member: {error}", status=2) from None
    if cluster.member is not None:
        return cluster.member
    try:
        return member_name(re.sub(r"[^A-Za-z0-9._-]", "-", socket.gethostname()))
    except ValueError:
        raise StartError("the host's name is no name of a member: give one by --member") from None


def _file(field: str, path: Path) -> Path:
    check_readable(field, str(path))
    return path


def _check_tls(ca: Path, cert: Path | None, key: Path | None) -> None:
    try:
        context = ssl.create_default_context(cafile=str(ca))
    except (ssl.SSLError, ValueError) as error:
        raise StartError(f"cluster.tls.ca {ca} is of no use: {error}") from None
    if cert is not None and key is not None:
        try:  # the empty password: there is no terminal to ask for one
            context.load_cert_chain(cert, key, password="")
        except (ssl.SSLError, ValueError) as error:
            raise StartError(
                f"cluster.tls.cert {cert} and cluster.tls.key {key} are not a certificate and its"
                f" unencrypted key: {error}"
            ) from None


def _password(path: Path) -> str:
    check_readable("cluster.password_file", str(path))
    try:
        text = read_regular(path, MOST_PASSWORD).decode()
    except (OSError, ValueError) as error:
        raise StartError(f"cluster.password_file {path} is of no use: {error}") from None
    password = text.partition("\n")[0].rstrip("\r")
    if not password:
        raise StartError(f"cluster.password_file {path}: the first line is empty")
    return password
