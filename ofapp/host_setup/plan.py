"""The steps from a host as it is observed to a layout.  Pure.

The order keeps the host reachable for as long as it can be: first all that changes nothing for
the traffic, then the uplinks, then addresses where they are missing, routes moved in one stroke
each, and only then what is too much is taken away.  Back is the same: addresses and routes return
to the NIC before the bridge goes.

IPv4 addresses are added in their order and removed in the opposite one: then the first of a subnet
is never taken away while others are there, which would remove those too unless
net.ipv4.conf.*.promote_secondaries is set, and make another one the primary if it is.  The kernel
lists IPv6 addresses newest first, so it is the other way round there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from socket import AF_INET, AF_INET6

from ofapp.host_setup import steps
from ofapp.host_setup.model import DeployConfig
from ofapp.host_setup.state import Address, Bridge, Host, Lag, Layout, LinkState, Route
from ofapp.host_setup.steps import Step
from ofapp.host_setup.wanted import lag_by_hand


def plan_apply(
    host: Host, goal: Layout, config: DeployConfig, silent: frozenset[str] = frozenset()
) -> tuple[Step, ...]:
    """Plan the steps of `apply`, checks included; empty if nothing needs a change.

    `silent`: gateways that do not answer now, and need not answer then.
    """
    doing = list(steps_towards(host, goal))
    if not doing:
        return ()
    guarded = config.stp_guard and config.can_loop
    at = next((i for i, step in enumerate(doing) if not _harmless(step)), len(doing))
    lag = (lag_by_hand(host, config) or goal.lag) if config.bond else None
    doing.insert(at, steps.AwaitController(config.bridge, guarded, lag.name if lag else None))
    if gateways := tuple(hop for hop in gateways_of(goal) if hop not in silent):
        doing.append(steps.AwaitGateways(config.bridge, gateways, config.settle_within))
    return tuple(doing)


def steps_towards(host: Host, goal: Layout) -> Iterator[Step]:
    """The difference between the host and the layout, in order."""
    yield from _prepare(host, goal)
    yield from _plug(host, goal)
    yield from _addresses(host, goal)
    yield from _routes(host, goal)
    yield from _clear(host, goal)
    yield from _unplug(host, goal)


def gateways_of(layout: Layout) -> tuple[str, ...]:
    """The gateways that LOCAL's routes lead over, those of default routes first."""
    local = layout.link(layout.name)
    routes = sorted(local.routes if local else (), key=lambda route: not route.is_default)
    return tuple(dict.fromkeys(route.gateway for route in routes if route.gateway))


def foreign_ports(host: Host, name: str) -> tuple[str, ...]:
    """Ports of our bridge that `ofapp deploy` did not plug in."""
    bridge = host.switch.bridge(name)
    return tuple(port.name for port in bridge.ports if not port.ours) if bridge else ()


def _harmless(step: Step) -> bool:
    return isinstance(step, steps.MakeTap | steps.PutBridge | steps.PutLag)


def _prepare(host: Host, goal: Layout) -> Iterator[Step]:
    """Devices, the bridge itself, and what links must have before they carry addresses."""
    for tap in goal.taps:
        if host.link(tap) is None:
            yield steps.MakeTap(tap)
    if goal.bridge is not None:
        now = host.switch.bridge(goal.name)
        if now is None or now != goal.bridge:
            yield steps.PutBridge(replace(goal.bridge, ports=()), new=now is None)
    if host.file is not None and (lag := _whole_lag(host, goal)) not in {
        None,
        _lag_now(host, goal),
    }:
        yield steps.PutLag(host.file.path, lag)
    inside = _ports(goal.bridge)
    for state in goal.links:
        if state.name not in inside:
            yield from _settings(host, state)
        yield from _link(host, state)


def _plug(host: Host, goal: Layout) -> Iterator[Step]:
    if goal.bridge is None:
        return
    now = host.switch.bridge(goal.name)
    there = {port.name: port for port in now.ports} if now else {}
    for port in goal.bridge.ports:
        if there.get(port.name) != port:
            yield steps.PutPort(goal.name, port)


def _addresses(host: Host, goal: Layout) -> Iterator[Step]:
    for state in goal.links:
        have = {address.key for address in _now(host, state.name).addresses}
        for address in _oldest_first(state.addresses):
            if address.key not in have:
                yield steps.AddAddress(state.name, _fresh(host, address))


