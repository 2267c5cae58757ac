"""What a switch holds for each value of its bridge: one maker for each kind of value.

The contents of a switch are a base, which depends on parameters and present ports alone, and a part
for each value.  The whole and a change come from the same maker.  A change takes out the part that
a value with the same key has made before, and puts the new part in its place (`Installed.replace`).

A new kind is a frozen value, a function from the value to its part, its words for plans, and one
entry in `KINDS`.  The
value is an effect of its protocol, and one of the values of `Protocol.desired`.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any

from ofapp.bridge.desired import Desired, DesiredPort
from ofapp.bridge.effects import (
    ClosePort,
    HoldDown,
    LetGo,
    PutStatic,
    RemoveStatic,
    SetTrap,
)
from ofapp.bridge.effects.content import BoundHost, DesiredLag
from ofapp.bridge.effects.fabric import DesiredFabric, SetShared
from ofapp.bridge.multicast import RemoveGroup, SetGroup, SetUnregistered
from ofapp.openflow.model.trap import TrapPort
from ofapp.openflow.model.traps import LACP, PROBE, TRAPS, lacp_places, probe_places
from ofapp.openflow.pipeline import flows, meters, words
from ofapp.openflow.pipeline.egress import entry_groups
from ofapp.openflow.pipeline.entries import entry_of, key_of
from ofapp.openflow.pipeline.part import NOTHING, Context, Key, Kind, Names, Part, Words

_TRAPS = {trap.name: trap for trap in TRAPS}


def items(desired: Desired) -> Iterator[Any]:
    """All values of a bridge, those that let frames enter last."""
    for value in desired.protocols.values():
        yield from value if isinstance(value, tuple) else ()
    fabric: DesiredFabric | None = desired.protocols.get("fabric")
    if fabric is not None:
        yield fabric
        yield from (SetShared(lag, members) for lag, members in fabric.shared.items())
    yield from desired.statics
    yield from desired.holds
    yield from desired.ports


def part_of(value: Any, context: Context) -> tuple[Key, Part]:
    """The key of a value, and its part."""
    kind = KINDS[type(value)]
    return kind.key(value), kind.make(value, context)


def port_key(port: int) -> Key:
    """The key of a port of the bridge."""
    return "port", port


FABRIC_KEY: Key = ("fabric",)


def words_of(part: Part, names: Names) -> Words | None:
    """A part's value in words; None for no part."""
    put = None if part.empty else KINDS[type(part.value)].words
    return None if put is None else put(part.value, names)


def _nothing(_value: object, _context: Context) -> Part:
    return NOTHING


def _port(port: DesiredPort, context: Context) -> Part:
    return _port_part(port, context.metered)


@lru_cache(1 << 13)
def _port_part(port: DesiredPort, metered: bool) -> Part:
    """Made once for all switches: most of their ports are alike."""
    limits = tuple(meters.port_meters(port)) if metered else ()
    return Part(port, flows.port_flows(port, metered), (), limits)


def _static(static: PutStatic, context: Context) -> Part:
    return Part(static, tuple(flows.static_flows(context.policies, static)))


def _hold(hold: HoldDown, _context: Context) -> Part:
    return Part(hold, (flows.hold_flow(hold),))


def _host(host: BoundHost, context: Context) -> Part:
    made = (*flows.bound_flows(host), *flows.known_flows(context.policies, host))
    return Part(host, made)


def _lag(lag: DesiredLag, context: Context) -> Part:
    traps = tuple(meters.trap_meter(LACP, place) for place in lacp_places(lag))
    made = tuple(flows.lag_flows(lag, context.metered))
    return Part(lag, made, (), traps if context.metered else ())


def _entry(entry: SetGroup | SetUnregistered, context: Context) -> Part:
    key, ports = entry_of(entry)
    if ports is None:
        return NOTHING
    number = context.numbers.of(key)
    groups = tuple(entry_groups(context.policies, number, key.vid, ports))
    return Part(entry, (flows.entry_flow(key, number),), groups)


def _trap(effect: SetTrap, context: Context) -> Part:
    if not effect.on:
        return NOTHING
    trap, place = _TRAPS[effect.kind], TrapPort(effect.port)
    limit = (meters.trap_meter(trap, place),) if context.metered else ()
    return Part(effect, (flows.trap_flow(trap, place, context.metered),), (), limit)


def _shared(effect: SetShared, _context: Context) -> Part:
    if effect.members is None:
        return NOTHING
    return Part(effect, tuple(flows.shared_flows(effect.lag, effect.members)))


def _fabric(fabric: DesiredFabric, context: Context) -> Part:
    fabric = replace(fabric, shared={})  # each is a part: see `SetShared`
    traps = tuple(meters.trap_meter(PROBE, place) for place in probe_places(fabric))
    made = flows.fabric_flows(fabric, context.metered)
    return Part(fabric, made, (), traps if context.metered else ())


KINDS: dict[type[Any], Kind] = {
    DesiredPort: Kind(lambda port: port_key(port.number), _port, True, words.port_words),
    ClosePort: Kind(lambda effect: port_key(effect.port), _nothing, closes=True),
    PutStatic: Kind(
        lambda static: ("static", static.vid, static.mac), _static, False, words.static_words
    ),
    RemoveStatic: Kind(lambda static: ("static", static.vid, static.mac), _nothing),
    HoldDown: Kind(lambda hold: ("hold", hold.vid, hold.mac), _hold, False, words.hold_words),
    LetGo: Kind(lambda hold: ("hold", hold.vid, hold.mac), _nothing),
    BoundHost: Kind(
        lambda host: ("host", host.port, host.vid, host.mac), _host, False, words.host_words
    ),
    DesiredLag: Kind(lambda lag: ("lag", lag.number), _lag, True, words.lag_words),
    SetGroup: Kind(lambda entry: entry_of(entry)[0], _entry, False, words.group_words),
    SetUnregistered: Kind(
        lambda entry: entry_of(entry)[0], _entry, False, words.unregistered_words
    ),
    RemoveGroup: Kind(lambda entry: key_of(*entry), _nothing),
    SetTrap: Kind(
        lambda effect: ("trap", effect.kind, effect.port), _trap, False, words.trap_words
    ),
    SetShared: Kind(lambda effect: ("shared", effect.lag), _shared, False, words.shared_words),
    DesiredFabric: Kind(lambda _fabric: FABRIC_KEY, _fabric, False, words.fabric_words),
}
"""All kinds of values, by type; those that only remove a part are among them."""
