"""After a controller restart: from what a switch forwards back to what hosts and routers said.

A restart must stop no running stream, so everything the switch forwards is kept with full timers,
and a query finds out what of it is still true.
"""

from __future__ import annotations

from collections.abc import Mapping

from ofapp.bridge.multicast.address import is_mac_group, is_snooped
from ofapp.bridge.multicast.context import Context
from ofapp.bridge.multicast.group import Group
from ofapp.bridge.multicast.routers import RouterPort


def restore_routers(context: Context, ports: frozenset[int], now: float) -> None:
    """The switch restricted the VLAN, with these ports for unregistered groups.

    They are router ports, but for those that configuration explains.
    """
    until = now + context.params.mcast_querier_interval
    for number in ports & context.ports:
        port = context.core.ports.get(number)
        if port is not None and port.params.mcast_router == 1:
            if port.params.mcast_flood_unregistered:
                continue
            router = context.routers.setdefault(number, RouterPort(context, number))
            router.hear("restored", b"", until)
    context.sent = ports
    context.refresh()
    context.querier.restored(now)


def restore_group(
    context: Context,
    address: bytes,
    entries: Mapping[bytes | None, frozenset[int]],
    routers: frozenset[int] | None,
    now: float,
) -> None:
    """Entries of one group, by source. `routers` None: the VLAN floods, so nothing is kept."""
    group = context.groups.get(address) or Group(context, address)
    group.sent = dict(entries)
    group.touch()
    if routers is None or is_mac_group(address) or not is_snooped(address):
        return
    context.groups[address] = group
    until = now + context.membership_interval
    star = entries.get(None, frozenset())
    everybody = frozenset[int]().union(*entries.values())
    for number in (everybody - routers) & context.ports:
        port = context.core.ports.get(number)
        if port is None or number in group.static or number in group.members:
            continue
        exclude = number in star
        sources = tuple(
            source
            for source, ports in sorted(entries.items(), key=lambda entry: entry[0] or b"")
            if source is not None and (number in ports) != exclude
        )
        member = context.join(address, port)
        if member is not None:
            member.restore(exclude, sources, until)
    context.forget_if_empty(group)
