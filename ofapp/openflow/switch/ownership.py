"""Which controller looks after a switch, where several are connected that do not know each other.

OpenFlow's roles alone do not tell: whoever asks to be MASTER becomes it, nobody can ask whether
there is one, and a switch takes flow-mods from EQUAL controllers beside it.  So the switch itself
keeps a lease: a flow that no frame ever meets, which ends by its hard timeout unless it is renewed.
Each controller's matches another mask of the metadata, with the value 0, so that all of them
overlap; and they are added with CHECK_OVERLAP, which a switch refuses while another's is there
(OpenFlow 1.3.5, 6.4).  To renew one's own is to add it again, which Open vSwitch does not take for
an overlap.  So taking a lease and looking whether somebody has it is one step.

Who has the lease asks to be MASTER, which makes everybody else who was it a SLAVE: one that was
stopped for a minute, and does not know yet that its time is over, is refused by the switch.  Who
has to wait is SLAVE, hears nothing, and looks every second whether the lease has ended.
"""

from __future__ import annotations

import hashlib
import ipaddress
import socket
import struct
from collections.abc import Callable
from functools import cached_property
from pathlib import Path

from os_ken.ofproto import ofproto_v1_3 as ofp
from os_ken.ofproto import ofproto_v1_3_parser as parser

from ofapp.openflow.model.cookie import FEATURE_MASK, Feature, make_cookie
from ofapp.openflow.model.flow import Flow
from ofapp.openflow.model.rule import TableId
from ofapp.openflow.pipeline.owner import lease_flow
from ofapp.openflow.wire import codec
from ofapp.openflow.wire.channel import Channel
from ofapp.openflow.wire.flow_stats import read_flow_stats
from ofapp.openflow.wire.oxm import oxms
from ofapp.openflow.wire.questions import flow_request
from ofapp.openflow.wire.requests import RequestError, ask_once, bodies, expect_error, replies

RENEWAL = 1.0
"""Seconds between two renewals of a lease, which lasts `LEASE`."""

_METADATA_MASKED = 0x80000511
_MACHINE = Path("/etc/machine-id")
_NO_GENERATION = (1 << 64) - 1
_ROLE_REPLY = struct.Struct("!8xI4xQ")


def identity(state_dir: str) -> int:
    """A number for this controller that is the same after a restart; 64 bits, never 0.

    No two controllers share a state directory.
    """
    machine = _MACHINE.read_text() if _MACHINE.is_file() else ""
    whole = "\0".join((machine, socket.gethostname(), str(Path(state_dir).resolve())))
    return int.from_bytes(hashlib.sha256(whole.encode()).digest()[:8], "big") or 1


class Ownership:
    """Of one switch, as one controller sees it."""

    def __init__(self, channel: Channel, own: int) -> None:
        self._channel = channel
        self._own = own
        self._renewed = 0
        self._slave = False

    def acquire(self) -> str | None:
        """Take the lease, or tell in words who has it; RequestError."""
        if self._slave and (other := self._other()) is not None:
            return other
        if self._slave:
            self._ask_role(ofp.OFPCR_ROLE_EQUAL)
            self._slave = False
        refused: list[bytes] = []
        xid = self._add(refused.append)
        list(replies(self._channel, parser.OFPBarrierRequest(self._channel)))
        self._channel.end_request(xid)
        if not refused:
            self._become_master()
            return None
        other = self._other()
        if other is not None:
            self._ask_role(ofp.OFPCR_ROLE_SLAVE, self._generation())
            self._slave = True
        return other or "somebody whose lease has just ended"

    def renew(self, lost: Callable[[], None]) -> None:
        """Keep the lease; `lost` is called, later, should it be somebody else's now."""
        self._channel.end_request(self._renewed)
        self._renewed = self._add(lambda _error: lost())

    def release(self) -> None:
        """Let others have it at once."""
        self._channel.send(codec.delete_flow(self._lease))

    # Inside

    def _add(self, refused: Callable[[bytes], None]) -> int:
        return expect_error(self._channel, self._claim, refused)

    @cached_property
    def _lease(self) -> Flow:
        return lease_flow(self._own, self._address())

    @cached_property
    def _claim(self) -> bytes:
        """Made once: a thousand switches have a thousand leases renewed each second."""
        return codec.claim_flow(self._lease)

    def _address(self) -> int:
        """Our end of the connection, for people; 0 where it is not an IPv4 address."""
        try:
            return int(ipaddress.IPv4Address(self._channel.socket.getsockname()[0]))
        except (OSError, ValueError, IndexError, TypeError):
            return 0

    def _other(self) -> str | None:
        """Who else has the lease, in words."""
        request = flow_request(
            self._channel, make_cookie(Feature.OWNER), FEATURE_MASK, TableId.OWNER
        )
        for body in bodies(self._channel, request):
            for flow in read_flow_stats(body):
                fields = dict(oxms(flow.match))
                if fields.get(_METADATA_MASKED, b"")[8:] != self._own.to_bytes(8, "big"):
                    address = flow.cookie & 0xFFFFFFFF
                    at = f" at {ipaddress.IPv4Address(address)}" if address else ""
                    return f"another controller{at}"
        return None

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
