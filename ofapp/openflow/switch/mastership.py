"""The role of this member of a cluster at one switch, and the ownership that it stands for.

`roles` says what is asked and why; here it is sent.
"""

from __future__ import annotations

import struct

from os_ken.ofproto import ofproto_v1_3 as ofp
from os_ken.ofproto import ofproto_v1_3_parser as parser

from ofapp.openflow.switch.lease import SwitchLease
from ofapp.openflow.switch.roles import (
    Asking,
    Role,
    RoleReply,
    RoleRequest,
    become_master,
    become_slave,
)
from ofapp.openflow.wire.channel import Channel
from ofapp.openflow.wire.requests import RefusedError, RequestError, replies

_REPLY = struct.Struct("!8xI4xQ")
_STALE = ofp.OFPET_ROLE_REQUEST_FAILED, ofp.OFPRRFC_STALE


class Mastership:
    """Of one connection."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    def become_slave(self) -> None:
        """What was sent before is carried out when this comes back; RequestError, StaleError."""
        self._ask(become_slave())

    def become_master(self, term: int) -> None:
        """RequestError, StaleError."""
        self._ask(become_master(term))

    def _ask(self, asking: Asking) -> None:
        request = next(asking)
        while True:
            answer = self._answer(request)
            try:
                request = asking.send(answer)
            except StopIteration:
                return

    def _answer(self, request: RoleRequest) -> RoleReply:
        message = parser.OFPRoleRequest(self._channel, int(request.role), request.generation)
        try:
            (reply,) = replies(self._channel, message)
        except RefusedError as error:
            if error.code != _STALE:
                raise
            return RoleReply(None)
        if len(reply) < _REPLY.size:
            raise RequestError("a role reply is cut short")
        role, generation = _REPLY.unpack_from(reply)
        try:
            return RoleReply(Role(role), generation)
        except ValueError:
            raise RequestError(f"the switch tells of a role {role}, which there is not") from None


class ClaimedOwnership:
    """By a claim in etcd, as the switch's master: all of it was settled before this is made.

    The lease in the switch is the cluster's and the same for all its members.  It keeps out whoever
    is in no cluster, as it keeps this one waiting for such a controller.
    """

    def __init__(self, lease: SwitchLease) -> None:
        self._lease = lease
        self.renew = lease.renew
        self.release = lease.release

    def acquire(self) -> str | None:
        """See `Ownership`."""
        if self._lease.take():
            return None
        return self._lease.other() or "somebody whose lease has just ended"
