"""Stored cables: each is in the document of the bridge at its lower end."""

from __future__ import annotations

import json

from ofapp.controller.problems.cables.cables import Cable, Socket
from ofapp.controller.state.document import Document, loaded

VERSION = 1

Stored = tuple[Cable, ...]


def _encode(cables: Stored) -> bytes:
    rows = [[cable.a.port, f"{cable.b.datapath_id:016x}", cable.b.port] for cable in cables]
    lower = f"{cables[0].a.datapath_id:016x}" if cables else None
    return json.dumps({"version": VERSION, "bridge": lower, "cables": rows}).encode()


def _decode(data: bytes) -> Stored:
    document = loaded(data, VERSION)
    try:
        rows = document["cables"]
        return tuple(
            Cable(Socket(int(document["bridge"], 16), str(port)), Socket(int(far, 16), str(other)))
            for port, far, other in rows
        )
    except (KeyError, TypeError) as error:
        raise ValueError("it has no cables") from error


CABLES = Document(
    "cables",
    damaged="cables are known again when they are seen",
    encode=_encode,
    decode=_decode,
)
