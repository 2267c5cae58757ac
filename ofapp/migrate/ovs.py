"""Open vSwitch's own bridge: what its columns mean to ofapp (ovs-vswitchd.conf.db(5))."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ofapp.migrate.draft import Draft, Path
from ofapp.migrate.ovs_flows import translate_flows
from ofapp.migrate.ovsdb import Ovs, Row
from ofapp.migrate.rules import (
    OFF,
    READ,
    STATE,
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
from ofapp.migrate.vlans import access_port, trunk_port

NOTHING: tuple[Any, ...] = (*OFF, [], {})
CONTROLLER = "tcp:127.0.0.1:6653"

BRIDGE: Rules = {
    **dict.fromkeys(
        ("controller", "fail_mode", "mirrors", "name", "ports", "protocols", "other_config"), READ
    ),
    **dict.fromkeys(("stp_enable", "rstp_enable", "mcast_snooping_enable"), READ),
    **dict.fromkeys(("_uuid", "datapath_id", "datapath_version", "rstp_status", "status"), STATE),
    **dict.fromkeys(("datapath_type", "external_ids", "ipfix", "netflow", "sflow"), STAYS),
    "auto_attach": Lost("no 802.1Qcj: give ports their `vlan`", NOTHING),
    "flood_vlans": Lost("each VLAN learns: set `learning: false` on its ports", NOTHING),
    "flow_tables": Lost("remove the limits: ofapp's tables need their space", NOTHING),
}

BRIDGE_CONFIG: Rules = {
    **dict.fromkeys(("datapath-id", "hwaddr", "dp-sn", "disable-in-band", "in-band-queue"), STAYS),
    "dp-desc": Into("description"),
    "mac-aging-time": READ,
    "mac-table-size": Into("fdb_max_learned", whole),
    "forward-bpdu": Ignored("BPDUs are forwarded where spanning tree is off"),
    "mcast-snooping-aging-time": Into("multicast.mcast_membership_interval", seconds),
    "mcast-snooping-table-size": Into("multicast.mcast_hash_max", whole),
    "mcast-snooping-disable-flood-unregistered": READ,
}
BRIDGE_STP: Rules = {
    "stp-system-id": Lost("the bridge's address is that of its LOCAL port"),
    "stp-priority": Into("stp.priority", whole),
    "stp-hello-time": Into("stp.hello_time", seconds),
    "stp-max-age": Into("stp.max_age", seconds),
    "stp-forward-delay": Into("stp.forward_delay", seconds),
}
BRIDGE_RSTP: Rules = {
    "rstp-address": Lost("the bridge's address is that of its LOCAL port"),
    "rstp-priority": Into("stp.priority", whole),
    "rstp-max-age": Into("stp.max_age", seconds),
    "rstp-forward-delay": Into("stp.forward_delay", seconds),
    "rstp-transmit-hold-count": Into("stp.transmit_hold_count", whole),
    "rstp-force-protocol-version": Into("stp.force_version", whole),
    "rstp-ageing-time": Lost("after a topology change addresses are flushed; see `ageing_time`"),
}

PORT: Rules = {
    **dict.fromkeys(("interfaces", "name", "other_config", "lacp", "bond_mode"), READ),
    **dict.fromkeys(("tag", "trunks", "vlan_mode"), READ),
    "fake_bridge": Lost("no bridge in a bridge: it is an access port of its VLAN", NOTHING),
    **dict.fromkeys(
        ("_uuid", "bond_active_slave", "rstp_statistics", "rstp_status", "statistics", "status"),
        STATE,
    ),
    **dict.fromkeys(("external_ids", "mac"), STAYS),
    "protected": Into("isolated", flag),
    "qos": Ignored("shaping stays in force in Open vSwitch; frames use the default queue"),
    "cvlans": Lost("no 802.1ad: ports have 802.1Q VLANs", NOTHING),
    "bond_fake_iface": Lost("an aggregation has no interface of its name", NOTHING),
    "bond_updelay": Ignored("a link is used as soon as it is up"),
    "bond_downdelay": Ignored("a link is left as soon as it is down"),
}
PORT_CONFIG: Rules = {
    **dict.fromkeys(("hwaddr", "transient"), STAYS),
    "priority-tags": Lost("frames leave untagged, without a priority tag", ("if-nonzero", *OFF)),
    "qinq-ethtype": Lost("no 802.1ad"),
    "mcast-snooping-flood": READ,
    "mcast-snooping-flood-reports": READ,
    "lacp-time": READ,
    "lacp-system-priority": READ,
    "lacp-fallback-ab": READ,
    "lacp-system-id": Lost("LACP's system is the bridge's address"),
    "lacp-port-id": Lost("numbers of members follow from the switch's"),
    "lacp-port-priority": READ,
    "lacp-aggregation-key": Lost("keys follow from the aggregation"),
    "bond-detect-mode": Ignored("Open vSwitch reports the state of links"),
    "bond-miimon-interval": Ignored("Open vSwitch reports the state of links"),
    "bond-rebalance-interval": Lost("flows stay with the member that their hash gives"),
    "bond-hash-basis": Lost("the hash has no seed", OFF),
    "bond-primary": Lost("the first member whose link is up is used, there is no preferred one"),
    "all-members-active": Lost("members on standby do not receive", OFF),
    "lb-output-action": Ignored("ofapp always selects members in the datapath"),
}
PORT_STP: Rules = {
    "stp-enable": Into("stp.enabled", flag),
    "stp-port-num": Lost("numbers of ports are those of the switch"),
    "stp-port-priority": Into("stp.priority", whole),
    "stp-path-cost": Into("stp.path_cost", whole),
}
PORT_RSTP: Rules = {
    "rstp-enable": Into("stp.enabled", flag),
    "rstp-port-num": Lost("numbers of ports are those of the switch"),
    "rstp-port-priority": Into("stp.priority", whole),
    "rstp-path-cost": Into("stp.path_cost", whole),
    "rstp-port-admin-edge": Into("stp.admin_edge", flag),
    "rstp-port-auto-edge": Into("stp.auto_edge", flag),
    "rstp-admin-p2p-mac": Into(
        "stp.point_to_point",
        lambda value: {"1": "force-true", "2": "auto"}.get(value, "force-false"),
    ),
    "rstp-admin-port-state": Lost("close a port by `shutdown: true`", ("1", "true")),
    "rstp-port-mcheck": Ignored("a command, not a setting: ofapp stp mcheck"),
}

INTERFACE: Rules = {
    **dict.fromkeys(
        (
            *("_uuid", "admin_state", "bfd_status", "cfm_fault", "cfm_fault_status"),
            *("cfm_flap_count", "cfm_health", "cfm_remote_mpids", "cfm_remote_opstate"),
            *("duplex", "error", "ifindex", "lacp_current", "link_resets", "link_speed"),
            *("link_state", "mac_in_use", "mtu", "ofport", "statistics", "status"),
        ),
        STATE,
    ),
    **dict.fromkeys(
        (
            *("bfd", "cfm_mpid", "external_ids", "ingress_policing_burst"),
            *("ingress_policing_kpkts_burst", "ingress_policing_kpkts_rate"),
            *("ingress_policing_rate", "mac", "mtu_request", "name", "ofport_request"),
            *("options", "other_config", "type"),
        ),
        STAYS,
    ),
    "lldp": Lost("switch it off there, and on here: `lldp: {enabled: true}`", NOTHING),
}


def ovs_bridges(draft: Draft, ovs: Ovs) -> None:
    """Translate the bridges that were read; ImportFault."""
    for row in sorted(ovs.rows["Bridge"].values(), key=lambda row: str(row["name"])):
        try:
            OvsBridge(draft, ovs, row).translate()
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            what = f"not as Open vSwitch 2.13 to 4.0 prints it ({error}): save whole tables again"
            raise ImportFault(f"{ovs.where['Bridge']}: {what}") from error


def put_bridge(draft: Draft, at: Path, row: Row, where: str) -> None:
    """Translate the columns of a bridge that need no other table."""
    settings = {key: Setting(where, key, value) for key, value in row.items()}
    config = {key: Setting(where, f"other_config:{key}", value) for key, value in _config(row)}
    translate(draft, at, settings.values(), BRIDGE)
    rstp, stp = bool(row.get("rstp_enable")), bool(row.get("stp_enable"))
    source = settings.get("rstp_enable" if rstp else "stp_enable") or Setting(where, "stp_enable")
    draft.put((*at, "stp", "enabled"), rstp or stp, source)
    if stp and not rstp:
        draft.change(source, "ofapp runs RSTP, which also speaks STP")
    rules = {
        **BRIDGE_CONFIG,
        **while_on(BRIDGE_STP, stp and not rstp, STP_OFF),
        **while_on(BRIDGE_RSTP, rstp, STP_OFF),
    }
    _translate(draft, at, config, rules)
    if ageing := config.get("mac-aging-time"):
        put_ageing(draft, at, ageing, converted(ageing, seconds))
    snooping = settings.get("mcast_snooping_enable") or Setting(where, "mcast_snooping_enable")
    draft.put((*at, "multicast", "mcast_snooping"), bool(snooping.value), snooping)
    if snooping.value:
        key = "mcast-snooping-disable-flood-unregistered"
        setting = config.get(key) or Setting(where, f"other_config:{key}", False)
        flood = not converted(setting, flag)
        draft.put((*at, "multicast", "mcast_flood_unregistered"), flood, setting)


def put_port(draft: Draft, bridge: Path, row: Row, members: list[str], where: str) -> None:
    """Translate a port; members: the names of its interfaces."""
    name = str(row["name"])
    at = (*bridge, "ports", "LOCAL" if name == bridge[-1] else name)
    draft.open(at)
    settings = {key: Setting(where, key, value) for key, value in row.items()}
    config = {key: Setting(where, f"other_config:{key}", value) for key, value in _config(row)}
    translate(draft, at, settings.values(), PORT)
    _translate(draft, at, config, {**PORT_CONFIG, **PORT_STP, **PORT_RSTP})
    _put_vlan(draft, at, settings)
    _put_flooding(draft, at, config)
    if len(members) > 1:
        _put_bond(draft, bridge, name, members, settings, config)


def _config(row: Row) -> Iterator[tuple[str, Any]]:
    yield from (row.get("other_config") or {}).items()


def _translate(draft: Draft, at: Path, config: dict[str, Setting], rules: Rules) -> None:
    """Translate keys of `other_config`, whose settings have that prefix for people."""
    prefixed = {f"other_config:{key}": rule for key, rule in rules.items()}
    translate(draft, at, config.values(), prefixed)


def _put_vlan(draft: Draft, at: Path, settings: dict[str, Setting]) -> None:
    mode, tag, trunks = (settings.get(key) for key in ("vlan_mode", "tag", "trunks"))
    vid = tag.value if tag and tag.value not in NOTHING else None
    value = trunks.value if trunks else []
    vids = {*(value if isinstance(value, list) else [value])}
    if tag and vid is None and tag.value == 0:
        draft.change(tag, "VLAN 0 is untagged: the port is transparent, for tagged frames too")
    source = next(
        s for s in (tag, trunks, mode, *settings.values()) if s and s.value not in NOTHING
    )
    kind = (
        mode.value if mode and mode.value not in NOTHING else ("trunk" if vid is None else "access")
    )
    if kind == "dot1q-tunnel":
        assert mode is not None
        draft.put((*at, "shutdown"), True, mode)
        draft.lose(mode, "no 802.1ad: the port is shut down until you give it a `vlan`")
    elif kind == "access":
        if vid:
            draft.put((*at, "vlan"), access_port(vid), source)
    elif kind.startswith("native"):
        native = trunk_port(vids - {0}, vid or 0, bool(vid) and kind == "native-tagged")
        draft.put((*at, "vlan"), native, source)
    elif vids:
        if 0 in vids and trunks:
            draft.lose(trunks, "untagged frames pass a trunk only as its `native` VLAN")
        draft.put((*at, "vlan"), trunk_port(vids - {0}), source)


def _put_flooding(draft: Draft, at: Path, config: dict[str, Setting]) -> None:
    flooding = [
        config[key]
        for key in ("mcast-snooping-flood", "mcast-snooping-flood-reports")
        if key in config and converted(config[key], flag)
    ]
    if flooding:
        draft.put((*at, "multicast", "mcast_router"), 2, flooding[0])
    if len(flooding) == 1:
        draft.change(flooding[0], "a router port gets both, groups and reports")


def _put_bond(
    draft: Draft,
    bridge: Path,
    name: str,
    members: list[str],
    settings: dict[str, Setting],
    config: dict[str, Setting],
) -> None:
    at = (*bridge, "lags", name)
    lacp = settings.get("lacp") or Setting(settings["name"].where, "lacp", None)
    mode = settings.get("bond_mode") or Setting(lacp.where, "bond_mode", None)
    draft.put((*at, "members"), members, settings["name"])
    talks = lacp.value in ("active", "passive")
    draft.put((*at, "lacp"), lacp.value if talks else "off", lacp)
    if mode.value == "balance-tcp":
        draft.put((*at, "hash"), "layer3+4", mode)
    elif not talks or mode.value in ("active-backup", *NOTHING):
        draft.put((*at, "max_links"), 1, mode)
        if mode.value == "balance-slb":
            what = "without LACP one member is used at a time; all with `lacp` on the other switch"
            draft.change(mode, what)
    elif mode.value == "balance-slb":
        draft.put((*at, "hash"), "layer2", mode)
    for key, path, of in (
        ("lacp-time", "rate", str),
        ("lacp-system-priority", "system_priority", whole),
        ("lacp-port-priority", "port_priority", whole),
        ("lacp-fallback-ab", "fallback", flag),
    ):
        if key in config:
            draft.put((*at, path), converted(config[key], of), config[key])
    add = " ".join(f"-- add-port {bridge[-1]} {member}" for member in members)
    draft.step(f"dissolve the bond in Open vSwitch: ovs-vsctl del-port {bridge[-1]} {name} {add}")


class OvsBridge:
    """One bridge of a database, with its ports, mirrors, static addresses and flows."""

    def __init__(self, draft: Draft, ovs: Ovs, row: Row) -> None:
        self._draft = draft
        self._ovs = ovs
        self._row = row
        self._name = str(row["name"])
        self._at: Path = ("bridges", self._name)
        self._numbers: dict[int, str] = {}

    def translate(self) -> None:
        """Translate all of it; ImportFault."""
        where = f"{self._ovs.where['Bridge']}, {self._name}"
        put_bridge(self._draft, self._at, self._row, where)
        rows = {uuid: self._ovs.row("Port", uuid) for uuid in _several(self._row["ports"])}
        names = {uuid: str(row["name"]) for uuid, row in rows.items()}
        for uuid in sorted(rows, key=names.__getitem__):
            self._port(rows[uuid])
        for uuid in _several(self._row["mirrors"]):
            self._mirror(self._ovs.row("Mirror", uuid), names)
        self._static()
        ports = [self._key(name) for name in sorted(names.values())]
        translate_flows(self._draft, self._at, self._ovs.flows[self._name], ports)
        self._steps(where)

    def _key(self, name: str) -> str:
        return "LOCAL" if name == self._name else name

    def _port(self, row: Row) -> None:
        name = str(row["name"])
        interfaces = [self._ovs.row("Interface", uuid) for uuid in _several(row["interfaces"])]
        members = [str(interface["name"]) for interface in interfaces]
        where = f"{self._ovs.where['Port']}, {name}"
        put_port(self._draft, self._at, row, members, where)
        for interface in interfaces:
            at = f"{self._ovs.where['Interface']}, {interface['name']}"
            settings = [Setting(at, key, value) for key, value in interface.items()]
            translate(self._draft, self._at, settings, INTERFACE)
            if isinstance(interface.get("ofport"), int):
                self._numbers[interface["ofport"]] = self._key(name)

    def _mirror(self, row: Row, names: dict[str, str]) -> None:
        name = re.sub(r"[^A-Za-z0-9_.-]", "-", str(row["name"] or "mirror"))
        name = name if name[:1].isalpha() else f"mirror-{name}"
        where = f"{self._ovs.where['Mirror']}, {name}"
        settings = {key: Setting(where, key, value) for key, value in row.items()}
        self._draft.step(
            f"remove Open vSwitch's mirrors: ovs-vsctl clear Bridge {self._name} mirrors"
        )
        if row["output_port"] in NOTHING:
            what = "a mirror needs a port to send to; copies into a VLAN (RSPAN) are not made"
            self._draft.lose(settings["output_vlan"], what)
            return
        if row["select_vlan"] not in NOTHING:
            what = (
                "the mirror is not written: ofapp selects VLANs by a rule of `acls` with `mirror`"
            )
            self._draft.lose(settings["select_vlan"], what)
            return
        if row["snaplen"] not in (*NOTHING, 65535):
            self._draft.lose(settings["snaplen"], "copies are whole frames")
        value: dict[str, Any] = {"to": self._key(names[str(row["output_port"])])}
        if row["select_all"]:
            value["both"] = "all"
        else:
            for column, way in (("select_src_port", "ingress"), ("select_dst_port", "egress")):
                ports = [self._key(names[uuid]) for uuid in _several(row[column]) if uuid in names]
                value |= {way: ports} if ports else {}
        self._draft.put((*self._at, "mirrors", name), value, settings["name"])

    def _static(self) -> None:
        given = self._ovs.fdb[self._name]
        for number, line in enumerate(given.text.splitlines(), 1):
            words = line.split()
            if len(words) != 4 or words[3] != "static":
                continue
            setting = Setting(f"{given.where}:{number}", "static", line.strip())
            port = self._numbers.get(0xFFFE if words[0] == "LOCAL" else int(words[0]))
            value = {"mac": words[2], "vlan": int(words[1]), "port": port or words[0]}
            self._draft.add((*self._at, "static"), value, setting)

    def _steps(self, where: str) -> None:
        columns = [
            f"{column}=false"
            for column in ("stp_enable", "rstp_enable", "mcast_snooping_enable")
            if self._row.get(column)
        ]
        if columns:
            what = "turn off what ofapp does from now on"
            self._draft.step(f"{what}: ovs-vsctl set Bridge {self._name} {' '.join(columns)}")
        protocols = _several(self._row["protocols"])
        if protocols and "OpenFlow13" not in protocols:
            protocols.append("OpenFlow13")
            what = f"ovs-vsctl set Bridge {self._name} protocols={','.join(protocols)}"
            self._draft.step(f"let the bridge speak OpenFlow 1.3: {what}")
        if controllers := _several(self._row["controller"]):
            targets = [self._ovs.rows["Controller"].get(uuid, {}) for uuid in controllers]
            given = [row.get("target", "unknown") for row in targets]
            setting = Setting(where, "controller", given)
            self._draft.change(setting, "ofapp takes the place of this controller")
        self._draft.step(
            f"have the bridge wait for ofapp and not learn by itself, remove its flows, and"
            f" connect it: ovs-vsctl set-fail-mode {self._name} secure;"
            f" ovs-ofctl del-flows {self._name};"
            f" ovs-vsctl set-controller {self._name} {CONTROLLER}"
        )


def _several(value: Any) -> list[Any]:
    """A set of OVSDB, which is written as its only value where it has one."""
    return value if isinstance(value, list) else [] if value is None else [value]
