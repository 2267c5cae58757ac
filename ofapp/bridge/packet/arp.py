"""ARP (RFC 826) for IPv4 on Ethernet."""

from typing import NamedTuple

from ofapp.bridge.packet.ethernet import ARP, Ethernet, read_ethernet, tagged
from ofapp.bridge.packet.malformed import Malformed

REQUEST, REPLY = 1, 2

NOT_ARP = Malformed("arp_other")
TRUNCATED = Malformed("arp_truncated")

_OF_ETHERNET = b"\x00\x01\x08\x00\x06\x04"  # hardware and protocol, and their lengths


class Arp(NamedTuple):
    """An ARP message: the sender's and the target's MAC and IPv4 addresses."""

    ethernet: Ethernet
    operation: int
    sender_mac: int
    sender: bytes
    target_mac: int
    target: bytes


def read_arp(frame: bytes) -> Arp | Malformed:
    """Read an ARP message."""
    ethernet = read_ethernet(frame)
    if isinstance(ethernet, Malformed):
        return ethernet
    at = ethernet.at
    if ethernet.ethertype != ARP:
        return NOT_ARP
    if len(frame) < at + 28:
        return TRUNCATED
    if frame[at : at + 6] != _OF_ETHERNET:
        return NOT_ARP
    return Arp(
        ethernet,
        frame[at + 6] << 8 | frame[at + 7],
        int.from_bytes(frame[at + 8 : at + 14], "big"),
        frame[at + 14 : at + 18],
        int.from_bytes(frame[at + 18 : at + 24], "big"),
        frame[at + 24 : at + 28],
    )


def probe(target: bytes, mac: int, host: int, vid: int) -> bytes:
    """Frame of a probe to one host for an address of its (RFC 5227 2.1.1).

    host: the MAC address that should have it, and answers to that of the sender, `mac`.
    """
    sender = mac.to_bytes(6, "big")
    message = _OF_ETHERNET + bytes((0, REQUEST)) + sender + bytes(10) + target
    return tagged(host.to_bytes(6, "big") + sender + ARP + message, vid)
