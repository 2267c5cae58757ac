"""The connection to the controller: its address, and the credentials for it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ofapp.common.places import API_SOCKET, API_URL, answers

if TYPE_CHECKING:
    import ssl

    import httpx

LOCAL = "local"
"""Stands for the controller on this machine: its socket if that answers, else `API_URL`."""
UNIX = "unix:"
TOKEN = "OFAPP_TOKEN"


class AccessError(Exception):
    """Unusable credentials; the message is one line."""


@dataclass(frozen=True)
class Credentials:
    """Paths: a token, the CA of the controller's certificate, a client certificate with its key."""

    token: str | None = None
    authority: str | None = None
    certificate: str | None = None

    def headers(self) -> dict[str, str]:
        """Headers of a request; AccessError."""
        secret = os.environ.get(TOKEN, "")
        if self.token is not None:
            try:
                secret = Path(self.token).read_text("utf-8")
            except (OSError, ValueError) as error:
                raise AccessError(f"cannot read --api-token-file {self.token}: {error}") from None
            if not secret.strip():
                raise AccessError(f"--api-token-file {self.token} is empty")
        secret = secret.strip()
        if not (secret.isascii() and secret.isprintable()):
            raise AccessError(f"the content of --api-token-file, or of {TOKEN}, is not a token")
        return {"Authorization": f"Bearer {secret}"} if secret else {}

    def trust(self) -> ssl.SSLContext:
        """The TLS context; AccessError."""
        import ssl

        try:
            context = ssl.create_default_context(cafile=self.authority)
            if self.certificate is not None:
                context.load_cert_chain(self.certificate)
        except (OSError, ValueError) as error:
            raise AccessError(f"--api-ca or --api-cert is not usable: {error}") from None
        return context


_NONE = Credentials()
CREDENTIALS: ContextVar[Credentials] = ContextVar("credentials", default=_NONE)
"""Credentials of the command that runs."""


def connect(url: str) -> tuple[str, httpx.Client]:
    """The base URL and an HTTP client; AccessError."""
    import httpx

    credentials = CREDENTIALS.get()
    headers = credentials.headers()
    if url == LOCAL:
        url = f"{UNIX}{API_SOCKET}" if answers(API_SOCKET) else API_URL
    if not url.startswith("https:"):  # compression costs more than it saves
        headers = {**headers, "Accept-Encoding": "identity"}
    if url.startswith(UNIX):
        transport = httpx.HTTPTransport(uds=url.removeprefix(UNIX))
        return "http://localhost", httpx.Client(timeout=30, transport=transport, headers=headers)
    trust = credentials.trust() if url.startswith("https:") else True
    # No proxy from the environment: the controller may be on this machine.
    made = httpx.Client(timeout=30, trust_env=False, headers=headers, verify=trust)
    return url.rstrip("/"), made


def unreachable(error: Exception) -> tuple[str, str]:
    """Why there is no answer, and what to do, without errno and OpenSSL's names.

    error: httpx's, which has the socket's error as its cause's cause.
    """
    import ssl

    causes = list(_causes(error))
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            reason = f"its certificate is not trusted: {cause.verify_message}"
            return reason, "give the CA that signed it with --api-ca or OFAPP_API_CA"
        if isinstance(cause, ssl.SSLError):
            text = (cause.reason or str(cause)).replace("_", " ").lower()
            return (
                f"TLS failed: {text}",
                "does it serve https? --api or OFAPP_API say http or https",
            )
    socket = next((cause for cause in causes if isinstance(cause, OSError)), None)
    reason = str(error) or type(error).__name__
    if socket is not None and socket.errno is not None:  # negative: of getaddrinfo(3)
        reason = os.strerror(socket.errno) if socket.errno > 0 else socket.strerror or reason
    return reason, "does ofapp-manager run? --api or OFAPP_API say where"


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
