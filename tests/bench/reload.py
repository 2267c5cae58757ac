"""Warm reload: what a change of one port costs in a bridge with many of everything.

A real ovs-vswitchd with dummy ports (no kernel, no frames in flight), a real controller, and the
file changed and read again over the API.  Messages are what the controller says it has changed in
the switch; milliseconds are its own (reading the file included), and those that a client waits.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import yaml

from tests.support import frames
from tests.support.controller import Controller
from tests.support.ovs import Bridge, VSwitchd
from tests.support.waiting import wait_for

PORTS, VLANS, HOSTS = 48, 100, 10_000
TRUNKS = 2
Settings = dict[str, Any]


def settings(bridge: Bridge) -> Settings:
    """Two trunks of all VLANs, access ports in turn in each VLAN, and half of them isolated."""
    ports: dict[str, Any] = {}
    for number in range(1, PORTS + 1):
        name = bridge.port_name(number)
        if number <= TRUNKS:
            ports[name] = {"vlan": {"trunk": f"1-{VLANS}"}}
        else:
            ports[name] = {"vlan": 1 + number % VLANS, "isolated": number % 2 == 0}
    return {
        "packet_in_rate": 1_000_000,  # the switch's clock stands still, and so do its meters
        "vlans": {vid: {"name": f"v{vid}"} for vid in range(1, VLANS + 1)},
        "ports": ports,
    }


CHANGES: dict[str, Settings] = {
    "a description": {"description": "uplink"},
    "another VLAN": {"vlan": VLANS},
    "isolated": {"isolated": True},
    "unknown unicast not flooded": {"flood": False},
    "storm control": {"storm": {"broadcast": 100}},
    "a trunk of all VLANs": {"vlan": {"trunk": f"1-{VLANS}"}},
}
"""Of one access port, each taken back before the next."""


def fill(controller: Controller, bridge: Bridge, hosts: int) -> None:
    """Let hosts be learned, nine tenths behind the trunks."""
    for number in range(hosts):
        mac = f"52:54:00:{number >> 16:02x}:{number >> 8 & 255:02x}:{number & 255:02x}"
        port = 1 + number % TRUNKS if number % 10 else TRUNKS + 1 + number // 10 % (PORTS - TRUNKS)
        vid = 1 + number % VLANS if port <= TRUNKS else None
        frame = frames.ethernet(frames.host(1), mac, vlan=vid)
        bridge.switch.appctl("netdev-dummy/receive", bridge.port_name(port), frame.hex())
    wait_for(
        lambda: controller.bridge(bridge)["fdb"]["learned"] >= hosts,
        f"{hosts} hosts to be learned",
        seconds=120,
    )


def measure(controller: Controller, bridge: Bridge, repeat: int) -> dict[str, Any]:
    """By the name of the change: messages, milliseconds of the controller and of the client."""
    base = settings(bridge)
    name = bridge.port_name(TRUNKS + 1)
    found: dict[str, Any] = {what: {"own": [], "client": []} for what in ("nothing", *CHANGES)}
    for _ in range(repeat):
        _reload(controller, bridge, base, found["nothing"])
        for what, change in CHANGES.items():
            ports = {**base["ports"], name: {**base["ports"][name], **change}}
            _reload(controller, bridge, {**base, "ports": ports}, found[what])
            _reload(controller, bridge, base, None)
    return found


def _reload(
    controller: Controller, bridge: Bridge, own: Settings, into: dict[str, Any] | None
) -> None:
    controller.configure(yaml.safe_dump({"bridges": {bridge.dpid16: own}}))
    begun = time.monotonic()
    reply = controller.api("POST", "/v1/config/reload", timeout=60)
    waited = (time.monotonic() - begun) * 1000
    assert reply.status == 200, reply
    if into is not None:
        into["own"].append(reply.body["milliseconds"])
        into["client"].append(waited)
        into["sent"] = [changed["sent"] for changed in reply.body["bridges"]]


def main() -> int:
    """Returns the exit status."""
    parser = argparse.ArgumentParser(prog="tests/bench/run reload", description=__doc__)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--hosts", type=int, default=HOSTS)
    parser.add_argument("--json", type=Path, metavar="FILE", help="every figure of every run")
    options = parser.parse_args()
    switch, controller = VSwitchd(), Controller()
    try:
        switch.start()
        bridge = switch.add_bridge(ports=PORTS)
        controller.configure(yaml.safe_dump({"bridges": {bridge.dpid16: settings(bridge)}}))
        controller.start()
        controller.connect(bridge)
        print(f"  {options.hosts} hosts ...", file=sys.stderr)
        fill(controller, bridge, options.hosts)
        flows, groups = len(bridge.flows()), len(bridge.groups())
        print("  reloads ...", file=sys.stderr)
        found = measure(controller, bridge, options.repeat)
    finally:
        controller.close()
        switch.close()
    print(f"## Warm reload: one of {PORTS} ports, {VLANS} VLANs, {options.hosts} hosts\n")
    print(f"The switch holds {flows} flows and {groups} groups.  Medians (least to greatest).\n")
    print("| change | flows | groups | meters | ms | ms for the client |")
    print("| --- | --: | --: | --: | --: | --: |")
    for what, values in found.items():
        sent = (
            values["sent"][0] if values["sent"] else dict.fromkeys(("flows", "groups", "meters"), 0)
        )
        counts = " | ".join(str(sent[kind]) for kind in ("flows", "groups", "meters"))
        print(f"| {what} | {counts} | {_spread(values['own'])} | {_spread(values['client'])} |")
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")
    return 0


def _spread(values: list[float]) -> str:
    return f"{statistics.median(values):.0f} ({min(values):.0f} to {max(values):.0f})"


if __name__ == "__main__":
    sys.exit(main())
