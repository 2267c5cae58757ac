"""Values that a switch holds parts for, in words: for plans (`Kind.words`)."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from ofapp.bridge.desired import DesiredPort
from ofapp.bridge.effects import HoldDown, PutStatic, SetTrap
from ofapp.bridge.effects.content import BoundHost, DesiredLag
from ofapp.bridge.effects.fabric import DesiredFabric, SetShared
from ofapp.bridge.mac import format_mac
from ofapp.bridge.multicast import SetGroup, SetUnregistered
from ofapp.bridge.packet.address import text
from ofapp.bridge.ports.vlan import PortVlans, spoken
from ofapp.openflow.pipeline.part import Names, Words


def port_words(port: DesiredPort, names: Names) -> Words:
    """A port, with its policies under the keys of the configuration file."""
    copies = (names(to) for to in (*port.copies, *port.lag_copies))
    own = {
        "state": port.state,
        "VLAN": vlans_text(port.vlans),
        "mirrors": _each("mirror to", copies),
        "hello time": port.hello_time,
        "snooping": port.snoops,
        "new hosts a second": port.rate if port.learns else None,
        "host limit reached": port.full,
        "full VLANs": _each("host limit of VLAN", map(str, port.full_vlans)),
    }
    policy = dict(_flat(port.policy))
    for _, wanted in port.protocols:
        if is_dataclass(wanted):  # most ports have none, which is the same as all defaults
            usual = {field.name: field.default for field in fields(wanted)}
            policy |= {name: value for name, value in _flat(wanted) if value != usual.get(name)}
    return Words(f"port {names(port.number)}", own | policy)


def vlans_text(vlans: PortVlans) -> str:
    """The VLANs of a port: `10` of an access port, `10,20 tagged, 1 untagged` of a trunk."""
    if vlans.vids is None:
        return "all"
    untagged = spoken(vlans.untagged)
    if not vlans.tagged:
        return untagged
    parts = ((vlans.vids - vlans.untagged, "tagged"), (vlans.untagged, "untagged"))
    return ", ".join(f"{spoken(vids)} {how}" for vids, how in parts if vids) or "none"


def static_words(static: PutStatic, names: Names) -> Words:
    """A static address, or a local address of the bridge, which has no VLAN."""
    kind = "local" if static.vid is None else "static"
    port = None if static.port is None else f"port {names(static.port)}"
    return Words(f"{kind} address {_host(static.vid, static.mac)}", {"on": port})


def hold_words(hold: HoldDown, names: Names) -> Words:
    """An address that is held down."""
    name = f"held-down address {_host(hold.vid, hold.mac)}"
    return Words(name, {"on": f"port {names(hold.port)}"})


def host_words(host: BoundHost, names: Names) -> Words:
    """A host with bindings."""
    name = f"binding of {_host(host.vid, host.mac)} on port {names(host.port)}"
    return Words(name, {"addresses": _each("address", map(str, host.addresses))})


def lag_words(lag: DesiredLag, names: Names) -> Words:
    """An aggregation."""
    members = {}
    for number in sorted({*lag.distributing, *lag.collecting, *lag.lacp}):
        does = ("sends", lag.distributing), ("receives", lag.collecting)
        used = " and ".join(verb for verb, those in does if number in those)
        members[f"member {names(number)}"] = used or "waits"
    return Words(f"aggregation {names(lag.number)}", {"hash": lag.hash, "members": members})


def group_words(entry: SetGroup, names: Names) -> Words:
    """A multicast group's entry."""
    source = "" if entry.source is None else f" from {text(entry.source)}"
    name = f"multicast group {text(entry.group)}{source}{_vlan(entry.vid)}"
    return Words(name, {"ports": _each("port", map(names, entry.ports))})


def unregistered_words(entry: SetUnregistered, names: Names) -> Words:
    """Multicast without an entry."""
    name = f"unregistered {entry.family.name.replace('IPV', 'IPv')} multicast{_vlan(entry.vid)}"
    return Words(name, {"ports": _each("port", map(names, entry.ports or ()))})


def trap_words(trap: SetTrap, names: Names) -> Words:
    """Frames of one kind that a port of the switch sends to the controller."""
    return Words(f"{trap.kind} frames on port {names(trap.port)}", {})


def shared_words(shared: SetShared, names: Names) -> Words:
    """An aggregation that has ports at other members of the fabric, too."""
    members = _each("member", map(str, shared.members or ()))
    return Words(f"flooding to aggregation {names(shared.lag)}", {"members": members})


def fabric_words(fabric: DesiredFabric, names: Names) -> Words:
    """A member's part of its fabric."""
    links = {
        f"link {names(port)}": "open" if port in fabric.admitted else "closed"
        for port in fabric.links
    }
    return Words("fabric", {"links": links})


def differences(old: Words | None, new: Words | None) -> tuple[str, ...]:
    """The change from one value to another in words; None: there is no such value."""
    if new is None:
        return ("removed",)
    if old is None:
        elements = (value for value in new.fields.values() if isinstance(value, Mapping))
        return ("added", *(words for each in elements for words in _elements({}, each)))
    changes: list[str] = []
    for name in {**old.fields, **new.fields}:
        before, after = old.fields.get(name), new.fields.get(name)
        if isinstance(before, Mapping) or isinstance(after, Mapping):
            changes += _elements(before or {}, after or {})
        elif _shown(before) != _shown(after):
            changes.append(f"{name} {_shown(before)} -> {_shown(after)}")
    return tuple(changes)


def _elements(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    left = [f"{name} leaves" for name in old if name not in new]
    joined = [f"{name} joins" for name in new if name not in old]
    others = [
        f"{name} {old[name]} -> {value}"
        for name, value in new.items()
        if old.get(name, value) != value
    ]
    return [*left, *joined, *others]


def _each(what: str, names: Iterable[str]) -> dict[str, str]:
    return {f"{what} {name}": "" for name in sorted(names)}


def _flat(value: Any, above: str = "") -> Iterator[tuple[str, Any]]:
    """The fields of a value by path, without internal ones, which are not in its `repr` either."""
    for field in fields(value):
        inner, path = getattr(value, field.name), f"{above}{field.name}"
        if is_dataclass(inner):
            yield from _flat(inner, f"{path}.")
        elif field.repr:
            yield path, inner


def _host(vid: int | None, mac: int) -> str:
    return f"{format_mac(mac)}{_vlan(vid)}"


def _vlan(vid: int | None) -> str:
    return f" in VLAN {vid}" if vid else ""


def _shown(value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value.value if isinstance(value, Enum) else value)
