"""Applying the configuration file to the running bridges without losing a frame (warm reload).

An invalid file changes nothing, nor does one that looks truncated unless it is forced.  A bridge
whose settings do not change is not touched.  Values set over the API stay, unless the file has
changed the same value, which is reported, or a reset is requested.  Static and permanent entries
made over the API are data and not settings: they stay in any case.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from ofapp.bridge.answers import switch_ports
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.event import Event, Severity
from ofapp.bridge.lag.params import INTERRUPTION, interrupting
from ofapp.common import hub
from ofapp.config import Config, ConfigError, load_config
from ofapp.config.bridge import Bridge as BridgeSettings
from ofapp.config.compare import differences
from ofapp.config.document import Place
from ofapp.config.errors import Fault
from ofapp.config.load import signature
from ofapp.config.loss import extent, missing
from ofapp.controller.audit import record
from ofapp.controller.bridges.shared import Shared
from ofapp.controller.configuration.pushed import Pushed, Sharing
from ofapp.controller.configuration.transition import Changed, Transition
from ofapp.controller.state import AcceptedFile
from ofapp.controller.state.keeper import Ticket

POLL = 1.0
"""Seconds between two checks of a watched file."""

SHOWN = 1000
"""Most lines of a bridge's flow changes that are reported."""


@dataclass(frozen=True)
class BridgeReload:
    """Changes of one bridge by a reload.

    changes: by the file, in words; dropped: those among them that undo run-time settings.
    sent: changed flows, groups and meters, None while the switch is away; lines: which.
    """

    datapath_id: int
    name: str
    changes: tuple[str, ...]
    dropped: tuple[str, ...]
    sent: dict[str, int] | None = None
    lines: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reload:
    """Outcome of a reload or of a dry run.

    restart: settings that take effect at the next start; saved: tickets to wait for where the
    result, such as reverted settings, must outlive a crash.
    """

    dry_run: bool
    file: str | None
    milliseconds: float
    bridges: tuple[BridgeReload, ...] = ()
    restart: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    saved: tuple[Ticket, ...] = ()

    @property
    def message(self) -> str:
        """Summary in one line."""
        if not (self.bridges or self.restart):
            return "nothing has changed"
        names = ", ".join(bridge.name for bridge in self.bridges) or "no bridge"
        sent = [bridge.sent for bridge in self.bridges if bridge.sent is not None]
        counts = ", ".join(
            f"{total} {kind}"
            for kind in ("flows", "groups", "meters")
            if (total := sum(counts.get(kind, 0) for counts in sent))
        )
        waits = "; a restart is needed for " + ", ".join(self.restart) if self.restart else ""
        return f"{names}: {counts or 'no flow'} changed in {self.milliseconds:.1f} ms{waits}"


@dataclass(frozen=True)
class _Plan:
    """filed: settings of the old file; new: wanted settings, by the new file and at run time."""

    bridge: Bridge
    filed: BridgeSettings
    new: BridgeSettings
    changes: tuple[str, ...]
    dropped: tuple[str, ...]


@dataclass(frozen=True)
class _Compared:
    """Changes that a configuration makes.  restart, warnings: as in `Reload`."""

    config: Config
    plans: tuple[_Plan, ...]
    restart: tuple[str, ...]
    warnings: tuple[str, ...]


