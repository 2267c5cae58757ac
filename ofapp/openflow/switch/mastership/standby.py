"""Standby while another controller is master of the switch."""

from __future__ import annotations

import logging
from collections.abc import Iterator

from ofapp.bridge.event import Event
from ofapp.common import hub
from ofapp.openflow.switch.events import BRIDGE_STANDBY, BRIDGE_TAKEOVER
from ofapp.openflow.switch.mastership.ownership import RENEWAL, Ownership
from ofapp.openflow.wire.requests import RequestError

LOG = logging.getLogger(__name__)


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
