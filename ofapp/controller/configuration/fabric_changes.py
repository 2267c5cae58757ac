"""What a new file changes in fabrics, and what cannot be changed while they run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ofapp.config import Config
from ofapp.config.base import Path
from ofapp.config.fabric import Fabric

Fault = tuple[Path, str]


def fabric_changes(old: Config, new: Config) -> tuple[str, ...]:
    """The changes of fabrics, in words."""
    return tuple(_changes(old.fabrics, new.fabrics))


def _changes(old: Mapping[str, Fabric], new: Mapping[str, Fabric]) -> Iterator[str]:
    for name in [*old, *(name for name in new if name not in old)]:
        if name not in new:
            yield f"{name}: is none any more, each member is a separate bridge"
        elif name not in old:
            yield f"{name}: is new, of {', '.join(new[name].present)}"
        elif old[name] != new[name] or [*old[name].members] != [*new[name].members]:
            yield from (f"{name}: {words}" for words in _differences(old[name], new[name]))


def _differences(old: Fabric, new: Fabric) -> Iterator[str]:
    before, after = old.present, new.present
    for name in before:
        if name not in after:
            yield f"{name} leaves"
        elif before[name].links != after[name].links:
            yield f"links of {name}: {', '.join(after[name].links) or 'none'}"
    for name in after:
        if name not in before:
            yield f"{name} joins"
    for field in ("number", "cables", "costs", "mtu"):
        if getattr(old, field) != getattr(new, field):
            yield f"other {field}" if field in ("cables", "costs") else _other(field, old, new)


def _other(field: str, old: Fabric, new: Fabric) -> str:
    return f"{field}: {getattr(old, field)} -> {getattr(new, field)}"


def fabric_faults(old: Config, new: Config) -> Iterator[Fault]:
    """Changes that cannot be made while a fabric runs; paths within the file."""
    for name in old.fabrics.keys() & new.fabrics.keys():
        before, after = old.fabrics[name], new.fabrics[name]
        path = ("fabrics", name)
        if before.number != after.number:
            what = (
                f"the number cannot change while the fabric runs: leave {before.number}, or take"
                " the fabric out, reload, and add it again"
            )
            yield (*path, "number"), what
        kept = zip(before.members.items(), after.members.items(), strict=False)
        for (old_name, old_member), (new_name, new_member) in kept:
            where = (*path, "members", new_name)
            if old_name != new_name:
                what = (
                    f"{old_name} was in this place: members are numbered by their order, so new"
                    f" members come last; if {old_name} leaves, give its entry `left: true`"
                )
                yield where, what
                break
            if old_member.bridge != new_member.bridge:
                what = (
                    f"another switch cannot take the place of {old_member.bridge}: give it that"
                    " datapath id (ovs-vsctl set bridge BRIDGE"
                    f" other-config:datapath-id={old_member.bridge})"
                )
                yield (*where, "bridge"), what


def keeps_place(datapath_id: int, old: Config, new: Config) -> bool:
    """Whether a bridge is that of the same switch or fabric in both configurations."""
    return old.role(datapath_id) == new.role(datapath_id)
