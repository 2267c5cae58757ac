"""Connections of switches: which one is valid for a datapath id, and its start and end."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from ofapp.bridge.event import EventKind
from ofapp.common import hub
from ofapp.common.peer import host_and_port
from ofapp.common.request_error import RequestError
from ofapp.controller.bridges.datapath import Connection, Datapath
from ofapp.controller.bridges.dispatcher import Shared
from ofapp.controller.bridges.events import (
    BRIDGE_CONNECTED,
    BRIDGE_DISCONNECTED,
    BRIDGE_DUPLICATE,
    BRIDGE_GIVEN_UP,
    BRIDGE_RESERVED,
)
from ofapp.controller.bridges.fabric.fabric_datapath import FabricDatapath
from ofapp.controller.bridges.fabric.fabrics import Fabrics, Membership
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


class _Session(NamedTuple):
    """A connected switch.

    session: its own; datapath: datapath of its bridge, that of the fabric for a member of one.
    """

    session: Session[Any]
    datapath: Datapath
    place: Membership | None

    @property
    def member(self) -> str:
        """The member's name before a text; empty for a bridge of one switch."""
        if self.place is None:
            return ""
        return f"{self.place.fabric.members[self.place.member - 1].name}: "

    @property
    def is_last(self) -> bool:
        """Whether the datapath has no connection without this one."""
        if self.place is None:
            return True
        assert isinstance(self.datapath, FabricDatapath)
        return len(self.datapath.connected) == 1

    def leave(self) -> None:
        """Leave the datapath."""
        if self.place is not None:
            assert isinstance(self.datapath, FabricDatapath)
            self.datapath.leave(self.place.member)

    def is_at(self, place: Membership | None) -> bool:
        """Whether the switch is still in this place."""
        if place is None or self.place is None:
            return place is self.place
        before = self.place.fabric.name, self.place.fabric.datapath_id, self.place.member
        return before == (place.fabric.name, place.fabric.datapath_id, place.member)


