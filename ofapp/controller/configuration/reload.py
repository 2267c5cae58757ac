"""Applying the configuration file to the running bridges without losing a frame (warm reload).

An invalid file changes nothing, nor does one that looks truncated unless it is forced.  A bridge
whose settings do not change is not touched.  Values set over the API stay, unless the file has
changed the same value, which is reported, or a reset is requested.  Static and permanent entries
made over the API are data and not settings: they stay in any case.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Protocol

from ofapp.bridge.datapath_status import PlannedItem
from ofapp.bridge.first_hop.binding import UnboundHost
from ofapp.bridge.mac import parse_mac
from ofapp.common import hub
from ofapp.config import Config, ConfigError, load_config
from ofapp.config.base import Path as Keys
from ofapp.config.document import Position
from ofapp.config.errors import Fault
from ofapp.config.load import signature
from ofapp.config.loss import extent, missing
from ofapp.controller.bridges.datapath import Changes
from ofapp.controller.bridges.dispatcher import Shared
from ofapp.controller.configuration.configurator import SHOWN, Configurator, Preview
from ofapp.controller.configuration.events import CONFIG_INCOMPLETE, CONFIG_REFUSED, CONFIG_RELOADED
from ofapp.controller.configuration.plan import BridgePlan, Plan, plan_config
from ofapp.controller.configuration.pushed import Pushed, Sharing
from ofapp.controller.state import AcceptedFile, BindingEntry
from ofapp.controller.state.saving import Ticket

FORCED_RELOAD = "ofapp config reload --force"
NO_FILE = "no configuration file"


class TruncationGuard:
    """Knows the extent of the last accepted configuration.

    accepted: stores the extent of the last accepted file: reloaded, or complete at a start.
    config: the configuration at the start.
    """

    def __init__(self, accepted: AcceptedFile, config: Config) -> None:
        self._accepted = accepted
        self._extent = extent(config)

    def start(self) -> str | None:
        """Compare the file at the start with the last accepted one; why it looks truncated.

        The file counts as accepted if it does not look truncated.
        """
        before = self._accepted.load()
        loss = None if before is None else missing(before, self._extent)
        if before is None or loss is None:
            self._accepted.save(self._extent)
            return None
        self._extent = before
        return _advice(loss, FORCED_RELOAD)

    def doubt(self, config: Config, force: bool, command: str = FORCED_RELOAD) -> str | None:
        """Why a configuration looks truncated; None if it does not, or if that is meant.

        command: applies it all the same.
        """
        loss = None if force else missing(self._extent, extent(config))
        return None if loss is None else _advice(loss, command)

    def accept(self, config: Config, save: bool) -> None:
        """Compare with this configuration from now on.  save: it is the local file's."""
        self._extent = extent(config)
        if save:
            self._accepted.save(self._extent)


class LossError(ConfigError):
    """The file is valid, and lost most of its content or its end mark."""


def fault(file: str, what: str, path: Keys = ()) -> Fault:
    """A fault of a file as a whole, or of a section of it."""
    return Fault(file, Position(), ".".join(map(str, path)), what)


def refuse(file: str, doubt: str | None) -> None:
    """Raise LossError for a file that looks truncated."""
    if doubt is not None:
        raise LossError([fault(file, doubt)])


def _advice(loss: str, command: str) -> str:
    return f"{loss}; if that is meant: {command}"


POLL = 1.0
"""Seconds between two checks whether the file has changed."""


@dataclass(frozen=True)
class BridgeReload:
    """Changes of one bridge by a reload.

    changes: by the file, in words; dropped: those among them that undo run-time settings.
    sent: changed flows, groups and meters, None while the switch is disconnected.
    items, lines: of a dry run, see `Preview`.
    cut_off: in a dry run, the present hosts without a binding on ports that become guarded.
    """

    datapath_id: int
    name: str
    changes: tuple[str, ...]
    dropped: tuple[str, ...]
    sent: dict[str, int] | None = None
    items: tuple[PlannedItem, ...] = ()
    lines: tuple[str, ...] = ()
    cut_off: tuple[UnboundHost, ...] = ()


@dataclass(frozen=True)
class Reload:
    """Outcome of a reload or of a dry run.

    fabrics: their changes, in words.  restart: settings that take effect at the next start.
    saved: tickets to wait for where the result, such as reverted settings, must outlive a crash.
    """

    dry_run: bool
    file: str | None
    milliseconds: float
    bridges: tuple[BridgeReload, ...] = ()
    fabrics: tuple[str, ...] = ()
    restart: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    saved: tuple[Ticket, ...] = ()

    @property
    def message(self) -> str:
        """Summary in one line."""
        if not (self.bridges or self.fabrics or self.restart):
            return "nothing has changed"
        names = ", ".join(bridge.name for bridge in self.bridges) or "no bridge"
        fabrics = f"fabrics: {'; '.join(self.fabrics)}; " if self.fabrics else ""
        sent = [bridge.sent for bridge in self.bridges if bridge.sent is not None]
        counts = ", ".join(
            f"{total} {kind}"
            for kind in ("flows", "groups", "meters")
            if (total := sum(counts.get(kind, 0) for counts in sent))
        )
        waits = "; a restart is needed for " + ", ".join(self.restart) if self.restart else ""
        return (
            f"{fabrics}{names}: {counts or 'no flow'} changed in {self.milliseconds:.1f} ms{waits}"
        )


