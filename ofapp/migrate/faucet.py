"""faucet.yaml, as Faucet 1.10 reads it: its datapaths, interfaces, VLANs and access lists."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ofapp.migrate.acls import put_acl
from ofapp.migrate.draft import Draft
from ofapp.migrate.draft import Path as Keys
from ofapp.migrate.faucet_acls import acl_rules
from ofapp.migrate.rules import (
    OFF,
    READ,
    Ignored,
    Into,
    Lost,
    Rules,
    converted,
    flag,
    translate,
    whole,
)
from ofapp.migrate.setting import ImportFault, Setting
from ofapp.migrate.vlans import access_port, trunk_port
from ofapp.migrate.yaml_file import Mapped, read_yaml

_LOOPS = ("stack", "loop_protect", "loop_protect_external")
"""Options of ports for networks with loops."""
NOTHING: tuple[Any, ...] = (*OFF, [], {})
MAX_INCLUDES = 100

_FLOWS = Ignored("of how Faucet lays out its flows")
_RESOLVING = Ignored("of Faucet's routing")
_ROUTES = "ofapp bridges and does not route: give the address to a router or to the host"
_STACK = (
    "no stack: connect the switches by trunks, spanning tree keeps redundant links from looping"
)
_LIST = "give the port this list as `acl`, or have the RADIUS server name it by Filter-Id"

DP: Rules = {
    **dict.fromkeys(("dp_id", "name", "interfaces", "interface_ranges", "timeout"), READ),
    "dot1x": READ,
    "description": Into("description"),
    "stack": Lost(_STACK, NOTHING),
    "dp_acls": Lost("give the list to each port by `acl`, or to the pattern '*'", NOTHING),
    "lldp_beacon": Lost("`lldp: {enabled: true}` sends LLDP with ofapp's TLVs", NOTHING),
    "global_vlan": Lost(_ROUTES, NOTHING),
    "learn_ban_timeout": Lost("see `mac_move`: addresses that move too often are held", NOTHING),
    "packetin_pps": Into("packet_in_rate", whole),
    "slowpath_pps": Lost("each kind of frame for the controller has a separate limit", NOTHING),
    "drop_broadcast_source_address": Ignored("such frames are always dropped"),
    "drop_spoofed_faucet_mac": _RESOLVING,
    "lacp_timeout": Lost("`rate` of the aggregation: slow is 90 s, fast is 3 s", (30,)),
    "hardware": Lost("ofapp needs Open vSwitch", ("Open vSwitch",)),
    "ofchannel_log": Ignored("see `ofapp run --help` for logs"),
    **dict.fromkeys(
        (
            *("arp_neighbor_timeout", "nd_neighbor_timeout", "max_hosts_per_resolve_cycle"),
            *("max_host_fib_retry_count", "max_resolve_backoff_time", "advertise_interval"),
            *("fast_advertise_interval", "proactive_learn_v4", "proactive_learn_v6"),
            "faucet_dp_mac",
        ),
        _RESOLVING,
    ),
    **dict.fromkeys(
        (
            *("priority_offset", "lowest_priority", "low_priority", "high_priority"),
            *("highest_priority", "cookie", "ignore_learn_ins", "group_table", "learn_jitter"),
            *("use_idle_timeout", "metrics_rate_limit_sec", "combinatorial_port_flood"),
            *("table_sizes", "min_wildcard_table_size", "max_wildcard_table_size"),
            *("port_table_scale_factor", "cache_update_guard_time", "use_classification"),
            *("egress_pipeline", "strict_packet_in_cookie", "multi_out", "idle_dst"),
        ),
        _FLOWS,
    ),
}

PORT: Rules = {
    **dict.fromkeys(
        ("number", "name", "native_vlan", "tagged_vlans", "acl_in", "acls_in", "mirror"), READ
    ),
    "description": READ,
    **dict.fromkeys(("lacp", "lacp_active", "lacp_port_priority", "loop_protect"), READ),
    "enabled": Into("shutdown", lambda value: not flag(value)),
    "permanent_learn": Into("sticky", flag),
    "unicast_flood": Into("flood", flag),
    "max_hosts": READ,
    "hairpin": Into("hairpin", flag),
    "hairpin_unicast": Into("hairpin", flag),
    "output_only": READ,
    "loop_protect_external": READ,
    "stack": Lost(_STACK, NOTHING),
    "lldp_beacon": Lost("`lldp: {enabled: true}` of the bridge; per port `lldp`", NOTHING),
    "receive_lldp": Lost("`lldp: {enabled: true}` of the bridge; per port `lldp`", NOTHING),
    "lldp_peer_mac": Lost("LLDP of all neighbours is shown", NOTHING),
    "max_lldp_lost": Lost(_STACK, (3,)),
    "opstatus_reconf": Lost("a port whose link is down is never used", (True,)),
    "restricted_bcast_arpnd": Lost("nearest: `isolated: true`, or `storm`", NOTHING),
    "coprocessor": Lost("ofapp sends no frames to coprocessors", NOTHING),
    "count_untag_vlan_miss": Ignored("counters of ports show what is dropped"),
    "lacp_resp_interval": Ignored("LACP is limited to three frames a second (802.1AX)"),
    "lacp_port_id": Lost("numbers of members follow from the switch's", (-1, *OFF)),
    "lacp_passthrough": Lost("nearest: `min_links` of the aggregation", NOTHING),
    **dict.fromkeys(
        ("lacp_collect_and_distribute", "lacp_unselected", "lacp_selected", "lacp_standby"),
        Lost("LACP selects members by the standard; see `max_links`", NOTHING),
    ),
    **dict.fromkeys(("dot1x", "dot1x_mab"), READ),
    "dot1x_acl": Lost(_LIST, NOTHING),
    "dot1x_dyn_acl": Ignored("a RADIUS server may name an access list by Filter-Id"),
}

VLAN: Rules = {
    **dict.fromkeys(("name", "vid", "unicast_flood", "max_hosts"), READ),
    "description": Into("description"),
    **dict.fromkeys(("acl_in", "acls_in", "acl_out", "acls_out"), READ),
    "faucet_vips": Lost(_ROUTES, NOTHING),
    "routes": Lost(_ROUTES, NOTHING),
    "dot1x_assigned": Ignored("a RADIUS server may name any VLAN"),
    "reserved_internal_vlan": Lost(_STACK, NOTHING),
    "edge_learn_stack_root": Ignored("of Faucet's stacks"),
    "minimum_ip_size_check": Ignored("of how Faucet reads frames"),
    **dict.fromkeys(
        ("faucet_mac", "proactive_arp_limit", "proactive_nd_limit", "targeted_gw_resolution"),
        _RESOLVING,
    ),
}

TOP: Rules = {
    **dict.fromkeys(("dps", "vlans", "acls"), READ),
    "version": Ignored("of Faucet's file"),
    "routers": Lost(_ROUTES, NOTHING),
    "meters": READ,
}


@dataclass
class _Vlan:
    key: str
    vid: int
    values: Mapped | None = None


@dataclass
class _Top:
    """All files together, by section and key."""

    draft: Draft
    sections: dict[str, dict[str, Mapped]] = field(default_factory=dict)

    def section(self, name: str) -> dict[str, Mapped]:
        return self.sections.setdefault(name, {})


def faucet(draft: Draft, path: Path) -> None:
    """Translate a file with what it includes; ImportFault."""
    top = _Top(draft)
    _include(top, path, {})
    if not top.section("dps"):
        raise ImportFault(f"{path}: no `dps` there: is it the main file, faucet.yaml?")
    vlans = _vlans(top)
    for key, values in top.section("dps").items():
        try:
            _Datapath(top, vlans, key, values).translate()
        except ValueError as error:
            raise ImportFault(f"{values.where}: dps.{key}: {error}") from None
    for name, values in top.section("meters").items():
        what = "nearest: `rate` of a rule of `acls`, in frames a second"
        draft.lose(Setting(values.where, f"meters.{name}", values.plain), what)
    draft.step(
        "name the ports that are to stay closed, with `shutdown: true`: ofapp forwards on ports"
        " that the file does not name, Faucet does not"
    )
    draft.step(
        "limit hosts where you need it, by `fdb_max_learned` and `over_limit: drop`: Faucet's"
        " defaults are 255 hosts on a port and 256 in a VLAN, others are taken over"
    )
    draft.step(
        "stop Faucet, and connect each switch to ofapp:"
        " ovs-vsctl set-controller BRIDGE tcp:127.0.0.1:6653"
    )


def _include(top: _Top, path: Path, seen: dict[Path, None]) -> None:
    if path.resolve() in seen or len(seen) >= MAX_INCLUDES:
        raise ImportFault(f"{path}: included twice, or too many files: remove the include")
    seen[path.resolve()] = None
    values = read_yaml(path)
    directives = ("include", "include-optional")
    for directive in directives:
        for setting in (one for one in values.settings() if one.key == directive):
            names = setting.value if isinstance(setting.value, list) else [setting.value]
            for name in names:
                other = path.parent / str(name)
                if directive == "include-optional" and not other.exists():
                    top.draft.ignore(setting, f"{other} is not there")
                else:
                    _include(top, other, seen)
    translate(top.draft, (), values.without(*directives).settings(), TOP)
    for name in ("dps", "vlans", "meters"):
        top.section(name).update(values.children(name))
    for setting in values.at("acls").settings():
        top.section("acls")[setting.key] = Mapped({"rules": setting.value}, setting.where, {})


def _vlans(top: _Top) -> dict[str, _Vlan]:
    vlans: dict[str, _Vlan] = {}
    for key, values in top.section("vlans").items():
        given = {setting.key: setting for setting in values.settings()}
        vid = converted(given["vid"], whole) if "vid" in given else None
        if vid is None:
            if not key.isdigit():
                raise ImportFault(f"{values.where}: vlans.{key}: has no `vid`: add it")
            vid = int(key)
        vlans[key] = _Vlan(key, vid, values)
    return vlans


class _Datapath:
    def __init__(self, top: _Top, vlans: dict[str, _Vlan], key: str, values: Mapped) -> None:
        self._top = top
        self._draft = top.draft
        self._vlans = vlans
        self._key = key
        self._values = values
        self._given = {setting.key: setting for setting in values.settings()}
        self._names: dict[str, str] = {}
        self._used: set[str] = set()

    def translate(self) -> None:
        """Translate the datapath with its interfaces and the VLANs that they use."""
        if "dp_id" not in self._given:
            raise ImportFault(f"{self._values.where}: dps.{self._key}: has no `dp_id`: add it")
        number = converted(self._given["dp_id"], whole)
        self._at: Keys = ("bridges", f"{number:016x}")
        translate(self._draft, self._at, self._given.values(), DP)
        if "description" not in self._given:
            name = Setting(self._values.where, "dps", self._key)
            self._draft.put((*self._at, "description"), self._key, name)
        timeout = self._given.get("timeout")
        if timeout is not None:
            self._draft.put((*self._at, "ageing_time"), converted(timeout, whole), timeout)
        self._put_servers()
        ports = self._ports()
        off = Setting(self._values.where, "spanning tree (Faucet has none)")
        loops = any(
            converted(setting, lambda value: value not in NOTHING)
            for values in ports.values()
            for setting in values.settings()
            if setting.key in _LOOPS
        )
        self._draft.put((*self._at, "stp", "enabled"), loops, off)
        off = Setting(self._values.where, "multicast snooping (Faucet has none)")
        self._draft.put((*self._at, "multicast", "mcast_snooping"), False, off)
        for port, values in ports.items():
            given = {setting.key: setting for setting in values.settings()}
            label = given.get("name")
            self._names[port] = str(label.value) if label else port
        for port, values in ports.items():
            self._port(port, values)
        self._lags(ports)
        used = (self._vlans[key] for key in self._used)
        for vlan in sorted(used, key=lambda vlan: vlan.vid):
            self._vlan(vlan)

    def _ports(self) -> dict[str, Mapped]:
        """Interfaces by number, those of ranges included."""
        ports: dict[str, Mapped] = {}
        for key, values in self._values.children("interfaces").items():
            given = {setting.key: setting for setting in values.settings()}
            if "number" in given:
                number = str(converted(given["number"], whole))
                if not key.isdigit() and "name" not in given:
                    values = values.with_defaults(Mapped({"name": key}, values.where, {}))
            elif key.isdigit():
                number = key
            else:
                raise ImportFault(f"{values.where}: interfaces.{key}: has no `number`: add it")
            ports[number] = values
        for key, values in self._values.children("interface_ranges").items():
            for one in map(str, _numbers(key, values)):
                ports[one] = ports[one].with_defaults(values) if one in ports else values
        return ports

    def _port(self, port: str, values: Mapped) -> None:
        at = (*self._at, "ports", port)
        self._draft.open(at)
        given = {setting.key: setting for setting in values.settings()}
        translate(self._draft, at, given.values(), PORT)
        described = given.get("description") or given.get("name")
        if described and str(described.value) != port:
            self._draft.put((*at, "description"), str(described.value), described)
        self._put_limit(at, given)
        self._put_vlan(at, given, values)
        self._put_acl(at, given)
        self._put_access(at, given)
        output_only = given.get("output_only")
        if output_only and converted(output_only, flag):
            name = f"output-only-{port}"
            if put_acl(self._draft, self._at, name, [{"action": "drop"}], output_only):
                self._draft.put((*at, "acl"), name, output_only)
        for key in ("loop_protect", "loop_protect_external"):
            if key in given and converted(given[key], flag):
                self._loop_protect(at, given[key])
        if mirror := given.get("mirror"):
            self._mirror(port, mirror)

    def _put_servers(self) -> None:
        """The RADIUS server, whose secret is not copied."""
        values = self._values.at("dot1x")
        given = {setting.key: setting for setting in values.settings()}
        if (ip := given.get("radius_ip")) is None:
            return
        at = (*self._at, "port_access")
        port = converted(given["radius_port"], whole) if "radius_port" in given else 1812
        host = f"[{ip.value}]" if ":" in str(ip.value) else str(ip.value)
        self._draft.put((*at, "enabled"), True, ip)
        self._draft.put((*at, "servers"), f"{host}:{port}", ip)
        what = "write the secret into the first line of a file, and name it as `secret_file`"
        self._draft.change(ip, what)
        for name in ("auth_acl", "noauth_acl"):
            if name in given:
                self._draft.lose(given[name], _LIST)

    def _put_access(self, at: Keys, given: Mapping[str, Setting]) -> None:
        """Each host of a port with 802.1X is authenticated by itself, as Faucet does it."""
        dot1x, mab = given.get("dot1x"), given.get("dot1x_mab")
        if dot1x is None or not converted(dot1x, flag):
            return
        if "lacp" in given:
            self._draft.lose(dot1x, "a member of an aggregation is no port of hosts")
            return
        both = mab is not None and converted(mab, flag)
        at = (*at, "port_access")
        self._draft.put((*at, "authentication"), "dot1x_mab" if both else "dot1x", dot1x)
        self._draft.put((*at, "host_mode"), "multi_auth", dot1x)

    def _put_limit(self, at: Keys, given: Mapping[str, Setting]) -> None:
        if limit := given.get("max_hosts"):
            self._draft.put((*at, "fdb_max_learned"), converted(limit, whole), limit)
            self._draft.put((*at, "over_limit"), "drop", limit)

    def _loop_protect(self, at: Keys, setting: Setting) -> None:
        if setting.key == "loop_protect":
            self._draft.put((*at, "stp", "bpdu_guard"), True, setting)
            self._draft.change(setting, "spanning tree is on, and BPDU guard on this port")
        else:
            self._draft.change(setting, "spanning tree is on")

    def _of_vlan(self, setting: Setting, ref: Any) -> _Vlan:
        vlan = self._vlans.get(str(ref))
        if vlan is None and str(ref).isdigit():
            vid = int(ref)
            known = (one for one in self._vlans.values() if one.vid == vid)
            vlan = next(known, None) or self._vlans.setdefault(str(ref), _Vlan(str(ref), vid))
        if vlan is None:
            raise setting.fault("a VLAN in `vlans`, or a VID")
        self._used.add(vlan.key)
        return vlan

    def _put_vlan(self, at: Keys, given: Mapping[str, Setting], values: Mapped) -> None:
        native, tagged = given.get("native_vlan"), given.get("tagged_vlans")
        access = None if native is None else self._of_vlan(native, native.value).vid
        vids = [self._of_vlan(tagged, ref).vid for ref in tagged.value or ()] if tagged else []
        source = tagged or native
        if source is None:
            if not {"output_only", "mirror", "stack", "coprocessor"} & given.keys():
                closed = Setting(values.where, f"{at[-1]}", "no VLAN")
                self._draft.put((*at, "shutdown"), True, closed)
                self._draft.change(closed, "Faucet forwards nothing here: the port is shut down")
        elif not vids and access:
            self._draft.put((*at, "vlan"), access_port(access), source)
        else:
            self._draft.put((*at, "vlan"), trunk_port(vids, access or 0), source)

    def _vlan(self, vlan: _Vlan) -> None:
        at = (*self._at, "vlans", str(vlan.vid))
        self._draft.open(at)
        if vlan.values is None:
            return
        given = {setting.key: setting for setting in vlan.values.settings()}
        translate(self._draft, at, given.values(), VLAN)
        name = given.get("name")
        shown = str(name.value) if name else vlan.key
        if not shown.isdigit():
            self._draft.put(
                (*at, "name"), shown, name or Setting(vlan.values.where, "vlans", shown)
            )
        self._put_limit(at, given)
        for key in ("acl_in", "acls_in", "acl_out", "acls_out"):
            if key in given and given[key].value not in NOTHING:
                what = (
                    "access lists are of ports: give it to the VLAN's ports, with `vlan` in rules"
                )
                self._draft.lose(given[key], what)
        flood = given.get("unicast_flood")
        if flood and not converted(flood, flag):
            self._draft.lose(flood, "per port: `flood: false` on the ports of the VLAN")

    def _put_acl(self, at: Keys, given: Mapping[str, Setting]) -> None:
        setting = given.get("acls_in") or given.get("acl_in")
        if setting is None or setting.value in NOTHING:
            return
        names = setting.value if isinstance(setting.value, list) else [setting.value]
        rules: list[dict[str, Any]] = []
        for name in map(str, names):
            values = self._top.section("acls").get(name)
            if values is None:
                raise setting.fault("the name of a list in `acls`")
            part = acl_rules(self._draft, name, values, self._names)
            if part is None:
                self._draft.lose(setting, f"list {name} cannot be written, so the port has none")
                return
            rules += part
        name = re.sub(r"[^A-Za-z0-9_.:-]", "-", "+".join(map(str, names)).replace("+", "."))
        if self._draft.has((*self._at, "acls", name)) or put_acl(
            self._draft, self._at, name, rules, setting
        ):
            self._draft.put((*at, "acl"), name, setting)

    def _mirror(self, port: str, setting: Setting) -> None:
        given = setting.value if isinstance(setting.value, list) else [setting.value]
        numbers = {name: number for number, name in self._names.items()}
        sources = [self._names.get(numbers.get(str(one), str(one)), str(one)) for one in given]
        value = {"to": self._names[port], "both": sources}
        self._draft.put((*self._at, "mirrors", f"mirror-{port}"), value, setting)
        self._check_names(setting)

    def _check_names(self, setting: Setting) -> None:
        what = "named by Faucet's names: check that the switch's interfaces have them"
        self._draft.change(setting, what)

    def _lags(self, ports: Mapping[str, Mapped]) -> None:
        members: dict[int, list[tuple[str, dict[str, Setting]]]] = {}
        for port, values in ports.items():
            given = {setting.key: setting for setting in values.settings()}
            if (lacp := given.get("lacp")) and (number := converted(lacp, whole)):
                members.setdefault(number, []).append((port, given))
        for number, group in members.items():
            self._lag(number, group)

    def _lag(self, number: int, group: list[tuple[str, dict[str, Setting]]]) -> None:
        name = f"lag{number}"
        at = (*self._at, "lags", name)
        first_port, first = group[0]
        source = first["lacp"]
        self._draft.put((*at, "members"), [self._names[port] for port, _ in group], source)
        active = any("lacp_active" in g and converted(g["lacp_active"], flag) for _, g in group)
        self._draft.put((*at, "lacp"), "active" if active else "passive", source)
        if priority := first.get("lacp_port_priority"):
            self._draft.put((*at, "port_priority"), converted(priority, whole), priority)
        self._check_names(source)
        self._draft.move((*self._at, "ports", first_port), (*self._at, "ports", name))
        for port, _ in group[1:]:
            self._draft.remove((*self._at, "ports", port))


def _numbers(key: str, values: Mapped) -> Iterator[int]:
    """The numbers of a range such as `1-6,8-9,11`; ImportFault."""
    for part in re.split(r"[,\s]+", key.strip()):
        ends = re.fullmatch(r"(\d+)(?:-(\d+))?", part)
        if ends is None or int(ends[2] or ends[1]) - int(ends[1]) > 65535:
            raise ImportFault(f"{values.where}: interface_ranges.{key}: must be as 1-6,8,10-12")
        yield from range(int(ends[1]), int(ends[2] or ends[1]) + 1)
