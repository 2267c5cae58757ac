"""A one-way link between edge ports of two members of a fabric."""

from __future__ import annotations

from typing import Any

from tests.support.ovs import Bridge
from tests.support.waiting import wait_for
from tests.vswitchd.ring import Ring

CABLE = 5


def through(ring: Ring) -> Bridge:
    """Connect port `CABLE` of the first two members through another switch."""
    switch = ring.switch
    between = switch.add_bridge()
    for number, bridge in enumerate(ring.members[:2], 1):
        path = f"{switch.dir}/one-way-{number}.sock"
        bridge.add_port(CABLE, None, f"options:pstream=punix:{path}")
        between.add_port(number, None, f"options:stream=unix:{path}")
        direct(between, "add-flow", f"in_port={number},actions=output:{3 - number}")
    return between


def direct(between: Bridge, command: str, flow: str) -> None:
    """Change a direction of the cable."""
    between.switch.ofctl(command, f"unix:{between.switch.dir}/{between.name}.mgmt", flow)
    between.switch.settle()


def lldp(ring: Ring) -> dict[str, Any]:
    """LLDP's ports of the fabric's bridge, by name."""
    answer = ring.controller.get(f"/v1/bridges/{ring.dpid}/lldp")
    return {port["name"]: port for port in answer["ports"]}


def held(ring: Ring) -> list[str]:
    """The ports that are closed."""
    ports = lldp(ring).items()
    return sorted(name for name, port in ports if (port["one_way"] or {}).get("state") == "held")


def test_of_edge_ports_of_two_members(ring: Ring) -> None:
    between = through(ring)
    ends = sorted(ring.name(member, CABLE) for member in (1, 2))
    hold = {"lldp": {"one_way": "hold"}}
    ring.configure(
        bridges={
            "pod": {
                "stp": {"enabled": True},
                "lldp": {"enabled": True, "tx_interval": 2},
                "ports": dict.fromkeys(ends, hold),
            }
        }
    )
    tick = ring.switch.in_pace()
    try:
        wait_for(
            lambda: [lldp(ring).get(name, {}).get("heard") for name in ends] == [True, True],
            "the link",
            tick=tick,
            seconds=30,
        )
        direct(between, "del-flows", "in_port=1")
        wait_for(lambda: held(ring) == ends, "both ends to be closed", tick=tick, seconds=30)
        direct(between, "add-flow", "in_port=1,actions=output:2")
        wait_for(lambda: held(ring) == [], "both ends to open", tick=tick, seconds=30)
    finally:
        between.destroy()