class Connections:
    """Connections of a registry's switches.

    owners: decides when this controller may manage a switch; fabrics: whose members are switches;
    begun: called with each connection over which a bridge is managed.
    """

    def __init__(
        self,
        shared: Shared,
        lifetime: Lifetime,
        owners: Owners,
        fabrics: Fabrics,
        begun: Callable[[int], None] = lambda _datapath_id: None,
    ) -> None:
        self._begun = begun
        self._bridges = shared.registry.bridges
        self._datapaths = shared.registry.datapaths
        self._fabrics = fabrics
        self._sessions: dict[int, _Session] = {}  # by datapath id of the switch
        self._lifetime = lifetime
        self._dispatcher = shared.dispatcher
        self._running = shared.running
        self._events = shared.events
        self._owners = owners
        self._waiting: dict[int, Channel] = {}  # for `owners`
        self._others: set[int] = set()  # to be handed over when their connections end
        self._former: set[int] = set()  # that were refused: see `_refuse_former`

    def __len__(self) -> int:
        """Number of switches that are served."""
        return len(self._sessions)

    def admit(self, channel: Channel, datapath_id: int) -> bool:
        """Whether a connection may use a datapath id: not while another one does."""
        known = self._sessions.get(datapath_id)
        other: Connection | None = self._waiting.get(datapath_id)
        if known is not None:
            other = known.session.channel
        if other is not None and other.dead:
            self.disconnected(other)  # its end is known but not reported yet
            return self.admit(channel, datapath_id)  # a third one may be there by now
        if other is None:
            fabric = self._fabrics.of(datapath_id)
            if fabric is not None and fabric.member(datapath_id) is None:
                self._refuse_former(channel, datapath_id, fabric.name)
                return False
            return self._lifetime.has_room(datapath_id if fabric is None else fabric.datapath_id)
        if other is channel:
            return True
        refused, running = host_and_port(channel.address), host_and_port(other.address)
        text = f"refused a second switch with this datapath id, from {refused}: {running} has it"
        text += "; set other-config:datapath-id on one of them"
        data = {"refused": refused, "running": running}
        self._events.emit(datapath_id, BRIDGE_DUPLICATE.event(text, data=data))
        alive = known.session.alive if known else partial(answers, self._waiting[datapath_id])
        hub.watch(self._events.fault, _probe, other, alive)
        return False

    def _refuse_former(self, channel: Channel, datapath_id: int, fabric: str) -> None:
        """Report once that a switch has left a fabric whose bridge has its datapath id."""
        if datapath_id in self._former:
            return
        self._former.add(datapath_id)
        free = f"{datapath_id ^ 1 << 48:016x}"
        refused = host_and_port(channel.address)
        text = f"refused {refused}: this switch has left, and {fabric} keeps its datapath"
        text += f" id; give it another: ovs-vsctl set bridge NAME other-config:datapath-id={free}"
        data = {"fabric": fabric, "refused": refused}
        self._events.emit(datapath_id, BRIDGE_RESERVED.event(text, data=data))

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
            bridge_id = self.bridge_of(datapath_id)
            name = self._name(channel)
        except RequestError as error:
            LOG.warning("%016x cannot be taken over: %s", datapath_id, error)
            channel.hang_up()
            return
        finally:
            if self._waiting.get(datapath_id) is channel:
                del self._waiting[datapath_id]
        if ownership is None or channel.dead:
            return
        if self.bridge_of(datapath_id) != bridge_id:  # the file has other fabrics meanwhile
            channel.hang_up()
            return
        self._begin(channel, name, ownership)

    def _begin(
        self, channel: Channel, name: str | None = None, ownership: Ownership | None = None
    ) -> None:
        datapath_id = channel.id
        if not self.admit(channel, datapath_id):  # another one was quicker
            channel.close()
            return
        place = self._fabrics.place(datapath_id)
        if name is not None and place is None:
            self._running.learn_name(datapath_id, name)
        bridge_id = datapath_id if place is None else place.fabric.datapath_id
        adopt_static = not self._lifetime.knows_entries(bridge_id)
        bridge = self._lifetime.back(bridge_id)
        self._dispatcher.settle_names()
        ownership = ownership or self._owners.obtain(channel)
        assert ownership is not None
        if place is None:
            own = Session(channel, bridge, self._dispatcher.handle, ownership, adopt_static)
            self._datapaths[bridge_id] = own
            session = _Session(own, own, None)
            who = ""
        else:
            fabric = self._fabrics.running(place.fabric)
            self._datapaths[bridge_id] = fabric
            session = _Session(fabric.join(place.member, channel, ownership), fabric, place)
            who = f"{fabric.name(place.member)} has "
        self._sessions[datapath_id] = session
        self._begun(bridge_id)
        emit = self._dispatcher.emit
        peer = host_and_port(channel.address)
        emit(bridge, BRIDGE_CONNECTED.event(f"{who}connected from {peer}"))
        for event in self._running.ambiguities(bridge_id):
            emit(bridge, event)
        session.session.start()

    def disconnected(self, channel: Connection) -> None:
        """Handle the end of a connection; the bridge and its state stay."""
        self._end(channel, BRIDGE_DISCONNECTED, "the switch has disconnected")

    def _end(self, channel: Connection, kind: EventKind, text: str) -> None:
        if channel.id is None:
            return
        if self._waiting.get(channel.id) is channel:
            del self._waiting[channel.id]
        known = self._sessions.get(channel.id)
        if known is not None and known.session.channel is channel:
            del self._sessions[channel.id]
            # Before `stop`, which lets others run: the bridge may be released meanwhile, or the
            # switch may connect again.
            bridge = known.datapath.bridge
            if known.is_last:  # a request must not find a datapath without a connection
                del self._datapaths[bridge.datapath_id]
                known.leave()
                self._lifetime.left(bridge, time.monotonic())
            else:
                known.leave()
                self._lifetime.falls_silent(bridge, time.monotonic())
            self._dispatcher.emit(bridge, kind.event(f"{known.member}{text}"))
            self._dispatcher.settle_names()
            known.session.stop()
            if bridge.datapath_id in self._others:
                self.release(bridge.datapath_id)
        self._owners.ended(channel)

    def follow_file(self) -> None:
        """Handle that the file has other fabrics.

        A switch that is in another place now is disconnected, and comes back by itself.
        """
        for datapath_id, known in [*self._sessions.items()]:
            place = self._fabrics.place(datapath_id)
            if not known.is_at(place):
                channel = known.session.channel
                self._end(channel, BRIDGE_GIVEN_UP, "the switch's place in the fabrics has changed")
                channel.hang_up()
                if known.place is None:
                    self._lifetime.retire(datapath_id, "its switch is a member of a fabric now")
        self._former.clear()
        self._fabrics.follow_file()

    # For `owners`

    def bridge_of(self, datapath_id: int) -> int:
        """See `SwitchService`."""
        place = self._fabrics.place(datapath_id)
        return datapath_id if place is None else place.fabric.datapath_id

    def switches(self, datapath_id: int) -> tuple[int, ...]:
        """See `SwitchService`."""
        fabric = self._fabrics.of(datapath_id)
        if fabric is None:
            return (datapath_id,)
        return tuple(member.datapath_id for member in fabric.present.values())

    def in_line(self, datapath_id: int) -> bool:
        """See `SwitchService`."""
        datapath = self._datapaths.get(datapath_id)
        return datapath is not None and datapath.in_line

    def give_up(self, channel: Connection, why: str) -> None:
        """See `SwitchService`."""
        self._end(channel, BRIDGE_GIVEN_UP, why)

    def expect(self, datapath_id: int) -> None:
        """See `SwitchService`."""
        if datapath_id not in self._datapaths:
            self._lifetime.expect(datapath_id)

    def last_words(self, datapath_id: int) -> bytes:
        """See `SwitchService`."""
        bridge = self._bridges.get(self.bridge_of(datapath_id))
        if bridge is None:
            return b""
        frames = [*bridge.lags.last_frames()]
        place = self._fabrics.place(datapath_id)
        if place is not None:
            frames = self._fabrics.running(place.fabric).frames_of(place.member, frames)
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
        for known in list(self._sessions.values()):
            known.session.channel.close()


def _probe(channel: Connection, alive: Callable[[float], bool]) -> None:
    """Close a connection whose switch is silent: the switch's next connection is waiting."""
    if not alive(GIVEN_UP):
        channel.close()
