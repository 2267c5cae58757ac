"""Connections of switches: which one is valid for a datapath id, and its start and end."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from functools import partial

from ofapp.bridge.event import Event
from ofapp.common import hub
from ofapp.common.request_error import RequestError
from ofapp.controller.bridges.datapath import Connection
from ofapp.controller.bridges.dispatcher import Shared
from ofapp.controller.bridges.events import (
    BRIDGE_CONNECTED,
    BRIDGE_DISCONNECTED,
    BRIDGE_DUPLICATE,
    BRIDGE_GIVEN_UP,
)
from ofapp.controller.bridges.lifetime import Lifetime
from ofapp.controller.bridges.openflow_datapath import (
    GIVEN_UP,
    Channel,
    Ownership,
    Session,
    answers,
    local_name,
    messages,
)
from ofapp.controller.bridges.owners import Owners

LOG = logging.getLogger(__name__)


class Connections:
    """Connections of a registry's switches.

    owners: decides when this controller may manage a switch; begun: called with each connection
    over which a bridge is managed.
    """

    def __init__(
        self,
        shared: Shared,
        lifetime: Lifetime,
        owners: Owners,
        begun: Callable[[int], None] = lambda _datapath_id: None,
    ) -> None:
        self._begun = begun
        self._bridges = shared.registry.bridges
        self._datapaths = shared.registry.datapaths
        self._lifetime = lifetime
        self._dispatcher = shared.dispatcher
        self._running = shared.running
        self._events = shared.events
        self._owners = owners
        self._waiting: dict[int, Channel] = {}  # for `owners`
        self._others: set[int] = set()  # to be handed over when their connections end

    def admit(self, channel: Channel, datapath_id: int) -> bool:
        """Whether a connection may use a datapath id: not while another one does."""
        datapath = self._datapaths.get(datapath_id)
        other: Connection | None = self._waiting.get(datapath_id)
        if datapath is not None:
            other = datapath.channel
        if other is not None and other.dead:
            self.disconnected(other)  # its end is known but not reported yet
            return self.admit(channel, datapath_id)  # a third one may be there by now
        if other is None:
            return self._lifetime.has_room(datapath_id)
        if other is channel:
            return True
        self._events.emit(
            datapath_id,
            BRIDGE_DUPLICATE.event(
                f"refused a second switch with this datapath id, from {_address(channel)}: "
                f"{_address(other)} has it; set other-config:datapath-id on one of them",
                data={"refused": _address(channel), "running": _address(other)},
            ),
        )
        alive = partial(answers, self._waiting[datapath_id]) if datapath is None else datapath.alive
        hub.watch(self._events.fault, _probe, other, alive)
        return False

    def connected(self, channel: Channel) -> None:
        """Handle a switch that has identified itself.

        Where the file names bridges, the name must be known first: no message to a switch may be
        reverted by the next one.
        """
        if self._running.knows_entry(channel.id) and not self._owners.waits:
            self._begin(channel)
        else:
            hub.watch(partial(self._failed, channel), self._begin_later, channel)

    def _failed(self, channel: Connection, error: Exception) -> None:
        """Close the connection of a switch that cannot be served: it may connect again."""
        self._events.fault(error)
        channel.fail(error)

    def _begin_later(self, channel: Channel) -> None:
        if self._owners.waits:
            self._wait(channel)
            return
        name = self._name(channel)
        if not channel.dead:
            self._begin(channel, name)

    def _name(self, channel: Channel) -> str | None:
        if self._running.knows_entry(channel.id):
            return None
        try:
            return local_name(channel)
        except RequestError as error:
            LOG.warning("the name of %016x is not known yet: %s", channel.id, error)
            return None

    def _wait(self, channel: Channel) -> None:
        """Begin once `owners` says that the switch is this controller's."""
        datapath_id = channel.id
        if not self.admit(channel, datapath_id):  # another one was quicker
            channel.close()
            return
        self._waiting[datapath_id] = channel
        try:
            ownership = self._owners.obtain(channel)
            name = self._name(channel)
        except RequestError as error:
            LOG.warning("%016x cannot be taken over: %s", datapath_id, error)
            channel.hang_up()
            return
        finally:
            if self._waiting.get(datapath_id) is channel:
                del self._waiting[datapath_id]
        if ownership is not None and not channel.dead:
            self._begin(channel, name, ownership)

    def _begin(
        self, channel: Channel, name: str | None = None, ownership: Ownership | None = None
    ) -> None:
        datapath_id = channel.id
        if not self.admit(channel, datapath_id):  # another one was quicker
            channel.close()
            return
        if name is not None:
            self._running.learn_name(datapath_id, name)
        adopt_static = not self._lifetime.knows_entries(datapath_id)
        bridge = self._lifetime.back(datapath_id)
        self._dispatcher.settle_names()
        ownership = ownership or self._owners.obtain(channel)
        assert ownership is not None
        datapath = Session(channel, bridge, self._dispatcher.handle, ownership, adopt_static)
        self._datapaths[datapath_id] = datapath
        self._begun(datapath_id)
        emit = self._dispatcher.emit
        emit(bridge, BRIDGE_CONNECTED.event(f"connected from {_address(channel)}"))
        for event in self._running.ambiguities(datapath_id):
            emit(bridge, event)
        datapath.start()

    def disconnected(self, channel: Connection) -> None:
        """Handle the end of a connection; the bridge and its state stay."""
        event = BRIDGE_DISCONNECTED.event("the switch has disconnected")
        self._end(channel, event)

    def _end(self, channel: Connection, event: Event) -> None:
        if channel.id is None:
            return
        if self._waiting.get(channel.id) is channel:
            del self._waiting[channel.id]
        datapath = self._datapaths.get(channel.id)
        if datapath is not None and datapath.channel is channel:
            del self._datapaths[channel.id]
            # Before `stop`, which lets others run: the bridge may be released meanwhile, or the
            # switch may connect again.
            self._lifetime.left(datapath.bridge, time.monotonic())
            self._dispatcher.emit(datapath.bridge, event)
            self._dispatcher.settle_names()
            datapath.stop()
            if channel.id in self._others:
                self.release(channel.id)
        self._owners.ended(channel)

    # For `owners`

    def in_line(self, datapath_id: int) -> bool:
        """See `SwitchService`."""
        datapath = self._datapaths.get(datapath_id)
        return datapath is not None and datapath.in_line

    def give_up(self, channel: Connection, why: str) -> None:
        """See `SwitchService`."""
        self._end(channel, BRIDGE_GIVEN_UP.event(why))

    def expect(self, datapath_id: int) -> None:
        """See `SwitchService`."""
        if datapath_id not in self._datapaths:
            self._lifetime.expect(datapath_id)

    def last_words(self, datapath_id: int) -> bytes:
        """See `SwitchService`."""
        bridge = self._bridges.get(datapath_id)
        frames = [] if bridge is None else bridge.lags.last_frames()
        return messages(frames)

    def release(self, datapath_id: int) -> None:
        """See `SwitchService`."""
        if datapath_id in self._datapaths:
            self._others.add(datapath_id)
        else:
            self._others.discard(datapath_id)
            self._lifetime.release(datapath_id)

    def close(self) -> None:
        """Release every switch when the controller ends; the switches keep their flows."""
        for datapath in list(self._datapaths.values()):
            datapath.announce_end()
            datapath.stop()
        hub.sleep(0)  # send their last messages
        for datapath in list(self._datapaths.values()):
            datapath.channel.close()


def _probe(channel: Connection, alive: Callable[[float], bool]) -> None:
    """Close a connection whose switch is silent: the switch's next connection is waiting."""
    if not alive(GIVEN_UP):
        channel.close()


def _address(channel: Connection) -> str:
    address = channel.address
    return f"{address[0]}:{address[1]}" if isinstance(address, tuple) else str(address)
