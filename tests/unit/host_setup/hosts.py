"""Hosts made up for tests, and a kernel and an Open vSwitch that do steps on such a value."""

from __future__ import annotations

from dataclasses import replace
from socket import AF_INET, AF_INET6

from ofapp.host_setup import steps
from ofapp.host_setup.state import (
    Address,
    Bridge,
    BridgePort,
    Controller,
    FileLag,
    Host,
    Link,
    LinkState,
    Route,
    Switch,
)
from ofapp.host_setup.steps import Step
from ofapp.host_setup.wanted import TAKEN_OVER

MAC = "52:54:00:00:00:01"
SETTINGS = tuple((name, 0) for name in TAKEN_OVER)

FIRST = Address(AF_INET, "192.0.2.2", 24)
SECOND = Address(AF_INET, "192.0.2.3", 24, valid=500, preferred=400)
SIX = Address(AF_INET6, "2001:db8::2", 64)
LINK_LOCAL = Address(AF_INET6, "fe80::1", 64, scope=253)
DEFAULT = Route(AF_INET, "0.0.0.0/0", gateway="192.0.2.1", metric=100, protocol=16)
DEFAULT6 = Route(AF_INET6, "::/0", gateway="fe80::99", metric=1024, protocol=9, expires=600)


def nic(
    name: str = "eth0",
    addresses: tuple[Address, ...] = (FIRST, SECOND, SIX, LINK_LOCAL),
    routes: tuple[Route, ...] = (DEFAULT, DEFAULT6),
    **more: object,
) -> Link:
    """A NIC that is up."""
    state = LinkState(name, True, 1500, SETTINGS, ("rx-gro",), addresses, routes)
    values: dict[str, object] = {"mac": MAC, "kind": "", "max_mtu": 9000, "index": 2} | more
    return Link(state, carrier=True, **values)  # type: ignore[arg-type]


def host(*links: Link, bridges: tuple[Bridge, ...] = (), **more: object) -> Host:
    """A host with an Open vSwitch that runs."""
    switch = Switch(bridges=bridges, interface_types=("system", "internal", "afxdp"))
    return Host(links or (nic(),), switch, defaults=SETTINGS, **more)  # type: ignore[arg-type]


def ours(name: str = "br0", *ports: BridgePort, **more: object) -> Bridge:
    """A bridge as `apply` makes it."""
    controllers = (Controller("tcp:127.0.0.1:6653", connected=True),)
    values: dict[str, object] = {
        **{"datapath": "netdev", "datapath_id": "0000525400000001", "mac": MAC, "mtu": 1500},
        **{"controllers": controllers, "in_use_id": "0000525400000001", "ports": ports},
    }
    return Bridge(name, **(values | more))  # type: ignore[arg-type]


def do(seen: Host, step: Step) -> Host:
    """The host after a step."""
    match step:
        case steps.PutBridge(bridge=bridge):
            there = seen.switch.bridge(bridge.name)
            ports = there.ports if there else ()
            seen = _with_bridge(seen, bridge.name, replace(bridge, ports=ports))
            return seen if seen.link(bridge.name) else _with_link(seen, _new(bridge.name, seen))
        case steps.RemoveBridge(name=name):
            return _without_link(_with_bridge(seen, name, None), name)
        case steps.PutPort(bridge=name, port=port):
            there = seen.switch.bridge(name)
            assert there is not None
            assert seen.switch.holder(port.name) in (None, there)
            kept = tuple(known for known in there.ports if known.name != port.name)
            return _with_bridge(seen, name, replace(there, ports=(*kept, port)))
        case steps.RemovePort(bridge=bridge_name, name=name):
            there = seen.switch.bridge(bridge_name)
            assert there is not None
            kept = tuple(known for known in there.ports if known.name != name)
            return _with_bridge(seen, bridge_name, replace(there, ports=kept))
        case steps.MakeTap(name=name):
            return _with_link(seen, replace(_new(name, seen), kind="tun"))
        case steps.RemoveTap(name=name):
            return _without_link(seen, name)
        case steps.PutLag(file=path, lag=lag):
            return _with_lags(seen, path, lag.bridge, (FileLag(lag, ours=True),))
        case steps.RemoveLag(file=path, lag=lag):
            return _with_lags(seen, path, lag.bridge, ())
        case steps.AwaitController() | steps.AwaitGateways():
            return seen
    link = seen.link(step.link)
    assert link is not None, step
    return (
        _with_link(seen, replace(link, state=_changed(link.state, step)), seen_before=True)
        if (not isinstance(step, steps.PutRoute))
        else _put_route(seen, link, step)
    )


