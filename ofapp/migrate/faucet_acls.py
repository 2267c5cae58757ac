"""Faucet's access lists as ofapp's: rules that allow or drop, in order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ofapp.migrate.draft import Draft
from ofapp.migrate.setting import Setting
from ofapp.migrate.yaml_file import Mapped

_SAME = (
    *("eth_src", "eth_dst", "eth_type", "vlan_pcp", "ip_proto", "ip_dscp"),
    *("tcp_src", "tcp_dst", "udp_src", "udp_dst", "sctp_src", "sctp_dst"),
    *("arp_op", "arp_spa", "arp_tpa", "arp_sha", "arp_tha"),
)
FIELDS: Mapping[str, str] = {
    **{name: name for name in _SAME},
    **{"dl_src": "eth_src", "dl_dst": "eth_dst", "dl_type": "eth_type", "nw_proto": "ip_proto"},
    **dict.fromkeys(("nw_src", "ipv4_src", "ipv6_src"), "ip_src"),
    **dict.fromkeys(("nw_dst", "ipv4_dst", "ipv6_dst"), "ip_dst"),
    **dict.fromkeys(("icmpv4_type", "icmpv6_type"), "icmp_type"),
    **dict.fromkeys(("icmpv4_code", "icmpv6_code"), "icmp_code"),
}
"""Fields that ofapp matches, too, by Faucet's names."""

_NUMBERS = {"eth_type", "ip_proto", "arp_op"}


def acl_rules(
    draft: Draft, name: str, values: Mapped, names: Mapping[str, str]
) -> list[dict[str, Any]] | None:
    """The rules of a list; None, with notes, when one has no equivalent."""
    given = values.plain.get("rules") or []
    given = given.get("rules") or [] if isinstance(given, dict) else given
    where = values.where
    rules, complete = [], True
    for position, rule in enumerate(given, 1):
        content = rule.get("rule", rule) if isinstance(rule, dict) else {}
        reason, translated = _rule(content, names)
        if translated is None:
            setting = Setting(where, f"acls.{name}, rule {position}", content)
            draft.lose(setting, reason)
            complete = False
        else:
            rules.append(translated)
    return rules if complete else None


def _rule(
    content: Mapping[str, Any], names: Mapping[str, str]
) -> tuple[str, dict[str, Any] | None]:
    """The reason why there is no equivalent, or the rule."""
    match: dict[str, Any] = {}
    for key, value in content.items():
        if key in ("actions", "cookie", "description"):
            continue
        if key in ("vlan_vid", "dl_vlan"):
            match["vlan"] = value & 0xFFF if isinstance(value, int) else value
        elif key not in FIELDS:
            return f"access lists do not match {key}", None
        else:
            field = FIELDS[key]
            match[field] = value if not isinstance(value, str) else _number(field, value)
    actions = dict(content.get("actions") or {})
    rule: dict[str, Any] = {"match": match} if match else {}
    allow = actions.pop("allow", None)
    mirror = actions.pop("mirror", None)
    if actions:
        what = "ofapp has no actions beside allow, drop, mirror and rate"
        return f"{', '.join(sorted(actions))}: {what}", None
    if mirror is not None:
        rule["mirror"] = names.get(str(mirror), str(mirror))
    rule["action"] = "allow" if allow in (1, True) else "drop"
    return "", rule


def _number(field: str, value: str) -> Any:
    try:
        return int(value, 0) if field in _NUMBERS else value
    except ValueError:
        return value
