"""Checks of a whole bridge: unknown names, and settings that exclude each other.

Each check gives (path within the bridge, the error); all of them run.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

from ofapp.bridge import multicast
from ofapp.bridge.first_hop.params import MAX_BINDINGS, MAX_SHARING
from ofapp.config.acl import acl_params, acl_warnings, state_warnings
from ofapp.config.base import FaultsError, Path, is_pattern, port_number, similar
from ofapp.config.bridge import Bridge
from ofapp.config.trust import GUESTS

Fault = tuple[Path, str]


def faults(bridge: Bridge) -> list[Fault]:
    """All errors of a bridge in its effective form."""
    return list(dict.fromkeys(fault for check in _CHECKS for fault in check(bridge)))


def warnings(where: str, bridge: Bridge) -> list[str]:
    """Valid settings that are likely to surprise.  where: the bridge's path in the file."""
    rules = acl_params(bridge.acls, bridge.vid)
    given = {port.acl for port in bridge.ports.values()}
    used = {name: acl for name, acl in rules.items() if name in given}
    return [
        *(
            f"{where}.acls.{name}: {what}"
            for name, acl in rules.items()
            for what in acl_warnings(acl)
        ),
        *(f"{where}.acls.{name}: {what}" for name, what in state_warnings(used)),
        *(f"{where}.ports.{key}: {what}" for key, what in _trust_warnings(bridge)),
        *(f"{where}.ports.{key}: {what}" for key, what in _open_lags(bridge)),
        *(f"{where}.ports.{key}: {what}" for key, what in _priority_warnings(bridge)),
        *(f"{where}.{place}: {what}" for place, what in _query_warnings(bridge)),
    ]


def _open_lags(bridge: Bridge) -> Iterator[tuple[str, str]]:
    """Warnings about aggregations and members that fit a pattern for controlled ports."""
    for name, lag in bridge.lags.items():
        for port in (name, *lag.members):
            wanted = bridge.port(port, -1).port_access.authentication
            if name not in bridge.ports and wanted != "off":
                is_ = "an aggregation" if port == name else f"a member of {name}"
                what = f"{port} fits a pattern with authentication {wanted}, but is {is_}"
                remedy = f"set port_access.authentication of {name} to off"
                yield name, f"{what} and stays open: {remedy}"
                break


def _priority_warnings(bridge: Bridge) -> Iterator[tuple[str, str]]:
    """Warnings about priorities of ports that no frame gets."""
    for key, port in bridge.ports.items():
        has_own_vlan = port.vlan.access is not None or port.vlan.native is not None
        if port.priority and port.qos_trust == "both" and not has_own_vlan and not is_pattern(key):
            what = "priority is for frames that get a VLAN tag here, and none does"
            yield key, f"{what}: give the port vlan or vlan.native, or set qos_trust"


def _query_warnings(bridge: Bridge) -> Iterator[tuple[str, str]]:
    snooping = bridge.snooping()
    vlans = {f"vlans.{vid}.multicast": each for vid, each in snooping.vlan_params().items()}
    params = snooping.params()
    for place, vlan in ({} if params is None else {"multicast": params.vlan} | vlans).items():
        if vlan.mcast_query_response_interval == vlan.mcast_query_interval:
            what = "is as long as mcast_query_interval: hosts may answer after the next query"
            yield f"{place}.mcast_query_response_interval", what


def _trust_warnings(bridge: Bridge) -> Iterator[tuple[str, str]]:
    """(key of the port, the warning) of each word that was probably not meant."""
    for key, port in bridge.ports.items():
        if port.trust not in GUESTS:
            continue
        if key == "LOCAL":
            yield key, f"LOCAL is the switch's own host, which trust {port.trust} takes for a guest"
        if "all" in (port.vlan.trunk or ()):
            yield key, "a guest that is a trunk of all VLANs can send in each: name its VLANs"
        if port.stp.bpdu_guard and not (bridge.stp.enabled and port.stp.enabled):
            yield key, "spanning tree is off here: BPDU guard does not stop a guest's BPDUs"
    yield from _all_guests(bridge)
    yield from _members(bridge)


def _all_guests(bridge: Bridge) -> Iterator[tuple[str, str]]:
    """Warnings about a pattern for all ports."""
    port = bridge.ports.get("*")
    if port is None or port.trust not in GUESTS:
        return
    if all(other.trust in GUESTS for other in bridge.ports.values()):
        yield "*", "all ports are guests: give the port to routers and servers trust: uplink"
    elif "LOCAL" not in bridge.ports:
        yield "*", "the switch's own port is a guest, too, unless LOCAL has another trust"


def _members(bridge: Bridge) -> Iterator[tuple[str, str]]:
    """Warnings about members of aggregations that fit a pattern for guests."""
    for name, lag in bridge.lags.items():
        guests = [member for member in lag.members if bridge.port(member, -1).trust in GUESTS]
        if guests and bridge.port(name, -1).trust not in GUESTS:
            what = f"{', '.join(guests)} fit a pattern for guests, which does not hold for members"
            yield name, f"{what} of {name}: set the trust of {name}"


