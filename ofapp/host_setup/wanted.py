"""The layout that a configuration asks for on a host, and the one that the host has now.  Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import replace

from ofapp.bridge.mac import format_mac
from ofapp.host_setup.model import DeployConfig, DeployPort
from ofapp.host_setup.state import (
    Address,
    Bridge,
    BridgePort,
    Controller,
    Host,
    Lag,
    Layout,
    LinkState,
    Route,
)

# What a host administrator sets on a link for the host's own traffic: LOCAL takes it over.
TAKEN_OVER = (
    "ipv4/forwarding",
    "ipv4/rp_filter",
    "ipv4/arp_ignore",
    "ipv4/arp_announce",
    "ipv4/proxy_arp",
    "ipv6/disable_ipv6",
    "ipv6/accept_ra",
    "ipv6/autoconf",
    "ipv6/use_tempaddr",
    "ipv6/forwarding",
    "ipv6/addr_gen_mode",
    "ipv6/proxy_ndp",
)
# A userspace datapath leaves every frame to the host's own stack as well: an uplink in it must
# not answer ARP, and drops IPv4 (without addresses no source passes the filter) and IPv6.
UPLINK = {"ipv6/disable_ipv6": 1}
USERSPACE_UPLINK = {**UPLINK, "ipv4/arp_ignore": 8, "ipv4/rp_filter": 1}

LAG = "lag0"

_OVS_TYPE = {
    "tap": "",
    "internal": "internal",
    "vhost-user": "dpdkvhostuserclient",
    "afxdp": "afxdp",
    "dpdk": "dpdk",
}


def present_layout(host: Host, name: str, uplinks: Iterable[str], taps: Iterable[str]) -> Layout:
    """Return the present layout of the bridge `name`, if it is ours, and of those uplinks."""
    bridge = host.switch.bridge(name)
    if bridge is not None and not bridge.ours:
        bridge = None
    if bridge is not None:
        bridge = replace(bridge, ports=tuple(port for port in bridge.ports if port.ours))
    names = (*uplinks, name) if bridge else tuple(uplinks)
    links = (link.state for link in host.links if link.name in names)
    there = {link.name for link in host.links}
    return Layout(
        name,
        bridge,
        tuple(links),
        tuple(tap for tap in taps if tap in there),
        tuple(tap for tap in taps if tap not in there),
        host.file.ours(name) if host.file else None,
    )


def wanted_layout(host: Host, config: DeployConfig, origin: Layout | None = None) -> Layout:
    """Return the wanted layout.  `origin`: layout before the first deployment of this bridge.

    An uplink that was deployed before and is not wanted any more goes back to `origin`, with the
    addresses that came from it.
    """
    former = _former_uplinks(host, config, origin)
    uplinks = [link.state for name in config.uplinks if (link := host.link(name))]
    local = _local(host, config, uplinks, former)
    links = [_uplink(state, config) for state in uplinks]
    taps = tap_names(config)
    made = origin.absent_taps if origin else ()
    return Layout(
        config.bridge,
        _bridge(host, config),
        (*links, *former, local),
        taps,
        tuple(tap for tap in made if tap not in taps),
        _lag(host, config),
    )


def wanted_lag(config: DeployConfig) -> Lag | None:
    """The uplinks' aggregation."""
    if config.bond is None:
        return None
    lacp = "active" if config.bond == "lacp" else "off"
    return Lag(config.bridge, LAG, config.nics, lacp)


def lag_by_hand(host: Host, config: DeployConfig) -> Lag | None:
    """The uplinks' aggregation where the user has written it into the file."""
    for stored in host.file.of(config.bridge) if host.file else ():
        if not stored.ours and set(stored.lag.members) == set(config.nics):
            return stored.lag
    return None


def _lag(host: Host, config: DeployConfig) -> Lag | None:
    return None if lag_by_hand(host, config) else wanted_lag(config)


def tap_names(config: DeployConfig) -> tuple[str, ...]:
    """The taps that are wanted."""
    return tuple(port.name for port in config.ports if port.type == "tap")


