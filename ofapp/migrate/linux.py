"""Linux bridges, by the JSON that iproute2 prints (as of version 6.1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

from ofapp.migrate.bonds import put_bond
from ofapp.migrate.command import Command, answer
from ofapp.migrate.draft import Draft, Path
from ofapp.migrate.rules import (
    COUNTED,
    OFF,
    READ,
    STATE,
    STP_OFF,
    Ignored,
    Into,
    Lost,
    Rules,
    converted,
    put_ageing,
    translate,
    while_on,
    whole,
)
from ofapp.migrate.setting import ImportFault, Setting
from ofapp.migrate.vlans import from_flags

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Linux:
    """What the commands print.  names: where each was read, for messages."""

    links: Sequence[Json]
    vlans: Sequence[Json]
    fdb: Sequence[Json]
    mdb: Sequence[Json]
    names: Mapping[str, str]


def _centiseconds(value: Any) -> float:
    """Seconds; the kernel rounds to its clock's ticks (3124 for 3125)."""
    number = whole(value)
    number += number % 5 == 4
    return number // 100 if number % 100 == 0 else number / 100


_NETFILTER = Lost("frames of an OpenFlow bridge do not pass the host's netfilter: use `acls`", OFF)
_SNOOPING_OFF = Ignored("multicast snooping is off")

_TIMERS: Rules = {
    "priority": Into("stp.priority"),
    "forward_delay": Into("stp.forward_delay", _centiseconds),
    "hello_time": Into("stp.hello_time", _centiseconds),
    "max_age": Into("stp.max_age", _centiseconds),
}
_SNOOPING: Rules = {
    "mcast_querier": Into("multicast.mcast_querier", bool),
    "mcast_router": READ,
    "mcast_hash_max": Into("multicast.mcast_hash_max"),
    "mcast_last_member_cnt": Into("multicast.mcast_last_member_count"),
    "mcast_startup_query_cnt": Into("multicast.mcast_startup_query_count"),
    "mcast_igmp_version": Into("multicast.mcast_igmp_version"),
    "mcast_mld_version": Into("multicast.mcast_mld_version"),
    **{
        f"mcast_{name}_intvl": Into(f"multicast.mcast_{name}_interval", _centiseconds)
        for name in (
            *("last_member", "membership", "querier", "query", "query_response"),
            "startup_query",
        )
    },
    "mcast_query_use_ifaddr": Lost("give `mcast_querier_address4` the address", OFF),
    "mcast_vlan_snooping": Ignored("ofapp always snoops each VLAN separately"),
}
BRIDGE: Rules = {
    "ageing_time": READ,
    "stp_state": READ,
    "mcast_snooping": Into("multicast.mcast_snooping", bool),
    "vlan_filtering": READ,
    "vlan_default_pvid": READ,
    "fdb_max_learned": READ,
    "vlan_protocol": Lost("ofapp bridges 802.1Q tags: 802.1ad is not a VLAN here", ("802.1Q",)),
    "group_fwd_mask": Lost("link-local groups are never forwarded", (*OFF, "0x0")),
    "group_addr": Lost("BPDUs have the standard's address", ("01:80:c2:00:00:00",)),
    "no_linklocal_learn": Lost("addresses of link-local frames are not learned", OFF),
    "mst_enabled": Lost("ofapp runs RSTP, one tree for all VLANs", OFF),
    **dict.fromkeys(
        ("nf_call_iptables", "nf_call_ip6tables", "nf_call_arptables"),
        _NETFILTER,
    ),
    **dict.fromkeys(("vlan_stats_enabled", "vlan_stats_per_port", "mcast_stats_enabled"), COUNTED),
    "mcast_hash_elasticity": Ignored("has no effect in Linux either"),
    **dict.fromkeys(
        (
            *("bridge_id", "root_id", "root_port", "root_path_cost", "topology_change"),
            *("topology_change_detected", "hello_timer", "tcn_timer", "topology_change_timer"),
            *("gc_timer", "fdb_n_learned", "mcast_querier_state", "multi_boolopt"),
            *("mcast_querier_ipv4", "mcast_querier_ipv6"),
        ),
        STATE,
    ),
}
"""Keys of a bridge's `info_data`; those of spanning tree and snooping are added."""

