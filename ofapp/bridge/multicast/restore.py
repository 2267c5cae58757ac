"""Restore members after a controller restart, from the entries of the switch.

A restart must stop no running stream, so everything the switch forwards is kept with full timers,
and a query finds out which members are still there (`SnoopedVlan.restore`).
"""

from __future__ import annotations

from collections.abc import Mapping

from ofapp.bridge.multicast.address import is_mac_group, is_snooped
from ofapp.bridge.multicast.group import Group
from ofapp.bridge.multicast.shared import SnoopedPort
from ofapp.bridge.multicast.snooped_vlan import SnoopedVlan


def restore_group(
    snooped: SnoopedVlan,
    address: bytes,
    entries: Mapping[bytes | None, frozenset[int]],
    routers: frozenset[int] | None,
    ports: Mapping[int, SnoopedPort],
    now: float,
) -> None:
    """Restore one group's entries, by source. `routers` None: the VLAN floods; nothing is kept.

    ports: those of the bridge.
    """
    group = snooped.groups.get(address) or Group(address)
    group.sent = dict(entries)
    if routers is not None and not is_mac_group(address) and is_snooped(address):
        snooped.groups[address] = group
        until = now + snooped.querier.membership_interval(snooped.scope)
        star = entries.get(None, frozenset())
        everybody = frozenset[int]().union(*entries.values())
        for number in (everybody - routers) & snooped.ports & ports.keys():
            if number in group.static or number in group.members:
                continue
            exclude = number in star
            sources = tuple(
                source
                for source, to in sorted(entries.items(), key=lambda entry: entry[0] or b"")
                if source is not None and (number in to) != exclude
            )
            snooped.restore_member(group, ports[number], exclude, sources, until)
    snooped.touch_group(group)
