"""Tokens: who has one may use the API in its role, until it is revoked or its time is over.

A token is 256 bits of chance, and what is kept of it is its SHA-256.  A slow hash is for passwords,
which can be guessed from a list of likely ones: here there is no list, so that it would protect
nothing, and would hold up BPDUs each time that somebody tries a wrong token.  What is compared are
hashes, whose bits nobody can choose, in constant time all the same.

The process that serves the API is the only one that writes the file, so that what is made or
revoked counts at once.  Of several that share their tokens each is told of what the others do; one
that is cut off from etcd takes what another has revoked until it hears of that.  That tokens have
been made is known even when the last one is revoked, or when the file cannot be read: then nobody
has one, and the door stays shut.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from ofapp.bridge.event import Event, Severity
from ofapp.bridge.input_error import InputError
from ofapp.controller.access.roles import GIVEN, Role
from ofapp.controller.state.documents import Documents
from ofapp.controller.state.keeper import Tell, Ticket

FILE = "tokens.json"
MOST = 1000
"""Tokens at a time."""
MAX_BYTES = 4 << 20
NAME = "[A-Za-z0-9][A-Za-z0-9_.@-]{0,63}"
_PREFIX = "ofapp_"
"""By which people, and programs that look for secrets in files, know what it is."""


@dataclass(frozen=True, slots=True)
class Token:
    """digest: SHA-256 of it; created, expires, used: seconds since the epoch."""

    name: str
    role: Role
    digest: bytes
    created: float
    creator: str
    expires: float | None = None
    used: float | None = None
    used_from: str | None = None

    def expired(self, now: float) -> bool:
        """Whether its time is over."""
        return self.expires is not None and now >= self.expires


class Tokens:
    """All of a controller."""

    def __init__(self, documents: Documents, tell: Tell) -> None:
        self._documents = documents
        self._tell = tell
        self._by_name: dict[str, Token] = {}
        self._by_digest: dict[bytes, Token] = {}
        self._unsaved_use = False
        self._first: str | None = None  # whose making has closed the API
        self.made = False
        """Whether there has ever been one."""
        self.reload()

    def __iter__(self) -> Iterator[Token]:
        return iter(sorted(self._by_name.values(), key=lambda token: token.name))

    def create(
        self, name: str, role: Role, creator: str, now: float, lifetime: float | None = None
    ) -> tuple[str, Ticket]:
        """The token itself, which nobody can be told again; InputError.

        It counts from when the ticket has ended well; else `withdraw` it.
        """
        if not re.fullmatch(NAME, name):
            raise InputError("name", f"{name!r} is no name for a token: letters, digits, _ . @ -")
        if name in self._by_name:
            raise InputError("name", f"there is a token {name} already: revoke it first")
        if len(self._by_name) >= MOST:
            raise InputError("name", f"there are {MOST} tokens, the most there can be")
        secret = _PREFIX + base64.urlsafe_b64encode(secrets.token_bytes(32)).rstrip(b"=").decode()
        expires = None if lifetime is None else now + lifetime
        self._put(Token(name, role, _digest(secret), now, creator, expires))
        if not self.made:
            self.made, self._first = True, name
        return secret, self._save()

    def revoke(self, name: str) -> Ticket:
        """It counts no more; KeyError when there is none."""
        token = self._by_name.pop(name)
        del self._by_digest[token.digest]
        return self._save()

    def withdraw(self, name: str) -> None:
        """A token that could not be saved, and nobody was given: it is as if it had not been."""
        self.revoke(name)
        if name == self._first and not self._by_name:
            self.made = False
            self._documents.remove(FILE)

    def named(self, name: str) -> Token | None:
        """The token of that name, whether its time is over or not."""
        return self._by_name.get(name)

    def find(self, secret: str) -> Token | None:
        """Whose secret it is, whether its time is over or not."""
        digest = _digest(secret)
        token = self._by_digest.get(digest)
        return token if token and hmac.compare_digest(token.digest, digest) else None

    def note_use(self, token: Token, peer: str, now: float) -> None:
        """It was used from there; on disk a while later (`save_uses`)."""
        self._put(replace(token, used=now, used_from=peer))
        self._unsaved_use = True

    def save_uses(self) -> None:
        """Keep when tokens were used last."""
        if self._unsaved_use:
            self._save()

    def reload(self) -> None:
        """Somebody else has made or revoked some: know what is kept now."""
        self._by_name.clear()
        self._by_digest.clear()
        self.made, self._first = False, None
        self._load()

    # Inside

    def _put(self, token: Token) -> None:
        self._by_name[token.name] = self._by_digest[token.digest] = token

    def _save(self) -> Ticket:
        self._unsaved_use = False
        data = json.dumps({"tokens": [*map(_to_json, self)]}, indent=1).encode()
        return self._documents.put(FILE, data, sync=True, first=True)

    def _load(self) -> None:
        try:
            data = self._documents.read(FILE, MAX_BYTES)
        except FileNotFoundError:
            return
        except (OSError, ValueError) as error:
            self.made = True
            self._damaged(f"it cannot be read: {getattr(error, 'strerror', error)}")
            return
        self.made = True
        try:
            for token in map(_from_json, json.loads(data)["tokens"]):
                self._put(token)
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            self._by_name.clear()
            self._by_digest.clear()
            self._damaged(f"it is not what ofapp has saved ({error!r})")
            try:
                self._documents.set_aside(FILE)
                self._save()  # that there were tokens: the next start must not take it for none
            except OSError:  # it stays where it is, with the same effect
                return

    def _damaged(self, why: str) -> None:
        message = (
            f"{FILE}: {why}; no token counts, and none is no way in: make new ones over the API's"
            " socket (ofapp token create)"
        )
        self._tell(None, Event("state.damaged", message, Severity.ERROR, data={"file": FILE}))


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).digest()


def _to_json(token: Token) -> dict[str, Any]:
    return {
        "name": token.name,
        "role": str(token.role),
        "sha256": token.digest.hex(),
        "created": token.created,
        "creator": token.creator,
        "expires": token.expires,
        "used": token.used,
        "used_from": token.used_from,
    }


def _from_json(kept: dict[str, Any]) -> Token:
    digest = bytes.fromhex(kept["sha256"])
    expires = kept["expires"]
    if len(digest) != hashlib.sha256().digest_size or not re.fullmatch(NAME, kept["name"]):
        raise ValueError("a token without a name or hash")
    return Token(
        name=kept["name"],
        role=GIVEN[kept["role"]],
        digest=digest,
        created=float(kept["created"]),
        creator=str(kept["creator"]),
        expires=None if expires is None else float(expires),
        used=kept["used"],
        used_from=kept["used_from"],
    )
