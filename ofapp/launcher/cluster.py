"""Which cluster this controller is a member of, by the file and the command line.

Nothing of the cluster itself is imported here: a controller that is in none needs none of it.
"""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ofapp.common.files import read_regular
from ofapp.config.cluster import Cluster, endpoint, member_name, split_listener
from ofapp.controller.state.keeper import Tell
from ofapp.launcher.errors import StartError, check_readable
from ofapp.launcher.options import CONF

if TYPE_CHECKING:
    from ofapp.controller.cluster.cluster import Cluster as Member
    from ofapp.controller.cluster.configuration import SharedConfiguration
    from ofapp.controller.cluster.state import SharedState
    from ofapp.controller.cluster.surface import Surface
    from ofapp.controller.network import Network

MOST_PASSWORD = 4096
"""Bytes of its file."""


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """cluster: as the file says it, with what the command line says; member: this one's name.

    ca, cert, key: files, None without TLS; password: of etcd's user.
    """

    cluster: Cluster
    member: str
    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None
    password: str = ""


def settings(filed: Cluster | None, directory: Path) -> ClusterSettings | None:
    """None where there is to be no cluster; StartError where what is said of it is of no use.

    directory: that of the file, to which its paths are relative.
    """
    if CONF.cluster is None and filed is None:
        if CONF.member is not None:
            raise StartError("--member needs --cluster, or `cluster:` in the file", status=2)
        return None
    cluster = filed or Cluster()
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
    """What this controller keeps, who decides what it looks after, and what it does as, as a
    member."""

    state: SharedState
    owners: Member
    configuration: SharedConfiguration

    def share(self, network: Network) -> None:
        """Have the network do as a configuration that is pushed, from now on."""
        from ofapp.controller.cluster.configuration import Takes

        reloader, lessee = network.reloader, self.owners.lessee
        takes = Takes(network.take, reloader.check, reloader.filed, lambda: lessee.held.number)
        reloader.sharing, reloader.pushed = self.configuration, self.configuration.taken
        self.configuration.start(takes)


def join(settings: ClusterSettings, directory: Path, tell: Tell) -> Joined:
    """Become a member; EtcdError."""
    from ofapp.controller.cluster.cluster import Cluster as Member
    from ofapp.controller.cluster.cluster import Membership
    from ofapp.controller.cluster.configuration import SharedConfiguration
    from ofapp.controller.cluster.gateway import Access, Gateway
    from ofapp.controller.cluster.keys import Keys
    from ofapp.controller.cluster.state import SharedState

    cluster = settings.cluster
    place = tuple(cluster.etcd), settings.ca, settings.cert, settings.key
    etcd = Gateway(Access(*place, cluster.user or "", settings.password))
    keys = Keys(cluster.name)
    state = SharedState(directory, tell, etcd, keys)
    own = Membership(keys, settings.member, float(cluster.lease))
    configuration = SharedConfiguration(etcd, keys, settings.member, tell)
    return Joined(state, Member(etcd, own, state, tell), configuration)


def surface(settings: ClusterSettings, member: Member) -> Surface:
    """What the API needs of it; StartError where nobody could reach this member."""
    from ofapp.controller.cluster.peers import Credentials
    from ofapp.controller.cluster.surface import Place, Surface

    credentials = None
    if settings.ca is not None and settings.cert is not None and settings.key is not None:
        credentials = Credentials(settings.key, settings.cert, settings.ca)
    listen = settings.cluster.listen
    host, port = split_listener(listen) if listen else (_towards(settings.cluster.etcd), 0)
    return Surface(member, Place(host, port, credentials))


def _towards(endpoints: Iterable[str]) -> str:
    """The address that this machine reaches etcd from; nothing is sent."""
    reasons = []
    for place in endpoints:
        host, _, port = place.rpartition(":")
        try:
            found = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_DGRAM)
            with socket.socket(found[0][0], socket.SOCK_DGRAM) as probe:
                probe.connect(found[0][4])
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


def _member(cluster: Cluster) -> str:
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
        try:  # the empty password: nobody could be asked for one
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
