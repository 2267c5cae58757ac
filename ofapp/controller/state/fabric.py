"""What a fabric has to remember beyond its controller: versions in use, and numbers of ports."""

from __future__ import annotations

import json
from typing import Any

from ofapp.controller.state.document import Document, loaded

VERSION = 1


def _encode(value: dict[str, Any]) -> bytes:
    return json.dumps({"version": VERSION, "fabric": value}).encode()


def _decode(data: bytes) -> dict[str, Any]:
    value = loaded(data, VERSION).get("fabric")
    if not isinstance(value, dict):
        raise ValueError("it has no fabric")  # noqa: TRY004
    return value


FABRIC = Document(
    "fabric",
    synced=True,
    damaged="the numbers of ports may change, and versions in use are taken from the members",
    encode=_encode,
    decode=_decode,
)
