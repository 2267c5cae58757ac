"""Requests to other members, on behalf of a client of this one.

Each member has a separate listener for the others (`api.http.server`), with TLS.  Both sides show
the certificates that their records in etcd have (`identity`); host names mean nothing to etcd.

A member that does not answer delays a request by its time limit, and no other member's answer.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import NamedTuple

import urllib3

from ofapp.common import hub
from ofapp.controller.cluster.peers.identity import fingerprint
from ofapp.controller.cluster.peers.members import ClusterMember, Members

PATIENCE = 3.0
"""Seconds that an answer may take."""
CONNECT = 1.0
"""Seconds of these to connect."""
CONNECTIONS = 8
"""Connections to one member at a time; further requests wait."""

CALLER = "Ofapp-Caller"
"""Header of a request between members: the client that it is made for, in JSON."""

Reached = urllib3.HTTPSConnectionPool


class SilentError(Exception):
    """A member did not answer.  member: its name; why: in words."""

    def __init__(self, member: str, why: str) -> None:
        super().__init__(f"member {member} does not answer: {why}")
        self.member = member
        self.why = why


@dataclass(frozen=True, slots=True)
class Caller:
    """The API client that a request is made for.  role: its name;
    address: address of the client."""

    name: str
    role: str
    address: str


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


class Peers:
    """The other members of a cluster, as servers of requests."""

    def __init__(self, members: Members) -> None:
        self._members = members
        self._reached: dict[str, tuple[ClusterMember, Reached]] = {}

    def ask(self, name: str, request: Request, patience: float = PATIENCE) -> Reply:
        """Send a request to one member.  Raises SilentError."""
        member = self._members.get(name)
        if member is None:
            raise SilentError(name, "it is not there")
        try:
            with hub.Timeout(patience):
                answer = self._reach(member).request(
                    request.method,
                    request.target,
                    body=request.body or None,
                    headers={**request.headers, CALLER: json.dumps(asdict(request.caller))},
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
        answered = hub.at_once(ask, names, patience + CONNECT)
        replies = {name: answered.get(name, "it took too long") for name in names}
        return Replies(
            [reply for reply in replies.values() if isinstance(reply, Reply)],
            [(name, why) for name, why in replies.items() if isinstance(why, str)],
        )

    def _reach(self, member: ClusterMember) -> Reached:
        """Connections to this process of a member, which its certificate identifies."""
        known, reached = self._reached.get(member.name, (None, None))
        at = member.address, member.certificate
        if known is None or reached is None or at != (known.address, known.certificate):
            reached = self._connections(member)
            self._reached[member.name] = member, reached
        return reached

    def _connections(self, member: ClusterMember) -> Reached:
        where = urllib3.util.parse_url(member.address)
        if where.scheme != "https" or not member.certificate:
            version = f" ({member.version})" if member.version else ""
            why = f"its version{version} is too old for TLS between members: upgrade it"
            raise SilentError(member.name, why)
        return urllib3.HTTPSConnectionPool(
            where.host or "",
            where.port,
            maxsize=CONNECTIONS,
            block=True,
            ssl_context=self._members.identity.client(member.certificate),
            assert_fingerprint=fingerprint(member.certificate),
        )


_TLS = {
    "CERTIFICATE_VERIFY_FAILED": "its certificate is not the one in its record in etcd",
    "ALERT_UNKNOWN_CA": "it does not know this member's certificate",
}
"""Meanings of errors of OpenSSL."""


def _words(error: Exception) -> str:
    """The reason of an error, without urllib3's wrapping."""
    reason = getattr(error, "reason", None) or error
    text = str(reason)
    meanings = (meaning for name, meaning in _TLS.items() if name in text)
    return next(meanings, text.rpartition(": ")[2] or type(reason).__name__)
