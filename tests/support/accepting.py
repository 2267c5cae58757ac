"""A RADIUS server for tests that are not about authentication: it accepts hosts by MAC address."""

from __future__ import annotations

import hashlib
import hmac
import socket
import struct
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType

from tests.support.background import Background, Closable

SECRET = b"accepts-all"
_ACCEPT, _REJECT = 2, 3
_USER_NAME, _FILTER_ID, _MESSAGE = 1, 11, 18
_SIGNATURE = b"\x50\x12"


class Accepting(Background):
    """It listens on 127.0.0.1 while a `with` statement runs.

    port: where; secret_file: path of the file with its secret.
    """

    def __init__(self, acl: str = "", refused: Mapping[str, str] = MappingProxyType({})) -> None:
        """acl: access list (Filter-Id) of each host, empty for none.

        refused: hosts that are not accepted, by MAC address, with the Reply-Message.
        """
        self._accepts = _ACCEPT, _attribute(_FILTER_ID, acl)
        self._rejects = {
            _attribute(_USER_NAME, mac.replace(":", "")): (_REJECT, _attribute(_MESSAGE, words))
            for mac, words in refused.items()
        }
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self._socket.settimeout(0.1)
        self.port = int(self._socket.getsockname()[1])
        self._dir = tempfile.TemporaryDirectory(prefix="ofapp-accepting-")
        self.secret_file = str(Path(self._dir.name, "secret"))
        Path(self.secret_file).write_bytes(SECRET)
        super().__init__(self._serve)

    def _serve(self) -> None:
        while not self._stop.is_set():
            try:
                request, sender = self._socket.recvfrom(4096)
            except TimeoutError:
                continue
            found = (said for user, said in self._rejects.items() if user in request)
            self._socket.sendto(_answer(request, *next(found, self._accepts)), sender)

    def _to_close(self) -> Iterable[Closable]:
        self._dir.cleanup()
        return (self._socket,)


def _attribute(kind: int, text: str) -> bytes:
    return struct.pack("!BB", kind, len(text) + 2) + text.encode() if text else b""


def _answer(request: bytes, code: int, attributes: bytes) -> bytes:
    """The signed answer (RFC 2865 3, RFC 3579 3.2)."""
    length = 38 + len(attributes)
    head, authenticator = struct.pack("!BBH", code, request[1], length), request[4:20]
    unsigned = head + authenticator + _SIGNATURE + bytes(16) + attributes
    body = _SIGNATURE + hmac.new(SECRET, unsigned, "md5").digest() + attributes
    return head + hashlib.md5(head + authenticator + body + SECRET).digest() + body