def returned_layout(host: Host, origin: Layout, deployed: Layout) -> Layout:
    """Everything back on the uplinks, as in `origin`, with what LOCAL has *now*.

    Months may have passed: an address that was given to the bridge since then moves as well, to the
    first uplink that had any.
    """
    local = _resumed(host, deployed)
    home = next((state.name for state in origin.links if movable(state)), None)
    home = home or next((state.name for state in origin.links), None)
    owners = {a.key: state.name for state in origin.links for a in movable(state)}
    route_owners = {route: state.name for state in origin.links for route in state.routes}
    links = []
    for state in origin.links:
        there = host.link(state.name)
        now = there.state if there else LinkState(state.name)
        link_locals = tuple(a for a in state.addresses if a.link_local)
        moved = [a for a in movable(local) if owners.get(a.key, home) == state.name]
        addresses = {a.key: a for a in (*moved, *link_locals, *movable(now))}
        routes = [r for r in local.routes if route_owners.get(r, home) == state.name]
        routes += [route for route in now.routes if route not in routes]
        links.append(replace(state, addresses=tuple(addresses.values()), routes=tuple(routes)))
    return replace(origin, bridge=None, links=tuple(links), taps=(), lag=None)


def resumed_layout(host: Host, config: DeployConfig, origin: Layout, deployed: Layout) -> Layout:
    """`wanted_layout` for a deployment that was confirmed once, with what a restart took."""
    goal = wanted_layout(host, config, origin)
    local, before = goal.link(config.bridge), _resumed(host, deployed)
    if local is None:
        return goal
    addresses = {a.key: a for a in (*before.addresses, *local.addresses)}
    routes = dict.fromkeys((*before.routes, *local.routes))
    local = replace(
        local,
        settings=local.settings or before.settings,
        addresses=tuple(addresses.values()),
        routes=tuple(routes),
    )
    others = (state for state in goal.links if state.name != config.bridge)
    return replace(goal, links=(*others, local))


def aged(layout: Layout, seconds: float) -> Layout:
    """Return a layout after some time, without addresses and routes that have expired."""

    def left(lifetime: int | None) -> int | None:
        return None if lifetime is None else int(max(0, lifetime - seconds))

    links = []
    for state in layout.links:
        addresses = (
            replace(address, valid=left(address.valid), preferred=left(address.preferred))
            for address in state.addresses
            if left(address.valid) != 0
        )
        routes = (
            replace(route, expires=left(route.expires))
            for route in state.routes
            if left(route.expires) != 0
        )
        links.append(replace(state, addresses=tuple(addresses), routes=tuple(routes)))
    return replace(layout, links=tuple(links))


def _resumed(host: Host, deployed: Layout) -> LinkState:
    """LOCAL as it is, with what it was deployed with when it went down.

    After a reboot, or where LOCAL of a userspace datapath was recreated, nothing is left of it; on
    a link that is only set down the kernel drops routes and IPv6 addresses.
    """
    link = host.link(deployed.name)
    now = link.state if link else LinkState(deployed.name)
    before = deployed.link(deployed.name)
    if before is None or (now.up and movable(now)):
        return now
    addresses = {a.key: a for a in (*now.addresses, *before.addresses)}
    routes = dict.fromkeys((*now.routes, *before.routes))
    settings = now.settings if link else before.settings
    return replace(
        now, settings=settings, addresses=tuple(addresses.values()), routes=tuple(routes)
    )


def origin_layout(host: Host, config: DeployConfig, known: Layout | None) -> Layout:
    """Return the layout of uplinks and taps before any deployment, as far as it is `known`."""
    now = present_layout(host, config.bridge, config.uplinks, tap_names(config))
    if known is None:
        return now
    links = (known.link(name) or now.link(name) for name in config.uplinks)
    absent = (tap for tap in tap_names(config) if tap in (*known.absent_taps, *now.absent_taps))
    return replace(known, links=tuple(state for state in links if state), absent_taps=tuple(absent))


