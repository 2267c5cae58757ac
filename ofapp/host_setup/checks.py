"""Obstacles to a deployment, found before anything is changed.  Pure.

An error stops `apply`.  A warning tells what may undo it later.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ofapp.host_setup.lagfile import advice
from ofapp.host_setup.model import DeployConfig
from ofapp.host_setup.state import Host, Link
from ofapp.host_setup.wanted import datapath_id, movable, wanted_lag

KERNEL_BONDS = {"bond", "team"}
_DISSOLVE = (
    "or dissolve it where it was set up, from a console, give its addresses and routes to one of"
    " the NICs, and its MAC with --mac, and then use --bond"
)


@dataclass(frozen=True, slots=True)
class Problem:
    """One line for a person: what, and how to mend it."""

    text: str
    fix: str
    fatal: bool = True

    def __str__(self) -> str:
        return f"{self.text}: {self.fix}"


@dataclass(frozen=True, slots=True)
class Reach:
    """Results of reachability tests before anything was changed."""

    # Why a controller cannot be reached; absent when it can.
    refused: Mapping[str, str] = field(default_factory=dict)
    # The link that leads to a controller on another machine.
    via: Mapping[str, str] = field(default_factory=dict)
    # Why spanning tree cannot be asked for at the REST API.
    api: str | None = None
    # Gateways that do not answer ARP or neighbour discovery.
    silent: frozenset[str] = frozenset()


def check(
    host: Host, config: DeployConfig, reach: Reach, *, confirmed_later: bool
) -> tuple[Problem, ...]:
    """Every problem, the errors first.  `confirmed_later`: the change will have to be confirmed."""
    problems = [
        *_rights(host),
        *_switch(host, config),
        *_bridge(host, config),
        *_uplinks(host, config),
        *_bond(host, config),
        *_others(host, config),
        *_controllers(config, reach),
        *_default_route(host, config, confirmed_later),
        *_waits(host, config),
        *_silent(reach),
    ]
    return tuple(sorted(problems, key=lambda problem: not problem.fatal))


def _rights(host: Host) -> Iterator[Problem]:
    if not host.privileged:
        yield Problem("links and addresses cannot be changed without CAP_NET_ADMIN", "run as root")


def _switch(host: Host, config: DeployConfig) -> Iterator[Problem]:
    switch = host.switch
    if switch.problem is not None:
        yield Problem(
            f"Open vSwitch does not run: {switch.problem}",
            "start it (systemctl start openvswitch-switch), or say with --db where its database is",
        )
        return
    if config.datapath == "system" and not switch.kernel_module:
        yield Problem(
            "datapath system needs the kernel module openvswitch, which is not loaded",
            "modprobe openvswitch, or use --datapath netdev",
        )
    if config.uses_dpdk and not switch.dpdk:
        yield Problem(
            "dpdk and vhost-user ports need an Open vSwitch that runs with DPDK",
            "install openvswitch-switch-dpdk, set other_config:dpdk-init=true, restart it",
        )
    if any(port.type == "afxdp" for port in config.ports) and (
        "afxdp" not in switch.interface_types
    ):
        yield Problem("this Open vSwitch is built without AF_XDP", "use the NIC with --nic instead")


def _bridge(host: Host, config: DeployConfig) -> Iterator[Problem]:
    name = config.bridge
    bridge = host.switch.bridge(name)
    wanted = datapath_id(host, config)
    for other in host.switch.bridges:
        if other.name != name and wanted in {other.datapath_id, other.in_use_id}:
            yield Problem(
                f"bridge {other.name} has the datapath id {wanted} already",
                "give another one with --datapath-id",
            )
    if bridge is None:
        if host.link(name) is not None:
            yield Problem(
                f"there is an interface {name} already, and it is not a bridge of Open vSwitch",
                "choose another name with --bridge",
            )
        return
    if not bridge.ours:
        yield Problem(
            f"bridge {name} is there already and was not made by ofapp deploy",
            f"choose another name with --bridge, or remove it: ovs-vsctl del-br {name}",
        )
        return
    if bridge.datapath != config.datapath:
        yield Problem(
            f"bridge {name} is on the {bridge.datapath} datapath, and changing that takes it down",
            "ofapp deploy revert first",
        )
    for on, column in ((bridge.stp, "stp_enable"), (bridge.rstp, "rstp_enable")):
        if on:
            yield Problem(
                f"{column} is on for {name}, so that Open vSwitch swallows BPDUs",
                "it will be turned off",
                fatal=False,
            )
    if bridge.fail_mode != "secure":
        yield Problem(
            f"fail_mode of {name} is standalone, which can loop without the controller",
            "it will be set to secure",
            fatal=False,
        )


def _uplinks(host: Host, config: DeployConfig) -> Iterator[Problem]:
    for name in config.uplinks:
        link = host.link(name)
        if link is None:
            known = ", ".join(link.name for link in host.links if not link.loopback)
            yield Problem(f"there is no NIC {name}", f"these are there: {known or 'none'}")
            continue
        yield from _uplink(host, link, config)
    mtu = config.mtu
    mtus = {link.state.mtu for name in config.uplinks if (link := host.link(name))}
    if mtu is None and len(mtus) > 1:
        yield Problem(
            f"the uplinks' MTUs differ ({', '.join(str(mtu) for mtu in sorted(mtus, key=str))}),"
            " and the bridge forwards no frame that is too long for a port",
            "set one for all with --mtu",
            fatal=False,
        )


def _uplink(host: Host, link: Link, config: DeployConfig) -> Iterator[Problem]:
    name = link.name
    if link.loopback:
        yield Problem(f"{name} is the loopback", "choose a NIC")
    holder = host.switch.holder(name)
    if holder is not None and holder.name != config.bridge:
        yield Problem(
            f"{name} is a port of bridge {holder.name}",
            f"ovs-vsctl del-port {holder.name} {name}",
        )
    elif link.master is not None and link.master != "ovs-system":
        yield _enslaved(host, link, link.master)
    elif holder is not None and not all(p.ours for p in holder.ports if p.name == name):
        yield Problem(
            f"{name} is a port of {holder.name} that ofapp deploy has not plugged in",
            f"ovs-vsctl del-port {holder.name} {name}",
        )
    if host.switch.bridge(name) is not None:
        yield Problem(f"{name} is a bridge of Open vSwitch itself", "choose a NIC")
    if config.bond and link.kind in KERNEL_BONDS:
        members = " ".join(f"--nic {one.name}" for one in host.links if one.master == name)
        yield Problem(
            f"{name} is a {link.kind} of the kernel, and --bond would make one of {members}",
            f"leave out --bond, and the kernel keeps it as one uplink; {_DISSOLVE}",
        )
    if config.mtu is not None and config.mtu > link.max_mtu:
        yield Problem(
            f"{name} can do an MTU of {link.max_mtu} at most, not {config.mtu}",
            f"--mtu {link.max_mtu} or less",
        )
    if config.mtu is not None and config.mtu < 1280 and _has_ipv6(link):
        yield Problem(f"IPv6 on {name} needs an MTU of 1280 at least", "a larger --mtu")
    for route in link.odd_routes:
        yield Problem(
            f"route {route} uses {name} in a way that cannot be moved",
            "remove it, and set it on the bridge afterwards",
        )
    for manager in link.managers:
        yield Problem(
            f"{manager} seems to manage {name}, and may take addresses back or lose them",
            f"have it manage {config.bridge} instead, once this works",
            fatal=False,
        )


def _enslaved(host: Host, link: Link, master: str) -> Problem:
    """A member of a kernel's bond is not taken: the way back would have to restore that bond
    with all its settings, and its manager may change them at the same time."""
    above = host.link(master)
    if above is None or above.kind not in KERNEL_BONDS:
        return Problem(
            f"{link.name} belongs to {master} (bond, team or bridge)",
            f"use --nic {master}, or take it out: ip link set {link.name} nomaster",
        )
    addresses = ", ".join(str(address) for address in movable(above.state)) or "none"
    return Problem(
        f"{link.name} is a member of {master}, a {above.kind} of the kernel"
        f" (addresses {addresses}, MAC {above.mac})",
        f"use --nic {master} without --bond, and the kernel keeps it as one uplink; {_DISSOLVE}",
    )


def _bond(host: Host, config: DeployConfig) -> Iterator[Problem]:
    """The aggregation has to be in the controller's file before a second uplink is plugged in."""
    lag = wanted_lag(config)
    if lag is None:
        return
    file = host.file
    if file is None:
        yield Problem(
            f"no ofapp at {config.api} says which file it reads, and {lag.name} belongs there",
            "start it with a file, or say with --api where it is",
        )
        return
    if file.problem is not None:
        yield Problem(
            f"the controller's file {file.path} cannot be read here: {file.problem}",
            f"write there by hand: {advice(lag)}; then leave out --bond, and give --no-stp-guard",
        )
        return
    for stored in file.of(config.bridge):
        shared = [name for name in stored.lag.members if name in config.nics]
        if stored.ours or set(stored.lag.members) == set(config.nics):
            continue
        if shared or stored.lag.name == lag.name:
            yield Problem(
                f"{file.path} has {stored.lag} on {config.bridge} already, and {lag} is wanted",
                "name those uplinks with --nic, or change the file",
            )


