"""Bridges of netplan's YAML (netplan(5)), those of Open vSwitch too."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ofapp.migrate.bonds import put_bond
from ofapp.migrate.draft import Draft
from ofapp.migrate.draft import Path as Keys
from ofapp.migrate.ovs import put_bridge, put_port
from ofapp.migrate.rules import (
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
    translate,
    while_on,
    whole,
)
from ofapp.migrate.setting import ImportFault, Setting
from ofapp.migrate.yaml_file import Mapped, read_yaml

DIRECTORY = Path("/etc/netplan")
_UNITS = {"": 1.0, "s": 1.0, "ms": 0.001, "us": 0.000001, "m": 60.0, "min": 60.0, "h": 3600.0}


def _time(value: Any) -> float:
    """Seconds of `15`, `15s` or `1500ms`.  Raises ValueError."""
    parts = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", str(value))
    if parts is None or parts[2] not in _UNITS:
        raise ValueError("a number of seconds, or with a unit as 15s or 1500ms")
    return float(parts[1]) * _UNITS[parts[2]]


_TIMERS: Rules = {
    "priority": Into("stp.priority", whole),
    "forward-delay": Into("stp.forward_delay", _time),
    "hello-time": Into("stp.hello_time", _time),
    "max-age": Into("stp.max_age", _time),
}
PARAMETERS: Rules = dict.fromkeys(("stp", "ageing-time", "path-cost", "port-priority"), READ)
PORT: Rules = {
    "path-cost": Into("stp.path_cost", whole),
    "port-priority": Into("stp.priority", lambda value: 4 * whole(value)),
    "hairpin": Into("hairpin", flag),
    "port-mac-learning": Into("learning", flag),
    "neigh-suppress": Lost("ARP is forwarded; see `first_hop`", OFF),
}
"""Settings of ports: those of a bridge's `parameters`, and those of the interface itself."""
HOST: Rules = {
    **dict.fromkeys(("interfaces", "parameters", "openvswitch"), READ),
    **dict.fromkeys(
        (
            *("addresses", "dhcp4", "dhcp6", "dhcp4-overrides", "dhcp6-overrides", "gateway4"),
            *("gateway6", "nameservers", "routes", "routing-policy", "mtu", "macaddress"),
            *("optional", "optional-addresses", "link-local", "accept-ra", "critical"),
            *("dhcp-identifier", "ipv6-privacy", "ipv6-address-generation", "ignore-carrier"),
            *("ipv6-address-token", "ipv6-mtu", "renderer", "match", "set-name", "wakeonlan"),
            *("activation-mode", "emit-lldp", "ra-overrides", "networkmanager"),
        ),
        OF_HOST,
    ),
}
"""Settings of every interface, which are the host's."""
DEVICE: Rules = dict.fromkeys(
    (
        *("id", "link", "auth", "virtual-function-count", "embedded-switch-mode"),
        *("delay-virtual-functions-rebind", "infiniband-mode", "receive-checksum-offload"),
        *("transmit-checksum-offload", "tcp-segmentation-offload", "generic-receive-offload"),
        *("generic-segmentation-offload", "large-receive-offload", "tcp6-segmentation-offload"),
    ),
    OF_HOST,
)
"""Settings of an interface that can be a port."""

OVS: Rules = {
    **dict.fromkeys(("mcast-snooping", "rstp", "controller", "other-config", "lacp"), READ),
    "external-ids": STAYS,
    "fail-mode": READ,
    "protocols": Ignored("ofapp needs OpenFlow13 among them"),
    "ssl": Ignored("keys stay in Open vSwitch; see the guide for TLS"),
    "ports": Ignored("patch ports stay in Open vSwitch"),
}


def netplan(draft: Draft, paths: Sequence[Path]) -> None:
    """Translate all bridges of the files, of which later ones go before earlier ones."""
    files = [read_yaml(path).at("network") for path in paths]
    for file in files:
        translate(draft, (), file.settings(), {**TOP, **dict.fromkeys(_KINDS, READ)})
        translate(draft, (), file.at("openvswitch").settings(), OVS)
    devices = {kind: _merged(files, kind) for kind in _KINDS}
    shown = ", ".join(map(str, paths))
    if not devices["bridges"]:
        raise ImportFault(f"{shown}: no `bridges` there: give the file that has them")
    for name, values in devices["bridges"].items():
        _Bridge(draft, devices, name, values).translate()
    draft.step(
        f"take the bridges out of {shown}, once the host's network has moved:"
        " ofapp deploy plan --bridge BRIDGE --nic NIC shows how"
    )


TOP: Rules = {
    **dict.fromkeys(("version", "renderer"), Ignored("of netplan's file")),
    **dict.fromkeys(("vrfs", "nm-devices", "virtual-ethernets"), OF_HOST),
    "openvswitch": READ,
}
_KINDS = ("bridges", "bonds", "vlans", "ethernets", "tunnels", "dummy-devices", "modems", "wifis")


