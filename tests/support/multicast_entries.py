"""What the datapath holds of multicast, by its flows and groups, and what the API tells of it."""

from __future__ import annotations

from typing import Any, Protocol

from ofapp.openflow.model.cookie import Feature, parse_cookie
from tests.support import multicast_frames as mcframes
from tests.support.controller import Controller
from tests.support.ovs import Bridge
from tests.support.waiting import wait_for

Entries = dict[tuple[int, str, str | None], set[int | str]]
"""(VID, group, source or None) -> ports.  A group of 4 or 6 is that family's unregistered ones."""

QUICK = {
    "mcast_last_member_interval": 0.1,
    "mcast_query_response_interval": 0.1,
}
"""Intervals with short waits: a leave takes 0.2 s."""


class HasDpid(Protocol):
    """A bridge of this tier or of Mininet's."""

    @property
    def dpid16(self) -> str: ...


def entries(bridge: Bridge) -> Entries:
    """All entries.  Each flow must have its own group."""
    groups = bridge.groups()
    found: Entries = {}
    used: set[int] = set()
    for flow in bridge.flows():
        cookie = parse_cookie(flow.cookie)
        if cookie is None or cookie.feature != Feature.MULTICAST:
            continue
        parts = [part.partition("=") for part in flow.match.split(",")]
        match = {name: value for name, _, value in parts}
        family = "6" if "ipv6" in match else "4"
        vid = int(match.get("dl_vlan") or match["vlan_tci"].partition("/")[0], 0)
        ip = "ipv6" in match or "ip" in match
        destination = match[("nw_dst" if family == "4" else "ipv6_dst") if ip else "dl_dst"]
        source = match.get("nw_src") or match.get("ipv6_src")
        number = int(flow.actions.removeprefix("group:"))
        assert number not in used, f"two flows lead to group {number}"
        used.add(number)
        key = (vid & 0xFFF, family if "/" in destination else destination, source)
        found[key] = groups.get(number, {"no such group"})
    return found


def wait_entry(
    bridge: Bridge, group: str, ports: set[int] | None, *, vid: int = 0, source: str | None = None
) -> None:
    """Wait until the entry leads to exactly these ports; None: there is none."""
    wait_for(
        lambda: entries(bridge).get((vid, group, source)) == ports,
        f"({source or '*'}, {group}) in VLAN {vid} to lead to {ports}: {entries(bridge)}",
    )


def wait_restricted(bridge: Bridge, ports: set[int], *, family: int = 4, vid: int = 0) -> None:
    """Wait until groups without members go to these ports (the routers) alone."""
    wait_entry(bridge, str(family), ports, vid=vid)


def hear_querier(bridge: Bridge, port: int, *, family: int = 4, vid: int = 0) -> None:
    """Host 250 behind the port asks, and from now on streams are restricted."""
    bridge.inject(port, mcframes.query(250, family=family, vlan=vid or None))
    wait_restricted(bridge, {port}, family=family, vid=vid)


def heard(bridge: Bridge, port: int, frame: bytes, by: set[int]) -> None:
    """Inject a message; wait until it has left by these ports, and see that by no other."""
    bridge.forget_sent()
    bridge.inject(port, frame)
    out: dict[int, int] = dict.fromkeys(bridge.ports, 0)

    def arrived() -> bool:
        for number in bridge.ports:
            out[number] += bridge.sent(number).count(frame)
        return all(out[number] for number in by)

    wait_for(arrived, f"the message to leave by {by}")
    assert out == {number: int(number in by) for number in bridge.ports}


def counters(controller: Controller, bridge: HasDpid, port: int) -> dict[str, int]:
    """A port's counters."""
    ports = controller.get(f"/v1/bridges/{bridge.dpid16}/multicast")["ports"]
    return next(dict(entry["counters"]) for entry in ports if entry["number"] == port)


def family_status(controller: Controller, bridge: HasDpid, family: int, vid: int = 0) -> Any:
    """What the API tells of a family in a VLAN."""
    vlans = controller.get(f"/v1/bridges/{bridge.dpid16}/multicast")["vlans"]
    return next(entry[f"ipv{family}"] for entry in vlans if entry["vlan"] == vid)


def members(
    controller: Controller, bridge: HasDpid
) -> set[tuple[int, str, int, str, frozenset[str]]]:
    """(VID, group, port, filter mode, sources) of every membership that the API tells."""
    found = controller.get(f"/v1/bridges/{bridge.dpid16}/mdb")["entries"]
    return {
        (
            entry["vlan"],
            entry["group"],
            entry["port"]["number"],
            entry["filter_mode"],
            frozenset(source["address"] for source in entry["sources"]),
        )
        for entry in found
    }


def wait_forwarding(
    controller: Controller, bridge: HasDpid, how: str, *families: int, seconds: float = 10
) -> None:
    """Wait until streams of these families `flood`, or `restrict`: go to members and routers."""
    wait_for(
        lambda: (
            {family_status(controller, bridge, family)["forwarding"] for family in families}
            == {how}
        ),
        f"multicast to {how}",
        seconds=seconds,
    )