@dataclass
class Reloader:
    """Reader of the configuration file of all bridges.

    accepted: stores the extent of the last accepted file: reloaded, or complete at a start.
    find: the file's path, None while there is none; called each time, as a file may be made later.
    loaded: time of the last read, in seconds since the epoch; valid: the last attempt succeeded.
    pushed: configuration that replaces the file, in a cluster; sharing: the cluster's members.
    """

    shared: Shared
    transition: Transition
    accepted: AcceptedFile
    find: Callable[[], Path | None]
    loaded: float = field(default_factory=time.time)
    valid: bool = True
    pushed: Pushed | None = None
    sharing: Sharing | None = None

    def __post_init__(self) -> None:
        self._extent = extent(self.config)

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
        before = self.accepted.load()
        doubt = None if before is None else missing(before, self._extent)
        if before is None or doubt is None:
            self.accepted.save(self._extent)
            return
        self._extent = before
        message = f"{_place(self.place)}: {_refusal(doubt)}; it is in force meanwhile"
        self.shared.events.tell(None, Event("config.incomplete", message, Severity.ERROR))

    def take(self, pushed: Pushed) -> Reload:
        """Apply a pushed configuration instead of the file.

        Raises ConfigError and logs an event.
        """
        before, self.pushed = self.pushed, pushed
        try:
            return self.reload(force=True)
        except ConfigError:
            self.pushed = before
            raise

    def check(self, pushed: Pushed, force: bool) -> Reload:
        """Changes that a pushed configuration would make; ConfigError as in `reload`."""
        config = pushed.config()
        doubt = None if force else missing(self._extent, extent(config))
        if doubt is not None:
            raise _incomplete(pushed.place, doubt, "ofapp config push --force")
        begun = time.monotonic()
        compared = self._compare(config, reset=False)
        done = self._foresee(compared)
        milliseconds = round((time.monotonic() - begun) * 1000, 3)
        return Reload(True, pushed.place, milliseconds, done, compared.restart, compared.warnings)

    def reload(self, dry_run: bool = False, force: bool = False, reset: bool = False) -> Reload:
        """Read the file and apply it; raises ConfigError and logs an event if it is invalid.

        A pushed configuration is read instead of the file.

        A bridge of thousands of ports is programmed in portions: its configuration is settled
        before other greenlets run, and then its changes in switches are waited for.

        force: also when a part of it seems to be missing; a dry run only warns of that.
        reset: revert all settings that were made at run time.
        """
        begun = time.monotonic()
        path = self.place
        try:
            config = self._load()
            doubt = None if force else missing(self._extent, extent(config))
            if doubt is not None and not dry_run:
                raise _incomplete(path, doubt)
            compared = self._compare(config, reset)
        except ConfigError as error:
            if not dry_run:
                self._refused(error)
            raise
        done, saved = (self._foresee(compared), ()) if dry_run else self._carry_out(compared)
        milliseconds = round((time.monotonic() - begun) * 1000, 3)
        doubts = () if doubt is None else (_refusal(doubt),)
        warnings = (*doubts, *compared.warnings)
        outcome = Reload(dry_run, path, milliseconds, done, compared.restart, warnings, saved)
        if not dry_run:
            self._tell(outcome)
        return outcome

    def watch(self, reload: Callable[[], None]) -> None:
        """Reload whenever the file or a drop-in has changed and `watch` is set; does not return.

        A file that is still being written changes between two checks: it is read once it has not
        changed.  A file that is briefly missing, as with some editors, is waited for.
        """
        known = before = signature(self.find())
        while True:
            hub.sleep(POLL)
            now = signature(self.find())
            settled, before = now == before, now
            if now is None or now == known or not settled:
                continue
            known = now
            if self.config.watch and self.pushed is None:
                reload()

    def try_reload(self) -> None:
        """Reload without raising: mistakes are logged."""
        try:
            self.reload()
        except ConfigError:
            return

    @property
    def place(self) -> str | None:
        """Name of the pushed configuration or path of the file; None while there is no file."""
        if self.pushed is not None:
            return self.pushed.place
        path = self.find()
        return None if path is None else str(path)

    def filed(self) -> Config | None:
        """Configuration of the local file; None without a valid one."""
        path = self.find()
        try:
            return None if path is None else load_config(path)
        except ConfigError:
            return None

    # Inside

    def _load(self) -> Config:
        return load_config(self.find()) if self.pushed is None else self.pushed.config()

    def _bridges(self) -> list[Bridge]:
        return [bridge for _, bridge in sorted(self.shared.registry.bridges.items())]

    def _compared(self, bridge: Bridge, config: Config, reset: bool) -> _Plan:
        running, datapath_id = self.shared.running, bridge.datapath_id
        numbers = bridge.ports.numbers
        filed, old = running.filed(datapath_id), running.of(datapath_id)
        new = running.filed(datapath_id, config)
        if not reset:
            new = running.carried(datapath_id, filed, new, numbers)
        changed, since = differences(old, new, numbers), differences(filed, old, numbers)
        dropped = tuple(words for path, words in changed.items() if path in since)
        return _Plan(bridge, filed, new, tuple(changed.values()), dropped)

    def _compare(self, config: Config, reset: bool) -> _Compared:
        plans = tuple(self._compared(bridge, config, reset) for bridge in self._bridges())
        taken = [fault for plan in plans for fault in self._taken_names(plan, config)]
        if taken:
            raise ConfigError(taken)
        told = (line for plan in plans for line in self._lag_warnings(plan))
        warnings = (*config.warnings(), *told)
        return _Compared(config, plans, _needing_restart(self.config, config), warnings)

    def _lag_warnings(self, plan: _Plan) -> Iterator[str]:
        yield from _waited_for(plan)
        before = self.shared.running.of(plan.bridge.datapath_id).lags
        for name in before.keys() & plan.new.lags.keys():
            changed = interrupting(dict(before[name]), dict(plan.new.lags[name]))
            if changed:
                what = f"another {' and '.join(changed)}: {INTERRUPTION}"
                yield f"{plan.bridge.name}: lags.{name}: {what}"

    def _taken_names(self, plan: _Plan, config: Config) -> Iterator[Fault]:
        """New aggregations whose names are names of ports that the switch has."""
        bridge = plan.bridge
        ports = {port.name: port for port in switch_ports(bridge)}
        keys = config.keys(bridge.datapath_id, bridge.name)
        new = plan.new.lags.keys() - self.shared.running.of(bridge.datapath_id).lags.keys()
        for name in sorted(new & ports.keys()):
            path = ".".join(("bridges", *keys[:1], "lags", name))
            what = (
                f"aggregation {name} has the name of port {name} ({ports[name].number}) of bridge"
                f" {bridge.name}, which would be left out: give the aggregation another name"
            )
            yield Fault(_place(self.place), Place(), path, what)

    def _foresee(self, compared: _Compared) -> tuple[BridgeReload, ...]:
        return tuple(self._plan(plan) for plan in compared.plans if plan.changes)

    def _plan(self, plan: _Plan) -> BridgeReload:
        changes = self.transition.plan(plan.bridge, plan.new.params())
        if changes is None:
            return _outcome(plan, None)
        return _outcome(plan, changes.counts(), [*islice(changes.lines(), SHOWN)])

    def _carry_out(
        self, compared: _Compared
    ) -> tuple[tuple[BridgeReload, ...], tuple[Ticket, ...]]:
        begun = [(plan, self._begin(plan)) for plan in compared.plans if plan.changes]
        saved = self._take(compared.config, compared.plans)
        done = []
        for plan, changed in begun:
            changes = changed()
            done.append(_outcome(plan, None if changes is None else changes.counts()))
        return tuple(done), saved

    def _begin(self, plan: _Plan) -> Changed:
        changed = self.transition.carry_out(plan.bridge, plan.filed, plan.new)
        for words in plan.changes:
            record(f"{plan.bridge.name} ({plan.bridge.datapath_id:016x}): {words}")
        return changed

    def _take(self, config: Config, plans: Iterable[_Plan]) -> tuple[Ticket, ...]:
        self.shared.running.config = config
        self._extent = extent(config)
        if self.pushed is None:
            self.accepted.save(self._extent)
        self.loaded = time.time()
        self.valid = True
        running = self.shared.running
        saved = tuple(running.set(plan.bridge.datapath_id, plan.new) for plan in plans)
        for plan in plans:
            self.transition.settled(plan.bridge)
        return saved

    def _tell(self, outcome: Reload) -> None:
        data = {
            "bridges": {
                f"{own.datapath_id:016x}": {
                    "changes": list(own.changes),
                    "dropped": list(own.dropped),
                    "sent": own.sent,
                }
                for own in outcome.bridges
            },
            "restart": list(outcome.restart),
            "milliseconds": outcome.milliseconds,
        }
        message = f"the configuration was read: {outcome.message}"
        self.shared.events.tell(None, Event("config.reloaded", message, data=data))

    def _refused(self, error: ConfigError) -> None:
        self.valid = False
        message = f"the configuration stays as it was: {'; '.join(map(str, error.faults))}"
        data = {"errors": [str(fault) for fault in error.faults]}
        event = Event("config.refused", message, Severity.ERROR, data=data)
        self.shared.events.tell(None, event)