def _vlan_names(bridge: Bridge) -> Iterator[Fault]:
    known: dict[str, int] = {}
    for vid, vlan in bridge.vlans.items():
        if vlan.name is None:
            continue
        if vlan.name in known:
            what = f"VLANs {known[vlan.name]} and {vid} are both called {vlan.name}"
            yield ("vlans", str(vid), "name"), what
        known.setdefault(vlan.name, vid)
        if vid == 0:
            yield ("vlans", "0", "name"), "untagged frames are in no VLAN that could have a name"


def _vlan_refs(bridge: Bridge) -> Iterator[Fault]:
    names = [vlan.name for vlan in bridge.vlans.values() if vlan.name]
    given: list[tuple[Path, int | str]] = []
    for key, port in bridge.ports.items():
        given += [(("ports", key, "vlan", direction), ref) for direction, ref in port.vlan.refs()]
    given += [((name, at, "vlan"), entry.vlan) for name, at, entry in bridge.entries()]
    for path, ref in given:
        if isinstance(ref, str) and ref not in names:
            yield path, unknown("VLAN", ref, names)


def _snooping(bridge: Bridge) -> Iterator[Fault]:
    """The bridge's own values first: its VLANs would only repeat what is wrong with them."""
    snooping = bridge.snooping()
    for vid in (None, *snooping.vlans):
        vlans = {} if vid is None else {vid: snooping.vlans[vid]}
        try:
            snooping.model_copy(update={"vlans": vlans}).check()
        except multicast.ParamError as error:
            field = error.field.rpartition(".")[2]
            path: Path = () if vid is None else ("vlans", str(vid))
            yield (*path, "multicast", field), str(error).rpartition(f"{field}: ")[2]
            if vid is None:
                return


def _ports(bridge: Bridge) -> Iterator[Fault]:
    for key, port in bridge.ports.items():
        if port.monitor and not port.vlan.transparent:
            yield ("ports", key, "vlan"), "a monitor port is in no VLAN: leave out one of the two"
        if port.isolated and port.community is not None:
            what = "an isolated port is in no community: leave it out, or set isolated to false"
            yield ("ports", key, "community"), what
        if key == "LOCAL" and port.shutdown:
            yield (
                ("ports", key, "shutdown"),
                "LOCAL is the bridge itself, which cannot be shut down",
            )


def _acls(bridge: Bridge) -> Iterator[Fault]:
    for key, port in bridge.ports.items():
        if port.acl is not None and port.acl not in bridge.acls:
            yield ("ports", key, "acl"), unknown("access list", port.acl, bridge.acls)
    try:
        acl_params(bridge.acls, bridge.vid)
    except FaultsError as error:
        for path, what in error.faults:
            yield ("acls", *path), what


def _port_access(bridge: Bridge) -> Iterator[Fault]:
    """Controlled ports are ports where hosts plug in."""
    for key, port in bridge.ports.items():
        access = port.port_access
        if access.authentication == "off":
            continue
        path: Path = ("ports", key, "port_access", "authentication")
        if key == "LOCAL":
            yield path, "LOCAL is the bridge itself: hosts are not authenticated there"
        elif key in bridge.lags:
            what = "is an aggregation, and so a link to a switch or server: leave it off"
            yield path, f"{key} {what}"
        elif port.monitor:
            yield path, "a monitor port takes no frames: leave it off"
        if access.host_mode == "multi_auth" and port.vlan.transparent:
            for name in ("guest_vlan", "auth_fail_vlan", "critical_vlan"):
                if getattr(access, name) is not None:
                    what = "hosts of a port with multi_auth have VLANs only where it has `vlan`"
                    yield ("ports", key, "port_access", name), what


def _mirrors(bridge: Bridge) -> Iterator[Fault]:
    targets = {mirror.to for mirror in bridge.mirrors.values()}
    for name, mirror in bridge.mirrors.items():
        for direction in ("ingress", "egress", "both"):
            sources = getattr(mirror, direction)
            if sources == "all":
                continue
            if mirror.to in sources:
                yield (
                    ("mirrors", name, direction),
                    f"{mirror.to} would get copies of the frames that it sends",
                )
            for source in sources:
                if source in targets - {mirror.to}:
                    what = f"{source} only listens, to another mirror: nothing can be copied there"
                    yield ("mirrors", name, direction), what
        port = bridge.ports.get(mirror.to)
        if port is not None and not port.vlan.transparent:
            what = f"{mirror.to} gets copies only and takes no other part: it can be in no VLAN"
            yield ("mirrors", name, "to"), what


