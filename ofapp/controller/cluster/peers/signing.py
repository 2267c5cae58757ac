"""Authentication of requests between members, and of the API client each is made for.

The members share a secret in etcd, so a process that may not read the cluster's keys cannot send
requests to members.  A request carries a *statement*: the sender, the receiver, the API client with
its role, the request (method, target, digest of the body), the time, and a number that is used
once.  The statement is signed (HMAC-SHA256).  So it is of no use for another request, for another
member, or a second time.  Each process knows only the numbers that it received itself.  So a
statement is for one process, by the incarnation in its record in etcd, and invalid after a restart.

TLS, where configured, adds secrecy, and protects answers from changes on the way, which a signature
of requests does not.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
from dataclasses import asdict, dataclass
from typing import Any

SCHEME = "Ofapp-Member"
"""Scheme of the Authorization header (RFC 9110, 11.6.2)."""

SECRET_OCTETS = 32
SKEW = 60.0
"""Seconds that members' clocks may differ, transit time included."""

REMEMBERED = 100_000
"""Maximum statements in `2 * SKEW` seconds; further ones are refused."""


def derived(secret: bytes, purpose: bytes) -> bytes:
    """A key for another purpose, from which the secret cannot be found."""
    return hmac.digest(secret, purpose, "sha256")


class ForgedError(Exception):
    """The request has no valid statement of a member; the message says why."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The API client a request is made for.  role: its name; address: of the client."""

    name: str
    role: str
    address: str


@dataclass(frozen=True, slots=True)
class Asked:
    """A request between members.

    target: path and query as sent; to, incarnation: the receiving member and its process.
    """

    to: str
    method: str
    target: str
    body: bytes = b""
    incarnation: str = ""

    def told(self) -> dict[str, str]:
        """The request's part of a statement."""
        digest = hashlib.sha256(self.body).hexdigest()
        about = {"method": self.method, "target": self.target, "digest": digest}
        return {"to": self.to, "incarnation": self.incarnation, **about}


def new_secret() -> bytes:
    """A secret for a new cluster."""
    return secrets.token_bytes(SECRET_OCTETS)


def sign(secret: bytes, member: str, caller: Caller, asked: Asked, now: float) -> str:
    """The Authorization header of a request; now: seconds since the epoch."""
    statement = {
        "member": member,
        "caller": asdict(caller),
        "moment": now,
        "number": secrets.token_hex(16),
        **asked.told(),
    }
    text = base64.urlsafe_b64encode(json.dumps(statement, separators=(",", ":")).encode()).decode()
    return f"{SCHEME} {text}.{_signature(secret, text)}"


class Verifier:
    """Verifier of one member, which remembers used statements."""

    def __init__(self) -> None:
        self._used: dict[str, float] = {}  # number -> when it is forgotten, the oldest first

    def verify(self, secret: bytes, header: str, asked: Asked, now: float) -> tuple[str, Caller]:
        """The member that sent a request, and its client; ForgedError."""
        statement = _statement(secret, header)
        if statement.get("incarnation") != asked.incarnation:
            raise ForgedError("the statement is not for this process of the member")
        if {name: statement.get(name) for name in asked.told()} != asked.told():
            raise ForgedError("the statement is about another request")
        moment, number = float(statement["moment"]), str(statement["number"])
        if abs(now - moment) > SKEW:
            raise ForgedError(
                f"the statement is {now - moment:.0f} s old: the clocks of members may differ by"
                f" {SKEW:.0f} s at most"
            )
        self._forget(now)
        if number in self._used or len(self._used) >= REMEMBERED:
            raise ForgedError("the statement has been used already")
        self._used[number] = now + 2 * SKEW
        caller = statement["caller"]
        return str(statement["member"]), Caller(caller["name"], caller["role"], caller["address"])

    def _forget(self, now: float) -> None:
        for number, until in list(self._used.items()):
            if until > now:
                break
            del self._used[number]


def _statement(secret: bytes, header: str) -> dict[str, Any]:
    scheme, _, rest = header.partition(" ")
    text, _, signature = rest.partition(".")
    if scheme != SCHEME or not hmac.compare_digest(
        signature.encode("utf-8", "replace"), _signature(secret, text).encode()
    ):
        raise ForgedError("this is for members of the cluster, and is not signed by one")
    try:
        statement = json.loads(base64.urlsafe_b64decode(text))
        caller = statement["caller"]
        float(statement["moment"])
        assert all(isinstance(caller[name], str) for name in ("name", "role", "address"))
        return dict(statement)
    except (ValueError, KeyError, TypeError, AssertionError):
        raise ForgedError("the statement is not one that this version understands") from None


def _signature(secret: bytes, text: str) -> str:
    return hmac.new(secret, text.encode("utf-8", "replace"), hashlib.sha256).hexdigest()
