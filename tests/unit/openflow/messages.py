"""OpenFlow messages one by one."""

import struct


def messages(data: bytes) -> list[bytes]:
    """One after another."""
    found = []
    while data:
        (length,) = struct.unpack_from("!H", data, 2)
        found.append(data[:length])
        data = data[length:]
    return found
