"""After a controller restart: from what a switch forwards back to what hosts and routers said.

A restart must stop no running stream, so everything the switch forwards is kept with full timers,
and a query finds out what of it is still true (`Context.restore`).
"""

from __future__ import annotations

from collections.abc import Mapping

from ofapp.bridge.multicast.address import is_mac_group, is_snooped
from ofapp.bridge.multicast.context import Context
from ofapp.bridge.multicast.group import Group
from ofapp.bridge.multicast.shared import SnoopedPort


def restore_group(
    context: Context,
    address: bytes,
    entries: Mapping[bytes | None, frozenset[int]],
    routers: frozenset[int] | None,
    ports: Mapping[int, SnoopedPort],
    now: float,
) -> None:
    """Entries of one group, by source. `routers` None: the VLAN floods, so nothing is kept.

    ports: those of the bridge.
    """
    group = context.groups.get(address) or Group(address)
    group.sent = dict(entries)
    if routers is not None and not is_mac_group(address) and is_snooped(address):
        context.groups[address] = group
        until = now + context.querier.membership_interval(context.scope)
        star = entries.get(None, frozenset())
        everybody = frozenset[int]().union(*entries.values())
        for number in (everybody - routers) & context.ports & ports.keys():
            if number in group.static or number in group.members:
                continue
            exclude = number in star
            sources = tuple(
                source
                for source, to in sorted(entries.items(), key=lambda entry: entry[0] or b"")
                if source is not None and (number in to) != exclude
            )
            context.restore_member(group, ports[number], exclude, sources, until)
    context.touch_group(group)