def movable(state: LinkState) -> tuple[Address, ...]:
    """The addresses that move; link-local ones belong to their link."""
    return tuple(address for address in state.addresses if not address.link_local)


def stable_mac(host: Host, config: DeployConfig) -> str:
    """The bridge's MAC address: the same after every reboot and every new deployment."""
    if config.mac:
        return config.mac
    first = host.link(config.uplinks[0]) if config.uplinks else None
    if first is not None:
        return first.mac
    digest = hashlib.sha256(f"{host.machine_id} {config.bridge}".encode()).digest()
    return format_mac(int.from_bytes(digest[:6]) & 0xFCFFFFFFFFFF | 0x020000000000)


def datapath_id(host: Host, config: DeployConfig) -> str:
    """16 hexadecimal digits."""
    return config.datapath_id or "0000" + stable_mac(host, config).replace(":", "")


def _former_uplinks(
    host: Host, config: DeployConfig, origin: Layout | None
) -> tuple[LinkState, ...]:
    bridge = host.switch.bridge(config.bridge)
    if origin is None or bridge is None or not bridge.ours:
        return ()
    inside = {port.name for port in bridge.ports if port.ours}
    return tuple(
        state
        for state in origin.links
        if state.name in inside and state.name not in (*config.uplinks, config.bridge)
    )


def _uplink(state: LinkState, config: DeployConfig) -> LinkState:
    sysctls = USERSPACE_UPLINK if config.datapath == "netdev" else UPLINK
    return replace(
        state,
        up=True,
        mtu=config.mtu or state.mtu,
        settings=tuple((name, sysctls.get(name, value)) for name, value in state.settings),
        offloads=() if config.datapath == "netdev" else state.offloads,
        addresses=(),
        routes=(),
    )


def _local(
    host: Host, config: DeployConfig, uplinks: list[LinkState], former: tuple[LinkState, ...]
) -> LinkState:
    link = host.link(config.bridge)
    present = link.state if link else LinkState(config.bridge)
    leaving = {address.key for state in former for address in movable(state)}
    leaving_routes = {route for state in former for route in state.routes}
    addresses = {a.key: a for a in movable(present) if a.key not in leaving}
    routes: dict[Route, None] = {r: None for r in present.routes if r not in leaving_routes}
    for state in uplinks:
        for address in movable(state):
            addresses.setdefault(address.key, address)
        routes |= dict.fromkeys(state.routes)
    giver = next((state for state in uplinks if movable(state)), None)
    settings: tuple[tuple[str, int], ...] = ()
    if giver is not None:
        values = dict(giver.settings)
        settings = tuple((name, values[name]) for name in TAKEN_OVER if name in values)
    return LinkState(
        config.bridge,
        up=True,
        settings=settings,
        addresses=tuple(addresses.values()),
        routes=tuple(routes),
    )


def _bridge(host: Host, config: DeployConfig) -> Bridge:
    return Bridge(
        config.bridge,
        datapath=config.datapath,
        datapath_id=datapath_id(host, config),
        mac=stable_mac(host, config),
        mtu=config.mtu or _inherited_mtu(host, config),
        disable_in_band=not config.in_band,
        controllers=tuple(
            Controller(target, config.in_band, config.rate_limit, config.burst_limit)
            for target in sorted(set(config.controllers))
        ),
        ports=(
            *(BridgePort(name) for name in config.nics),
            *(_port(port) for port in config.ports),
        ),
    )


def _inherited_mtu(host: Host, config: DeployConfig) -> int | None:
    """The smallest of the uplinks': LOCAL may not send what one of them cannot carry."""
    return min(
        (link.state.mtu or 1500 for name in config.uplinks if (link := host.link(name))),
        default=None,
    )


def _port(port: DeployPort) -> BridgePort:
    options = dict(port.options)
    if port.path:
        options["vhost-server-path"] = port.path
    if port.devargs:
        options["dpdk-devargs"] = port.devargs
    return BridgePort(port.name, _OVS_TYPE[port.type], tuple(sorted(options.items())))
