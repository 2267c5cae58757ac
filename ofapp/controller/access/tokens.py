"""Tokens: a client with one may use the API in its role, until it is revoked or expires.

A token is 256 random bits, and its SHA-256 is stored.  A slow hash is for passwords, which can be
guessed from a list of likely ones.  There is no list here, so it would protect nothing, and would
delay BPDUs at each attempt with a wrong token.  The hashes are compared, whose bits an attacker
cannot choose, in constant time all the same.

The process that serves the API is the only writer of the file, so that a new or revoked token
takes effect at once.  Members that share tokens are notified of each other's changes; one that is
cut off from etcd accepts no token after the end of its lease (`Access.stale`).

From the first token on the API is closed, also when the last one is revoked, unless it is opened
again with that.  The file records it, as `open`.  When the file cannot be read, no token is valid,
and the API stays closed.
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

from ofapp.bridge.input_error import InputError
from ofapp.controller.access.roles import GIVEN, UserRole
from ofapp.controller.state.document import Document, loads
from ofapp.controller.state.events import STATE_DAMAGED
from ofapp.controller.state.saving import Emit, Ticket
from ofapp.controller.state.storage import Storage

TOKENS = Document(
    "tokens",
    per_bridge=False,
    synced=True,
    setting="tokens",
    damaged="no token is valid and the API stays closed: make new ones over its socket"
    " (ofapp token create)",
    limit=4 << 20,
)
MOST = 1000
"""Most tokens at a time."""
NAME = "[A-Za-z0-9][A-Za-z0-9_.@-]{0,63}"
_PREFIX = "ofapp_"
"""Prefix by which people and scanners for secrets recognize a token."""


@dataclass(frozen=True, slots=True)
class Token:
    """digest: SHA-256 of it; created, expires, used: seconds since the epoch."""

    name: str
    role: UserRole
    digest: bytes
    created: float
    creator: str
    expires: float | None = None
    used: float | None = None
    used_from: str | None = None

    def expired(self, now: float) -> bool:
        """Whether the token has expired."""
        return self.expires is not None and now >= self.expires


class Tokens:
    """All tokens of a controller."""

    def __init__(self, storage: Storage, emit: Emit) -> None:
        self._storage = storage
        self._emit = emit
        self._by_name: dict[str, Token] = {}
        self._by_digest: dict[bytes, Token] = {}
        self._unsaved_use = False
        self._first: str | None = None  # the first token, which closed the API
        self.made = False
        """Whether a token was made, and the API was not opened again since."""
        self.reload()

    def __iter__(self) -> Iterator[Token]:
        return iter(sorted(self._by_name.values(), key=lambda token: token.name))

    def create(
        self, name: str, role: UserRole, creator: str, now: float, lifetime: float | None = None
    ) -> tuple[str, Ticket]:
        """Make a token; gives its secret, which cannot be shown again.  Raises InputError.

        The token is valid once the ticket has succeeded; otherwise `withdraw` it.
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

    def revoke(self, name: str, reopen: bool = False) -> Ticket:
        """Revoke a token; KeyError when there is none.

        reopen: also undo that the first token has closed the API; InputError unless it is the last.
        """
        others = len(self._by_name.keys() - {name})
        if reopen and others:
            what = f"there are {others} other tokens: the API opens with the last one"
            raise InputError("open", what)
        self._drop(name)
        self.made = not reopen
        return self._save()

    def withdraw(self, name: str) -> None:
        """Undo the creation of a token that could not be saved and was given to no client."""
        self._drop(name)
        self._save()
        if name == self._first and not self._by_name:
            self.made = False
            self._storage.remove(TOKENS.file())

    def named(self, name: str) -> Token | None:
        """The token of that name, expired or not."""
        return self._by_name.get(name)

    def find(self, secret: str) -> Token | None:
        """The token with this secret, expired or not."""
        digest = _digest(secret)
        token = self._by_digest.get(digest)
        return token if token and hmac.compare_digest(token.digest, digest) else None

    def note_use(self, token: Token, peer: str, now: float) -> None:
        """Note the use of a token by a peer; it is on disk a while later (`save_uses`)."""
        self._put(replace(token, used=now, used_from=peer))
        self._unsaved_use = True

    def save_uses(self) -> None:
        """Save when tokens were used last."""
        if self._unsaved_use:
            self._save()

    def reload(self) -> None:
        """Read the tokens again after a change by another controller.

        If the document is damaged or gone, the tokens known before stay valid and are saved again:
        nothing opens the API while it is served.
        """
        known, closed = tuple(self), self.made
        self._by_name.clear()
        self._by_digest.clear()
        self.made, self._first = False, None
        self._load(known, closed)

    # Inside

    def _put(self, token: Token) -> None:
        self._by_name[token.name] = self._by_digest[token.digest] = token

    def _drop(self, name: str) -> None:
        token = self._by_name.pop(name)
        del self._by_digest[token.digest]

    def _save(self) -> Ticket:
        self._unsaved_use = False
        kept = {"tokens": [*map(_to_json, self)], "open": not self.made}
        data = json.dumps(kept, indent=1).encode()
        return self._storage.put(TOKENS.file(), data, sync=TOKENS.synced, first=True)

    def _load(self, known: tuple[Token, ...], closed: bool) -> None:
        """Read the tokens.  known: those that stay valid if they cannot be read.

        closed: there were tokens already.
        """
        try:
            data = self._storage.read(TOKENS.file(), TOKENS.limit)
        except FileNotFoundError:
            self.made = closed
            if closed:
                self._damaged("it was deleted", known)
                self._save()
            return
        except (OSError, ValueError) as error:
            self.made = True
            self._damaged(f"it cannot be read: {getattr(error, 'strerror', error)}", known)
            return
        self.made = True
        try:
            kept = loads(data)
            for token in map(_from_json, kept["tokens"]):
                self._put(token)
            self.made = bool(self._by_name) or not kept.get("open", False)
        except (ValueError, TypeError, KeyError) as error:
            self._damaged(f"it is not what ofapp has saved ({error!r})", known)
            try:
                self._storage.set_aside(TOKENS.file())
                self._save()  # that there were tokens: the next start must know it
            except OSError:  # it stays where it is, with the same effect
                return

    def _damaged(self, why: str, known: tuple[Token, ...]) -> None:
        self._by_name.clear()
        self._by_digest.clear()
        for token in known:
            self._put(token)
        name, so = TOKENS.file(), "the tokens known before stay valid" if known else TOKENS.damaged
        event = STATE_DAMAGED.event(f"{name}: {why}; {so}", data={"file": name})
        self._emit(None, event)


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
