"""Plan of a change of settings, before anything is changed.

A plan is made for a new file, a pushed configuration or a request, and is either refused as a whole
or given to `Configurator.set`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.lag.params import INTERRUPTION, interrupting
from ofapp.bridge.queries import switch_ports
from ofapp.config import Config
from ofapp.config.base import Path
from ofapp.config.bridge import Bridge as Settings
from ofapp.config.compare import differences
from ofapp.controller.configuration.fabric_changes import fabric_changes, fabric_faults, keeps_place
from ofapp.controller.configuration.running import RunningConfiguration

Fault = tuple[Path, str]
"""The place in the file, and the error there."""


@dataclass(frozen=True)
class BridgePlan:
    """New settings of one bridge, which are valid.

    changes: in words, for the audit trail; dropped: those that undo run-time settings.
    filed: the old file's settings, where the file changes: its entries are then changed, too.
    """

    bridge: Bridge
    old: Settings
    new: Settings
    changes: tuple[str, ...]
    dropped: tuple[str, ...] = ()
    filed: Settings | None = None


@dataclass(frozen=True)
class Plan:
    """Changes that a configuration makes.

    fabrics: their changes, in words.
    restart: settings that take effect at the next start; warnings: about the configuration.
    faults: why a connected switch cannot run it; a plan with faults must not be applied.
    """

    config: Config
    bridges: tuple[BridgePlan, ...]
    fabrics: tuple[str, ...]
    restart: tuple[str, ...]
    warnings: tuple[str, ...]
    faults: tuple[Fault, ...]

    @property
    def changed(self) -> list[BridgePlan]:
        """Plans of the bridges whose settings change."""
        return [plan for plan in self.bridges if plan.changes]


def plan_config(
    running: RunningConfiguration, bridges: Iterable[Bridge], config: Config, reset: bool
) -> Plan:
    """Plan another configuration of all bridges.

    reset: revert all settings that were made at run time.
    """
    before = running.config
    plans = tuple(
        _bridge_plan(running, bridge, config, reset)
        for bridge in bridges
        if keeps_place(bridge.datapath_id, before, config)
    )
    faults = (
        *fabric_faults(before, config),
        *(fault for plan in plans for fault in _faults(plan, config)),
    )
    lags = (line for plan in plans for line in _lag_warnings(plan))
    warnings = (*config.warnings(), *lags)
    changed = fabric_changes(before, config), needing_restart(before, config)
    return Plan(config, plans, *changed, warnings, faults)


def _bridge_plan(
    running: RunningConfiguration, bridge: Bridge, config: Config, reset: bool
) -> BridgePlan:
    datapath_id = bridge.datapath_id
    filed, new = running.filed(datapath_id), running.filed(datapath_id, config)
    if not reset:
        new = running.carried(datapath_id, filed, new, bridge.ports.numbers)
    return plan_file(bridge, filed, running.of(datapath_id), new)


def plan_file(bridge: Bridge, filed: Settings, old: Settings, new: Settings) -> BridgePlan:
    """Plan a change of the file's settings of a bridge.

    filed: the old file's settings; old, new: those in force.
    """
    numbers = bridge.ports.numbers
    changed, since = differences(old, new, numbers), differences(filed, old, numbers)
    dropped = tuple(words for path, words in changed.items() if path in since)
    return BridgePlan(bridge, old, new, tuple(changed.values()), dropped, filed)


def _faults(plan: BridgePlan, config: Config) -> Iterator[Fault]:
    keys = config.keys(plan.bridge.datapath_id, plan.bridge.name)
    for path, what in taken_names(plan):
        yield ("bridges", *keys[:1], *path), what


def taken_names(plan: BridgePlan) -> Iterator[Fault]:
    """New aggregations with names of ports that the switch has; paths within the bridge."""
    bridge = plan.bridge
    ports = {port.name: port for port in switch_ports(bridge)}
    for name in sorted((plan.new.lags.keys() - plan.old.lags.keys()) & ports.keys()):
        what = (
            f"aggregation {name} has the name of port {name} ({ports[name].number}) of bridge"
            f" {bridge.name}, which would be left out: give the aggregation another name"
        )
        yield ("lags", name), what


def _lag_warnings(plan: BridgePlan) -> Iterator[str]:
    present = {port.name for port in switch_ports(plan.bridge)}
    for name, lag in plan.new.lags.items():
        about = f"{plan.bridge.name}: lags.{name}"
        absent = [member for member in lag.members if member not in present]
        if present and absent:
            what = f"members that are no ports of the switch are waited for: {', '.join(absent)}"
            yield f"{about}: {what}"
        before = plan.old.lags.get(name)
        if before is not None and (changed := interrupting(dict(before), dict(lag))):
            yield f"{about}: another {' and '.join(changed)}: {INTERRUPTION}"


def needing_restart(old: Config, new: Config) -> tuple[str, ...]:
    """The changed settings that take effect at the next start."""
    changed = ["cluster"] if old.cluster != new.cluster else []
    for section in ("api", "channel"):
        before, after = getattr(old, section), getattr(new, section)
        for name in type(before).model_fields:
            if getattr(before, name) != getattr(after, name):
                changed.append(f"{section}.{name}")
    return tuple(changed)
