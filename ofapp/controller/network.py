"""All bridges of this controller: their state, their changes and the access rules.

The os-ken app, the API and the CLI behind it work on this object and on nothing below it.  It has
the bridges, the datapaths and the running configuration; every requested change goes through
`changes`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from ofapp.bridge import multicast, stp
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import (
    BridgeNamed,
    InLine,
    PortRenamed,
    SpokenFor,
    StateChanged,
)
from ofapp.bridge.lag.status import LagStatus
from ofapp.bridge.lldp import AgentStatus
from ofapp.common import hub
from ofapp.config import Config, ConfigError
from ofapp.controller.access import Access, Tokens, UserRole
from ofapp.controller.access.tokens import TOKENS
from ofapp.controller.audit import Audit
from ofapp.controller.bridges.absentees import Absentees
from ofapp.controller.bridges.connections import Connections
from ofapp.controller.bridges.dispatcher import Dispatcher, Shared
from ofapp.controller.bridges.fabric.fabrics import Fabrics
from ofapp.controller.bridges.heartbeat import Heartbeat
from ofapp.controller.bridges.lifetime import Lifetime
from ofapp.controller.bridges.link_findings import LinkFindings
from ofapp.controller.bridges.owners import Alone, Owners
from ofapp.controller.bridges.registry import Registry
from ofapp.controller.bridges.throttle import Throttle
from ofapp.controller.configuration.changes import RequestedChanges
from ofapp.controller.configuration.configurator import Configurator
from ofapp.controller.configuration.pushed import Pushed
from ofapp.controller.configuration.reload import Reloader
from ofapp.controller.configuration.run_time_entries import SavedEntries
from ofapp.controller.configuration.running import RunningConfiguration
from ofapp.controller.configuration.versioned import ConfigurationVersions
from ofapp.controller.events import EventLog
from ofapp.controller.history import History
from ofapp.controller.hosts.labels import LABELS, Labels
from ofapp.controller.hosts.sightings import Sightings
from ofapp.controller.managed_fabric import ManagedFabric
from ofapp.controller.problems.acknowledged import ACKNOWLEDGED, Acknowledgements
from ofapp.controller.problems.notifier import Notifier
from ofapp.controller.problems.problems import Problems
from ofapp.controller.problems.sources import Sources
from ofapp.controller.radius.authentication import Authentication
from ofapp.controller.state.protocols import StateWriter
from ofapp.controller.state.store import State
from ofapp.controller.state.versions import VERSIONS, Author
from ofapp.controller.topology import End, around, link_ends

USES_SAVED = 60.0
"""Seconds between two times that the last use of each token is saved."""

FINISHING = 1.0
"""Seconds at the end of the process for saves in progress."""


class Network:
    """Bridges and connected datapaths, by datapath id; times in the core are monotonic.

    owners: decides when this controller may manage a switch.
    find: path of the configuration file, None while there is none.
    fabrics: switches that are one bridge together, by the fabric's name.
    started: time of creation, in seconds since the epoch.
    problems: what is wrong now; sources: where that comes from; notifier: sends changes of it.
    history: traffic of the ports over a day; versions: versions of the configuration.
    authentication: its RADIUS clients.
    labels: names that users give to hosts; sightings: when hosts were seen.
    """

    def __init__(
        self,
        config: Config,
        state: State,
        events: EventLog,
        owners: Owners | None = None,
        find: Callable[[], Path | None] = lambda: None,
    ) -> None:
        self.started = time.time()
        registry = Registry()
        self.bridges, self.datapaths, self.disconnected = (
            registry.bridges,
            registry.datapaths,
            registry.disconnected,
        )
        self.find = registry.find
        self.events = events
        self.running = running = RunningConfiguration(config, state.settings, registry.numbers)
        self.dispatcher = dispatcher = Dispatcher(registry, events)
        self.owners = owners or Alone()
        shared = Shared(registry, dispatcher, running)
        entries = SavedEntries(running, state.entries)
        remembered = state.snapshots["stp"].bridges
        absentees = Absentees(self.bridges, dispatcher.apply, remembered, time.monotonic())
        agents = self.owners.agents()
        self.lifetime = lifetime = Lifetime(shared, entries, state, absentees, agents)
        self._fabrics = fabrics = Fabrics(shared, lifetime, state, agents, self.owners.waits)
        self.fabrics: Mapping[str, ManagedFabric] = fabrics
        configurator = Configurator(shared, entries)
        self.connections = Connections(shared, lifetime, self.owners, fabrics, state.connected)
        self.reloader = Reloader(shared, configurator, state.accepted, find, self.connections)
        self.versions = ConfigurationVersions(self.reloader, state.versions)
        self.changes = RequestedChanges(shared, configurator, entries, lifetime)
        self.audit = Audit(events.emit, state.trail)
        self.notifier = Notifier(lambda: running.config.notify, lambda: _folder(find()))
        self.sources = Sources(
            shared,
            self.reloader,
            self.versions,
            fabrics,
            state,
            self.owners,
            self.notifier,
        )
        acknowledgements = Acknowledgements(state.storage, events.emit)
        self.problems = Problems(self.sources, acknowledgements, events.emit, self.notifier)
        self.access = Access(Tokens(state.storage, events.emit), events.emit)
        self._state = state
        self.labels = Labels(state.storage, events.emit)
        state.watch(TOKENS, self.access.tokens.reload)
        state.watch(ACKNOWLEDGED, self.problems.reload)
        state.watch(VERSIONS, state.versions.reload)
        state.watch(LABELS, self.labels.reload)
        state.write_marks(self._mark)
        self.heartbeat = Heartbeat(self.datapaths, events)
        self.history = History(self.datapaths)
        self.authentication = Authentication(dispatcher, self.bridges)
        LinkFindings(dispatcher, self.bridges)
        self.sightings = Sightings(self.bridges, self._inner, events.emit)
        self.writers = writers = {
            name: StateWriter(store, self.bridges, self.datapaths)
            for name, store in state.snapshots.items()
        }

        events.audience_changed = lifetime.set_traces
        dispatcher.on(
            StateChanged, lambda bridge, effect: writers[effect.document].changed(bridge, effect)
        )
        dispatcher.on(PortRenamed, lambda bridge, _: entries.save(bridge))
        dispatcher.on(InLine, lambda bridge, _: entries.save(bridge))
        dispatcher.after(BridgeNamed, configurator.named)
        dispatcher.after(SpokenFor, lambda bridge: absentees.back(bridge, time.monotonic()))

    def start(self) -> None:
        """Start the background tasks; returns at once."""
        self._fabrics.start()
        self.reloader.start()
        self.versions.start()
        self.owners.start(self.connections)
        for loop in (
            *(writer.run for writer in self.writers.values()),
            self.heartbeat.run,
            Throttle(self.datapaths).run,
            self.problems.run,
            self.history.run,
            self.sightings.run,
            self.authentication.demands.run,
            self.notifier.run,
            self.lifetime.run,
            lambda: self.reloader.watch_file(lambda: self.reload("the file's watch")),
            self._save_uses,
        ):
            hub.keep(self.events.fault, loop)

    def reload(self, who: str) -> None:
        """Apply the configuration file; its mistakes are logged as an event."""
        acting = self.audit.act(who, str(UserRole.ADMIN), "this machine", "reload")
        with acting, suppress(ConfigError):
            self.versions.reload(Author(who, "this machine", "reload"))

    @property
    def unsaved(self) -> str | None:
        """Why stored state cannot be saved now; None while all is saved."""
        return self._state.unsaved

    def apply_pushed(self, pushed: Pushed) -> None:
        """Apply a configuration that was pushed to all members.  Raises ConfigError."""
        with self.audit.act(pushed.by, str(UserRole.ADMIN), "the cluster", f"push {pushed.place}"):
            self.reloader.apply_pushed(pushed)

    def close(self) -> None:
        """Release every switch when the controller ends; the switches keep their flows."""
        self.connections.close()
        self.authentication.close()
        self.access.tokens.save_uses()
        self._state.finish(FINISHING)
        self.owners.close()

    def _inner(self) -> set[End]:
        """The ports that lead from one bridge to another."""
        return link_ends(around(self.bridges, self.datapaths))

    def _mark(self, datapath_id: int, mark: int | None) -> None:
        if (datapath := self.datapaths.get(datapath_id)) is not None:
            datapath.write_mark(mark)

    def _save_uses(self) -> None:
        while True:
            hub.sleep(USES_SAVED)
            self.access.tokens.save_uses()

    def stp_status(
        self, bridge: Bridge, ports: Iterable[int] | None = None
    ) -> stp.BridgeStatus | None:
        """Present state of spanning tree, see `Bridge.stp_status`; None while it does not run."""
        return bridge.stp.status(time.monotonic(), ports)

    def lag_status(self, bridge: Bridge) -> tuple[LagStatus, ...]:
        """Present state of the bridge's aggregations."""
        return bridge.lags.status(time.monotonic())

    def lldp_status(self, bridge: Bridge) -> tuple[AgentStatus, ...]:
        """Present state of LLDP, on each port of the switch where it runs."""
        return bridge.lldp.status(time.monotonic())

    def multicast_snapshot(self, bridge: Bridge) -> multicast.Snapshot | None:
        """Present state of multicast snooping; None while it is off."""
        return bridge.multicast.status(time.monotonic())


def _folder(file: Path | None) -> Path | None:
    return None if file is None else file.parent
