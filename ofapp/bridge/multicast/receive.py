"""Reports, queries and routers' hellos: their effect on a VLAN's snooping, and forwarding."""

from math import inf

from ofapp.bridge.multicast.message import Query, Record, RecordType, Report, RouterHello
from ofapp.bridge.multicast.shared import SnoopedPort
from ofapp.bridge.multicast.snooped_vlan import SnoopedVlan
from ofapp.bridge.packet.address import PROXY_SOURCES, is_snooped

_JOINING = (RecordType.IS_EX, RecordType.TO_EX)


def on_report(snooped: SnoopedVlan, report: Report, port: SnoopedPort, now: float) -> None:
    """Apply a report, and forward it to routers and queriers only (RFC 4541 2.1.1(1)).

    While nothing is restricted it floods: no querier is known here.
    """
    to_routers = follow(snooped, report, port, now)
    if not snooped.scope.active:
        snooped.forward(snooped.scope.live, port.number)
    elif to_routers:
        snooped.forward(snooped.scope.routers, port.number)


def follow(snooped: SnoopedVlan, report: Report, port: SnoopedPort, now: float) -> bool:
    """Apply a report to its port's members; returns whether routers need it."""
    to_routers = True
    for record in report.records:
        if is_snooped(record.group) and not _on_record(snooped, record, report, port, now):
            to_routers = False
    return to_routers


def _on_record(
    snooped: SnoopedVlan, record: Record, report: Report, port: SnoopedPort, now: float
) -> bool:
    """Apply one record; returns whether routers need it."""
    kind, address, sources = record
    group = snooped.groups.get(address)
    member = group.members.get(port.number) if group is not None else None
    if member is None:
        if kind not in _JOINING and (not sources or kind == RecordType.BLOCK):
            return True  # a leave of a group that it is not in
        joined = snooped.join(address, port)
        if joined is None:
            return True
        group, member = joined
    assert group is not None
    snooped.follow(group, member, record, report, now)
    scope = snooped.scope
    if not scope.params.mcast_report_suppression or report.version == scope.newest:
        return True
    if kind == RecordType.TO_IN:
        group.reported = -inf
        return not group.members.keys() - {port.number}
    if group.reported != -inf and group.reported >= snooped.querier.asked_at:
        return False
    group.reported = now
    return True


def on_query(snooped: SnoopedVlan, query: Query, port: SnoopedPort, now: float) -> None:
    """Handle another's query, and forward it to all ports, so that members answer."""
    if query.general:
        snooped.hear_query(query, port, now)
    else:
        _on_specific(snooped, query, now)
    ports = snooped.scope.live
    if query.general and query.source in PROXY_SOURCES and snooped.querier.other is not None:
        # Linux takes 0.0.0.0 for the lowest address and would stop its queries [measured].
        ports -= snooped.scope.learned_routers
    snooped.forward(ports, port.number)


def _on_specific(snooped: SnoopedVlan, query: Query, now: float) -> None:
    """Lower timers (RFC 3376 6.6.1, and the Linux bridge): without a report they expire."""
    group = snooped.groups.get(query.group)
    if group is None:
        return
    group.reported = -inf
    if query.suppress and not snooped.scope.old:
        return
    times = snooped.scope.params.mcast_last_member_count
    snooped.asked(group, query.sources, now + max(query.max_resp, 0.1) * times)


def on_hello(snooped: SnoopedVlan, hello: RouterHello, port: SnoopedPort, now: float) -> None:
    """Handle a PIM hello or router discovery message; forward it to all, as its address asks."""
    params = snooped.scope.params
    soon = now + params.last_member_time
    if hello.hold == 0:
        kind = "pim_hello" if hello.kind == "pim_hello" else "mrd_advertisement"
        snooped.router_leaves(kind, hello.source, port, soon)
    else:
        hold = params.mcast_querier_interval if hello.hold is None else hello.hold
        snooped.hear_router(hello.kind, hello.source, port, max(soon, now + hold), now)
    snooped.forward(snooped.scope.live, port.number)
