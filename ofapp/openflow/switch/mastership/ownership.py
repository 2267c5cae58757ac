"""Which controller is master of a switch, where several are connected that do not know each other.

OpenFlow's roles are not enough: each controller that asks to be MASTER becomes it, none can ask
whether there is one, and a switch takes flow-mods from EQUAL controllers beside it.  So the switch
itself keeps a reservation (`reservation`), which ends unless it is renewed.

The holder of the reservation asks to be MASTER, which makes any former master a SLAVE.  A former
master that was stopped for a minute, and does not know yet that its time is over, is refused by the
switch.  A controller that waits is SLAVE, receives nothing, and checks each second whether the
reservation has ended.

Members of a cluster do know each other: there a claim in etcd comes first (`mastership`).
"""

import hashlib
import logging
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from ofapp.bridge.event import Event
from ofapp.common import hub
from ofapp.openflow.switch.events import BRIDGE_STANDBY, BRIDGE_TAKEOVER
from ofapp.openflow.switch.mastership.reservation import SwitchReservation
from ofapp.openflow.switch.mastership.roles import (
    NO_GENERATION,
    ControllerRole,
    read_role,
    role_request,
)
from ofapp.openflow.wire.channel import Channel
from ofapp.openflow.wire.requests import RequestError, ask_once, replies
from ofapp.osken import ofp

LOG = logging.getLogger(__name__)

RENEWAL = 1.0
"""Seconds between two renewals of a reservation, which lasts `pipeline.owner.LEASE`."""

_MACHINE = Path("/etc/machine-id")


def identity(state_dir: str) -> int:
    """A number for this controller that is the same after a restart; 64 bits, never 0.

    No two controllers share a state directory.
    """
    machine = _MACHINE.read_text() if _MACHINE.is_file() else ""
    return number(machine, socket.gethostname(), str(Path(state_dir).resolve()))


def number(*names: str) -> int:
    """A number for the controller with these names; 64 bits, never 0."""
    whole = "\0".join(names)
    return int.from_bytes(hashlib.sha256(whole.encode()).digest()[:8], "big") or 1


class Ownership(Protocol):
    """Whether this controller may be master of one switch."""

    def acquire(self) -> str | None:
        """Take it, or give in words which controller has it.  Raises RequestError."""

    def renew(self, lost: Callable[[], None]) -> None:
        """Keep it; `lost` is called, later, should it be another controller's now."""

    def release(self) -> None:
        """Let others have it at once."""


class ReservedOwnership:
    """Ownership by a reservation in the switch alone, for a controller that is in no cluster."""

    def __init__(self, channel: Channel, number: int) -> None:
        self._channel = channel
        self._reservation = SwitchReservation(channel, number)
        self._slave = False
        self.renew = self._reservation.renew
        self.release = self._reservation.release

    def acquire(self) -> str | None:
        """See `Ownership`."""
        if self._slave and (other := self._reservation.other()) is not None:
            return other
        if self._slave:
            self._ask_role(ControllerRole.EQUAL)
            self._slave = False
        other = self._reservation.acquire()
        if other is None:
            self._become_master()
        else:
            self._ask_role(ControllerRole.SLAVE, _after(self._ask_role(ControllerRole.NOCHANGE)))
            self._slave = True
        return other

    # Inside

    def _ask_role(self, role: ControllerRole, generation: int = 0) -> bytes:
        (reply,) = replies(self._channel, role_request(self._channel, role, generation))
        return reply

    def _become_master(self) -> None:
        """Ask without waiting: a switch that knows no roles is managed all the same."""

        def on_role(reply: bytes) -> None:
            if reply[1] != ofp.OFPT_ROLE_REPLY:
                return
            with suppress(RequestError):
                master = role_request(self._channel, ControllerRole.MASTER, _after(reply))
                ask_once(self._channel, master, lambda _reply: None)

        ask_once(self._channel, role_request(self._channel, ControllerRole.NOCHANGE), on_role)


def _after(reply: bytes) -> int:
    """The generation after that of the last role that the switch granted.  Raises RequestError."""
    _role, generation = read_role(reply)
    return 1 if generation == NO_GENERATION else (generation + 1) & NO_GENERATION


class Standby:
    """Standby of one connection.

    owner: the other controller that is the switch's master, in words; None for none.
    """

    def __init__(self, ownership: Ownership) -> None:
        self.owner: str | None = None
        self._ownership = ownership

    def wait(self, name: str) -> Iterator[Event]:
        """Wait until the switch is ours, and give the events meanwhile; `name` is the bridge's."""
        while (other := self._other(name)) is not None:
            if self.owner is None:
                message = f"{other} is master of the switch: this one is on standby until it goes"
                data = {"owner": other}
                yield BRIDGE_STANDBY.event(message, data=data)
            self.owner = other
            hub.sleep(RENEWAL)
        if self.owner is not None:
            message = f"{self.owner} has gone: this one is master of the switch now"
            yield BRIDGE_TAKEOVER.event(message, data={"owner": self.owner})
            self.owner = None

    def _other(self, name: str) -> str | None:
        try:
            return self._ownership.acquire()
        except (RequestError, ValueError) as error:
            LOG.warning("bridge %s: the switch's master is not known: %s", name, error)
            return self.owner or "the switch does not say"