def _others(host: Host, config: DeployConfig) -> Iterator[Problem]:
    for port in config.ports:
        holder = host.switch.holder(port.name)
        if holder is not None and holder.name != config.bridge:
            yield Problem(
                f"{port.name} is a port of bridge {holder.name}",
                f"ovs-vsctl del-port {holder.name} {port.name}",
            )
        link = host.link(port.name)
        if port.type == "tap" and link is not None and link.kind != "tun":
            yield Problem(f"{port.name} is there and is not a tap device", "choose another name")
        if port.type == "internal" and link is not None and holder is None:
            yield Problem(f"there is an interface {port.name} already", "choose another name")


def _waits(host: Host, config: DeployConfig) -> Iterator[Problem]:
    """One uplink is opened at once, as long as it is the only port that is up."""
    present = host.switch.bridge(config.bridge)
    plugged = {port.name for port in present.ports} if present else set()
    ports = plugged | set(config.uplinks)
    others = plugged - set(config.uplinks)
    alone = not config.can_loop and not others
    if config.stp_guard and len(ports) > 1 and not alone and not plugged >= set(config.uplinks):
        yield Problem(
            "spanning tree listens for about 3 s before it opens an uplink beside other ports, and"
            " so long nothing passes there",
            "sessions outlive that; with one uplink alone it costs nothing",
            fatal=False,
        )


