"""Changes of settings at run time: of sections, ports and aggregations.

All take the same way: the new settings of the whole bridge are validated, and what is valid is
handed to the `Configurator`.  A request that is refused has changed and stored nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.event import Event, EventKind, PortNumber
from ofapp.bridge.first_hop.events import FIRST_HOP_PORT_SET, FIRST_HOP_SET
from ofapp.bridge.input_error import InputError
from ofapp.bridge.lag.events import LAG_SET
from ofapp.bridge.lldp.events import LLDP_PORT_SET, LLDP_SET
from ofapp.bridge.loop_protect.events import LOOP_PROTECT_PORT_SET, LOOP_PROTECT_SET
from ofapp.bridge.multicast.events import MCAST_PORT_SET, MCAST_SET
from ofapp.bridge.port_access.events import PORT_ACCESS_PORT_SET, PORT_ACCESS_SET
from ofapp.bridge.ports.events import PORT_SET
from ofapp.bridge.ports.names import called, settings_key
from ofapp.bridge.ports.port import Port
from ofapp.bridge.stp.events import STP_PORT_SET, STP_SET
from ofapp.config import checks
from ofapp.config.base import FaultsError, Model, Path, port_number
from ofapp.config.bridge import Bridge as Settings
from ofapp.config.compare import differences
from ofapp.config.layers import beyond
from ofapp.config.patch import patched
from ofapp.controller.audit import IN_WORDS, field_changes
from ofapp.controller.configuration.changes.ports import missing_port, refuse_local
from ofapp.controller.configuration.configurator import Configurator, Preview
from ofapp.controller.configuration.events import CONFIG_SET
from ofapp.controller.configuration.plan import BridgePlan, taken_names
from ofapp.controller.configuration.running import RunningConfiguration
from ofapp.controller.state.saving import Ticket, done


class Section(NamedTuple):
    """A section of a protocol, which bridges and ports have.

    name: in the file; subject: in words.
    bridge_set, port_set: kinds of the events of its changes.
    on_local: whether the LOCAL port has it, too.
    read, write: for a bridge's section that is not the attribute of that name.
    """

    name: str
    subject: str
    bridge_set: EventKind
    port_set: EventKind
    on_local: bool = False
    read: Callable[[Settings], Model] | None = None
    write: Callable[[Settings, Any], Settings] | None = None

    def of(self, bridge: Settings) -> Model:
        """The section of a bridge."""
        settings: Model = self.read(bridge) if self.read else getattr(bridge, self.name)
        return settings

    def put(self, bridge: Settings, new: Model) -> Settings:
        """A copy of the bridge's settings with another section."""
        if self.write is not None:
            return self.write(bridge, new)
        return bridge.model_copy(update={self.name: new})


STP = Section("stp", "spanning tree", STP_SET, STP_PORT_SET)
MULTICAST = Section(
    *("multicast", "multicast", MCAST_SET, MCAST_PORT_SET),
    on_local=True,
    read=Settings.snooping,
    write=Settings.with_snooping,
)
LLDP = Section("lldp", "LLDP", LLDP_SET, LLDP_PORT_SET)
LOOP_PROTECT = Section("loop_protect", "loop protection", LOOP_PROTECT_SET, LOOP_PROTECT_PORT_SET)
FIRST_HOP = Section(
    *("first_hop", "first-hop security", FIRST_HOP_SET, FIRST_HOP_PORT_SET), on_local=True
)
PORT_ACCESS = Section(
    *("port_access", "port access control", PORT_ACCESS_SET, PORT_ACCESS_PORT_SET)
)


@dataclass(frozen=True)
class _Part:
    """Part of a bridge's settings that one request changes.

    path: in the file; set: kind of its event; subject: in the audit trail; data: data of the event.
    put: gives a copy of the bridge's settings with another value of the part.
    """

    path: tuple[str, ...]
    set: EventKind
    subject: str
    value: Model
    put: Callable[[Settings, Any], Settings]
    port: Port | None = None
    data: Mapping[str, Any] = field(default_factory=dict)