class FollowsFile(Protocol):
    """What follows the fabrics of the file."""

    def follow_file(self) -> None:
        """Handle that the file has other fabrics."""


@dataclass
class Reloader:
    """Applies the configuration file to all bridges.

    accepted: stores the extent of the last accepted file.
    find: the file's path, None while there is none; called each time, as a file may be made later.
    switches: connected switches, and the fabrics that they are in.
    loaded: time of the last read, in seconds since the epoch.
    mistake: why the last attempt was refused; None if it succeeded.
    incomplete: the file of that attempt is valid, but looks truncated.
    signature: signature of the file as of the last attempt, see `config.load.signature`.
    pushed: configuration in force in place of the file: pushed to the cluster, or rolled back to.
    sharing: the cluster's members; None without a cluster.
    """

    shared: Shared
    configurator: Configurator
    accepted: AcceptedFile
    find: Callable[[], Path | None]
    switches: FollowsFile | None = None
    loaded: float = field(default_factory=time.time)
    mistake: str | None = None
    incomplete: bool = False
    pushed: Pushed | None = None
    sharing: Sharing | None = None

    def __post_init__(self) -> None:
        self._guard = TruncationGuard(self.accepted, self.config)
        self.signature = signature(self.find())

    @property
    def config(self) -> Config:
        """Configuration of the file when it was last read."""
        return self.shared.running.config

    def start(self) -> None:
        """Log an event if the file at the start looks truncated; it is applied all the same.

        There may be no user to ask, and bridges without a controller are worse.  The event is
        logged at each start until the file is complete again or a reload is forced.
        """
        if self.pushed is not None:
            return  # it was checked when it was pushed
        doubt = self._guard.start()
        if doubt is not None:
            message = f"{self._file}: {doubt}; it is in force meanwhile"
            self.shared.events.emit(None, CONFIG_INCOMPLETE.event(message))

    def apply_pushed(self, pushed: Pushed) -> Reload:
        """Apply a pushed configuration instead of the file.

        Raises ConfigError and logs an event.
        """
        return self._reload(pushed, force=True)

    def check_pushed(self, pushed: Pushed, force: bool) -> Reload:
        """Changes that a pushed configuration would make; ConfigError as in `reload`."""
        begun, config = time.monotonic(), pushed.config()
        refuse(pushed.place, self._guard.doubt(config, force, f"{pushed.command} --force"))
        return self._dry_run(self.plan(config, file=pushed.place), pushed.place, begun, None)

    def compare(self, candidate: Pushed) -> Reload:
        """Changes that a candidate file would make; it warns where `reload` needs force.

        Raises ConfigError.
        """
        begun, config = time.monotonic(), candidate.config()
        doubt = self._guard.doubt(config, force=False)
        return self._dry_run(self.plan(config, file=candidate.file), candidate.file, begun, doubt)

    def reload(self, dry_run: bool = False, force: bool = False, reset: bool = False) -> Reload:
        """Read the file and apply it; raises ConfigError and logs an event if it is invalid.

        A configuration that was pushed to a cluster is read instead of the file.

        A bridge of thousands of ports is programmed in portions: its configuration is settled
        before other greenlets run, and then its changes in switches are waited for.

        force: also when a part of it seems to be missing; a dry run only warns of that.
        reset: revert all settings that were made at run time.
        """
        return self._reload(self._shared, dry_run, force, reset)

    def read(self) -> Config:
        """The configuration that `reload` would apply.  Raises ConfigError."""
        return self._read(self._shared)

    def _reload(
        self,
        pushed: Pushed | None,
        dry_run: bool = False,
        force: bool = False,
        reset: bool = False,
    ) -> Reload:
        begun, file = time.monotonic(), self._place(pushed)
        if not dry_run:
            self.signature = signature(self.find())
        try:
            config = self._read(pushed)
            doubt = self._guard.doubt(config, force)
            if not dry_run:
                refuse(file or NO_FILE, doubt)
            plan = self.plan(config, reset, file or NO_FILE)
        except ConfigError as error:
            if not dry_run:
                self._refused(error)
            raise
        if dry_run:
            return self._dry_run(plan, file, begun, doubt)
        self.pushed = pushed
        saved, bridges = self._apply(plan)
        outcome = replace(_outcome(plan, file, begun, bridges), dry_run=False, saved=saved)
        self._reloaded(outcome)
        return outcome

    def watch_file(self, reload: Callable[[], None]) -> None:
        """Reload whenever the file or a drop-in has changed, if it says `watch`; does not return.

        A file that is still being written changes between two checks: it is read when it has been
        the same twice.  A file that is briefly missing, as with some editors, is waited for.
        """
        known = before = signature(self.find())
        while True:
            hub.sleep(POLL)
            now = signature(self.find())
            settled, before = now == before, now
            if now is not None and now != known and settled:
                known = now
                if self.config.watch and (self.pushed is None or self.sharing is None):
                    reload()

    @property
    def place(self) -> str | None:
        """Name of the pushed configuration or path of the file; None while there is no file."""
        return self._place(self.pushed)

    def _place(self, pushed: Pushed | None) -> str | None:
        if pushed is not None:
            return pushed.place
        path = self.find()
        return None if path is None else str(path)

    def local_config(self) -> Config | None:
        """Configuration of the local file; None without a valid one."""
        path = self.find()
        try:
            return None if path is None else load_config(path)
        except ConfigError:
            return None

    # Inside

    @property
    def _shared(self) -> Pushed | None:
        """The pushed configuration that is read in place of the file, in a cluster."""
        return None if self.sharing is None else self.pushed

    def _read(self, pushed: Pushed | None) -> Config:
        return load_config(self.find()) if pushed is None else pushed.config()

    @property
    def _file(self) -> str:
        return self.place or NO_FILE

    def plan(self, config: Config, reset: bool = False, file: str | None = None) -> Plan:
        """Plan another configuration of all bridges.  Raises ConfigError.

        reset: see `reload`; file: its name in messages, else that of the controller's file.
        """
        bridges = [bridge for _, bridge in sorted(self.shared.registry.bridges.items())]
        plan = plan_config(self.shared.running, bridges, config, reset)
        if plan.faults:
            raise ConfigError(fault(file or self._file, what, path) for path, what in plan.faults)
        return plan

    def _dry_run(self, plan: Plan, file: str | None, begun: float, doubt: str | None) -> Reload:
        """Outcome of a plan that is not applied.  doubt: why the file looks truncated."""
        warnings = plan.warnings if doubt is None else (doubt, *plan.warnings)
        bridges = [
            _of_bridge(bridge, self.configurator.preview(bridge), _cut_off(bridge))
            for bridge in plan.changed
        ]
        return _outcome(replace(plan, warnings=warnings), file, begun, bridges)

    def _apply(self, plan: Plan) -> tuple[tuple[Ticket, ...], list[BridgeReload]]:
        """Apply a plan to all bridges, and wait until its messages are sent to the switches."""
        self.shared.running.config = plan.config
        self._guard.accept(plan.config, save=self.pushed is None)
        self.loaded, self.mistake = time.time(), None
        if plan.fabrics and self.switches is not None:
            self.switches.follow_file()
        applied = [(bridge, self.configurator.set(bridge)) for bridge in plan.bridges]
        for bridge in plan.bridges:
            self.configurator.settled(bridge.bridge)
        saved = tuple(each.saved for _, each in applied)
        return saved, [
            _of_bridge(bridge, Preview(_counts(each.changed())))
            for bridge, each in applied
            if bridge.changes
        ]

    def _reloaded(self, outcome: Reload) -> None:
        data = {
            "bridges": {
                f"{bridge.datapath_id:016x}": {
                    "changes": list(bridge.changes),
                    "dropped": list(bridge.dropped),
                    "sent": bridge.sent,
                }
                for bridge in outcome.bridges
            },
            "fabrics": list(outcome.fabrics),
            "restart": list(outcome.restart),
            "milliseconds": outcome.milliseconds,
        }
        message = f"the configuration was read: {outcome.message}"
        self.shared.events.emit(None, CONFIG_RELOADED.event(message, data=data))

    def _refused(self, error: ConfigError) -> None:
        self.mistake = "; ".join(map(str, error.faults))
        self.incomplete = isinstance(error, LossError)
        message = f"the configuration stays as it was: {self.mistake}"
        data = {"errors": [str(fault) for fault in error.faults]}
        event = CONFIG_REFUSED.event(message, data=data)
        self.shared.events.emit(None, event)


