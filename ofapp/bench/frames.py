"""Test frames: UDP in IPv4 as in RFC 2544 appendix C, of a given length and between given hosts.

A frame's size is the one on the wire of the RFC: with the 4 octets of the checksum, which no
software sees.  Hosts are made up: no real host has their addresses, so that the receiving kernel
drops what arrives as early as it can.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum

FCS = 4
ETHERNET = 14
HEADERS = ETHERNET + 20 + 8
MIN_SIZE = 64
MAX_HOSTS = 1 << 24
BROADCAST = b"\xff" * 6
LOAD_PORT, PROBE_PORT = 7, 4547
_OUI = b"\x02\x0b"


class Side(IntEnum):
    """Side of the device that a host is on; part of its address."""

    TX = 1
    RX = 2


ADDRESS = {Side.TX: "198.18.0.2", Side.RX: "198.19.0.2"}
"""Addresses of the networks that RFC 2544 clause C.2.2 reserves for benchmarks."""
GATEWAY = {Side.TX: "198.18.0.1", Side.RX: "198.19.0.1"}


def mac(side: Side, host: int = 0) -> bytes:
    """The address of a host, of up to MAX_HOSTS on a side."""
    if not 0 <= host < MAX_HOSTS:
        raise ValueError(f"host {host} of {MAX_HOSTS}")
    return _OUI + bytes([side]) + host.to_bytes(3, "big")


@dataclass(frozen=True, slots=True)
class Flow:
    """From one host to another: addresses of 6 octets, and the side that sends."""

    destination: bytes
    source: bytes
    sender: Side = Side.TX


FORTH = Flow(mac(Side.RX), mac(Side.TX))
"""From the first host to the first host of the other side."""


def frame(flow: Flow, size: int, port: int = LOAD_PORT, payload: bytes = b"") -> bytes:
    """The frame without its checksum: `size` - 4 octets.  ValueError for less than 64."""
    length = size - FCS
    if size < MIN_SIZE or len(payload) > length - HEADERS:
        raise ValueError(f"a frame of {size} octets has no room for its headers and payload")
    receiver = Side.RX if flow.sender is Side.TX else Side.TX
    return (
        flow.destination
        + flow.source
        + b"\x08\x00"
        + _ip(length - 14, flow.sender, receiver)
        + struct.pack("!HHHH", port, port, length - 34, 0)
        + payload.ljust(length - HEADERS, b"\0")
    )


def _ip(length: int, sender: Side, receiver: Side) -> bytes:
    """The IPv4 header with its checksum, for a router looks at it."""
    addresses = _packed(ADDRESS[sender]) + _packed(ADDRESS[receiver])
    head = struct.pack("!BBHHHBBH", 0x45, 0, length, 0, 0, 64, 17, 0) + addresses
    total = sum(struct.unpack("!10H", head))
    total = (total >> 16) + (total & 0xFFFF)
    total += total >> 16
    return head[:10] + struct.pack("!H", ~total & 0xFFFF) + head[12:]


def _packed(address: str) -> bytes:
    return bytes(int(part) for part in address.split("."))