def _outcome(
    plan: _Plan, sent: dict[str, int] | None, lines: list[str] | None = None
) -> BridgeReload:
    bridge = plan.bridge
    return BridgeReload(
        bridge.datapath_id, bridge.name, plan.changes, plan.dropped, sent, tuple(lines or ())
    )


def _waited_for(plan: _Plan) -> Iterator[str]:
    """Members of aggregations that are no port of the switch, as far as its ports are known."""
    there = {port.name for port in switch_ports(plan.bridge)}
    for name, lag in plan.new.lags.items():
        away = [member for member in lag.members if member not in there]
        if there and away:
            what = f"members that are no ports of the switch are waited for: {', '.join(away)}"
            yield f"{plan.bridge.name}: lags.{name}: {what}"


_FORCED = "ofapp config reload --force"


def _refusal(doubt: str, forced: str = _FORCED) -> str:
    return f"{doubt}; if that is meant: {forced}"


def _incomplete(place: str | None, doubt: str, forced: str = _FORCED) -> ConfigError:
    return ConfigError([Fault(_place(place), Place(), "", _refusal(doubt, forced))])


def _place(place: str | None) -> str:
    return "no configuration file" if place is None else place


def _needing_restart(old: Config, new: Config) -> tuple[str, ...]:
    found = []
    if old.cluster != new.cluster:
        found.append("cluster")
    for section in ("api", "channel"):
        before, after = getattr(old, section), getattr(new, section)
        for name in type(before).model_fields:
            if getattr(before, name) != getattr(after, name):
                found.append(f"{section}.{name}")
    return tuple(found)
