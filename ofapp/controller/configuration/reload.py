"""Applying the configuration file to the running bridges without losing a frame (warm reload).

An invalid file changes nothing, nor does one that looks truncated unless it is forced.  A bridge
whose settings do not change is not touched.  Values set over the API stay, unless the file has
changed the same value, which is reported, or a reset is requested.  Static and permanent entries
made over the API are data and not settings: they stay in any case.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
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
from ofapp.config.document import Place
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
FORCED_PUSH = "ofapp config push --force"


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


def fault(file: str, what: str, path: Keys = ()) -> Fault:
    """A fault of a file as a whole, or of a section of it."""
    return Fault(file, Place(), ".".join(map(str, path)), what)


def refuse(file: str, doubt: str | None) -> None:
    """ConfigError for a file that looks truncated."""
    if doubt is not None:
        raise ConfigError([fault(file, doubt)])


def _advice(loss: str, command: str) -> str:
    return f"{loss}; if that is meant: {command}"


POLL = 1.0
"""Seconds between two checks whether the file has changed."""


@dataclass(frozen=True)
class BridgeReload:
    """Changes of one bridge by a reload.

    changes: by the file, in words; dropped: those among them that undo run-time settings.
    sent: changed flows, groups and meters, None while the switch is away.
    items, lines: of a dry run, see `Preview`.
    cut_off: of a dry run, the present hosts without a binding on ports that become guarded.
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
    signature: of the file as of the last attempt, see `config.load.signature`.
    pushed: configuration that replaces the file, in a cluster; sharing: the cluster's members.
    """

    shared: Shared
    configurator: Configurator
    accepted: AcceptedFile
    find: Callable[[], Path | None]
    switches: FollowsFile | None = None
    loaded: float = field(default_factory=time.time)
    mistake: str | None = None
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
        before, self.pushed = self.pushed, pushed
        try:
            return self.reload(force=True)
        except ConfigError:
            self.pushed = before
            raise

    def check_pushed(self, pushed: Pushed, force: bool) -> Reload:
        """Changes that a pushed configuration would make; ConfigError as in `reload`."""
        config = pushed.config()
        refuse(pushed.place, self._guard.doubt(config, force, FORCED_PUSH))
        begun = time.monotonic()
        plan = self._plan(config, reset=False)
        return _outcome(plan, pushed.place, begun, self._preview(plan))

    def reload(self, dry_run: bool = False, force: bool = False, reset: bool = False) -> Reload:
        """Read the file and apply it; raises ConfigError and logs an event if it is invalid.

        A pushed configuration is read instead of the file.

        A bridge of thousands of ports is programmed in portions: its configuration is settled
        before other greenlets run, and then its changes in switches are waited for.

        force: also when a part of it seems to be missing; a dry run only warns of that.
        reset: revert all settings that were made at run time.
        """
        begun, file = time.monotonic(), self.place
        if not dry_run:
            self.signature = signature(self.find())
        try:
            config = load_config(self.find()) if self.pushed is None else self.pushed.config()
            doubt = self._guard.doubt(config, force)
            if not dry_run:
                refuse(self._file, doubt)
            plan = self._plan(config, reset)
        except ConfigError as error:
            if not dry_run:
                self._refused(error)
            raise
        if dry_run:
            warnings = () if doubt is None else (doubt,)
            plan = replace(plan, warnings=(*warnings, *plan.warnings))
            return _outcome(plan, file, begun, self._preview(plan))
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
                if self.config.watch and self.pushed is None:
                    reload()

    def try_reload(self) -> None:
        """Reload without raising: mistakes are logged."""
        with suppress(ConfigError):
            self.reload()

    @property
    def place(self) -> str | None:
        """Name of the pushed configuration or path of the file; None while there is no file."""
        if self.pushed is not None:
            return self.pushed.place
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
    def _file(self) -> str:
        return "no configuration file" if self.place is None else self.place

    def _plan(self, config: Config, reset: bool) -> Plan:
        bridges = [bridge for _, bridge in sorted(self.shared.registry.bridges.items())]
        plan = plan_config(self.shared.running, bridges, config, reset)
        if plan.faults:
            file = self._file
            raise ConfigError(fault(file, what, path) for path, what in plan.faults)
        return plan

    def _preview(self, plan: Plan) -> list[BridgeReload]:
        return [
            _of_bridge(bridge, self.configurator.preview(bridge), _cut_off(bridge))
            for bridge in plan.changed
        ]

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
