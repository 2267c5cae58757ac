"""Asking other members, for somebody who has asked this one.

Each member has a listener of its own for the others (`api.server`).  What they ask is signed
(`signing`), and over TLS where the cluster has certificates: then both show one by the cluster's
authority that names them, as their hosts' names may change and mean nothing to etcd.

A member that does not answer costs who asks so many seconds at most, and no other member's answer.
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
from ofapp.controller.cluster.etcd import EtcdError
from ofapp.controller.cluster.members import Member, Members
from ofapp.controller.cluster.signing import Asked, Caller, sign

PATIENCE = 3.0
"""Seconds that an answer may take."""
CONNECT = 1.0
"""Of these, to reach the member at all."""
CONNECTIONS = 8
"""To one member at a time; who comes later waits."""

Reached = urllib3.HTTPConnectionPool


class SilentError(Exception):
    """A member gave no answer.  member: which; why: in words."""

    def __init__(self, member: str, why: str) -> None:
        super().__init__(f"member {member} does not answer: {why}")
        self.member = member
        self.why = why


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked.  target: path and query as they travel; caller: for whom."""

    method: str
    target: str
    caller: Caller
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reply:
    """What a member said; headers: by lower-case name."""

    member: str
    status: int
    headers: Mapping[str, str]
    body: bytes


class Replies(NamedTuple):
    """Of all others; silent: (member, why), of those that gave none."""

    replies: Sequence[Reply]
    silent: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Credentials:
    """PEM files that this member shows and judges others by."""

    key: Path
    certificate: Path
    authority: Path

    def context(self) -> ssl.SSLContext:
        """For asking; OSError, of which ssl.SSLError is one.  Whose certificate it is is compared
        with the member's name, not with its address (`assert_hostname`)."""
        context = ssl.create_default_context(ssl.Purpose.SERVER_AUTH, cafile=str(self.authority))
        context.load_cert_chain(self.certificate, self.key, password="")
        context.check_hostname = False
        return context


class Peers:
    """The others of a cluster; credentials: None = in clear."""

    def __init__(self, members: Members, credentials: Credentials | None = None) -> None:
        self._members = members
        self._credentials = credentials
        self._reached: dict[str, tuple[str, Reached]] = {}  # by name, with the address

    def ask(self, name: str, request: Request, patience: float = PATIENCE) -> Reply:
        """One member's answer; SilentError."""
        member = self._members.get(name)
        if member is None:
            raise SilentError(name, "it is not there")
        try:
            secret = self._members.secret()
        except EtcdError as error:
            raise SilentError(name, f"it cannot be asked while etcd is away: {error}") from None
        asked = Asked(name, request.method, request.target, request.body)
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
            raise SilentError(name, f"nothing came within {patience:g} s") from None
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise SilentError(name, _words(error)) from None
        headers = {key.lower(): value for key, value in answer.headers.items()}
        return Reply(name, answer.status, headers, answer.data)

    def ask_all(self, request: Request, patience: float = PATIENCE) -> Replies:
        """All others' answers, asked at the same time."""

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
                raise SilentError(member.name, "it speaks TLS, and this one has no certificates")
            return urllib3.HTTPConnectionPool(host, port, maxsize=CONNECTIONS, block=True)
        if where.scheme != "https":
            raise SilentError(member.name, "it does not speak TLS, as this cluster is to")
        return urllib3.HTTPSConnectionPool(
            host,
            port,
            maxsize=CONNECTIONS,
            block=True,
            ssl_context=self._credentials.context(),
            assert_hostname=member.name,
        )


def _words(error: Exception) -> str:
    """What went wrong, without urllib3's own wrapping."""
    reason = getattr(error, "reason", None) or error
    text = str(reason)
    return text.rpartition(": ")[2] or type(reason).__name__