def _with_lags(seen: Host, path: str, bridge: str, ours: tuple[FileLag, ...]) -> Host:
    assert seen.file is not None
    assert seen.file.path == path
    kept = tuple(f for f in seen.file.lags if not (f.ours and f.lag.bridge == bridge))
    return replace(seen, file=replace(seen.file, lags=(*kept, *ours)))


def _changed(state: LinkState, step: Step) -> LinkState:
    match step:
        case steps.SetLink(up=up, mtu=mtu):
            return replace(
                state, up=state.up if up is None else up, mtu=state.mtu if mtu is None else mtu
            )
        case steps.SetSetting(name=name, value=value):
            settings = tuple((key, value if key == name else old) for key, old in state.settings)
            state = replace(state, settings=settings)
            if name == "ipv6/disable_ipv6" and value:
                return replace(
                    state,
                    addresses=tuple(a for a in state.addresses if a.family == AF_INET),
                    routes=tuple(r for r in state.routes if r.family == AF_INET),
                )
            return state
        case steps.SetOffloads(on=on):
            return replace(state, offloads=on)
        case steps.AddAddress(address=address):
            assert address.key not in {a.key for a in state.addresses}
            disabled = dict(state.settings).get("ipv6/disable_ipv6")
            assert address.family == AF_INET or not disabled, "the kernel refuses"
            # As the kernel lists them: IPv6 by scope, the newest first.
            four = [a for a in (*state.addresses, address) if a.family == AF_INET]
            six = [a for a in (address, *state.addresses) if a.family == AF_INET6]
            new = (*four, *sorted(six, key=lambda a: a.link_local))
            return replace(state, addresses=new)
        case steps.RemoveAddress(address=address):
            return replace(
                state, addresses=tuple(a for a in state.addresses if a.key != address.key)
            )
        case steps.RemoveRoute(route=route):
            return replace(state, routes=tuple(r for r in state.routes if r != route))
    raise AssertionError(step)


def _put_route(seen: Host, link: Link, step: steps.PutRoute) -> Host:
    """A gateway must be on the link already, as the kernel wants it."""
    hop = step.route.gateway
    on_link = any(
        hop and address.family == step.route.family and _inside(hop, address)
        for address in link.state.addresses
    )
    assert hop is None or on_link or hop.startswith("fe80:"), f"{hop} is not on {link.name}"
    if step.replacing:
        for other in seen.links:
            kept = tuple(r for r in other.state.routes if r.key != step.route.key)
            seen = _with_link(seen, replace(other, state=replace(other.state, routes=kept)))
    link = seen.link(step.link) or link
    routes = (*link.state.routes, step.route)
    return _with_link(seen, replace(link, state=replace(link.state, routes=routes)))


def _inside(hop: str, address: Address) -> bool:
    import ipaddress

    return ipaddress.ip_address(hop) in address.network


def _new(name: str, seen: Host) -> Link:
    state = LinkState(name, False, 1500, seen.defaults, ())
    return Link(state, index=99, kind="", mac=MAC, max_mtu=65535, carrier=True)


def _with_link(seen: Host, link: Link, *, seen_before: bool = False) -> Host:
    assert not seen_before or seen.link(link.name)
    known = [link if old.name == link.name else old for old in seen.links]
    return replace(seen, links=tuple(known if link in known else [*known, link]))


def _without_link(seen: Host, name: str) -> Host:
    return replace(seen, links=tuple(link for link in seen.links if link.name != name))


def _with_bridge(seen: Host, name: str, bridge: Bridge | None) -> Host:
    others = [old for old in seen.switch.bridges if old.name != name]
    bridges = (*others, bridge) if bridge else tuple(others)
    return replace(seen, switch=replace(seen.switch, bridges=bridges))
