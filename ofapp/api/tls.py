"""HTTPS: certificates that are taken anew when they are renewed, and handshakes that wait in line.

A handshake is arithmetic for a millisecond or more, which nobody can do anything beside, and any
peer can ask for one after another.  So they take turns, and together at most a fifth of the time:
BPDUs are heard in between, however many clients there are.  One that is slow waits by itself.
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

from ofapp.bridge.event import Event, Severity
from ofapp.common import hub

POLL = 2.0
"""Seconds between looks at whether files have changed."""

SHARE = 0.2
"""Of the time, that handshakes may take."""


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """PEM; authority: who signs the certificates that clients have to show, None = they need none.

    The key has no password.
    """

    key: Path
    certificate: Path
    authority: Path | None = None

    def context(self) -> ssl.SSLContext:
        """What connections are made with; OSError, of which ssl.SSLError is one, or ValueError."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["http/1.1"])
        context.load_cert_chain(self.certificate, self.key, password="")  # nobody is asked for one
        if self.authority is not None:
            context.load_verify_locations(self.authority)
            context.verify_mode = ssl.CERT_REQUIRED
        return context

    def signature(self) -> tuple[Any, ...]:
        """What differs once one of them is another file, or has been written."""
        found: list[Any] = []
        for path in (self.key, self.certificate, self.authority):
            with contextlib.suppress(OSError):
                about = None if path is None else os.stat(path)
                found.append(about and (about.st_ino, about.st_mtime_ns, about.st_size))
        return tuple(found)


class Tls:
    """For the connections of one listener, as the files are now."""

    def __init__(self, files: TlsFiles, tell: Callable[[int | None, Event], None]) -> None:
        self._files = files
        self._tell = tell
        self._known = self._before = files.signature()
        self._refused = False
        self._context = files.context()
        self._line = hub.Lock()

    def wrap(self, client: Any) -> Any:
        """A connection over TLS, whose hands are not shaken yet."""
        return hub.secured(client, self._context)

    def shake_hands(self, client: Any) -> None:
        """When it is its turn; OSError."""
        hub.shake_hands(client, self._turn)

    def watch(self) -> None:
        """Take files that have changed; does not end."""
        while True:
            hub.sleep(POLL)
            self.take_renewed()

    def take_renewed(self) -> None:
        """Take files that have changed, and are as they were the last time: none is being
        written.  Connections that there are go on with what they have begun with."""
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
            event = Event("api.tls.refused", f"{message} is kept", Severity.ERROR)
        else:
            cleared = ".cleared" if self._refused else ""
            kind = f"api.tls.refused{cleared}" if cleared else "api.tls.renewed"
            self._refused = False
            event = Event(kind, "new connections to the API get the certificate that is there now")
        self._tell(None, event)

    @contextlib.contextmanager
    def _turn(self) -> Iterator[None]:
        with self._line:
            begun = time.perf_counter()
            yield
            hub.sleep((time.perf_counter() - begun) * (1 / SHARE - 1))
