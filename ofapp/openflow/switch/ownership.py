"""Which controller looks after a switch, where several are connected that do not know each other.

OpenFlow's roles alone do not tell: whoever asks to be MASTER becomes it, nobody can ask whether
there is one, and a switch takes flow-mods from EQUAL controllers beside it.  So the switch itself
keeps a lease (`lease`).

Who has the lease asks to be MASTER, which makes everybody else who was it a SLAVE: one that was
stopped for a minute, and does not know yet that its time is over, is refused by the switch.  Who
has to wait is SLAVE, hears nothing, and looks every second whether the lease has ended.

Members of a cluster do know each other: there `mastership` answers the same three questions.
"""

from __future__ import annotations

import hashlib
import socket
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from os_ken.ofproto import ofproto_v1_3 as ofp
from os_ken.ofproto import ofproto_v1_3_parser as parser

from ofapp.openflow.switch.lease import SwitchLease
from ofapp.openflow.wire.channel import Channel
from ofapp.openflow.wire.requests import RequestError, ask_once, replies

RENEWAL = 1.0
"""Seconds between two renewals of a lease, which lasts `pipeline.owner.LEASE`."""

_MACHINE = Path("/etc/machine-id")
_NO_GENERATION = (1 << 64) - 1
_ROLE_REPLY = struct.Struct("!8xI4xQ")


def identity(state_dir: str) -> int:
    """A number for this controller that is the same after a restart; 64 bits, never 0.

    No two controllers share a state directory.
    """
    machine = _MACHINE.read_text() if _MACHINE.is_file() else ""
    return number(machine, socket.gethostname(), str(Path(state_dir).resolve()))


def number(*names: str) -> int:
    """One for who goes by these names; 64 bits, never 0."""
    whole = "\0".join(names)
    return int.from_bytes(hashlib.sha256(whole.encode()).digest()[:8], "big") or 1


class Ownership(Protocol):
    """Of one switch: whether this controller may look after it."""

    def acquire(self) -> str | None:
        """Take it, or tell in words who has it; RequestError."""

    def renew(self, lost: Callable[[], None]) -> None:
        """Keep it; `lost` is called, later, should it be somebody else's now."""

    def release(self) -> None:
        """Let others have it at once."""


class LeasedOwnership:
    """By a lease alone: of a controller that is in no cluster."""

    def __init__(self, channel: Channel, own: int) -> None:
        self._channel = channel
        self._lease = SwitchLease(channel, own)
        self._slave = False
        self.renew = self._lease.renew
        self.release = self._lease.release

    def acquire(self) -> str | None:
        """See `Ownership`."""
        if self._slave and (other := self._lease.other()) is not None:
            return other
        if self._slave:
            self._ask_role(ofp.OFPCR_ROLE_EQUAL)
            self._slave = False
        if self._lease.take():
            self._become_master()
            return None
        other = self._lease.other()
        if other is not None:
            self._ask_role(ofp.OFPCR_ROLE_SLAVE, self._generation())
            self._slave = True
        return other or "somebody whose lease has just ended"

    # Inside

    def _generation(self) -> int:
        """The one after that of the last role that the switch gave somebody; RequestError."""
        return self._next(self._ask_role(ofp.OFPCR_ROLE_NOCHANGE))

    @staticmethod
    def _next(reply: bytes) -> int:
        if len(reply) < _ROLE_REPLY.size:
            raise RequestError("a role reply is cut short")
        _role, generation = _ROLE_REPLY.unpack_from(reply)
        return 1 if generation == _NO_GENERATION else (generation + 1) & _NO_GENERATION

    def _ask_role(self, role: int, generation: int = 0) -> bytes:
        request = parser.OFPRoleRequest(self._channel, role, generation)
        (reply,) = replies(self._channel, request)
        return reply

    def _become_master(self) -> None:
        """Without waiting: a switch that knows no roles is looked after all the same."""

        def on_role(reply: bytes) -> None:
            if reply[1] == ofp.OFPT_ROLE_REPLY and len(reply) >= _ROLE_REPLY.size:
                role = ofp.OFPCR_ROLE_MASTER
                master = parser.OFPRoleRequest(self._channel, role, self._next(reply))
                ask_once(self._channel, master, lambda _reply: None)

        question = parser.OFPRoleRequest(self._channel, ofp.OFPCR_ROLE_NOCHANGE, 0)
        ask_once(self._channel, question, on_role)
