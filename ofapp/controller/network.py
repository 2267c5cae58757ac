"""All bridges of this controller: who is connected, and every change that somebody asks for.

A `Bridge` outlives its switch's connection, so that what is known of a switch that is away for a
minute is not lost; a `Session` is one connection.  The API, the CLI behind it and the os-ken app
all work on this object and on nothing below it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from functools import partial

from ofapp.bridge import multicast, stp
from ofapp.bridge.bridge import Bridge, InputError
from ofapp.bridge.effects import Effect, SpokenFor, Unsettled
from ofapp.bridge.event import Event, Severity
from ofapp.bridge.mac import format_mac, parse_mac
from ofapp.bridge.naming import naming_ports
from ofapp.bridge.params import BridgeParams
from ofapp.bridge.pausable import UNLIVED
from ofapp.bridge.permanent import PermanentEntry, check_addresses
from ofapp.bridge.ports import LOCAL_PORT, Port
from ofapp.bridge.stp.dump import OtherParametersError
from ofapp.common import hub
from ofapp.config import Config
from ofapp.controller.absentees import Absentees
from ofapp.controller.away import Away, names_given_up
from ofapp.controller.events import EventLog
from ofapp.controller.run_time import Administration
from ofapp.controller.running import Settings, permanent_entries, static_entries, static_keys
from ofapp.controller.state import Kept, MdbEntry, State, StaticEntry
from ofapp.controller.state.keeper import Ticket
from ofapp.controller.throttle import Throttle
from ofapp.controller.transition import effects
from ofapp.controller.tree_memory import TreeMemory
from ofapp.openflow.switch.bridge_name import local_name
from ofapp.openflow.switch.ownership import Ownership
from ofapp.openflow.switch.program import Changes
from ofapp.openflow.switch.session import HEEDED, Session
from ofapp.openflow.wire.channel import Channel
from ofapp.openflow.wire.echoes import GIVEN_UP
from ofapp.openflow.wire.requests import RequestError

LOG = logging.getLogger(__name__)

FINISHING = 1.0
"""Seconds at the end for what is still being saved."""

MAX_BRIDGES = 1024
"""Bridges remembered; whoever reaches the OpenFlow port can invent any number of datapath ids."""

BEAT = 0.25
"""Seconds between signs of life that the protocols are given (see `ofapp.bridge.pausable`)."""

LOOK_FOR_AWAY = 1.0
"""Seconds between looks at whether a switch has been away for too long."""


class Network:
    """Bridges by datapath id, and their switches' sessions; times in the core are monotonic.

    own: the number of this controller, by which it has leases of switches.
    """

    def __init__(self, config: Config, state: State, events: EventLog, own: int = 1) -> None:
        self.settings = Settings(config)
        self.events = events
        self.bridges: dict[int, Bridge] = {}
        self.sessions: dict[int, Session] = {}
        self.away = Away()
        self._state = state
        self._own = own
        self._trees = stp.OwnTrees()
        events.audience_changed = self._set_traces
        self.admin = Administration(self.settings, self._apply, self._tell, self._look)
        self._memory = TreeMemory(state.snapshots, self.bridges, self.sessions)
        self._absentees = Absentees(
            self.bridges, self._apply, state.snapshots.known(), time.monotonic()
        )

    def start(self) -> None:
        """Begin what happens by itself; returns at once."""
        fault = self.events.fault
        for loop in (
            self._memory.run,
            self._beat,
            Throttle(self.sessions).run,
            self._forget_in_time,
        ):
            hub.keep(fault, loop)

    def find(self, name: str) -> Bridge | None:
        """A bridge by its datapath id (16 hex digits) or its name; None when there is none."""
        for datapath_id, bridge in self.bridges.items():
            if name in (f"{datapath_id:016x}", bridge.name):
                return bridge
        return None

    # Connections

    def admit(self, channel: Channel, datapath_id: int) -> bool:
        """Whether a connection may speak for a datapath id: not while another one does."""
        running = self.sessions.get(datapath_id)
        if running is not None and running.channel.dead:
            self.disconnected(running.channel)  # its end is known but not told yet
            running = None
        if running is None:
            return self._has_room(datapath_id)
        if running.channel is channel:
            return True
        self.events.tell(
            datapath_id,
            Event(
                "bridge.duplicate",
                f"refused a second switch with this datapath id, from {_address(channel)}: "
                f"{_address(running.channel)} has it; set other-config:datapath-id on one of them",
                Severity.ERROR,
                data={"refused": _address(channel), "running": _address(running.channel)},
            ),
        )
        hub.watch(self.events.fault, self._probe, running)
        return False

    def connected(self, channel: Channel) -> None:
        """A switch has introduced itself.

        Where the file names bridges, the name must be known first: nothing is told to a switch
        that the next message would take back.
        """
        if self.settings.named(channel.id):
            self._begin(channel)
        else:
            hub.watch(partial(self._failed, channel), self._begin_named, channel)

    def _failed(self, channel: Channel, error: Exception) -> None:
        """A switch cannot be served: it may come again."""
        self.events.fault(error)
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
            self.settings.introduce(datapath_id, name)
        known = self._state.static_entries(datapath_id)
        bridge = self.bridges.get(datapath_id)
        if bridge is None:
            bridge = self.bridges[datapath_id] = self._new_bridge(datapath_id, known or ())
        self.away.back(datapath_id)
        bridge.former_name = None
        self._settle_names()
        ownership = Ownership(channel, self._own)
        session = Session(channel, bridge, self._heed, ownership, adopt_static=known is None)
        self.sessions[datapath_id] = session
        self._tell(bridge, Event("bridge.connected", f"connected from {_address(channel)}"))
        self.check_entries(bridge)
        session.start()

    def disconnected(self, channel: Channel) -> None:
        """A connection has ended; the bridge and what it knows stay."""
        session = self.sessions.get(channel.id) if channel.id is not None else None
        if session is None or session.channel is not channel:
            return
        del self.sessions[channel.id]
        session.stop()
        self.away.left(channel.id, time.monotonic())
        self._absentees.gone(session.bridge, time.monotonic())
        event = Event("bridge.disconnected", "the switch is gone", Severity.WARNING)
        self._tell(session.bridge, event)
        self._settle_names()

    def close(self) -> None:
        """The controller ends: let go of every switch, which keeps its flows."""
        for session in list(self.sessions.values()):
            session.stop()
        hub.sleep(0)  # what they say last goes out
        for session in list(self.sessions.values()):
            session.channel.close()
        self._state.finish(FINISHING)

    # Bridges whose switch is away

    def forget(self, bridge: Bridge) -> Ticket:
        """Know nothing of the bridge any more, not even its static entries; InputError."""
        if bridge.datapath_id in self.sessions:
            raise InputError(
                "dpid",
                f"the switch of bridge {bridge.name} is connected: delete the bridge there, or "
                f"take its controller from it, first (ovs-vsctl del-controller {bridge.name})",
            )
        self._forget(bridge.datapath_id, "as somebody wished")
        return self._state.forget(bridge.datapath_id)

    def forget_overdue(self, now: float) -> None:
        """Forget the bridges whose switch has been away for as long as the file says.

        As a restart would: what was set at run time is gone, static entries stay on disk.
        """
        patience = self.settings.config.forget_after
        if patience:
            for datapath_id in self.away.overdue(patience, now):
                self._forget(datapath_id, f"its switch has been away for {patience:g} s")

    def _forget_in_time(self) -> None:
        while True:
            hub.sleep(LOOK_FOR_AWAY)
            self.forget_overdue(time.monotonic())

    def _forget(self, datapath_id: int, why: str) -> None:
        name = self.bridges.pop(datapath_id).name
        self.away.back(datapath_id)
        self.settings.forget(datapath_id)
        self._absentees.forget(datapath_id)
        self._state.snapshots.delete(datapath_id)
        self.events.tell(datapath_id, Event("bridge.forgotten", f"is forgotten: {why}"), name)

    def _settle_names(self) -> None:
        for bridge, event in names_given_up(self.bridges, self.away):
            self._tell(bridge, event)

    # What the file says

    def plan(self, bridge: Bridge, params: BridgeParams) -> Changes | None:
        """What other parameters would change in the bridge's switch; None while it is away."""
        session = self.sessions.get(bridge.datapath_id)
        return None if session is None else session.plan(params)

    def reconfigure(self, bridge: Bridge, change: Callable[[], list[Effect]]) -> Changes | None:
        """Change a bridge; gives what that has changed in its switch, None while it is away."""
        done = change()
        session = self.sessions.get(bridge.datapath_id)
        if session is None:
            self._apply(bridge, done)
            return None
        return session.reconfigure(lambda: done) if done else Changes()

    def check_entries(self, bridge: Bridge) -> None:
        """Tell when two entries of the file are about one bridge."""
        keys = self.settings.keys(bridge.datapath_id)
        if len(keys) > 1:
            message = f"the file has two entries for this bridge, {keys[0]} counts: {keys[1]} not"
            event = Event("config.ambiguous", message, Severity.ERROR, data={"entries": keys})
            self._tell(bridge, event)

    def _name(self, bridge: Bridge) -> None:
        """Its name is new, and it may be another bridge for the file."""
        if self.bridges.get(bridge.datapath_id) is not bridge:
            return  # forgotten meanwhile
        self._settle_names()
        datapath_id, numbers = bridge.datapath_id, bridge.ports.numbers
        before = self.settings.filed(datapath_id)
        if self.settings.introduce(datapath_id, bridge.name):
            filed = self.settings.filed(datapath_id)
            after = self.settings.carried(datapath_id, before, filed, numbers)
            self.settings.set(datapath_id, after)
            self.reconfigure(bridge, lambda: effects(bridge, before, after))
            self.remember(bridge)
            self.check_entries(bridge)

    # Changes

    def add_static(self, bridge: Bridge, vid: int, mac: int, port_name: str) -> Ticket:
        """Fix an address to a port for good; saved with the ticket; InputError."""
        _named_port(bridge, port_name)
        self._apply(bridge, bridge.add_static(vid, mac, port_name, time.monotonic()))
        return self._remember(bridge, asked=True)

    def remove_static(self, bridge: Bridge, vid: int, mac: int) -> Ticket:
        """Let an address be learned again; saved with the ticket; InputError."""
        self._apply(bridge, bridge.remove_static(vid, mac))
        return self._remember(bridge, asked=True)

    def flush(
        self,
        bridge: Bridge,
        port: int | None = None,
        vid: int | None = None,
        mac: int | None = None,
    ) -> int:
        """Forget the learned addresses that fit; gives how many."""
        before = bridge.fdb.learned
        self._apply(bridge, bridge.flush(port, vid, mac))
        return before - bridge.fdb.learned

    def let_go(self, bridge: Bridge, vid: int, mac: int) -> None:
        """Let go of an address that is held down before its time; InputError."""
        if (vid, mac) not in bridge.learning.guard.held:
            raise InputError("mac", f"{format_mac(mac)} in VLAN {vid} is not held down")
        self._apply(bridge, bridge.learning.guard.let_go((vid, mac)))

    def teach(self, bridge: Bridge, port: int, vid: int, mac: int) -> None:
        """Learn an address as if it had been seen; it moves and ages like any other."""
        if port not in bridge.learning.open_ports:
            raise InputError("port", f"bridge {bridge.name} has no port {port} that is up")
        self._apply(bridge, bridge.learning.learn([(port, vid, mac)], time.monotonic()))

    # Spanning tree

    def stp_status(self, bridge: Bridge) -> stp.BridgeStatus | None:
        """How it stands now; None while it does not run."""
        return bridge.stp_status(time.monotonic())

    # Multicast snooping

    def multicast_snapshot(self, bridge: Bridge) -> multicast.Snapshot | None:
        """How it stands now; None while it is off."""
        return bridge.multicast_snapshot(time.monotonic())

    def add_permanent(self, bridge: Bridge, entry: PermanentEntry) -> Ticket:
        """Forward a multicast group to a port for good; saved with the ticket; InputError."""
        _named_port(bridge, entry.port)
        self._apply(bridge, bridge.add_permanent(entry, time.monotonic()))
        return self._remember(bridge, asked=True)

    def remove_permanent(self, bridge: Bridge, *entries: PermanentEntry) -> Ticket:
        """Undo `add_permanent`; saved with the ticket; InputError."""
        for entry in entries:
            self._apply(bridge, bridge.remove_permanent(entry, time.monotonic()))
        return self._remember(bridge, asked=True)

    def join_group(self, bridge: Bridge, entry: PermanentEntry) -> None:
        """Let a port be a member as if a host had asked for it: it ages; InputError."""
        snooper = bridge.multicasting
        if snooper is None:
            raise InputError("type", f"bridge {bridge.name} does not snoop: nobody is a member")
        port = _named_port(bridge, entry.port)
        check_addresses(entry.group, entry.source, entry.exclude)
        if multicast.is_mac_group(entry.group):
            what = multicast.text(entry.group)
            raise InputError("type", f"{what} is a MAC address: its entries are permanent")
        joined, effects = snooper.join(entry, port.number, time.monotonic())
        self._apply(bridge, effects)
        if not joined:
            limit = "as many groups as it may (mcast_max_groups, mcast_hash_max)"
            raise InputError("port", f"port {entry.port} has {limit}")

    def forget_members(
        self,
        bridge: Bridge,
        vid: int | None = None,
        group: bytes | None = None,
        port: int | None = None,
        source: bytes | None = None,
    ) -> int:
        """Forget learned memberships that fit, or that source of them; gives how many."""
        if bridge.multicasting is None:
            return 0
        now = time.monotonic()
        count, effects = bridge.multicasting.forget(now, vid, group, port, source)
        self._apply(bridge, effects)
        return count

    def _set_traces(self) -> None:
        for bridge in self.bridges.values():
            self._set_trace(bridge)

    def _set_trace(self, bridge: Bridge) -> None:
        """BPDUs are made events only while somebody wants to hear of them."""
        wanted = self.events.wanted
        bridge.set_trace(
            any(wanted(bridge.datapath_id, kind, Severity.DEBUG) for kind in stp.TRACE)
        )

    # Inside

    def _has_room(self, datapath_id: int) -> bool:
        """When there is none, a bridge whose switch is away is forgotten for the new one."""
        if datapath_id in self.bridges or len(self.bridges) < MAX_BRIDGES:
            return True
        away = self.away.longest()
        full = f"there are {MAX_BRIDGES} bridges, the most there can be"
        if away is None:
            event = Event("bridge.limit", f"refused a switch: {full}", Severity.WARNING)
            self.events.tell(datapath_id, event)
            return False
        self._forget(away, f"its switch is away, and {full}")
        return True

    def _new_bridge(self, datapath_id: int, known: Iterable[StaticEntry]) -> Bridge:
        settings = self.settings.of(datapath_id)
        bridge = Bridge(datapath_id, self.settings.params(datapath_id), self._trees)
        self._absentees.greet(bridge)
        self._set_trace(bridge)
        for entry in (*static_entries(settings), *known):
            bridge.add_static(entry.vlan, parse_mac(entry.mac), entry.port, time.monotonic())
        kept = [
            *permanent_entries(settings),
            *map(_permanent, self._state.mdb_entries(datapath_id)),
        ]
        for permanent in kept:
            bridge.add_permanent(permanent, time.monotonic())
        self._revive(bridge)
        return bridge

    def _revive(self, bridge: Bridge) -> None:
        snapshot = self._state.snapshots.load(bridge.datapath_id)
        if snapshot is None or bridge.params.stp is None:
            return
        try:
            bridge.revive_stp(snapshot)
        except OtherParametersError as error:
            LOG.info("the spanning tree of %016x begins anew: %s", bridge.datapath_id, error)
        except ValueError as error:
            self._state.snapshots.refuse(bridge.datapath_id, str(error))

    def _apply(self, bridge: Bridge, effects: list[Effect]) -> None:
        session = self.sessions.get(bridge.datapath_id)
        if session is not None:
            session.apply(effects)
            return
        for effect in effects:
            if type(effect) in HEEDED:
                self._heed(bridge, effect)  # type: ignore[arg-type]

    def _look(self, bridge: Bridge) -> None:
        session = self.sessions.get(bridge.datapath_id)
        if session is not None:
            session.look_soon()

    def _heed(self, bridge: Bridge, effect: Event | Unsettled | SpokenFor) -> None:
        if isinstance(effect, Unsettled):
            self._memory.heed(bridge, effect)
        elif isinstance(effect, SpokenFor):  # not before this is carried out
            hub.watch(self.events.fault, self._absentees.back, bridge, time.monotonic())
        else:
            self._tell(bridge, effect)

    def _tell(self, bridge: Bridge, event: Event) -> None:
        named = partial(naming_ports, ports=bridge.ports)
        self.events.tell(bridge.datapath_id, event, bridge.name, named)
        if event.kind in ("port.added", "port.renamed") and event.port == LOCAL_PORT:
            # not before this event is carried out
            hub.watch(self.events.fault, self._name, bridge)
        if event.kind in ("port.renamed", "bridge.ready"):
            self.remember(bridge)  # names have changed, or a switch's entries were adopted

    def remember(self, bridge: Bridge) -> None:
        """Keep the entries that are not the file's for the next start, soon."""
        self._remember(bridge, asked=False)

    def _remember(self, bridge: Bridge, asked: bool) -> Ticket:
        configured = static_keys(static_entries(self.settings.filed(bridge.datapath_id)))
        static = (
            StaticEntry(vid, format_mac(mac), port)
            for (vid, mac), port in bridge.pinned.static.items()
            if (vid, mac) not in configured
        )
        kept = Kept(tuple(static), self._own_mdb(bridge), asked)
        return self._state.remember(bridge.datapath_id, kept)

    def _own_mdb(self, bridge: Bridge) -> tuple[MdbEntry, ...]:
        configured = permanent_entries(self.settings.filed(bridge.datapath_id))
        return tuple(
            MdbEntry(
                entry.vid,
                multicast.text(entry.group),
                entry.port,
                None if entry.source is None else multicast.text(entry.source),
                tuple(map(multicast.text, entry.exclude)),
            )
            for entry in bridge.permanent.all()
            if entry not in configured
        )

    def _beat(self) -> None:
        """Show the protocols that this process is alive, and tell when it was not for a while."""
        last = time.monotonic()
        while True:
            now = time.monotonic()
            for session in self.sessions.values():
                session.bridge.beat(now)
            if now - last - BEAT > UNLIVED:
                seconds = round(now - last, 1)
                message = f"the controller stood still for {seconds} s, which no protocol has lived"
                told = {"seconds": seconds}
                event = Event("controller.stalled", message, Severity.WARNING, data=told)
                self.events.tell(None, event)
            last = now
            hub.sleep(BEAT)

    def _probe(self, session: Session) -> None:
        """Close a connection whose switch is silent: its successor is waiting at the door."""
        if not session.alive(GIVEN_UP):
            session.channel.close()


def _permanent(entry: MdbEntry) -> PermanentEntry:
    return PermanentEntry.parse(entry.vlan, entry.group, entry.port, entry.source, entry.exclude)


def _named_port(bridge: Bridge, name: str) -> Port:
    """The port of that name; InputError."""
    port = bridge.ports.named(name)
    if port is None:
        raise InputError("port", f"bridge {bridge.name} has no port {name!r}")
    return port


def _address(channel: Channel) -> str:
    address = channel.address
    return f"{address[0]}:{address[1]}" if isinstance(address, tuple) else str(address)