class SettingChanges:
    """Changes of the running configuration; a ticket ends when the change is saved.

    Values of another type than the model's are a defect of the caller.  All raise InputError for
    values that do not fit the rest of the bridge's settings, and what the model raises for values
    that contradict each other: `stp.ParameterError`, `multicast.ParamError`.
    """

    def __init__(self, configurator: Configurator, running: RunningConfiguration) -> None:
        self._configurator = configurator
        self._running = running

    def change(self, bridge: Bridge, section: Section, values: Mapping[str, Any]) -> Ticket:
        """Set values of a section of a bridge."""
        former = section.of(self._running.of(bridge.datapath_id))
        part = _Part((section.name,), section.bridge_set, section.subject, former, section.put)
        return self._set(bridge, part, values)

    def change_port(
        self, bridge: Bridge, port: Port, values: Mapping[str, Any], section: Section | None = None
    ) -> Ticket:
        """Set values of a port: of a section, or VLANs and policies; also InputError for LOCAL."""
        whole = self._running.port(bridge, port)

        def put(bridge: Settings, new: Any) -> Settings:
            changed = new if section is None else whole.model_copy(update={section.name: new})
            return bridge.model_copy(update={"ports": {**bridge.ports, key: changed}})

        key = settings_key(port)
        path = "ports", key
        if section is None:
            return self._set(
                bridge, _Part(path, PORT_SET, f"port {port.name}", whole, put, port), values
            )
        if not section.on_local:
            refuse_local(port)
        about = (*path, section.name), section.port_set, f"{section.subject} of port {port.name}"
        return self._set(bridge, _Part(*about, getattr(whole, section.name), put, port), values)

    def change_lag(self, bridge: Bridge, name: str, values: Mapping[str, Any]) -> Ticket:
        """Set members or parameters of an existing aggregation."""
        part = _Part(
            ("lags", name),
            LAG_SET,
            f"aggregation {name}",
            self._running.of(bridge.datapath_id).lags[name],
            lambda settings, new: settings.model_copy(
                update={"lags": {**settings.lags, name: new}}
            ),
            data={"lag": name},
        )
        return self._set(bridge, part, values)

    def plan(self, bridge: Bridge, given: Mapping[str, Any]) -> BridgePlan:
        """Plan a part of the bridge's section of the file; FaultsError: see `patch.patched`."""
        old, numbers = self._running.of(bridge.datapath_id), bridge.ports.numbers
        new = patched(old, _by_name(bridge, given), numbers)
        changes = tuple(differences(old, new, numbers).values())
        plan = BridgePlan(bridge, old, new, changes)
        known = self._other_faults(bridge, old)
        others = [fault for fault in self._other_faults(bridge, new) if fault not in known]
        if faults := [*others, *taken_names(plan)]:
            raise FaultsError(faults)
        return plan

    def preview(self, plan: BridgePlan) -> Preview:
        """The effect that a plan would have in the bridge's switch."""
        return self._configurator.preview(plan)

    def carry_out(self, plan: BridgePlan) -> Ticket:
        """Apply what `plan` has made."""
        if not plan.changes:
            return done()
        text = "; ".join(plan.changes[:IN_WORDS])
        more = len(plan.changes) - IN_WORDS
        message = f"{text}; and {more} more" if more > 0 else text
        event = CONFIG_SET.event(message, data={"changes": list(plan.changes)})
        return self._configurator.set(plan, event).saved

    def _set(self, bridge: Bridge, part: _Part, values: Mapping[str, Any]) -> Ticket:
        try:
            new = part.value.changed(values)
        except FaultsError as error:
            raise _refused((), error.faults[0]) from None
        before, after = part.value.model_dump(mode="json"), new.model_dump(mode="json")
        changed = beyond(after, before)
        if not changed:
            return done()
        old = self._running.of(bridge.datapath_id)
        settings = part.put(old, new)
        self._refuse_faults(bridge, part, old, settings)
        plan = BridgePlan(
            bridge, old, settings, field_changes(part.subject, beyond(before, after), changed)
        )
        return self._configurator.set(plan, _event(part, changed)).saved

    def _refuse_faults(self, bridge: Bridge, part: _Part, old: Settings, new: Settings) -> None:
        """InputError for settings with a fault that the old ones do not have."""
        if faults := self._faults(bridge, part, new):
            known = self._faults(bridge, part, old)
            for fault in faults:
                if fault not in known:
                    raise _refused(part.path, fault)

    def _faults(self, bridge: Bridge, part: _Part, settings: Settings) -> list[checks.Fault]:
        if part.path[0] == "lags":  # of two with the same member, the changed one is to blame
            name = part.path[1]
            lags = {other: lag for other, lag in settings.lags.items() if other != name}
            settings = settings.model_copy(update={"lags": {**lags, name: settings.lags[name]}})
        return [*checks.faults(settings), *self._other_faults(bridge, settings)]

    def _other_faults(self, bridge: Bridge, settings: Settings) -> list[checks.Fault]:
        """Faults that depend on what the bridge is, besides its settings."""
        faults = checks.local_members(bridge.name, settings)
        return [*faults, *self._running.fabric_faults(bridge.datapath_id, settings)]


def _by_name(bridge: Bridge, given: Mapping[str, Any]) -> dict[str, Any]:
    """The same, with ports by name that are given by number, or as LOCAL.  Raises FaultsError."""
    ports = given.get("ports")
    if not isinstance(ports, dict):
        return {**given}
    named: dict[str, Any] = {}
    for key, value in ports.items():
        number = port_number(key)
        port = bridge.ports.named(key) if number is None else bridge.ports.get(number)
        if port is None and (number is not None or called(bridge.ports, key)):
            raise FaultsError([(("ports", key), missing_port(bridge, key))])
        name = key if port is None else settings_key(port)
        if name in named:
            raise FaultsError([(("ports", key), f"this is port {name}, which is given, too")])
        named[name] = value
    return {**given, "ports": named}


def _event(part: _Part, changed: Mapping[str, Any]) -> Event:
    values = ", ".join(f"{name} = {json.dumps(value)}" for name, value in changed.items())
    data = {**part.data, **changed}
    if part.port is None:
        return part.set.event(f"{part.subject}: {values}", data=data)
    number = part.port.number
    return part.set.event((PortNumber(number), f": {values}"), number, data)


def _refused(path: Path, fault: checks.Fault) -> InputError:
    """A fault by the field of the request, or by its place in the file if it is elsewhere."""
    place, what = fault
    if place[: len(path)] != path:
        return InputError(str(place[0]), f"{'.'.join(map(str, place))}: {what}")
    name = str(place[len(path)]) if len(place) > len(path) else str(path[-1])
    return InputError(name, f"{name}: {what}")
