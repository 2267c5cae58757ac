"""Versions of the configuration: which file was in force, since when, and who applied it.

A version is the whole file, with its drop-ins as one document.  At most `MOST` versions are stored,
with at most `OCTETS` together, compressed; the oldest ones make room.  In a cluster all members
share them.
"""

from __future__ import annotations

import base64
import hashlib
import time
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ofapp.config.document import MAX_BYTES
from ofapp.controller.state.document import CommonDocument, Document
from ofapp.controller.state.saving import Emit, Ticket, done
from ofapp.controller.state.storage import Storage

VERSIONS = Document(
    "versions",
    per_bridge=False,
    synced=True,
    setting="versions of the configuration",
    damaged="their numbers begin at 1 again",
    limit=2 << 20,
)
MOST = 50
"""Most versions."""
OCTETS = 600_000
"""Most octets of all files together, compressed and in base64: etcd takes 1 MiB of a document."""
MOST_CHANGES = 50
"""Most changes of a version that are kept in words; a difference has all of them."""
LONGEST = 300
"""Most characters of a text of a version."""


class Author(NamedTuple):
    """Who applied a configuration: name of a token, a user or a signal, and an address.

    how: "start", "reload", "push" or "rollback".
    """

    name: str
    address: str
    how: str


@dataclass(frozen=True, slots=True)
class Version:
    """One version.

    at: seconds since the epoch; file: path or name of the file; changes: in words.
    member: the member of a cluster whose local file it is; empty if it applies to all.
    packed: the file, compressed by zlib, in base64; None if it was too large to be kept.
    digest: digest of the file; instead_of: digest of the file on disk that a rollback has
    replaced.
    """

    number: int
    at: float
    by: str
    address: str
    how: str
    file: str
    digest: str
    changes: tuple[str, ...] = ()
    more: int = 0
    member: str = ""
    packed: str | None = None
    instead_of: str = ""

    @property
    def data(self) -> bytes | None:
        """The file; None if it was not kept.  Raises ValueError if it is damaged."""
        return None if self.packed is None else _unpacked(self.packed)


def digest(data: bytes) -> str:
    """The digest by which contents of files are compared."""
    return hashlib.sha256(data).hexdigest()


class Versions:
    """All versions, the oldest first."""

    def __init__(self, storage: Storage, emit: Emit) -> None:
        self._stored = CommonDocument[tuple[Version, ...]](VERSIONS, storage, emit)
        self._known: tuple[Version, ...] = ()
        self.reload()

    @property
    def all(self) -> tuple[Version, ...]:
        """All versions, the oldest first."""
        return self._known

    def find(self, number: int) -> Version | None:
        """The version with a number; None if it is not kept."""
        return next((own for own in self._known if own.number == number), None)

    def in_force(self, data: bytes, member: str = "") -> Version | None:
        """The latest version with these contents, that applies to the member; None if none does."""
        wanted = digest(data)
        fitting = (
            own
            for own in reversed(self._known)
            if own.digest == wanted and own.member in ("", member)
        )
        return next(fitting, None)

    def rolled_back(self, on_disk: bytes) -> Version | None:
        """The version that is in force in place of this file; None if the file is."""
        last = self._known[-1] if self._known else None
        return last if last is not None and last.instead_of == digest(on_disk) else None

    def add(
        self,
        author: Author,
        file: str,
        data: bytes,
        changes: Iterable[str] = (),
        member: str = "",
        instead_of: str = "",
    ) -> Ticket:
        """Add a version, unless the last one is the same; wait for the ticket until it is saved.

        instead_of: see `Version`.
        """
        last = next((own for own in reversed(self._known) if own.member in ("", member)), None)
        contents = digest(data)
        same = last is not None and (last.digest, last.instead_of) == (contents, instead_of)
        if same or (last is None and not data):
            return done()
        words = [change[:LONGEST] for change in changes]
        version = Version(
            1 + max((own.number for own in self._known), default=0),
            time.time(),
            author.name[:LONGEST],
            author.address[:LONGEST],
            author.how,
            file[:LONGEST],
            contents,
            tuple(words[:MOST_CHANGES]),
            max(0, len(words) - MOST_CHANGES),
            member,
            base64.b64encode(zlib.compress(data)).decode(),
            instead_of,
        )
        self._known = _bounded((*self._known, version))
        return self._save()

    def reload(self) -> None:
        """Read the document again after a change by another controller."""
        self._known = self._stored.read(_decoded, (), self._known)

    def _save(self) -> Ticket:
        versions = [{name: getattr(own, name) for name in Version.__slots__} for own in self._known]
        return self._stored.save(versions=versions)


def _bounded(versions: tuple[Version, ...]) -> tuple[Version, ...]:
    """The newest versions that there is room for; the last one has no contents if it is too large.

    A version of which a rollback is in force is the last one itself, so it is never removed.
    """
    *older, last = versions[-MOST:]
    if len(last.packed or "") > OCTETS:
        last = replace(last, packed=None)
    kept, room = [last], OCTETS - len(last.packed or "")
    for own in reversed(older):
        room -= len(own.packed or "")
        if room < 0:
            break
        kept.append(own)
    return (*reversed(kept),)


def _decoded(document: Mapping[str, Any]) -> tuple[Version, ...]:
    """The versions of a document.  Raises ValueError, TypeError and KeyError."""
    versions = [
        Version(**{**own, "changes": (*map(_text, own["changes"]),)})
        for own in document["versions"]
    ]
    for own in versions:
        if type(own.number) is not int or type(own.more) is not int or own.number < 1:
            raise ValueError("it has a number that is none")
        if not isinstance(own.at, int | float) or not 0 <= own.at < 1 << 33:
            raise ValueError("it has a time that is none")
        for name in ("by", "address", "how", "file", "digest", "member", "instead_of"):
            _text(getattr(own, name))
        if own.data is not None and digest(own.data) != own.digest:
            raise ValueError(f"the contents of version {own.number} have another digest")
    numbers = [own.number for own in versions]
    if len(numbers) > MOST or numbers != sorted(set(numbers)):
        raise ValueError("its numbers are not in order")
    return (*versions,)


def _text(value: object) -> str:
    if not isinstance(value, str) or len(value) > LONGEST:
        raise ValueError("it has a text that is none")
    return value


def _unpacked(packed: str) -> bytes:
    """The file.  Raises ValueError if it is damaged or larger than a file may be."""
    try:
        unpacker = zlib.decompressobj()
        data = unpacker.decompress(base64.b64decode(packed, validate=True), MAX_BYTES + 1)
    except (zlib.error, TypeError) as error:
        raise ValueError(str(error)) from None
    if len(data) > MAX_BYTES or not unpacker.eof:
        raise ValueError("a file is damaged or too large")
    return data
