"""The Selection Logic (802.1AX, 6.4.14), for one Aggregator.

Links that have the same LAG ID (6.3.6) can be one aggregation.  This one has one partner: the
current one while it has a link in use, and otherwise the one with the most bandwidth.  Members that
are connected to another partner are not selected, and their status says so.

Of more links than `max_links` the best are selected and the others are on standby. The system with
the better identifier decides by its port identifiers which these are (6.7.1), so that both ends
select the same.  Fewer than `min_links` are all on standby, so that the partner does not send
frames that would be lost.

A member whose partner has just fallen silent is selected last: another one replaces it at once, and
not three seconds later.
"""

from ofapp.bridge.lag.lacp.core import Core, LagId
from ofapp.bridge.lag.lacp.events import LACP_STRANGER
from ofapp.bridge.lag.lacp.port import AggregationPort, Receive, Selected

_Groups = dict[LagId, list[AggregationPort]]


def select(core: Core) -> None:
    """Select again among all members.

    A member to be selected again was unselected before, and its Mux machine has passed DETACHED
    since: `actor` runs it in between.
    """
    core.reselect = False
    groups = _groups(core)
    _choose(core, groups)
    chosen = groups.pop(core.lag_id, []) if core.lag_id is not None else []
    wanted = _wanted(core, chosen)
    fallback = None if chosen else _fallback(core)
    core.fallback = None if fallback is None else fallback.port_no
    for port in core.ports.values():
        if port is fallback:
            decided = Selected.SELECTED
        else:
            decided = wanted.get(port.port_no, Selected.UNSELECTED)
        if decided is not port.selected:
            port.selected = decided
            core.mark(port)
    _report_strangers(core, groups)


def _groups(core: Core) -> _Groups:
    groups: _Groups = {}
    for port in core.ports.values():
        if core.heard(port) and port.partner.system != core.system:
            groups.setdefault(core.lag_id_of(port), []).append(port)
    return groups


def _choose(core: Core, groups: _Groups) -> None:
    """Choose `lag_id`: keep the partner, unless only another one has enough links."""
    if not groups:
        core.lag_id = None
        return
    best = max(groups, key=lambda lag_id: _worth(core, lag_id, groups[lag_id]))
    group = groups.get(core.lag_id, []) if core.lag_id is not None else []
    in_use = any(port.synchronization and port.receive is Receive.CURRENT for port in group)
    enough = len(group) >= core.params.min_links or len(groups[best]) < core.params.min_links
    if in_use and enough:
        return
    core.lag_id = best


def _worth(core: Core, lag_id: LagId, ports: list[AggregationPort]) -> tuple[object, ...]:
    current = [port for port in ports if port.receive is Receive.CURRENT]
    speeds = sorted((port.link.speed_mbps for port in current), reverse=True)
    return (
        len(current) >= core.params.min_links,
        sum(speeds[: core.params.max_links]),
        len(current),
        lag_id == core.lag_id,
        # of equals the better partner, and the same one each time
        (-lag_id.partner.priority, -lag_id.partner.address, -lag_id.partner_key),
        -min(port.port_no for port in ports),
    )


def _wanted(core: Core, ports: list[AggregationPort]) -> dict[int, Selected]:
    if len(ports) < core.params.min_links:
        return {port.port_no: Selected.STANDBY for port in ports}
    ranked = sorted(ports, key=lambda port: _rank(core, port))
    most = core.params.max_links
    return {
        port.port_no: Selected.SELECTED if place < most else Selected.STANDBY
        for place, port in enumerate(ranked)
    }


def _rank(core: Core, port: AggregationPort) -> tuple[bool, int, int]:
    silent = port.receive is not Receive.CURRENT
    if core.system < port.partner.system:
        return silent, core.params.port_priority, port.port_no
    return silent, port.partner.port_priority, port.partner.port


def _fallback(core: Core) -> AggregationPort | None:
    """The member to use without LACP, the same one while it can be. Not in 802.1AX, where each link
    without LACP is a separate aggregation."""
    if not core.params.fallback:
        return None
    silent = {no: port for no, port in core.ports.items() if port.receive is Receive.DEFAULTED}
    if core.fallback in silent:
        return silent[core.fallback]
    return silent[min(silent)] if silent else None


def _report_strangers(core: Core, others: _Groups) -> None:
    strangers = frozenset(
        port.port_no
        for ports in others.values()
        for port in ports
        if port.receive is Receive.CURRENT  # and not a silent former partner
    )
    for number in sorted(strangers - core.strangers):
        port = core.ports[number]
        core.emit(
            LACP_STRANGER,
            f"is not used: {stranger_reason(core, port)}",
            port,
            partner_system=str(port.partner.system),
        )
    core.strangers = strangers


def stranger_reason(core: Core, port: AggregationPort) -> str:
    """Why a member's link cannot be in the aggregation, which has a partner."""
    chosen = core.lag_id
    assert chosen is not None
    here = core.lag_id_of(port)
    if here.partner != chosen.partner:
        return (
            f"system {here.partner} is connected here, but the aggregation is with"
            f" system {chosen.partner}"
        )
    if here.partner_key != chosen.partner_key:
        return (
            f"the partner's key is {here.partner_key} here and {chosen.partner_key} on the"
            " members in use: there it is another aggregation"
        )
    if here.key != chosen.key:
        return (
            f"the link's speed of {port.link.speed_mbps} Mbit/s differs from that of the members"
            " in use"
        )
    return "the partner wants the link to be used alone"
