"""HTTPS: renewed certificates are loaded automatically, and handshakes are queued.

A handshake blocks the process for a millisecond or more of computation, and any peer can start one
after another.  So they run one at a time, and use at most a fifth of the time: BPDUs are processed
in between, however many clients there are.  A slow client delays only its own handshake.
"""

from __future__ import annotations

import contextlib
import os
import ssl
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ofapp.api.http.events import API_TLS_REFUSED, API_TLS_REFUSED_CLEARED, API_TLS_RENEWED
from ofapp.bridge.event import Event
from ofapp.common import hub

POLL = 2.0
"""Seconds between checks for changed files."""

CIPHERS = "ECDHE+AESGCM:ECDHE+CHACHA20"
"""Ciphers of TLS 1.2: with forward secrecy, and none with CBC."""

SHARE = 0.2
"""Part of the time that handshakes may take."""


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """PEM files; authority: CA that must have signed client certificates, None = none needed.

    The key has no password.
    """

    key: Path
    certificate: Path
    authority: Path | None = None

    def context(self) -> ssl.SSLContext:
        """Make the context of connections; OSError, e.g. ssl.SSLError, or ValueError."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_ciphers(CIPHERS)
        context.set_alpn_protocols(["http/1.1"])
        context.load_cert_chain(self.certificate, self.key, password="")  # no prompt for one
        if self.authority is not None:
            context.load_verify_locations(self.authority)
            context.verify_mode = ssl.CERT_REQUIRED
        return context

    def signature(self) -> tuple[Any, ...]:
        """A value that changes if one of the files is replaced or written."""
        parts: list[Any] = []
        for path in (self.key, self.certificate, self.authority):
            with contextlib.suppress(OSError):
                about = None if path is None else os.stat(path)
                parts.append(about and (about.st_ino, about.st_mtime_ns, about.st_size))
        return tuple(parts)


class Handshakes:
    """TLS of the connections of one listener.  context: gives the present one for the next."""

    def __init__(self, context: Callable[[], ssl.SSLContext]) -> None:
        self._present = context
        self._line = hub.Lock()

    def wrap(self, client: Any) -> Any:
        """Wrap a connection in TLS, before its handshake."""
        return hub.secured(client, self._present())

    def shake_hands(self, client: Any) -> None:
        """Make the handshake; waits for others.  OSError."""
        hub.shake_hands(client, self._turn)

    @contextlib.contextmanager
    def _turn(self) -> Iterator[None]:
        with self._line:
            begun = time.perf_counter()
            yield
            hub.sleep((time.perf_counter() - begun) * (1 / SHARE - 1))


class Tls(Handshakes):
    """TLS of the connections of one listener, with the present files."""

    def __init__(self, files: TlsFiles, emit: Callable[[int | None, Event], None]) -> None:
        super().__init__(lambda: self._context)
        self._files = files
        self._emit = emit
        self._known = self._before = files.signature()
        self._refused = False
        self._context = files.context()

    def watch(self) -> None:
        """Load changed files; does not return."""
        while True:
            hub.sleep(POLL)
            self.take_renewed()

    def take_renewed(self) -> None:
        """Load changed files once they are the same at two checks, so none is being written.

        Existing connections keep their certificate.
        """
        now = self._files.signature()
        settled, self._before = now == self._before, now
        if now == self._known or not settled:
            return
        self._known = now
        try:
            self._context = self._files.context()
        except (OSError, ValueError) as error:
            self._refused = True
            message = f"the API's certificate has changed, and cannot be used: {error}; the old one"
            event = API_TLS_REFUSED.event(f"{message} is kept")
        else:
            kind = API_TLS_REFUSED_CLEARED if self._refused else API_TLS_RENEWED
            self._refused = False
            event = kind.event("new connections to the API use the changed certificate")
        self._emit(None, event)