def _controllers(config: DeployConfig, reach: Reach) -> Iterator[Problem]:
    if len(reach.refused) == len(config.controllers):
        for target, reason in reach.refused.items():
            yield Problem(
                f"the controller {target} cannot be reached ({reason}), and without one the bridge"
                " passes nothing",
                "start it (ofapp-manager), or name another one with --controller",
            )
    else:
        for target, reason in reach.refused.items():
            yield Problem(
                f"the controller {target} cannot be reached ({reason})", "start it", False
            )
    for target, link in reach.via.items():
        if link in config.uplinks and not config.in_band:
            yield Problem(
                f"the controller {target} is reached over {link} itself, which would hang on a"
                " bridge that waits for its controller",
                "run the controller on this host, or give --in-band (Open vSwitch then lets its"
                " own connection pass by hidden flows)",
            )
    if config.in_band and not any(
        link in (*config.uplinks, config.bridge) for link in reach.via.values()
    ):
        yield Problem(
            "no controller is reached over the uplinks, yet --in-band is given",
            "leave it out: it makes hidden flows that are not needed",
            fatal=False,
        )
    if config.stp_guard and config.can_loop and reach.api is not None:
        yield Problem(
            f"two uplinks can be a loop, and whether the controller runs spanning tree cannot be"
            f" asked: {reach.api}",
            "say with --api where its REST API is, or give --no-stp-guard when they cannot meet",
        )


def _default_route(host: Host, config: DeployConfig, confirmed_later: bool) -> Iterator[Problem]:
    """A NIC that is the only way in must come back by itself."""
    if confirmed_later:
        return
    for family, name in ((2, "IPv4"), (10, "IPv6")):
        carriers = {
            link.name
            for link in host.links
            for route in link.state.routes
            if route.is_default and route.family == family
        }
        if carriers and carriers <= set(config.uplinks):
            yield Problem(
                f"{', '.join(sorted(carriers))} carries the only {name} default route, and this"
                " session may end with it",
                "give --confirm-within SECONDS or --confirm-ping ADDRESS: without a confirmation"
                " everything is put back",
            )
            return


def _silent(reach: Reach) -> Iterator[Problem]:
    for gateway in sorted(reach.silent):
        yield Problem(
            f"the gateway {gateway} does not answer now, so that it cannot prove the bridge",
            "see whether it is up, or give --confirm-ping with an address that answers",
            fatal=False,
        )


def _has_ipv6(link: Link) -> bool:
    return any(address.family == 10 for address in movable(link.state))
