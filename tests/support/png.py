"""Pictures of a browser as PNG files with a palette, which are a third as large."""

from __future__ import annotations

import struct
import zlib
from collections import Counter
from collections.abc import Iterator

SIGNATURE = b"\x89PNG\r\n\x1a\n"


def with_palette(data: bytes) -> bytes:
    """Reduce a PNG file of 8 bits a channel (RGB or RGBA) to its 256 most frequent colours.

    Each other colour becomes the nearest of these.
    """
    chunks = dict(_chunks(data))
    width, height, depth, kind = struct.unpack_from(">IIBB", chunks[b"IHDR"])
    channels = {2: 3, 6: 4}[kind]
    assert depth == 8
    rows = list(_rows(zlib.decompress(chunks[b"IDAT"]), width * channels, channels))
    pixels = [[row[at : at + 3] for at in range(0, len(row), channels)] for row in rows]
    counts = Counter(colour for row in pixels for colour in row)
    palette = [colour for colour, _ in counts.most_common(256)]
    index = {colour: at for at, colour in enumerate(palette)}
    for colour in counts.keys() - index.keys():
        index[colour] = min(range(len(palette)), key=lambda at: _distance(palette[at], colour))
    packed = b"".join(b"\0" + bytes(index[colour] for colour in row) for row in pixels)
    parts = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
        (b"PLTE", b"".join(palette)),
        (b"IDAT", zlib.compress(packed, 9)),
        (b"IEND", b""),
    )
    return SIGNATURE + b"".join(_chunk(name, content) for name, content in parts)


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    at, image = len(SIGNATURE), b""
    while at < len(data):
        length, name = struct.unpack_from(">I4s", data, at)
        content = data[at + 8 : at + 8 + length]
        image += content if name == b"IDAT" else b""
        yield name, image if name == b"IDAT" else content
        at += length + 12


def _chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + _crc(name + content)


def _crc(data: bytes) -> bytes:
    return struct.pack(">I", zlib.crc32(data))


def _rows(data: bytes, width: int, step: int) -> Iterator[bytes]:
    """Undo the filters of PNG (clause 9)."""
    before = bytes(width)
    for start in range(0, len(data), width + 1):
        kind, row = data[start], bytearray(data[start + 1 : start + 1 + width])
        for at in range(width if kind else 0):
            left = row[at - step] if at >= step else 0
            corner = before[at - step] if at >= step else 0
            row[at] = (row[at] + _predicted(kind, left, before[at], corner)) & 0xFF
        before = bytes(row)
        yield before


def _predicted(kind: int, left: int, above: int, corner: int) -> int:
    if kind == 4:
        near = left + above - corner
        return min((left, above, corner), key=lambda value: abs(near - value))
    return (0, left, above, (left + above) // 2)[kind]


def _distance(one: bytes, other: bytes) -> int:
    return sum((a - b) ** 2 for a, b in zip(one, other, strict=True))
