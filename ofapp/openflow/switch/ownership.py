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
from pathlib import Path
from typing import Any

from os_ken.ofproto import ofproto_v1_3 as ofp
from os_ken.ofproto import ofproto_v1_3_parser as parser

from ofapp.openflow.model.cookie import FEATURE_MASK, Feature, make_cookie
from ofapp.openflow.model.rule import TableId
from ofapp.openflow.wire.channel import Channel
from ofapp.openflow.wire.codec import serialize
from ofapp.openflow.wire.flow_stats import read_flow_stats
from ofapp.openflow.wire.oxm import oxms
from ofapp.openflow.wire.questions import flow_request
from ofapp.openflow.wire.requests import RequestError, bodies, replies

LEASE, RENEWAL = 4, 1.0
"""Seconds: less than the three hello times (6 s) that neighbours wait for a silent bridge."""

_PRIORITY = 1
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
        self._lease: tuple[Any, bytes] | None = None

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
        self._channel.send(serialize(self._flow_mod(command=ofp.OFPFC_DELETE_STRICT)))

    # Inside

    def _add(self, refused: Callable[[bytes], None]) -> int:
        # Made once: a thousand switches have a thousand leases renewed each second.
        if self._lease is None:
            message = self._flow_mod(hard_timeout=LEASE, flags=ofp.OFPFF_CHECK_OVERLAP)
            xid = int(self._channel.set_xid(message))
            self._lease = message, serialize(message)
        else:
            message = self._lease[0]
            message.xid = None
            xid = int(self._channel.set_xid(message))
        data = self._lease[1]
        self._channel.request(xid, data[:4] + xid.to_bytes(4, "big") + data[8:], refused)
        return xid

    def _flow_mod(self, **fields: int) -> Any:
        return parser.OFPFlowMod(
            self._channel,
            cookie=make_cookie(Feature.OWNER, self._address()),
            table_id=TableId.OWNER,
            priority=_PRIORITY,
            match=parser.OFPMatch(metadata=(0, self._own)),
            out_port=ofp.OFPP_ANY,
            out_group=ofp.OFPG_ANY,
            **fields,
        )

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
            self._channel.end_request(xid)
            if reply[1] == ofp.OFPT_ROLE_REPLY and len(reply) >= _ROLE_REPLY.size:
                generation = self._next(reply)
                master = parser.OFPRoleRequest(self._channel, ofp.OFPCR_ROLE_MASTER, generation)
                own = int(self._channel.set_xid(master))
                self._channel.request(
                    own, serialize(master), lambda _reply: self._channel.end_request(own)
                )

        question = parser.OFPRoleRequest(self._channel, ofp.OFPCR_ROLE_NOCHANGE, 0)
        xid = int(self._channel.set_xid(question))
        self._channel.request(xid, serialize(question), on_role)
