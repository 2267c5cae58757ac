"""Requests to other members, on behalf of a client of this one.

Each member has a separate listener for the others (`api.server`).  Requests are signed (`signing`),
and use TLS where the cluster has certificates.  Then both sides show a certificate of the cluster's
CA with the member's name, as host names may change and mean nothing to etcd.

A member that does not answer delays a request by its time limit, and no other member's answer.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import urllib3

from ofapp.common import hub
from ofapp.controller.cluster.etcd.etcd import EtcdError
from ofapp.controller.cluster.peers.members import Member, Members
from ofapp.controller.cluster.peers.signing import Asked, Caller, sign

PATIENCE = 3.0
"""Seconds that an answer may take."""
CONNECT = 1.0
"""Seconds of these to connect."""
CONNECTIONS = 8
"""Connections to one member at a time; further requests wait."""

Reached = urllib3.HTTPConnectionPool


class SilentError(Exception):
    """A member did not answer.  member: its name; why: in words."""

    def __init__(self, member: str, why: str) -> None:
        super().__init__(f"member {member} does not answer: {why}")
        self.member = member
        self.why = why


@dataclass(frozen=True, slots=True)
class Request:
    """A request.  target: path and query as sent; caller: the client it is made for."""

    method: str
    target: str
    caller: Caller
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reply:
    """A member's answer; headers: by lower-case name."""

    member: str
    status: int
    headers: Mapping[str, str]
    body: bytes


class Replies(NamedTuple):
    """Answers of all others; silent: (member, why), of those that gave none."""

    replies: Sequence[Reply]
    silent: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Credentials:
    """PEM files of this member's certificate, and of the CA that must have signed others'."""

    key: Path
    certificate: Path
    authority: Path

    def context(self) -> ssl.SSLContext:
        """TLS context of a client; OSError, of which ssl.SSLError is one.

        The certificate must have the member's name, not its address (`assert_hostname`).
        """
        context = ssl.create_default_context(ssl.Purpose.SERVER_AUTH, cafile=str(self.authority))
        context.load_cert_chain(self.certificate, self.key, password="")
        context.check_hostname = False
        return context


class Peers:
    """The other members of a cluster; credentials: None = without TLS."""

    def __init__(self, members: Members, credentials: Credentials | None = None) -> None:
        self._members = members
        self._credentials = credentials
        self._reached: dict[str, tuple[str, Reached]] = {}  # by name, with the address

    def ask(self, name: str, request: Request, patience: float = PATIENCE) -> Reply:
        """Send a request to one member; SilentError."""
        member = self._members.get(name)
        if member is None:
            raise SilentError(name, "it is not there")
        try:
            secret = self._members.secret()
        except EtcdError as error:
            raise SilentError(name, f"it cannot be asked without etcd: {error}") from None
        asked = Asked(name, request.method, request.target, request.body, member.incarnation)
        signed = sign(secret, self._members.own, request.caller, asked, time.time())
        try:
            with hub.Timeout(patience):
                answer = self._reach(member).request(
                    request.method,
                    request.target,
                    body=request.body or None,
                    headers={**request.headers, "Authorization": signed},
                    timeout=urllib3.Timeout(connect=CONNECT, read=patience),
                    retries=False,
                    redirect=False,
                    decode_content=False,
                )
        except hub.Timeout:
            raise SilentError(name, f"no answer in {patience:g} s") from None
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise SilentError(name, _words(error)) from None
        headers = {key.lower(): value for key, value in answer.headers.items()}
        return Reply(name, answer.status, headers, answer.data)

    def ask_all(self, request: Request, patience: float = PATIENCE) -> Replies:
        """Send a request to all others at the same time."""

        def ask(name: str) -> Reply | str:
            try:
                return self.ask(name, request, patience)
            except SilentError as error:
                return error.why

        names = [one.name for one in self._members.others()]
        told = hub.at_once(ask, names, patience + CONNECT)
        found = {name: told.get(name, "it took too long") for name in names}
        return Replies(
            [reply for reply in found.values() if isinstance(reply, Reply)],
            [(name, why) for name, why in found.items() if isinstance(why, str)],
        )

    def _reach(self, member: Member) -> Reached:
        address, reached = self._reached.get(member.name, ("", None))
        if reached is None or address != member.address:
            reached = self._connection(member)
            self._reached[member.name] = member.address, reached
        return reached

    def _connection(self, member: Member) -> Reached:
        where = urllib3.util.parse_url(member.address)
        host, port = where.host or "", where.port
        if self._credentials is None:
            if where.scheme != "http":
                raise SilentError(member.name, "it needs TLS, and this one has no certificates")
            return urllib3.HTTPConnectionPool(host, port, maxsize=CONNECTIONS, block=True)
        if where.scheme != "https":
            raise SilentError(member.name, "it does not use TLS, which this cluster requires")
        return urllib3.HTTPSConnectionPool(
            host,
            port,
            maxsize=CONNECTIONS,
            block=True,
            ssl_context=self._credentials.context(),
            assert_hostname=member.name,
        )


def _words(error: Exception) -> str:
    """The reason of an error, without urllib3's wrapping."""
    reason = getattr(error, "reason", None) or error
    text = str(reason)
    return text.rpartition(": ")[2] or type(reason).__name__