PORT: Rules = {
    "priority": READ,
    "cost": READ,
    "hairpin": Into("hairpin", bool),
    "guard": Into("stp.bpdu_guard", bool),
    "root_block": Into("stp.root_guard", bool),
    "fastleave": Into("multicast.mcast_fast_leave", bool),
    "learning": Into("learning", bool),
    "flood": Into("flood", bool),
    "mcast_flood": Into("mcast_flood", bool),
    "bcast_flood": Into("bcast_flood", bool),
    "isolated": Into("isolated", bool),
    "locked": Into("locked", bool),
    "multicast_router": Into("multicast.mcast_router", lambda value: 1 if value == 3 else value),
    "mcast_max_groups": Into("multicast.mcast_max_groups"),
    "mcast_eht_hosts_limit": Lost(
        "there is one limit for all ports: `multicast.mcast_eht_hosts_limit` of the bridge", (512,)
    ),
    "proxy_arp": Lost("ofapp answers no ARP for others", OFF),
    "proxy_arp_wifi": Lost("ofapp answers no ARP for others", OFF),
    "mcast_to_unicast": Lost("groups leave as multicast frames", OFF),
    "neigh_suppress": Lost("ARP and neighbour discovery are forwarded; see `first_hop`", OFF),
    "neigh_vlan_suppress": Lost("ARP and neighbour discovery are forwarded", OFF),
    "vlan_tunnel": Lost(
        "no VXLAN by VLAN: make a port of type vxlan in Open vSwitch for each VNI, and give it"
        " `vlan`",
        OFF,
    ),
    "mab": Lost(
        "in place of `locked` set `port_access: {authentication: mab, host_mode: multi_auth}`, and"
        " RADIUS `servers` of the bridge",
        OFF,
    ),
    "group_fwd_mask": Lost("link-local groups are never forwarded", (*OFF, "0x0")),
    "group_fwd_mask_str": Ignored("group_fwd_mask in another form"),
    "backup_port": Lost("make an aggregation (`lags`) with `max_links: 1`", OFF),
    "backup_nhid": Lost("no VXLAN next hops", OFF),
    **dict.fromkeys(
        (
            *("state", "id", "no", "designated_port", "designated_cost", "bridge_id", "root_id"),
            *("hold_timer", "message_age_timer", "forward_delay_timer", "topology_change_ack"),
            *("config_pending", "mcast_n_groups", "designated_bridge", "designated_root"),
        ),
        STATE,
    ),
}
"""Keys of a port's `info_slave_data`."""

AUTOMATIC_COSTS = (1, 2, 3, 4, 5, 19, 100)
"""Costs that the kernel gives by itself, by the speed of the link (802.1D-1998 table 8-5)."""


def linux_bridges(draft: Draft, state: Linux, only: Sequence[str] = ()) -> None:
    """Translate all bridges, or those named; ImportFault."""
    bridges = {str(link.get("ifname")): link for link in state.links if _kind(link) == "bridge"}
    for name in only:
        if name not in bridges:
            known = ", ".join(bridges) or "none"
            where = state.names["links"]
            raise ImportFault(f"{where}: no bridge {name} there; bridges are: {known}")
    if not bridges:
        what = "no bridge there; was it saved with -d, and in the right network namespace?"
        raise ImportFault(f"{state.names['links']}: {what}")
    for name in only or bridges:
        try:
            _OneBridge(draft, state, name, bridges[name]["linkinfo"]["info_data"]).translate()
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            shown = ", ".join(state.names.values())
            what = f"not as iproute2 prints it ({error}): save it again with version 6.1 or later"
            raise ImportFault(f"{shown}: bridge {name}: {what}") from error


def _kind(link: Json) -> Any:
    info = link.get("linkinfo")
    return info.get("info_kind") if isinstance(info, dict) else None


