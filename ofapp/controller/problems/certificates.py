"""Certificates of this controller that end soon, have ended, or are not valid yet."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from ofapp.bridge.event import ERROR, WARNING
from ofapp.bridge.problem import Problem, ProblemKind

SOON = 21 * 86400.0
"""Seconds before its end from which a certificate is a problem."""
AGAIN = 60.0
"""Seconds between two times that the files are read."""

ENDS = ProblemKind(
    "certificate.ends-soon",
    WARNING,
    "A certificate ends within three weeks: then no TLS connection is made with it.",
    "Renew it: the API and switches that connect get the new file without a restart.",
    "The file has a certificate that is valid for longer.",
    "ofapp docs show tls",
)
ENDED = ProblemKind(
    "certificate.ended",
    ERROR,
    "A certificate has ended: TLS connections that need it fail.",
    "Renew it; `openssl x509 -noout -enddate -in FILE` shows the end.",
    "The file has a valid certificate.",
    "ofapp docs show tls",
)
NOT_YET = ProblemKind(
    "certificate.not-yet-valid",
    ERROR,
    "A certificate is not valid yet: TLS connections that need it fail.",
    "Mostly the clock of this host, or of the host that made the certificate, is wrong: compare"
    " `date -u` on both.",
    "The certificate is valid.",
    "ofapp docs show tls",
)


class Validity(NamedTuple):
    """When a certificate begins and ends to be valid, in seconds since the epoch."""

    begins: float
    ends: float


class Certificates:
    """The certificates in files that this controller uses.  files: by what each is for."""

    def __init__(self, files: Mapping[str, Path]) -> None:
        self._files = files
        self._known: dict[str, Validity] = {}
        self._next = 0.0

    def problems(self) -> Iterator[Problem]:
        """Certificates that end soon, have ended, or are not valid yet."""
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + AGAIN
            read = {what: _validity(path) for what, path in self._files.items()}
            self._known = {what: known for what, known in read.items() if known is not None}
        now = time.time()
        for what, (begins, ends) in self._known.items():
            data = {"file": str(self._files[what]), "ends": round(ends)}
            left = ends - now
            if now < begins:
                text = f"the certificate of {what} is valid from {_spoken(begins)} on"
                yield NOT_YET.at(text, subject=what, data={**data, "begins": round(begins)})
            elif left <= 0:
                text = f"the certificate of {what} ended at {_spoken(ends)}"
                yield ENDED.at(text, subject=what, data=data)
            elif left <= SOON:
                days = f"in {left / 86400:.0f} days, at {_spoken(ends)}"
                yield ENDS.at(f"the certificate of {what} ends {days}", subject=what, data=data)


def _spoken(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M} UTC"


def _validity(path: Path) -> Validity | None:
    """The time in which all certificates of a file are valid; None if it is unreadable."""
    from cryptography import x509

    try:
        given = x509.load_pem_x509_certificates(path.read_bytes())
    except (OSError, ValueError):
        return None
    return Validity(
        max(each.not_valid_before_utc.timestamp() for each in given),
        min(each.not_valid_after_utc.timestamp() for each in given),
    )