def _merged(files: Sequence[Mapped], kind: str) -> dict[str, Mapped]:
    merged: dict[str, Mapped] = {}
    for file in files:
        for name, values in file.children(kind).items():
            merged[name] = values.with_defaults(merged[name]) if name in merged else values
    return merged


class _Bridge:
    def __init__(
        self, draft: Draft, devices: Mapping[str, Mapping[str, Mapped]], name: str, values: Mapped
    ) -> None:
        self._draft = draft
        self._devices = devices
        self._name = name
        self._values = values
        self._at: Keys = ("bridges", name)

    def translate(self) -> None:
        """Translate the bridge with its ports."""
        translate(self._draft, self._at, self._values.settings(), HOST)
        self._draft.open((*self._at, "ports"))
        if "openvswitch" in self._values.plain:
            self._ovs()
        else:
            self._parameters()
        for name in self._list(self._values, "interfaces"):
            self._port(name)

    def _list(self, values: Mapped, key: str) -> list[str]:
        given = values.plain.get(key) or []
        if not isinstance(given, list):
            raise Setting(values.where, key, given).fault("a list of names")
        return [str(name) for name in given]

    def _parameters(self) -> None:
        parameters = self._values.at("parameters")
        given = {setting.key: setting for setting in parameters.settings()}
        stp = given.get("stp") or Setting(self._values.where, "stp (default)", True)
        runs = converted(stp, flag)
        self._draft.put((*self._at, "stp", "enabled"), runs, stp)
        timers = while_on(_TIMERS, runs, STP_OFF)
        translate(self._draft, self._at, given.values(), {**PARAMETERS, **timers})
        if ageing := given.get("ageing-time"):
            put_ageing(self._draft, self._at, ageing, converted(ageing, _time))
        for key in ("path-cost", "port-priority"):
            for setting in parameters.at(key).settings():
                one = Setting(setting.where, key, setting.value)
                translate(self._draft, (*self._at, "ports", setting.key), [one], PORT)

    def _ovs(self) -> None:
        values = self._values.at("openvswitch")
        translate(self._draft, self._at, values.settings(), OVS)
        given = {setting.key: setting for setting in values.settings()}
        row: dict[str, Any] = {
            "name": self._name,
            "rstp_enable": "rstp" in given and converted(given["rstp"], flag),
            "mcast_snooping_enable": "mcast-snooping" in given
            and converted(given["mcast-snooping"], flag),
            "other_config": dict(values.at("other-config").plain),
        }
        put_bridge(self._draft, self._at, row, values.where)
        for key in ("controller", "fail-mode"):
            if key in given:
                what = "ofapp takes the place of this controller, with fail-mode secure"
                self._draft.change(given[key], what)

    def _port(self, name: str) -> None:
        at = (*self._at, "ports", name)
        self._draft.open(at)
        bond = self._devices["bonds"].get(name)
        if bond is not None:
            self._bond(name, bond)
        for kind in ("ethernets", "vlans", "dummy-devices"):
            if values := self._devices[kind].get(name):
                translate(self._draft, at, values.settings(), {**HOST, **DEVICE, **PORT})
        if tunnel := self._devices["tunnels"].get(name):
            setting = Setting(tunnel.where, "tunnels", name)
            what = "a tunnel is a port of Open vSwitch: make it there, with the same name"
            self._draft.change(setting, what)

    def _bond(self, name: str, values: Mapped) -> None:
        members = self._list(values, "interfaces")
        at = (*self._at, "ports", name)
        translate(self._draft, at, values.settings(), {**HOST, **PORT})
        parameters = values.at("parameters")
        if "openvswitch" in values.plain:
            ovs = values.at("openvswitch")
            translate(self._draft, at, ovs.settings(), OVS)
            row = {
                "name": name,
                "lacp": ovs.plain.get("lacp", "off"),
                "bond_mode": parameters.plain.get("mode"),
                "other_config": dict(ovs.at("other-config").plain),
            }
            put_port(self._draft, self._at, row, members, values.where)
            return
        options = [
            Setting(one.where, _BOND_NAMES.get(one.key, one.key), one.value)
            for one in parameters.settings()
        ]
        bond = Setting(values.where, "bonds", name)
        put_bond(self._draft, self._at, bond, members, options)


_BOND_NAMES = {
    **{"mii-monitor-interval": "miimon", "transmit-hash-policy": "xmit-hash-policy"},
    **{"up-delay": "updelay", "down-delay": "downdelay", "arp-ip-targets": "arp-ip-target"},
    **{"all-members-active": "all-slaves-active", "fail-over-mac-policy": "fail-over-mac"},
    **{"gratuitous-arp": "num-grat-arp", "gratuitious-arp": "num-grat-arp"},
    **{"packets-per-member": "packets-per-slave", "resend-igmp": "resend-igmp"},
    **{"primary-reselect-policy": "primary-reselect", "learn-packet-interval": "lp-interval"},
}
"""Options of bonds that netplan names otherwise than the kernel."""
