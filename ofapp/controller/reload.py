"""Making what runs equal to what the file says, without a frame lost (warm reload).

A file that is not valid changes nothing, nor does one that looks cut short unless it is forced.  A
bridge for which the file says what holds already is not touched.  What was set over the API stays,
unless the file has changed the same value, which is told, or that is what somebody asks for; static
and permanent entries made over the API are data and not settings: they stay in any case.
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
from ofapp.common import hub
from ofapp.config import Config, ConfigError, load_config
from ofapp.config.bridge import Bridge as BridgeSettings
from ofapp.config.compare import differences
from ofapp.config.document import Place
from ofapp.config.errors import Fault
from ofapp.config.loss import extent, missing
from ofapp.controller.audit import record
from ofapp.controller.pushed import Pushed, Sharing
from ofapp.controller.shared import Shared
from ofapp.controller.state import AcceptedFile
from ofapp.controller.state.keeper import Ticket
from ofapp.controller.transition import Changed, Transition

POLL = 1.0
"""Seconds between two looks at a watched file."""

SHOWN = 1000
"""Most lines of a bridge's flow changes that are told."""


@dataclass(frozen=True)
class BridgeReload:
    """One bridge.

    changes: in words, the file's; dropped: those among them that were set at run time.
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
    """What a reload did, or would do.

    restart: settings that count from the next start on; saved: who needs it to outlive a crash,
    what it took back above all, waits for these.
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
        """In a line."""
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
    """filed: what the file said; new: what shall hold, by the file and since."""

    bridge: Bridge
    filed: BridgeSettings
    new: BridgeSettings
    changes: tuple[str, ...]
    dropped: tuple[str, ...]


@dataclass(frozen=True)
class _Compared:
    """What a configuration changes.  restart, warnings: as in `Reload`."""

    config: Config
    plans: tuple[_Plan, ...]
    restart: tuple[str, ...]
    warnings: tuple[str, ...]


@dataclass
class Reloader:
    """Reads the file of all bridges.

    accepted: keeps how much the file said that was last accepted: reloaded, or read at a start and
    not cut short.
    find: the file's place, None while there is none; asked each time, as a file may be made later.
    loaded: when it was read last, in seconds since the epoch; valid: the last attempt took it.
    pushed: what is done as instead of the file, in a cluster; sharing: with whom.
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
        """What the file said when it was read last."""
        return self.shared.running.config

    def start(self) -> None:
        """Tell when the file that this process began with looks cut short; it holds, all the same.

        Nobody may be there to ask, and bridges without a controller are worse.  It is told at each
        start until the file is whole again, or somebody says that this is meant.
        """
        if self.pushed is not None:
            return  # it was looked at when it was pushed
        before = self.accepted.load()
        doubt = None if before is None else missing(before, self._extent)
        if before is None or doubt is None:
            self.accepted.save(self._extent)
            return
        self._extent = before
        message = f"{_place(self.place)}: {_refusal(doubt)}; meanwhile it holds as it is"
        self.shared.events.tell(None, Event("config.incomplete", message, Severity.ERROR))

    def take(self, pushed: Pushed) -> Reload:
        """Do as one says that was pushed, and no more as the file; ConfigError, told, too."""
        before, self.pushed = self.pushed, pushed
        try:
            return self.reload(force=True)
        except ConfigError:
            self.pushed = before
            raise

    def check(self, pushed: Pushed, force: bool) -> Reload:
        """What would change if one were pushed; ConfigError, as of a `reload`."""
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
        """Read the file and do as it says; ConfigError when it is not valid, which is told, too.

        Where one was pushed, that is read instead.

        A bridge of thousands of ports is programmed in portions: all is settled here before others
        have their turn, and what it has changed in switches is waited for.

        force: also when it looks as if a part of it were missing; a dry run only warns of that.
        reset: whatever was set at run time is taken back.
        """
        begun = time.monotonic()
        path = self.place
        try:
            config = self._load()
            doubt = None if force else missing(self._extent, extent(config))
            if doubt is not None and not dry_run:
                raise _incomplete(path, doubt)
        except ConfigError as error:
            if not dry_run:
                self._refused(error)
            raise
        compared = self._compare(config, reset)
        done, saved = (self._foresee(compared), ()) if dry_run else self._carry_out(compared)
        milliseconds = round((time.monotonic() - begun) * 1000, 3)
        doubts = () if doubt is None else (_refusal(doubt),)
        warnings = (*doubts, *compared.warnings)
        outcome = Reload(dry_run, path, milliseconds, done, compared.restart, warnings, saved)
        if not dry_run:
            self._tell(outcome)
        return outcome

    def watch(self, reload: Callable[[], None]) -> None:
        """Have it reloaded whenever the file has changed and `watch` is set; does not end.

        A file that is still being written changes from one look to the next: it is read when it
        has not.  One that is gone for a moment, as editors do it, is waited for.
        """
        known = before = _signature(self.find())
        while True:
            hub.sleep(POLL)
            now = _signature(self.find())
            settled, before = now == before, now
            if now is None or now == known or not settled:
                continue
            known = now
            if self.config.watch and self.pushed is None:
                reload()

    def try_reload(self) -> None:
        """Reload; what is wrong has been told."""
        try:
            self.reload()
        except ConfigError:
            return

    @property
    def place(self) -> str | None:
        """What is done as, for people; None while there is no file."""
        if self.pushed is not None:
            return self.pushed.place
        path = self.find()
        return None if path is None else str(path)

    def filed(self) -> Config | None:
        """What the machine's file says; None without one that is valid."""
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
        waited = (line for plan in plans for line in _waited_for(plan))
        warnings = (*config.warnings(), *waited)
        return _Compared(config, plans, _needing_restart(self.config, config), warnings)

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


def _signature(path: Path | None) -> tuple[int, int, int] | None:
    """What differs when a file has been written or another has taken its place."""
    try:
        found = path.stat() if path is not None else None
    except OSError:
        return None
    return None if found is None else (found.st_ino, found.st_mtime_ns, found.st_size)
