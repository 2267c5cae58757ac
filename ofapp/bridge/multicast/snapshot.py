"""Frozen values of the snooping state for display. Addresses as text, times remaining."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Literal

from ofapp.bridge.multicast.filter import BLOCKED
from ofapp.bridge.multicast.member import GroupMember
from ofapp.bridge.multicast.shared import SnoopedPort
from ofapp.bridge.multicast.snooped_vlan import SnoopedVlan
from ofapp.bridge.packet.address import Family, family_of, parse_group, text


@dataclass(frozen=True, slots=True)
class SourceInfo:
    """A source; `timer` seconds left. `blocked`: not forwarded (EXCLUDE mode, timer run out)."""

    address: str
    timer: float
    blocked: bool


@dataclass(frozen=True, slots=True)
class MemberInfo:
    """A port's membership of a group.

    mode: ``include`` or ``exclude``. timer: timer of the group, 0 in include mode.
    permanent: set by configuration; `sources` then are those included or excluded (blocked).
    hosts: Ethernet addresses, where they are tracked.
    """

    vid: int
    group: str
    port: int
    permanent: bool
    mode: str
    timer: float
    sources: tuple[SourceInfo, ...]
    hosts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RouterInfo:
    """A router port. `timer` is 0 for a permanent one; `routers` are the addresses heard there.

    kinds: how it is known: ``query``, ``pim``, ``mrd``, or ``restored`` from a switch.
    """

    vid: int
    family: int
    port: int
    permanent: bool
    timer: float
    routers: tuple[str, ...]
    kinds: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class QuerierInfo:
    """The querier of a VLAN and family. state: ``none``, ``self`` or ``other``.

    active: whether forwarding is restricted. address, port: the querier's, None if not known.
    proxies: ports with a querier of unspecified address, while there is no better one.
    timer: seconds until another counts as gone (other), or until our next query (self).
    """

    vid: int
    family: int
    enabled: bool
    state: Literal["none", "self", "other"]
    active: bool
    version: int
    address: str | None
    port: int | None
    timer: float
    proxies: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The whole state. `counters` by port."""

    members: tuple[MemberInfo, ...]
    routers: tuple[RouterInfo, ...]
    queriers: tuple[QuerierInfo, ...]
    counters: Mapping[int, Mapping[str, int]]
    entries: int
    hash_max: int

    def groups(self) -> Counter[tuple[int, Family | None]]:
        """Count the groups with members or permanent entries, by VLAN and family.

        None for those of Ethernet.
        """
        known = {(info.vid, info.group) for info in self.members}
        return Counter((vid, family_of(parse_group(group))) for vid, group in known)


def _left(until: float, now: float) -> float:
    return max(0.0, round(until - now, 3)) if isfinite(until) else 0.0


def _member(member: GroupMember, vid: int, now: float) -> MemberInfo:
    """A learned membership."""
    state = member.state
    return MemberInfo(
        vid,
        text(member.address),
        member.port.number,
        False,
        "exclude" if state.exclude else "include",
        _left(state.timer, now) if state.exclude else 0.0,
        tuple(
            SourceInfo(text(source), _left(timer, now), timer == BLOCKED)
            for source, timer in sorted(state.sources.items())
        ),
        tuple(sorted(mac.hex(":") for mac in member.hosts.table)) if member.hosts else (),
    )


def members(snooped: SnoopedVlan, now: float) -> list[MemberInfo]:
    """All memberships of a snooped VLAN, learned and permanent."""
    infos, vid = [], snooped.scope.vid
    for group in snooped.groups.values():
        infos += [_member(member, vid, now) for member in group.members.values()]
        for port, kept in group.static.items():
            sources = sorted(source for source in kept if source is not None)
            without = kept.get(None, frozenset())
            infos.append(
                MemberInfo(
                    vid,
                    text(group.address),
                    port,
                    True,
                    "exclude" if None in kept else "include",
                    0.0,
                    tuple(
                        SourceInfo(text(source), 0.0, source in without)
                        for source in sorted({*sources, *without})
                    ),
                    (),
                )
            )
    return sorted(infos, key=lambda info: (info.vid, info.group, info.port, info.permanent))


def routers(snooped: SnoopedVlan, ports: Mapping[int, SnoopedPort], now: float) -> list[RouterInfo]:
    """Router ports of a snooped VLAN, whether they forward or not; ports: all of the bridge."""
    infos, scope = [], snooped.scope
    for port in sorted(snooped.ports):
        known = ports.get(port)
        permanent = known is not None and known.params.router(scope.vid) == 2
        learned = snooped.routers.get(port)
        if permanent or learned is not None:
            heard = sorted({router for _, router in learned.heard}) if learned else []
            infos.append(
                RouterInfo(
                    scope.vid,
                    scope.family.value,
                    port,
                    permanent,
                    _left(learned.until, now) if learned and not permanent else 0.0,
                    tuple(text(router) for router in heard if router),
                    tuple(sorted({kind for kind, _ in learned.heard})) if learned else (),
                )
            )
    return infos


def querier(snooped: SnoopedVlan, now: float) -> QuerierInfo:
    """Querier state of a snooped VLAN."""
    state, scope = snooped.querier, snooped.scope
    name: Literal["none", "self", "other"] = "none"
    address, version, timer = None, scope.version, 0.0
    if state.is_querier:
        name, address, timer = "self", text(state.address), _left(state.next_query, now)
    elif state.other is not None:
        name, timer = "other", _left(state.other_until, now)
        address = text(state.other) if state.other else None
        version = state.last.version if state.last else version
    return QuerierInfo(
        scope.vid,
        scope.family.value,
        state.enabled,
        name,
        scope.active,
        version,
        address,
        state.other_port,
        timer,
        tuple(sorted(state.askers)),
    )
