"""Bridges of /etc/network/interfaces: interfaces(5), bridge-utils, ifupdown2 and Open vSwitch's."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ofapp.migrate.bonds import put_bond
from ofapp.migrate.draft import Draft
from ofapp.migrate.draft import Path as Keys
from ofapp.migrate.interfaces import Interface, read_interfaces
from ofapp.migrate.ovs import put_bridge, put_port
from ofapp.migrate.rules import (
    COUNTED,
    OF_HOST,
    OFF,
    READ,
    STAYS,
    STP_OFF,
    Ignored,
    Into,
    Lost,
    Rules,
    converted,
    flag,
    put_ageing,
    seconds,
    translate,
    while_on,
    whole,
)
from ofapp.migrate.setting import ImportFault, Setting
from ofapp.migrate.vlans import access_port, trunk_port, vid_set

_COMMAND = Lost("a command is not translated: check whether it changes the bridge")
_START = Ignored("of how ifupdown starts the bridge")

HOST: Rules = {
    **dict.fromkeys(
        (
            *("address", "netmask", "broadcast", "network", "gateway", "metric", "pointopoint"),
            *("hwaddress", "mtu", "scope", "dns-nameservers", "dns-search", "dns-domain", "alias"),
            *("accept_ra", "autoconf", "privext", "dad-attempts", "dad-interval", "hostname"),
            *("vlan-raw-device", "vlan-id", "vlan_raw_device", "vrf", "ip-forward", "inherits"),
            *("ip6-forward", "arp-accept", "link-speed", "link-duplex", "link-autoneg"),
            *("offload-gso", "offload-tso", "offload-gro", "request_prefix", "address-virtual"),
        ),
        OF_HOST,
    ),
    **dict.fromkeys(
        ("up", "down", "pre-up", "post-up", "pre-down", "post-down"),
        _COMMAND,
    ),
}

_TIMERS: Rules = {
    "bridge-fd": Into("stp.forward_delay", seconds),
    "bridge-hello": Into("stp.hello_time", seconds),
    "bridge-maxage": Into("stp.max_age", seconds),
    "bridge-bridgeprio": Into("stp.priority", whole),
    "mstpctl-fdelay": Into("stp.forward_delay", seconds),
    "mstpctl-hello": Into("stp.hello_time", seconds),
    "mstpctl-maxage": Into("stp.max_age", seconds),
    "mstpctl-treeprio": Into("stp.priority", whole),
    "mstpctl-txholdcount": Into("stp.transmit_hold_count", whole),
    "mstpctl-forcevers": Into(
        "stp.force_version", lambda name: {"stp": 0, "rstp": 2, "mstp": 2}.get(name, name)
    ),
}
BRIDGE: Rules = {
    **dict.fromkeys(
        ("bridge-ports", "bridge-vlan-aware", "bridge-vids", "bridge-pvid", "bridge-stp"), READ
    ),
    **dict.fromkeys(("bridge-ageing", "mstpctl-ageing", "bridge-mcrouter", "mstpctl-stp"), READ),
    **dict.fromkeys(("bridge-gcint", "bridge-waitport", "bridge-maxwait", "bridge-hw"), _START),
    "bridge-mcsnoop": Into("multicast.mcast_snooping", flag),
    "bridge-mcquerier": Into("multicast.mcast_querier", flag),
    "bridge-hashmax": Into("multicast.mcast_hash_max", whole),
    "bridge-hashel": Ignored("has no effect in Linux either"),
    "bridge-mclmc": Into("multicast.mcast_last_member_count", whole),
    "bridge-mcsqc": Into("multicast.mcast_startup_query_count", whole),
    "bridge-mclmi": Into("multicast.mcast_last_member_interval", seconds),
    "bridge-mcmi": Into("multicast.mcast_membership_interval", seconds),
    "bridge-mcqpi": Into("multicast.mcast_querier_interval", seconds),
    "bridge-mcqi": Into("multicast.mcast_query_interval", seconds),
    "bridge-mcqri": Into("multicast.mcast_query_response_interval", seconds),
    "bridge-mcsqi": Into("multicast.mcast_startup_query_interval", seconds),
    "bridge-igmp-version": Into("multicast.mcast_igmp_version", whole),
    "bridge-mld-version": Into("multicast.mcast_mld_version", whole),
    "bridge-mcqifaddr": Lost("give `mcast_querier_address4` the address", OFF),
    "bridge-mcqv4src": Lost("`mcast_querier_address4`, of the bridge or of a VLAN"),
    "bridge-mcstats": COUNTED,
    "bridge-vlan-stats": COUNTED,
    "bridge-vlan-protocol": Lost("ofapp bridges 802.1Q tags", ("802.1q", "802.1Q")),
    "bridge-allow-untagged": READ,
    "bridge-access": READ,
    "mstpctl-maxhops": Lost("ofapp runs RSTP, one tree for all VLANs"),
    "bridge-vlan-vni-map": Lost("no VXLAN by VLAN: one port of type vxlan for each VNI"),
}

PORT: Rules = {
    **dict.fromkeys(("bridge-access", "bridge-pvid", "bridge-vids", "bridge-allow-untagged"), READ),
    "bridge-port-vids": READ,
    "bridge-port-pvids": READ,
    "bridge-pathcosts": Into("stp.path_cost", whole),
    "bridge-portprios": Into("stp.priority", lambda value: 4 * whole(value)),
    "bridge-portmcrouter": Into("multicast.mcast_router", whole),
    "bridge-portmcfl": Into("multicast.mcast_fast_leave", flag),
    "bridge-learning": Into("learning", flag),
    "bridge-unicast-flood": Into("flood", flag),
    "bridge-multicast-flood": Into("mcast_flood", flag),
    "bridge-broadcast-flood": Into("bcast_flood", flag),
    "bridge-arp-nd-suppress": Lost("ARP is forwarded; see `first_hop`", OFF),
    "bridge-l2protocol-tunnel": Lost("link-local groups are never forwarded", OFF),
    "mstpctl-portadminedge": Into("stp.admin_edge", flag),
    "mstpctl-portautoedge": Into("stp.auto_edge", flag),
    "mstpctl-bpduguard": Into("stp.bpdu_guard", flag),
    "mstpctl-portbpdufilter": Into("stp.bpdu_filter", flag),
    "mstpctl-portrestrrole": Into("stp.restricted_role", flag),
    "mstpctl-portrestrtcn": Into("stp.restricted_tcn", flag),
    "mstpctl-portpathcost": Into("stp.path_cost", whole),
    "mstpctl-treeportcost": Into("stp.path_cost", whole),
    "mstpctl-treeportprio": Into("stp.priority", whole),
    "mstpctl-portp2p": Into(
        "stp.point_to_point",
        lambda value: "auto" if value == "auto" else f"force-{str(flag(value)).lower()}",
    ),
    "mstpctl-portnetwork": Lost("no bridge assurance: nearest is `stp: {loop_guard: true}`", OFF),
    **dict.fromkeys(("bond-slaves", "bond-master", "ovs-bonds", "ovs-type", "ovs-bridge"), READ),
}
"""Options of a port: below its own `iface`, or in a list `PORT=VALUE ...` of the bridge."""

OVS: Rules = {
    **dict.fromkeys(("ovs-type", "ovs-bridge", "ovs-ports", "ovs-options", "ovs-extra"), READ),
    "ovs-bonds": READ,
    "ovs-mtu": OF_HOST,
    **dict.fromkeys(
        ("ovs-tunnel-type", "ovs-tunnel-options", "ovs-patch-peer"),
        STAYS,
    ),
}


def ifupdown(draft: Draft, path: Path) -> None:
    """Translate all bridges of the file; ImportFault."""
    interfaces = read_interfaces(path)
    bridges = [one for one in interfaces.values() if one.get("bridge-ports")]
    ovs = [one for one in interfaces.values() if _type(one) == "OVSBridge"]
    if not bridges and not ovs:
        what = "no interface with bridge_ports, nor of ovs_type OVSBridge"
        raise ImportFault(f"{path}: {what}: is it the right file?")
    linux = [(one, _linux_bridge) for one in bridges]
    for interface, bridge in [*linux, *((one, _ovs_bridge) for one in ovs)]:
        try:
            bridge(draft, interfaces, interface)
        except ValueError as error:
            raise ImportFault(f"{interface.where}: {interface.name}: {error}") from None
    draft.step(
        f"take the bridges out of {path}, once the host's network has moved:"
        " ofapp deploy plan --bridge BRIDGE --nic NIC shows how"
    )


def _type(interface: Interface) -> str:
    kind = interface.get("ovs-type")
    return "" if kind is None else str(kind.value)


def _linux_bridge(draft: Draft, interfaces: Mapping[str, Interface], bridge: Interface) -> None:
    _LinuxBridge(draft, interfaces, bridge).translate()


class _LinuxBridge:
    def __init__(
        self, draft: Draft, interfaces: Mapping[str, Interface], bridge: Interface
    ) -> None:
        self._draft = draft
        self._interfaces = interfaces
        self._bridge = bridge
        self._at: Keys = ("bridges", bridge.name)
        self._ports: dict[str, list[Setting]] = {}

    def translate(self) -> None:
        """Translate the bridge with its ports."""
        bridge = self._bridge
        for name in self._port_names():
            own = self._interfaces.get(name)
            self._ports[name] = [*own.options] if own else []
        own_options = [option for option in bridge.options if not self._of_ports(option)]
        stp = bridge.get("bridge-stp") or bridge.get("mstpctl-stp")
        stp = stp or Setting(bridge.where, "bridge_stp (default)", "off")
        runs = converted(stp, flag)
        self._draft.put((*self._at, "stp", "enabled"), runs, stp)
        timers = while_on(_TIMERS, runs, STP_OFF)
        translate(self._draft, self._at, own_options, {**HOST, **BRIDGE, **timers})
        for key in ("bridge-ageing", "mstpctl-ageing"):
            if ageing := bridge.get(key):
                put_ageing(self._draft, self._at, ageing, converted(ageing, seconds))
        if router := bridge.get("bridge-mcrouter"):
            at = (*self._at, "ports", "LOCAL", "multicast", "mcast_router")
            self._draft.put(at, converted(router, whole), router)
        for name, options in self._ports.items():
            self._port(name, options)
        self._local()

    def _port_names(self) -> list[str]:
        setting = self._bridge.get("bridge-ports")
        names = self._bridge.words("bridge-ports")
        if {"regex", "glob", "all"} & {*names} and setting is not None:
            what = "name the ports, or use a pattern such as 'eth*' under `ports`"
            self._draft.lose(setting, what)
            return []
        return [name for name in names if name != "none"]

    def _of_ports(self, option: Setting) -> bool:
        """Whether an option of the bridge is of its ports; then it is added to theirs."""
        rule = PORT.get(option.key)
        words = str(option.value).split()
        if rule is None or option.key in BRIDGE:
            return False
        if len(words) == 2 and not any("=" in word for word in words):
            words = ["=".join(words)]
        for word in words:
            name, separator, value = word.partition("=")
            if not separator:
                raise option.fault("PORT=VALUE for each port")
            if name not in self._ports:
                self._draft.lose(Setting(option.where, option.key, word), "no such port here")
                continue
            self._ports[name].append(Setting(option.where, option.key, value))
        return True

    @property
    def _aware(self) -> bool:
        aware = self._bridge.get("bridge-vlan-aware")
        return aware is not None and bool(converted(aware, flag))

    def _port(self, name: str, options: Sequence[Setting]) -> None:
        at = (*self._at, "ports", name)
        self._draft.open(at)
        bond = [option for option in options if option.key.startswith("bond-")]
        others = [option for option in options if option not in bond]
        translate(self._draft, at, others, {**HOST, **PORT})
        if self._aware:
            self._put_vlans(at, {option.key: option for option in options})
        if bond:
            self._bond(name, bond)

    def _put_vlans(self, at: Keys, options: Mapping[str, Setting]) -> None:
        if access := options.get("bridge-access"):
            self._draft.put((*at, "vlan"), access_port(converted(access, whole)), access)
            return
        bridge = self._bridge
        pvid = options.get("bridge-pvid") or bridge.get("bridge-pvid")
        pvid = pvid or Setting(bridge.where, "bridge-pvid (default)", 1)
        vids = options.get("bridge-vids") or bridge.get("bridge-vids")
        untagged = options.get("bridge-allow-untagged")
        native = 0 if untagged and not converted(untagged, flag) else converted(pvid, whole)
        members = converted(vids, vid_set) - {native} if vids else frozenset()
        if members:
            self._draft.put((*at, "vlan"), trunk_port(members, native), vids or pvid)
        elif native:
            self._draft.put((*at, "vlan"), access_port(native), pvid)

    def _local(self) -> None:
        """Put the host itself into the VLANs that it has interfaces in."""
        if not self._aware:
            return
        pvid = self._bridge.get("bridge-pvid")
        pvid = pvid or Setting(self._bridge.where, "bridge-pvid (default)", 1)
        native = converted(pvid, whole)
        pattern = re.compile(rf"{re.escape(self._bridge.name)}\.(\d+)")
        tagged = {int(known[1]) for name in self._interfaces if (known := pattern.fullmatch(name))}
        value = trunk_port(tagged, native) if tagged else access_port(native)
        self._draft.put((*self._at, "ports", "LOCAL", "vlan"), value, pvid)

    def _bond(self, name: str, options: Iterable[Setting]) -> None:
        members = [
            word
            for option in options
            if option.key == "bond-slaves"
            for word in str(option.value).split()
            if word != "none"
        ] or [
            other.name
            for other in self._interfaces.values()
            if (master := other.get("bond-master")) and master.value == name
        ]
        rest = [
            Setting(option.where, option.key.removeprefix("bond-"), option.value)
            for option in options
            if option.key != "bond-slaves"
        ]
        where = self._interfaces[name].where
        put_bond(self._draft, self._at, Setting(where, "iface", name), members, rest)


# --- Open vSwitch's own stanzas


def _ovs_bridge(draft: Draft, interfaces: Mapping[str, Interface], bridge: Interface) -> None:
    at: Keys = ("bridges", bridge.name)
    translate(draft, at, bridge.options, {**HOST, **OVS})
    rows = {("bridge", bridge.name): _row(bridge)}
    ports = {
        name: interfaces.get(name) or Interface(name, bridge.where)
        for name in bridge.words("ovs-ports")
    }
    for other in interfaces.values():
        owner = other.get("ovs-bridge")
        if owner is not None and owner.value == bridge.name:
            ports.setdefault(other.name, other)
    for name, port in ports.items():
        translate(draft, at, port.options, {**HOST, **OVS})
        rows["port", name] = _row(port)
    for interface in (bridge, *ports.values()):
        for extra in (option for option in interface.options if option.key == "ovs-extra"):
            _add_extra(draft, rows, extra, interface.name)
    put_bridge(draft, at, rows["bridge", bridge.name], bridge.where)
    for name, port in ports.items():
        members = port.words("ovs-bonds") or [name]
        put_port(draft, at, rows["port", name], members, port.where)
    draft.step(
        f"remove rstp_enable, stp_enable, mcast_snooping_enable, tag, trunks and bonds from the"
        f" stanzas of {bridge.name}, and connect it: ovs-vsctl set-fail-mode {bridge.name} secure;"
        f" ovs-vsctl set-controller {bridge.name} tcp:127.0.0.1:6653"
    )


def _row(interface: Interface) -> dict[str, Any]:
    row: dict[str, Any] = {"name": interface.name}
    if interface.get("ovs-bonds"):
        row["bond_mode"] = None
    for option in interface.options:
        if option.key == "ovs-options":
            _add_columns(row, option, _split(option))
    return row


def _split(option: Setting) -> list[str]:
    try:
        return shlex.split(str(option.value))
    except ValueError:
        raise option.fault("words with complete quotes") from None


def _add_extra(
    draft: Draft, rows: dict[tuple[str, str], dict[str, Any]], option: Setting, name: str
) -> None:
    """Add the columns that commands `set TABLE RECORD ...` set; others are reported."""
    for part in " ".join(_split(option)).split(" -- "):
        words = part.replace("${IFACE}", name).replace("$IFACE", name).split()
        known = (words[1].lower(), words[2]) if len(words) > 3 and words[0] == "set" else ("", "")
        if known in rows:
            _add_columns(rows[known], option, words[3:])
        elif known[0] == "interface":
            draft.ignore(option, STAYS.reason)
        else:
            draft.lose(option, "a command is not translated: check whether it changes the bridge")


def _add_columns(row: dict[str, Any], option: Setting, words: Iterable[str]) -> None:
    for word in words:
        column, separator, value = word.partition("=")
        if not separator:
            raise option.fault("COLUMN=VALUE for each column")
        column, _, key = column.partition(":")
        if key:
            row.setdefault(column, {})[key] = value
        elif column == "trunks":
            row[column] = sorted(
                converted(Setting(option.where, column, value.strip("[]")), vid_set)
            )
        elif column == "tag":
            row[column] = converted(Setting(option.where, column, value), whole)
        else:
            row[column] = {"true": True, "false": False}.get(value, value)
