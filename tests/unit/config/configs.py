"""Valid configurations of one bridge with ports eth1 to eth5 and LOCAL, for Hypothesis."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from hypothesis import strategies as st

PORTS = tuple(f"eth{number}" for number in range(1, 6))
NAMED = {10: "office", 20: "lab"}

vids = st.sampled_from([1, 10, 20, 30, "office", "lab"])
trunks = st.fixed_dictionaries(
    {
        "trunk": st.sampled_from(
            ["all", [10, 20], "10,20-30", ["office", "40-47"], [30, "100-199"], 10]
        )
    },
    optional={"native": vids},
)
vlans = st.one_of(st.just("transparent"), vids, trunks)
flags = {
    name: st.booleans()
    for name in (
        *("isolated", "learning", "flood", "mcast_flood", "bcast_flood", "hairpin", "locked"),
        *("sticky", "shutdown"),
    )
}
rates = st.sampled_from([1, 100, 5000])
storms = st.fixed_dictionaries(
    {}, optional={"broadcast": rates, "multicast": rates, "unknown_unicast": rates}
)
limits = st.sampled_from([0, 1, 16])
ports = st.fixed_dictionaries(
    {},
    optional={
        **flags,
        "vlan": vlans,
        "storm": storms,
        "fdb_max_learned": limits,
        "over_limit": st.sampled_from(["flood", "drop"]),
        "acl": st.sampled_from(["web", "quiet"]),
        "description": st.text("abc", max_size=5),
        "stp": st.fixed_dictionaries({}, optional={"enabled": st.booleans()}),
        "lldp": st.fixed_dictionaries({}, optional={"enabled": st.booleans()}),
    },
)
ACLS = {
    "web": [
        {"match": {"tcp_dst": 80}, "action": "allow"},
        {"match": {"eth_type": "arp"}, "rate": 50},
    ],
    "quiet": [{"match": {"ip_dst": "10.0.0.0/8"}, "action": "drop"}, {"action": "allow"}],
}
keys = st.sampled_from([*PORTS[:3], "eth*", "4", "LOCAL"])


@st.composite
def bridges(draw: st.DrawFn) -> dict[str, Any]:
    """A bridge as in the file.  eth5 is only ever the target of a mirror."""
    own = draw(st.dictionaries(keys, ports, max_size=5))
    if "LOCAL" in own:
        own["LOCAL"].pop("shutdown", None)
    settings: dict[str, Any] = {
        "ports": own,
        "vlans": {vid: {"name": name, **draw(_limited)} for vid, name in NAMED.items()},
        "acls": deepcopy(ACLS),
        "ageing_time": draw(st.sampled_from([300, 20])),
        "lldp": {"enabled": draw(st.booleans())},
        "stp": {"enabled": draw(st.booleans()), "priority": draw(st.sampled_from([0, 32768]))},
        "multicast": {"mcast_snooping": draw(st.booleans())},
    }
    if draw(st.booleans()):
        sources = st.one_of(st.just("all"), st.lists(st.sampled_from(PORTS[:3]), unique=True))
        mirror = {"to": "eth5", "ingress": draw(sources), "egress": draw(sources)}
        if mirror["ingress"] or mirror["egress"]:
            settings["mirrors"] = {"ids": mirror}
            settings["ports"]["eth5"] = {"vlan": "transparent"}
    return settings


_limited = st.fixed_dictionaries(
    {}, optional={"fdb_max_learned": limits, "over_limit": st.sampled_from(["flood", "drop"])}
)
