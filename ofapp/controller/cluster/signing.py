"""How a member proves to another one that a request is its own, and for whom it asks.

The members share a secret that they keep in etcd, so whoever may not read the cluster's part of
etcd cannot ask any member anything.  A request bears a *statement*: who sends it, to whom, who of
the API's callers it is for and with which role, what is asked for (method, target, digest of the
body), when, and a number that never comes twice.  The statement is signed (HMAC-SHA256).  So it
is of no use for another request, for another member, or a second time.

TLS is beside this, where it is asked for: it keeps others from reading, and answers from being
changed on the way, which a signature of requests does not.
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
"""Of the Authorization header (RFC 9110, 11.6.2)."""

SECRET_OCTETS = 32
SKEW = 60.0
"""Seconds that members' clocks may differ, and that a request may take to arrive."""

REMEMBERED = 100_000
"""Statements of the last `2 * SKEW` seconds, at most; more than so many are refused."""


def derived(secret: bytes, purpose: bytes) -> bytes:
    """A key for something else, which tells nothing of the secret."""
    return hmac.digest(secret, purpose, "sha256")


class ForgedError(Exception):
    """This is no member's statement about this request; a sentence that says why."""


@dataclass(frozen=True, slots=True)
class Caller:
    """For whom a member asks.  role: its name; address: where they have asked from."""

    name: str
    role: str
    address: str


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked for.  target: path and query as they travel; to: the member that is asked."""

    to: str
    method: str
    target: str
    body: bytes = b""

    def told(self) -> dict[str, str]:
        """As a statement has it."""
        digest = hashlib.sha256(self.body).hexdigest()
        return {"to": self.to, "method": self.method, "target": self.target, "digest": digest}


def new_secret() -> bytes:
    """For a new cluster."""
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
    """Of one member: knows which statements have been used."""

    def __init__(self) -> None:
        self._used: dict[str, float] = {}  # number -> when it is forgotten, the oldest first

    def verify(self, secret: bytes, header: str, asked: Asked, now: float) -> tuple[str, Caller]:
        """Which member asks, and for whom; ForgedError."""
        statement = _statement(secret, header)
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