def _counts(changes: Changes | None) -> dict[str, int] | None:
    return None if changes is None else changes.counts()


def _of_bridge(
    plan: BridgePlan, switch: Preview, cut_off: tuple[UnboundHost, ...] = ()
) -> BridgeReload:
    """Changes of a bridge.  switch: those of its switch."""
    about = plan.bridge.datapath_id, plan.bridge.name, plan.changes, plan.dropped
    return BridgeReload(*about, switch.sent, switch.items, switch.lines, cut_off)


def _cut_off(plan: BridgePlan) -> tuple[UnboundHost, ...]:
    """The present hosts that would be cut off; the new file's bindings count as made."""
    bound = {(own.port, own.vlan, parse_mac(own.mac)) for own in BindingEntry.filed(plan.new)}
    hosts = plan.bridge.first_hop.would_refuse(plan.new.params())
    return tuple(islice((host for host in hosts if host not in bound), SHOWN))


def _outcome(plan: Plan, file: str | None, begun: float, bridges: list[BridgeReload]) -> Reload:
    """Outcome of a dry run.  begun: its time, monotonic."""
    milliseconds = round((time.monotonic() - begun) * 1000, 3)
    changed = tuple(bridges), plan.fabrics, plan.restart, plan.warnings
    return Reload(True, file, milliseconds, *changed)