def _twice(bridge: Bridge) -> Iterator[Fault]:
    seen: set[object] = set()
    for at, entry in enumerate(bridge.static):
        if (entry.vlan, entry.mac) in seen:
            what = f"{entry.mac} has a static entry in VLAN {entry.vlan} already"
            yield ("static", at, "mac"), what
        seen.add((entry.vlan, entry.mac))
    for at, group in enumerate(bridge.mdb):
        if group in seen:
            yield ("mdb", at), "this entry is there twice"
        seen.add(group)
    sharing: defaultdict[object, dict[tuple[str, str], bool]] = defaultdict(dict)
    for at, binding in enumerate(bridge.bindings):
        hosts, host = sharing[binding.vlan, binding.address], (binding.port, binding.mac)
        if host in hosts or (hosts and not (binding.shared and all(hosts.values()))):
            what = f"{binding.address} has a binding in VLAN {binding.vlan} already"
            if host not in hosts:
                what += ": hosts that share it need `shared: true`, each of them"
            yield ("bindings", at, "address"), what
        elif len(hosts) >= MAX_SHARING:
            yield ("bindings", at, "address"), f"at most {MAX_SHARING} hosts share an address"
        else:
            hosts[host] = binding.shared
    if len(bridge.bindings) > MAX_BINDINGS:
        yield ("bindings",), f"must have at most {MAX_BINDINGS} entries"


def _hosts_on_targets(bridge: Bridge) -> Iterator[Fault]:
    targets = {mirror.to for mirror in bridge.mirrors.values()}
    for name, at, entry in bridge.entries():
        if entry.port in targets and name != "mdb":
            yield (name, at, "port"), f"{entry.port} gets copies of frames only, no host's own"


def _lags(bridge: Bridge) -> Iterator[Fault]:
    """Members are no ports of the bridge: the settings of one belong to its aggregation."""
    lag_of: dict[str, str] = {}
    for name, lag in bridge.lags.items():
        for at, member in enumerate(lag.members):
            path: Path = ("lags", name, "members", at)
            if member in bridge.lags:
                what = "itself" if member == name else "an aggregation, too"
                yield path, f"{member} is {what}: members are ports"
            elif lag_of.setdefault(member, name) != name:
                yield path, f"{member} is a member of {lag_of[member]} already"
    for path, port in named_ports(bridge):
        if port in lag_of:
            name = lag_of[port]
            what = f"{port} is a member of {name}, which is one port of the bridge: write {name}"
            yield path, what


def local_members(key: str, bridge: Bridge) -> Iterator[Fault]:
    """Aggregations with the LOCAL port, whose name is the bridge's (`key`)."""
    for name, lag in bridge.lags.items():
        if key in lag.members:
            path = ("lags", name, "members", lag.members.index(key))
            yield path, f"{key} is the bridge's own port (LOCAL), and no link"
        if key == name:
            what = f"{key} is the name of the bridge's own port (LOCAL): take another"
            yield ("lags", name), what


def named_ports(bridge: Bridge) -> Iterator[tuple[Path, str]]:
    """Every reference to a single port, except as a member."""
    yield from ((("ports", key), key) for key in bridge.ports)
    yield from (((name, at, "port"), entry.port) for name, at, entry in bridge.entries())
    for name, mirror in bridge.mirrors.items():
        yield ("mirrors", name, "to"), mirror.to
        for direction in ("ingress", "egress", "both"):
            sources = getattr(mirror, direction)
            if sources != "all":
                yield from ((("mirrors", name, direction), source) for source in sources)
    for name, acl in bridge.acls.items():
        for at, rule in enumerate(acl):
            if rule.mirror is not None:
                yield ("acls", name, at, "mirror"), rule.mirror


def _membership(bridge: Bridge) -> Iterator[Fault]:
    numbered = any(port_number(key) is not None for key in bridge.ports)
    for name, at, entry in bridge.entries():
        if numbered and entry.port not in bridge.ports:
            continue  # it may be one of those given by number
        try:
            vid = bridge.vid(entry.vlan)
            vlans = bridge.port(entry.port, 0).vlan.params(bridge.vid)
        except KeyError:
            continue  # an unknown VLAN, which `_vlan_refs` reports
        if not vlans.has(vid):
            where = "takes nothing untagged as such" if vid == 0 else f"is not in VLAN {vid}"
            yield (name, at, "vlan"), f"port {entry.port} {where}"


def unknown(what: str, given: str, known: Iterable[str]) -> str:
    """The error of an unknown name: with the one that was probably meant, or the known ones."""
    names = sorted(set(known))
    close = similar(given, names)
    meant = f": did you mean {close}?" if close else ""
    if names and not close:
        meant = f": there is {', '.join(names[:20])}"
    return f"there is no {what} {given}{meant}"


_CHECKS: tuple[Callable[[Bridge], Iterable[Fault]], ...] = (
    _vlan_names,
    _vlan_refs,
    _snooping,
    _ports,
    _acls,
    _port_access,
    _mirrors,
    _lags,
    _twice,
    _hosts_on_targets,
    _membership,
)
