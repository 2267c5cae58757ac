"""Connections of switches: who may speak for a datapath id, and what begins and ends with one."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from functools import partial

from ofapp.bridge.event import Event, Severity
from ofapp.common import hub
from ofapp.controller.lifetime import Lifetime
from ofapp.controller.shared import Shared
from ofapp.openflow.switch.bridge_name import local_name
from ofapp.openflow.switch.ownership import Ownership
from ofapp.openflow.switch.session import Session
from ofapp.openflow.wire.channel import Channel
from ofapp.openflow.wire.echoes import GIVEN_UP
from ofapp.openflow.wire.requests import RequestError

LOG = logging.getLogger(__name__)


class Connections:
    """Those of a registry.

    own: the number of this controller, by which it has leases; begun: told of each connection that
    a bridge is looked after by.
    """

    def __init__(
        self,
        shared: Shared,
        lifetime: Lifetime,
        own: int,
        begun: Callable[[int], None] = lambda _datapath_id: None,
    ) -> None:
        self._begun = begun
        self._sessions = shared.registry.sessions
        self._lifetime = lifetime
        self._dispatcher = shared.dispatcher
        self._running = shared.running
        self._events = shared.events
        self._own = own

    def admit(self, channel: Channel, datapath_id: int) -> bool:
        """Whether a connection may speak for a datapath id: not while another one does."""
        session = self._sessions.get(datapath_id)
        if session is not None and session.channel.dead:
            self.disconnected(session.channel)  # its end is known but not told yet
            session = None
        if session is None:
            return self._lifetime.has_room(datapath_id)
        if session.channel is channel:
            return True
        self._events.tell(
            datapath_id,
            Event(
                "bridge.duplicate",
                f"refused a second switch with this datapath id, from {_address(channel)}: "
                f"{_address(session.channel)} has it; set other-config:datapath-id on one of them",
                Severity.ERROR,
                data={"refused": _address(channel), "running": _address(session.channel)},
            ),
        )
        hub.watch(self._events.fault, _probe, session)
        return False

    def connected(self, channel: Channel) -> None:
        """A switch has introduced itself.

        Where the file names bridges, the name must be known first: nothing is told to a switch
        that the next message would take back.
        """
        if self._running.knows_entry(channel.id):
            self._begin(channel)
        else:
            hub.watch(partial(self._failed, channel), self._begin_named, channel)

    def _failed(self, channel: Channel, error: Exception) -> None:
        """A switch cannot be served: it may come again."""
        self._events.fault(error)
        channel.fail(error)

    def _begin_named(self, channel: Channel) -> None:
        name = None
        try:
            name = local_name(channel)
        except RequestError as error:
            LOG.warning("the name of %016x is not known yet: %s", channel.id, error)
        if not channel.dead:
            self._begin(channel, name)

    def _begin(self, channel: Channel, name: str | None = None) -> None:
        datapath_id = channel.id
        if not self.admit(channel, datapath_id):  # another one was quicker
            channel.close()
            return
        if name is not None:
            self._running.learn_name(datapath_id, name)
        adopt_static = not self._lifetime.knows_entries(datapath_id)
        bridge = self._lifetime.back(datapath_id)
        self._dispatcher.settle_names()
        ownership = Ownership(channel, self._own)
        session = Session(channel, bridge, self._dispatcher.heed, ownership, adopt_static)
        self._sessions[datapath_id] = session
        self._begun(datapath_id)
        tell = self._dispatcher.tell
        tell(bridge, Event("bridge.connected", f"connected from {_address(channel)}"))
        for event in self._running.doubts(datapath_id):
            tell(bridge, event)
        session.start()

    def disconnected(self, channel: Channel) -> None:
        """A connection has ended; the bridge and what it knows stay."""
        session = self._sessions.get(channel.id) if channel.id is not None else None
        if session is None or session.channel is not channel:
            return
        del self._sessions[channel.id]
        session.stop()
        self._lifetime.left(session.bridge, time.monotonic())
        event = Event("bridge.disconnected", "the switch is gone", Severity.WARNING)
        self._dispatcher.tell(session.bridge, event)
        self._dispatcher.settle_names()

    def close(self) -> None:
        """The controller ends: let go of every switch, which keeps its flows."""
        for session in list(self._sessions.values()):
            session.farewell()
            session.stop()
        hub.sleep(0)  # what they say last goes out
        for session in list(self._sessions.values()):
            session.channel.close()


def _probe(session: Session) -> None:
    """Close a connection whose switch is silent: its successor is waiting at the door."""
    if not session.alive(GIVEN_UP):
        session.channel.close()


def _address(channel: Channel) -> str:
    address = channel.address
    return f"{address[0]}:{address[1]}" if isinstance(address, tuple) else str(address)
