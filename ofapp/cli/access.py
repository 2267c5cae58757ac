"""The connection to the controller: its address, and the credentials for it."""

from __future__ import annotations

import os
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ofapp.common.api_address import API_SOCKET, API_URL, UNIX, answers

if TYPE_CHECKING:
    import ssl

LOCAL = "local"
"""Stands for the controller on this machine: its socket if that answers, else `API_URL`."""
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
        """Headers of a request.  Raises AccessError."""
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
        """The TLS context.  Raises AccessError."""
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


def locate(url: str) -> str:
    """The URL of the controller that `local` stands for; others as they are."""
    if url != LOCAL:
        return url
    return f"{UNIX}{API_SOCKET}" if answers(API_SOCKET) else API_URL


def unreachable(error: Exception) -> tuple[str, str]:
    """Why there is no answer, and what to do, without errno and OpenSSL's names."""
    import ssl

    if isinstance(error, ssl.SSLCertVerificationError):
        reason = f"its certificate is not trusted: {error.verify_message}"
        return reason, "give the CA that signed it with --api-ca or OFAPP_API_CA"
    if isinstance(error, ssl.SSLError):
        text = (error.reason or str(error)).replace("_", " ").lower()
        return f"TLS failed: {text}", "does it serve https? --api or OFAPP_API say http or https"
    reason = str(error) or type(error).__name__
    if isinstance(error, OSError) and error.errno is not None:  # negative: of getaddrinfo(3)
        reason = os.strerror(error.errno) if error.errno > 0 else error.strerror or reason
    return reason, "does ofapp-manager run? --api or OFAPP_API say where"