class _OneBridge:
    def __init__(self, draft: Draft, state: Linux, name: str, data: Json) -> None:
        self._draft = draft
        self._state = state
        self._name = name
        self._data = data
        self._at: Path = ("bridges", name)

    def translate(self) -> None:
        """Translate the bridge with its ports and entries."""
        self._bridge()
        names = {link["ifname"]: link for link in self._state.links if "ifname" in link}
        for name, link in names.items():
            if link.get("master") == self._name:
                self._port(name, link)
        self._vlans()
        self._fdb()
        self._mdb()
        self._draft.step(
            f"plan the move of the host's network: ofapp deploy plan --bridge {self._name}"
            " --nic NIC (docs: ofapp deploy --help); an interface is a port of one bridge only"
        )

    def _settings(self, of: str, values: Json, name: str) -> Iterator[Setting]:
        for key, value in values.items():
            yield Setting(f"{self._state.names[of]}, {name}", key, value)

    def _bridge(self) -> None:
        settings = {s.key: s for s in self._settings("links", self._data, self._name)}
        stp, snooping = self._data.get("stp_state"), self._data.get("mcast_snooping")
        rules = {
            **BRIDGE,
            **while_on(_TIMERS, bool(stp), STP_OFF),
            **while_on(_SNOOPING, bool(snooping), _SNOOPING_OFF),
        }
        self._draft.open((*self._at, "ports"))
        self._draft.put((*self._at, "stp", "enabled"), bool(stp), settings["stp_state"])
        translate(self._draft, self._at, settings.values(), rules)
        if stp == 1:
            self._draft.change(settings["stp_state"], "ofapp runs RSTP, which also speaks STP")
        if ageing := settings.get("ageing_time"):
            put_ageing(self._draft, self._at, ageing, converted(ageing, _centiseconds))
        if (limit := settings.get("fdb_max_learned")) and limit.value:
            self._draft.put((*self._at, "fdb_max_learned"), limit.value, limit)
        if snooping and (router := settings.get("mcast_router")):
            self._put_port("LOCAL", "multicast.mcast_router", router.value, router)
        pvid = settings.get("vlan_default_pvid")
        if pvid and pvid.value and self._filters:
            what = "ports that the file does not name are transparent: give each its `vlan`"
            self._draft.change(pvid, what)

    @property
    def _filters(self) -> bool:
        return bool(self._data.get("vlan_filtering"))

    def _put_port(self, port: str, path: str, value: Any, setting: Setting) -> None:
        self._draft.put((*self._at, "ports", port, *path.split(".")), value, setting)

    def _port(self, name: str, link: Json) -> None:
        bond = link.get("linkinfo", {})
        settings = [*self._settings("links", bond.get("info_slave_data", {}), name)]
        self._draft.open((*self._at, "ports", name))
        translate(self._draft, (*self._at, "ports", name), settings, PORT)
        for setting in settings:
            if setting.key == "cost":
                self._cost(name, setting)
            elif setting.key == "priority" and self._data.get("stp_state"):
                self._put_port(name, "stp.priority", 4 * setting.value, setting)
        where = f"{self._state.names['links']}, {name}"
        if _kind(link) == "bond":
            members = [one["ifname"] for one in self._state.links if one.get("master") == name]
            options = [
                Setting(where, key.removeprefix("ad_").replace("_", "-"), value)
                for key, value in bond.get("info_data", {}).items()
                if key.replace("_", "-") in _BOND or key in ("mode", "ad_lacp_rate")
            ]
            put_bond(self._draft, self._at, Setting(where, "bond", name), members, options)
        elif _kind(link) in ("vxlan", "gretap", "geneve", "ip6gretap"):
            setting = Setting(where, "info_kind", _kind(link))
            what = "a tunnel is a port of Open vSwitch: make it there, with the same name"
            self._draft.change(setting, what)

    def _cost(self, name: str, setting: Setting) -> None:
        if not self._data.get("stp_state") or setting.value in AUTOMATIC_COSTS:
            self._draft.ignore(setting, "the cost that follows from the link's speed")
        else:
            self._put_port(name, "stp.path_cost", setting.value, setting)
            what = "ports without a cost have that of 802.1D-2004, 20000 for 1 Gbit/s: compare"
            self._draft.change(setting, what)

    def _ports(self) -> set[str]:
        return {
            link["ifname"] for link in self._state.links if link.get("master") == self._name
        } | {self._name}

    def _key(self, name: str) -> str:
        return "LOCAL" if name == self._name else name

    # --- VLANs

    def _vlans(self) -> None:
        entries = {entry.get("ifname"): entry for entry in self._state.vlans}
        if not self._filters:
            return
        for name in sorted(self._ports()):
            vlans = entries.get(name, {}).get("vlans", [])
            setting = Setting(f"{self._state.names['vlans']}, {name}", "vlans", vlans)
            self._port_vlans(name, setting)

    def _port_vlans(self, name: str, setting: Setting) -> None:
        pvid, untagged, vids = 0, set[int](), set[int]()
        for entry in setting.value:
            members = range(entry["vlan"], entry.get("vlanEnd", entry["vlan"]) + 1)
            vids.update(members)
            flags = entry.get("flags", [])
            pvid = entry["vlan"] if "PVID" in flags else pvid
            untagged.update(members if "Egress Untagged" in flags else ())
            for key in entry.keys() - {"vlan", "vlanEnd", "flags"}:
                self._draft.lose(Setting(setting.where, key, entry[key]), "no setting of ofapp")
        if not vids:
            self._put_port(self._key(name), "shutdown", True, setting)
            self._draft.change(setting, "the port is in no VLAN and passes nothing: shut down")
            return
        if asymmetric := sorted(untagged - {pvid}):
            what = "leave untagged, but untagged frames belong to another VLAN: left out"
            vid = Setting(setting.where, "Egress Untagged", asymmetric)
            self._draft.lose(vid, f"{what}; ofapp sends only the VLAN of untagged frames untagged")
        left = frozenset(vids) - frozenset(asymmetric)
        if left:
            value = from_flags(pvid, frozenset(untagged), left)
            self._put_port(self._key(name), "vlan", value, setting)

    # --- entries

    def _fdb(self) -> None:
        known = self._ports()
        for entry in self._state.fdb:
            name, state = entry.get("ifname"), entry.get("state", "")
            if name not in known or entry.get("master") not in (self._name, None):
                continue
            setting = Setting(self._state.names["fdb"], "entry", dict(entry))
            if "dst" in entry:
                self._draft.lose(setting, "an address behind a VXLAN tunnel: ofapp learns it")
            elif state == "permanent" or "self" in entry.get("flags", ()):
                self._draft.ignore(setting, "an address of the host, or of its filters")
            elif state != "static" and "sticky" not in entry.get("flags", ()):
                self._draft.ignore(setting, "learned addresses are learned again")
            elif self._filters and "vlan" not in entry:
                self._draft.ignore(setting, "with VLAN filtering only entries of VLANs count")
            else:
                vlan = entry.get("vlan", 0) if self._filters else 0
                value = {"mac": entry["mac"], "vlan": vlan, "port": self._key(str(name))}
                self._draft.add((*self._at, "static"), value, setting)

    def _mdb(self) -> None:
        for entry in (entry for part in self._state.mdb for entry in part.get("mdb", ())):
            if entry.get("dev") != self._name:
                continue
            setting = Setting(self._state.names["mdb"], "entry", dict(entry))
            if entry.get("state") not in ("permanent", "perm"):
                self._draft.ignore(setting, "hosts join their groups again")
            elif entry.get("source_list") and entry.get("filter_mode") == "include":
                self._draft.ignore(setting, "each of its sources has an entry")
            else:
                self._draft.add((*self._at, "mdb"), self._mdb_entry(entry), setting)

    def _mdb_entry(self, entry: Json) -> dict[str, Any]:
        value = {"group": entry["grp"], "port": self._key(entry["port"])}
        if entry.get("vid") and self._filters:
            value["vlan"] = entry["vid"]
        if "src" in entry:
            value["source"] = entry["src"]
        sources = [source["address"] for source in entry.get("source_list", ())]
        if sources:
            value["exclude"] = sources
        if entry.get("protocol", "static") != "static":
            value["proto"] = entry["protocol"]
        return value


