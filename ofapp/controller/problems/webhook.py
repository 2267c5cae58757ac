"""One notification to the receiver: an HTTP request.  Imported where a receiver is configured."""

from __future__ import annotations

import json
import os
import socket
import ssl
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit

import urllib3

import ofapp
from ofapp.common import hub
from ofapp.config.notify import Notify, SendError, url_fault

CONNECT = 3.0
"""Seconds to connect to one address."""
MOST_ADDRESSES = 4
"""Most addresses of a receiver that are tried."""
SECRET = 4096
"""Most octets of a file with a URL or a token."""

Address = tuple[str, int]


def post(settings: Notify, directory: Path, values: Mapping[str, str]) -> None:
    """Send a notification; SendError unless the receiver answers with a status of 200 to 299.

    directory: that of the configuration file.  The caller limits the time.
    """
    headers = {"Content-Type": "application/json", "User-Agent": f"ofapp/{ofapp.__version__}"}
    url = settings.url or _first_line("url_file", directory, settings.url_file)
    if fault := url_fault(url):
        raise SendError(f"the URL {fault}")
    if settings.token_file is not None:
        token = _first_line("token_file", directory, settings.token_file)
        headers["Authorization"] = f"Bearer {token}"
    body = json.dumps(settings.body(dict(values))).encode()
    ca = None if settings.ca is None else directory / settings.ca
    try:
        status = _status(url, ca, headers, body)
    except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:
        raise SendError(f"{urlsplit(url).hostname}: {_reason(error)}") from None
    if not 200 <= status < 300:
        raise SendError(f"{urlsplit(url).hostname} answers {status}")


def _status(url: str, ca: Path | None, headers: Mapping[str, str], body: bytes) -> int:
    """The status of the answer; OSError, urllib3's errors."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    context = ssl.create_default_context(cafile=ca) if parts.scheme == "https" else None
    path = f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}"
    failed: Exception = OSError("it has no address")
    for address in _addresses(host, parts.port or (80 if context is None else 443)):
        try:
            with _pool(address, host, context) as pool:
                answer = pool.urlopen(
                    *("POST", path, body),
                    headers={**headers, "Host": parts.netloc},
                    retries=False,
                    redirect=False,
                    timeout=urllib3.Timeout(connect=CONNECT),
                    preload_content=False,
                )
                answer.close()
                return answer.status
        except (urllib3.exceptions.NewConnectionError, urllib3.exceptions.ConnectTimeoutError) as e:
            failed = e
    raise failed


def _pool(
    address: Address, host: str, context: ssl.SSLContext | None
) -> urllib3.HTTPConnectionPool:
    """Connections to an address of a host; the host's certificate is checked by its name."""
    if context is None:
        return urllib3.HTTPConnectionPool(*address)
    return urllib3.HTTPSConnectionPool(
        *address, ssl_context=context, server_hostname=host, assert_hostname=host
    )


def _first_line(name: str, directory: Path, file: str | None) -> str:
    try:
        with (directory / (file or "")).open(encoding="ascii") as opened:
            line = opened.readline(SECRET).strip()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not ASCII"
        raise SendError(f"notify.{name} {file}: {reason}") from None
    if not line or not line.isprintable():
        raise SendError(f"notify.{name} {file}: its first line is empty or not printable")
    return line


def _addresses(host: str, port: int) -> list[Address]:
    """The addresses of a host; the look-up may take seconds, and takes them in another thread."""
    found = hub.in_thread(socket.getaddrinfo, host, port, 0, socket.SOCK_STREAM)
    return [(str(where[0]), port) for *_, where in found[:MOST_ADDRESSES]]


def _reason(error: Exception) -> str:
    """The reason of an error, without objects and the path of the URL."""
    for cause in _causes(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"its certificate is not valid: {cause.verify_message}"
        if isinstance(cause, ssl.SSLError):
            return f"TLS fails: {cause.reason}"
        if isinstance(cause, socket.gaierror):
            return "its name has no address"
        if isinstance(cause, OSError) and cause.errno is not None:
            return os.strerror(cause.errno)
    return type(error).__name__


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An error and those that it wraps, as urllib3 does, the outermost first."""
    yield error
    inside = getattr(error, "reason", None), error.__cause__, *error.args
    for each in inside:
        if isinstance(each, BaseException):
            yield from _causes(each)
