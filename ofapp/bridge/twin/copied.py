"""A copy of a bridge that can run in virtual time.

The copy has the parameters, ports, port states, aggregations and spanning tree of the original, and
its static addresses, multicast entries and bindings. It has none of its learned addresses and
authorised hosts; the VLANs and rates of the latter stay. LLDP, loop protection and port access
control are off in it. It is made as a controller makes a bridge again after its own restart
(`dump` and `restore` of each protocol).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import Effect
from ofapp.bridge.multicast import SetGroup, SetUnregistered
from ofapp.bridge.params.params import BridgeParams
from ofapp.bridge.pausable import PausableTime
from ofapp.bridge.queries import permanent_entries, static_entries, switch_ports
from ofapp.bridge.relay.granted import Granted
from ofapp.bridge.state import SharedState
from ofapp.bridge.twin.cable import Cable, SwitchPort
from ofapp.common.portions import Portions

NOWHERE = SwitchPort(-1, 0)

Brought = Mapping[tuple[str, int], Granted]
"""What hosts have brought to ports, by the name and number of the port."""


def brought_to(bridge: Bridge) -> Brought:
    """The VLANs and rates that a RADIUS server has given to the hosts of ports."""
    granted = bridge.port_policies.granted
    ports = (port for port in bridge.ports if port.name in granted)
    return {(port.name, port.number): granted[port.name] for port in ports}


def relevant(params: BridgeParams, snooped: Iterable[int], brought: Brought) -> BridgeParams:
    """The parameters without protocols that a copy does not run; it snoops in these VLANs alone.

    brought: it stays as it is.
    """
    given = {name: each.over(params.port(name, at)) for (name, at), each in brought.items()}
    params = replace(params, ports={**params.ports, **given}) if given else params
    multicast, vlans = params.multicast, params.multicast_vlans
    if multicast is not None:
        vlans = {vid: vlans.get(vid, multicast.vlan) for vid in snooped}
        multicast = replace(multicast, vlan=replace(multicast.vlan, mcast_snooping=False))
    params = replace(params, multicast=multicast, multicast_vlans=vlans)
    return replace(params, lldp=None, port_access=None, loop_protect=None)


def copied(
    bridge: Bridge,
    shared: SharedState,
    snooped: Iterable[int],
    now: float,
    portions: Portions,
    runs: bool = True,
) -> tuple[Bridge, list[Effect]]:
    """Make a copy of a bridge that runs from `now` on; gives its first effects, too.

    runs: its protocols run; those of a fabric are paused while a member is disconnected.
    shared: state that all copies share, never the original's; snooped: VLANs.  LACP is paused in
    the copy until `negotiating` names it: each partner goes on as it is, and a member leaves its
    aggregation when its link goes down.  First-hop security stays paused: hosts renew their
    bindings.
    """
    params = relevant(bridge.params, snooped, brought_to(bridge))
    copy = Bridge(bridge.datapath_id, params, shared, bridge.name)
    copy.lags.restore(bridge.lags.dump())
    tree = bridge.stp.dump()
    if tree is not None:
        copy.stp.restore(tree)
        copy.stp.clock = PausableTime(paused=bridge.stp.clock.at(now))
    copy.one_way.restore(bridge.one_way.dump())
    _take_entries(copy, bridge, now, portions)
    effects = copy.set_ports(switch_ports(bridge), now)
    if runs:
        effects += copy.carry_out(copy.stp.go_on(now), now)
    entries = bridge.multicast.desired(bridge.params) or ()
    groups = [each for each in entries if isinstance(each, SetGroup)]
    rest = [each for each in entries if isinstance(each, SetUnregistered)]
    return copy, effects + copy.multicast.restore_entries(groups, rest, now)


def _take_entries(copy: Bridge, bridge: Bridge, now: float, portions: Portions) -> None:
    """Give a copy the entries of users, and the bindings."""
    for (vid, mac), port in portions.of([*static_entries(bridge).items()]):
        copy.add_static(vid, mac, port, now)
    for entry in portions.of(permanent_entries(bridge)):
        copy.multicast.add_permanent(entry, now)
    copy.first_hop.restore({**bridge.first_hop.dump(portions), "passed": 0.0}, portions)
    for each in portions.of(bridge.first_hop.bindings()):
        if not each.origin.dynamic:
            host = each.port, each.vid, each.mac
            copy.first_hop.add(*host, each.address, each.origin, now, each.shared)


def negotiating(bridges: Mapping[int, Bridge], cables: Iterable[Cable]) -> set[int]:
    """The copies whose LACP can run: all partners of their members are copies that run it, too."""
    far = {each: other for a, b in cables for each, other in ((a, b), (b, a))}
    members = {
        number: [SwitchPort(number, each) for each in lacp_members(bridge)]
        for number, bridge in bridges.items()
    }
    result = {number for number, ports in members.items() if ports}
    while alone := {
        number
        for number in result
        if any(far.get(port, NOWHERE).datapath_id not in result for port in members[number])
    }:
        result -= alone
    return result


def lacp_members(bridge: Bridge) -> list[int]:
    """Ports whose link is up and that are members of an aggregation with LACP."""
    modes = {lag: params.lacp for lag, params in bridge.params.lags.items()}
    members = ((port, bridge.lags.of_member(port.number)) for port in switch_ports(bridge))
    return [
        port.number
        for port, lag in members
        if port.up and lag is not None and modes.get(lag) != "off"
    ]