def _routes(host: Host, goal: Layout) -> Iterator[Step]:
    for state in goal.links:
        have = set(_now(host, state.name).routes)
        # A gateway must be known to be on the link before a route leads over it.
        for route in sorted(state.routes, key=lambda r: (r.gateway or r.via) is not None):
            if route not in have:
                yield steps.PutRoute(state.name, _fresh_route(host, route), _alone(host, route))


def _clear(host: Host, goal: Layout) -> Iterator[Step]:
    """Take away what is too much; the last settings of uplinks, which would have cut them off."""
    wanted = {route.key for state in goal.links for route in state.routes}
    for state in (*goal.links, *_abandoned(host, goal)):
        now = _now(host, state.name)
        for route in now.routes:
            # One that was moved in one stroke is gone by then.
            if route not in state.routes and not (route.key in wanted and _alone(host, route)):
                yield steps.RemoveRoute(state.name, route)
        keys = {address.key for address in state.addresses}
        for address in reversed(_oldest_first(now.addresses)):
            if address.key not in keys and not address.link_local:
                yield steps.RemoveAddress(state.name, address)
    inside = _ports(goal.bridge)
    for state in goal.links:
        if state.name in inside:
            yield from _settings(host, state)


def _unplug(host: Host, goal: Layout) -> Iterator[Step]:
    now = host.switch.bridge(goal.name)
    if now is not None and now.ours:
        if goal.bridge is None and not foreign_ports(host, goal.name):
            yield steps.RemoveBridge(goal.name)
        else:
            for port in now.ports:
                if port.ours and port.name not in _ports(goal.bridge):
                    yield steps.RemovePort(goal.name, port.name)
    for tap in goal.absent_taps:
        if host.link(tap) is not None:
            yield steps.RemoveTap(tap)
    if host.file is not None and (lag := _lag_now(host, goal)) is not None:
        if goal.lag is None:
            yield steps.RemoveLag(host.file.path, lag)
        elif goal.lag != _whole_lag(host, goal):
            yield steps.PutLag(host.file.path, goal.lag)


def _lag_now(host: Host, goal: Layout) -> Lag | None:
    return host.file.ours(goal.name) if host.file else None


def _whole_lag(host: Host, goal: Layout) -> Lag | None:
    """With the members of now as well: one that is plugged in and no member may be a loop."""
    now = _lag_now(host, goal)
    if goal.lag is None or now is None:
        return goal.lag
    return replace(goal.lag, members=tuple(dict.fromkeys((*goal.lag.members, *now.members))))


def _abandoned(host: Host, goal: Layout) -> Iterator[LinkState]:
    """LOCAL of a bridge that goes: its routes and addresses go first."""
    now = host.switch.bridge(goal.name)
    if goal.bridge is None and now is not None and now.ours:
        yield LinkState(goal.name)


def _settings(host: Host, state: LinkState) -> Iterator[Step]:
    now = _now(host, state.name)
    values = dict(now.settings)
    for name, value in state.settings:
        if values.get(name, value) != value:
            yield steps.SetSetting(state.name, name, value)
    if state.offloads is not None and set(state.offloads) != set(now.offloads or ()):
        yield steps.SetOffloads(state.name, state.offloads)


def _link(host: Host, state: LinkState) -> Iterator[Step]:
    now = _now(host, state.name)
    up = state.up if state.up != now.up else None
    mtu = state.mtu if state.mtu != now.mtu else None
    if up is not None or mtu is not None:
        yield steps.SetLink(state.name, up, mtu)


def _oldest_first(addresses: tuple[Address, ...]) -> tuple[Address, ...]:
    four = (address for address in addresses if address.family == AF_INET)
    six = (address for address in reversed(addresses) if address.family == AF_INET6)
    return (*four, *six)


def _now(host: Host, name: str) -> LinkState:
    link = host.link(name)
    return link.state if link else LinkState(name, settings=host.defaults)


def _ports(bridge: Bridge | None) -> set[str]:
    return {port.name for port in bridge.ports} if bridge else set()


def _alone(host: Host, route: Route) -> bool:
    """Whether just one route has this key, so that replacing cannot hit another link's."""
    same = [
        present for link in host.links for present in link.state.routes if present.key == route.key
    ]
    return len(same) == 1


def _fresh(host: Host, address: Address) -> Address:
    """With the lifetimes that the address has now, wherever it is."""
    for link in host.links:
        for present in link.state.addresses:
            if present.key == address.key and not present.link_local:
                return replace(address, valid=present.valid, preferred=present.preferred)
    return address


def _fresh_route(host: Host, route: Route) -> Route:
    for link in host.links:
        for present in link.state.routes:
            if present == route:
                return replace(route, expires=present.expires)
    return route
