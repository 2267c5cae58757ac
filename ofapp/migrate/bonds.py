"""A bond of the Linux kernel as an aggregation of ofapp."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ofapp.migrate.draft import Draft, Path
from ofapp.migrate.rules import OFF, READ, Ignored, Into, Lost, Rules, translate, whole
from ofapp.migrate.setting import Setting

MODES = (
    *("balance-rr", "active-backup", "balance-xor", "broadcast"),
    *("802.3ad", "balance-tlb", "balance-alb"),
)
"""Modes by their numbers."""

_HASHES = {"0": "layer2", "1": "layer3+4", "2": "layer2+3", "encap2+3": "layer2+3"}
_HASHES["encap3+4"] = "layer3+4"
_MONITORING = Ignored("Open vSwitch reports the state of links, nothing has to be polled")
_ONE_ACTIVE = "ofapp uses the first member whose link is up, and has no preferred one"

RULES: Rules = {
    "mode": READ,
    "lacp-rate": Into("rate", lambda rate: {"0": "slow", "1": "fast"}.get(str(rate), rate)),
    "xmit-hash-policy": Into("hash", lambda name: _HASHES.get(str(name), name)),
    "min-links": Into("min_links", lambda links: max(1, whole(links))),
    "ad-sys-priority": Into("system_priority", whole),
    "ad-actor-sys-prio": Into("system_priority", whole),
    **dict.fromkeys(("miimon", "updelay", "downdelay", "use-carrier"), _MONITORING),
    **dict.fromkeys(("primary", "primary-reselect", "active-slave"), Lost(_ONE_ACTIVE, OFF)),
    **dict.fromkeys(
        ("arp-interval", "arp-ip-target", "arp-validate", "arp-all-targets", "ns-ip6-target"),
        Lost("ofapp does not probe by ARP: with `lacp: active` the partner is monitored", OFF),
    ),
    **dict.fromkeys(
        ("ad-select", "ad-user-port-key", "ad-actor-system", "ad-actor-sys-mac-addr"),
        Lost("keys and the system of LACP follow from the bridge", (*OFF, "stable")),
    ),
    **dict.fromkeys(
        ("fail-over-mac", "num-grat-arp", "num-unsol-na", "num-peer-notif", "all-slaves-active"),
        Ignored("other switches learn from the frames themselves"),
    ),
    **dict.fromkeys(
        ("packets-per-slave", "resend-igmp", "lp-interval", "tlb-dynamic-lb", "queue-id"),
        Lost("ofapp distributes by a hash of the header fields", OFF),
    ),
    "lacp-bypass-allow": Into("fallback", lambda value: str(value) not in OFF),
    "lacp-active": Ignored("`lacp` of the aggregation says so"),
}
"""Options of a bond, spelled with `-`, without a prefix."""


def put_bond(
    draft: Draft, bridge: Path, bond: Setting, members: Sequence[str], options: Iterable[Setting]
) -> None:
    """Add an aggregation.  bond: its value is the name; options: keys as in RULES."""
    at = (*bridge, "lags", str(bond.value))
    given = [*options]
    mode = next((option for option in given if option.key == "mode"), None)
    draft.put((*at, "members"), [*members], bond)
    for name, value in _lacp(draft, mode or Setting(bond.where, "mode", "balance-rr")).items():
        draft.put((*at, name), value, mode or bond)
    translate(draft, at, given, RULES)
    draft.step(
        f"dissolve the bond {bond.value}: its members ({', '.join(members)}) become ports of the"
        " bridge, without an interface of the bond's name"
    )


def _lacp(draft: Draft, mode: Setting) -> Mapping[str, Any]:
    name = str(mode.value)
    name = MODES[int(name)] if name.isdigit() and int(name) < len(MODES) else name
    if name == "802.3ad":
        return {"lacp": "active"}
    if name in ("balance-xor", "balance-rr"):
        if name == "balance-rr":
            draft.change(mode, "frames of one flow take one link, by a hash: no reordering")
        return {"lacp": "off"}
    if name != "active-backup":
        draft.change(mode, "one member is used at a time; with LACP on the switch all could be")
    return {"lacp": "off", "max_links": 1}
