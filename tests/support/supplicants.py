"""Hosts that speak EAP-MD5 (RFC 3748 5.4), one at the far end of each of many ports.

One process serves them all by two sockets, which hear EAPOL and BPDUs on all interfaces of a
namespace.  The kernel notes when a BPDU has come, so a slow process does not make it late.
"""

from __future__ import annotations

import hashlib
import select
import socket
import struct
import subprocess
import time
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress

from ofapp.bridge.port_access import eapol
from tests.support.lab import _in_namespace, sh

_EAPOL, _LLC = 0x888E, 0x0004
"""What the sockets hear: an Ethernet type, and Linux's ETH_P_802_2."""
_BPDU = bytes.fromhex("0180c2000000")
_RCVBUFFORCE, _TIMESTAMPNS = 33, 35  # Linux's socket options
_STAMP = struct.Struct("qq")
_ROOM = 32 << 20
_MD5, _NAK = 4, 3
_FIRST = 0x0200_00EA_0000
_OUTGOING = 4  # PACKET_OUTGOING


class Supplicants:
    """The hosts, and the cables to their ports.

    waiting: hosts, by their numbers from 1 on, that were not accepted since `expect`.
    refused: how often a host was refused.
    hellos: when BPDUs have come to each host, in seconds of the system's clock.
    """

    def __init__(self, namespace: str, switch: str, count: int, user: bytes, password: str) -> None:
        """namespace: of the hosts, which is made; switch: that of the ports `a1`, `a2` ..."""
        self.numbers = range(1, count + 1)
        self.waiting = {*self.numbers}
        self.refused = 0
        self.hellos: defaultdict[int, list[float]] = defaultdict(list)
        self._user, self._password = user, password.encode()
        self._namespace = namespace
        sh("ip", "netns", "add", namespace)
        sh("ip", "netns", "exec", namespace, *_NO_IPV6)
        sh("ip", "netns", "exec", switch, *_NO_IPV6)
        cables = (
            f"link add a{number} up type veth peer name b{number} netns {namespace}"
            for number in self.numbers
        )
        _batch(switch, cables)
        _batch(namespace, (f"link set b{number} up" for number in self.numbers))
        self._sockets = _in_namespace(namespace, lambda: (_open(_EAPOL), _open(_LLC)))
        self._poll = select.poll()
        for each in self._sockets:
            self._poll.register(each, select.POLLIN)

    @staticmethod
    def mac(number: int) -> str:
        """The MAC address of a host."""
        return (_FIRST + number).to_bytes(6, "big").hex(":")

    def start(self) -> None:
        """Send an EAPOL-Start from each host."""
        for number in self.numbers:
            self._send(number, bytes([eapol.VERSION, eapol.START, 0, 0]))

    def expect(self) -> None:
        """Wait for the acceptance of all hosts from now on."""
        self.waiting = {*self.numbers}

    def serve(self, seconds: float) -> None:
        """Answer for a time."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._serve_once()

    def serve_accepted(self, seconds: float) -> bool:
        """Answer until all hosts are accepted; false if the time is over before."""
        end = time.monotonic() + seconds
        while self.waiting and time.monotonic() < end:
            self._serve_once()
        return not self.waiting

    def _serve_once(self) -> None:
        if self._poll.poll(10):
            for each in self._sockets:
                self._read(each)

    def close(self) -> None:
        """Remove the hosts and their cables."""
        for each in self._sockets:
            each.close()
        sh("ip", "netns", "del", self._namespace, check=False)

    def _read(self, opened: socket.socket) -> None:
        with suppress(BlockingIOError):
            while True:
                frame, about, _, (interface, *rest) = opened.recvmsg(2048, 128, socket.MSG_DONTWAIT)
                if rest[1] == _OUTGOING or not interface[1:].isdigit():
                    continue
                if frame.startswith(_BPDU):
                    seconds, nanoseconds = _STAMP.unpack(about[0][2])
                    self.hellos[int(interface[1:])].append(seconds + nanoseconds / 1e9)
                elif frame[12:14] == eapol.ETHERTYPE:
                    self._hear(int(interface[1:]), frame[18:])

    def _hear(self, number: int, padded: bytes) -> None:
        eap = padded[: int.from_bytes(padded[2:4], "big")]
        code, identifier = eap[0], eap[1:2]
        if code == eapol.SUCCESS:
            self.waiting.discard(number)
        elif code == eapol.FAILURE:
            self.refused += 1
        elif eap[4] == eapol.IDENTITY:
            self._answer(number, identifier, bytes([eapol.IDENTITY]) + self._user)
        elif eap[4] == _MD5:
            challenge = eap[6 : 6 + eap[5]]
            value = hashlib.md5(identifier + self._password + challenge).digest()
            self._answer(number, identifier, bytes([_MD5, len(value)]) + value)
        else:
            self._answer(number, identifier, bytes([_NAK, _MD5]))

    def _answer(self, number: int, identifier: bytes, data: bytes) -> None:
        eap = struct.pack("!BsH", eapol.RESPONSE, identifier, 4 + len(data)) + data
        head = struct.pack("!BBH", eapol.VERSION, eapol.EAP, len(eap))
        self._send(number, head + eap)

    def _send(self, number: int, body: bytes) -> None:
        ends = eapol.PAE_GROUP.to_bytes(6, "big") + (_FIRST + number).to_bytes(6, "big")
        frame = ends + eapol.ETHERTYPE + body
        self._sockets[0].sendto(frame.ljust(60, b"\0"), (f"b{number}", _EAPOL))


_NO_IPV6 = "sysctl", "-q", "-w", "net.ipv6.conf.default.disable_ipv6=1"


def _batch(namespace: str, lines: Iterable[str]) -> None:
    """Run many commands of `ip` in a namespace."""
    command = ("ip", "-n", namespace, "-batch", "-")
    subprocess.run(command, input="\n".join(lines), text=True, check=True, timeout=300)


def _open(protocol: int) -> socket.socket:
    made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(protocol))
    made.setsockopt(socket.SOL_SOCKET, _RCVBUFFORCE, _ROOM)
    made.setsockopt(socket.SOL_SOCKET, _TIMESTAMPNS, 1)
    return made
