"""Requests by which a member of a cluster becomes the only master of a switch.

What Open vSwitch does and does not prevent [measured, 3.1]: a request to be MASTER makes the
former master a SLAVE, and of a SLAVE it takes no flow-mod, group-mod, meter-mod or packet-out.
But a connection begins as EQUAL, and of an EQUAL it takes all of them, beside the master; also of a
former master that has come back, whose request for MASTER it refuses as stale.  It refuses what has
an older generation_id than it has seen, of SLAVE as of MASTER, and then the role stays as it was.

So here a connection becomes SLAVE before anything else, with the generation that the switch itself
names; it becomes MASTER only with the term of a claim in etcd as its generation_id; and nothing is
written before the reply that says so.  Terms grow: after the switch has taken a later one, what
the former master has under way is refused, however late it comes.

Both ways are generators of requests that are sent the replies: without I/O, so that a model can
have them stopped and delayed at every step.
"""

import struct
from collections.abc import Generator
from enum import IntEnum
from typing import Any, NamedTuple

from ofapp.openflow.wire.channel import Channel
from ofapp.openflow.wire.requests import RefusedError, RequestError, replies
from ofapp.osken import ofp, parser

NO_GENERATION = (1 << 64) - 1
"""The generation_id of a switch that has never received one (OpenFlow 1.3.5, 7.3.9)."""

ATTEMPTS = 10
"""Attempts to become SLAVE, while others become MASTER."""


class ControllerRole(IntEnum):
    """Controller roles by OpenFlow's numbers; NOCHANGE only asks."""

    NOCHANGE = 0
    EQUAL = 1
    MASTER = 2
    SLAVE = 3


class RoleRequest(NamedTuple):
    """A request for a role."""

    role: ControllerRole
    generation: int = 0


class RoleReply(NamedTuple):
    """role: None where the generation was stale."""

    role: ControllerRole | None
    generation: int = NO_GENERATION


class StaleError(Exception):
    """The switch has seen a later generation.  seen: which."""

    def __init__(self, seen: int) -> None:
        super().__init__(f"the switch has seen a later term, {seen}")
        self.seen = seen


Asking = Generator[RoleRequest, RoleReply, None]


def become_slave() -> Asking:
    """StaleError when the switch's generation moves on all the time."""
    seen = 0
    for _ in range(ATTEMPTS):
        answer = yield RoleRequest(ControllerRole.NOCHANGE)
        seen = 0 if answer.generation == NO_GENERATION else answer.generation
        answer = yield RoleRequest(ControllerRole.SLAVE, seen)
        if answer.role is ControllerRole.SLAVE:
            return
    raise StaleError(seen)


def become_master(term: int) -> Asking:
    """StaleError where this is not the latest term that the switch knows."""
    answer = yield RoleRequest(ControllerRole.MASTER, term)
    if answer.role is not ControllerRole.MASTER:
        answer = yield RoleRequest(ControllerRole.NOCHANGE)
        raise StaleError(answer.generation)


_STALE = ofp.OFPET_ROLE_REQUEST_FAILED, ofp.OFPRRFC_STALE


class Mastership:
    """The role of this controller on one connection."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    def become_slave(self) -> None:
        """Become SLAVE; on return all sent before is carried out.  RequestError, StaleError."""
        self._ask(become_slave())

    def become_master(self, term: int) -> None:
        """Become MASTER with this generation_id.  Raises RequestError and StaleError."""
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
            return RoleReply(ControllerRole(role), generation)
        except ValueError:
            raise RequestError(f"the switch reports role {role}, which does not exist") from None


_REPLY = struct.Struct("!8xI4xQ")


def role_request(channel: Channel, role: int, generation: int = 0) -> Any:
    """A role request, by OpenFlow's number of the role."""
    return parser.OFPRoleRequest(channel, role, generation)


def read_role(reply: bytes) -> tuple[int, int]:
    """(role, generation_id).  Raises RequestError."""
    if len(reply) < _REPLY.size:
        raise RequestError("a role reply is cut short")
    role, generation = _REPLY.unpack_from(reply)
    return role, generation