_BOND = (
    *("miimon", "updelay", "downdelay", "use-carrier", "primary", "arp-interval", "min-links"),
    *("xmit-hash-policy", "lp-interval", "resend-igmp", "ad-select", "ad-actor-sys-prio"),
)

LINKS = Command("ip-link.json", ("ip", "-j", "-d", "link", "show"), "iproute2")
VLANS = Command(
    "bridge-vlan.json", ("bridge", "-j", "-compressvlans", "vlan", "show"), "iproute2", True
)
FDB = Command("bridge-fdb.json", ("bridge", "-j", "-d", "fdb", "show"), "iproute2", True)
MDB = Command("bridge-mdb.json", ("bridge", "-j", "-d", "mdb", "show"), "iproute2", True)


def read_linux(directory: FilePath | None = None) -> Linux:
    """Read the running system, or what was saved in a directory; ImportFault."""
    answers = {
        name: answer(command, directory)
        for name, command in (("links", LINKS), ("vlans", VLANS), ("fdb", FDB), ("mdb", MDB))
    }
    names = {name: given.where for name, given in answers.items()}
    parts: dict[str, Any] = {}
    for name, given in answers.items():
        parts[name] = given.json()
        if not isinstance(parts[name], list) or not all(isinstance(x, dict) for x in parts[name]):
            raise ImportFault(f"{given.where}: not a list of objects; was it saved with -j?")
    return Linux(**parts, names=names)
