"""The role of this member of a cluster at one switch.

`roles` says what is asked and why; here it is sent.
"""

from __future__ import annotations

from os_ken.ofproto import ofproto_v1_3 as ofp

from ofapp.openflow.switch.mastership.roles import (
    Asking,
    Role,
    RoleReply,
    RoleRequest,
    become_master,
    become_slave,
)
from ofapp.openflow.wire.channel import Channel
from ofapp.openflow.wire.messages.role import read_role, role_request
from ofapp.openflow.wire.requests import RefusedError, RequestError, replies

_STALE = ofp.OFPET_ROLE_REQUEST_FAILED, ofp.OFPRRFC_STALE


class Mastership:
    """The role of this controller on one connection."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    def become_slave(self) -> None:
        """Become SLAVE; on return all sent before is carried out.  RequestError, StaleError."""
        self._ask(become_slave())

    def become_master(self, term: int) -> None:
        """Become MASTER with this generation_id; RequestError, StaleError."""
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
        message = role_request(self._channel, request.role, request.generation)
        try:
            (reply,) = replies(self._channel, message)
        except RefusedError as error:
            if error.code != _STALE:
                raise
            return RoleReply(None)
        role, generation = read_role(reply)
        try:
            return RoleReply(Role(role), generation)
        except ValueError:
            raise RequestError(f"the switch reports role {role}, which does not exist") from None
