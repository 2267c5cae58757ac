"""One ICMP echo, to learn whether a host still answers (RFC 792, RFC 4443 section 4)."""

from __future__ import annotations

import os
import socket
import struct
import time

_TYPES = {socket.AF_INET: (8, 0), socket.AF_INET6: (128, 129)}  # request, reply


def answers(address: str, seconds: float = 1.0) -> bool:
    """Whether an echo request is answered in time; OSError without the right to ask."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    protocol = socket.IPPROTO_ICMPV6 if family == socket.AF_INET6 else socket.IPPROTO_ICMP
    request, reply = _TYPES[family]
    mark = os.urandom(16)
    identity = os.getpid() & 0xFFFF
    with socket.socket(family, socket.SOCK_RAW, protocol) as wire:
        try:
            wire.sendto(_echo(request, identity, mark), (address, 0))
        except OSError:
            return False  # no route: not answered
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            wire.settimeout(left)
            try:
                data = wire.recv(2048)
            except OSError:
                return False
            if family == socket.AF_INET:  # a raw IPv4 socket gives the IP header too
                data = data[(data[0] & 0x0F) * 4 :]
            if data[:1] == bytes([reply]) and data[8:].startswith(mark):
                return True
    return False


def _echo(type_: int, identity: int, payload: bytes) -> bytes:
    """For IPv6 the kernel puts the checksum in (RFC 3542 3.1)."""
    head = struct.pack("!BBHHH", type_, 0, 0, identity, 1)
    return struct.pack("!BBHHH", type_, 0, _checksum(head + payload), identity, 1) + payload


def _checksum(data: bytes) -> int:
    """RFC 1071."""
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total & 0xFFFF) + (total >> 16)
    return ~(total + (total >> 16)) & 0xFFFF
