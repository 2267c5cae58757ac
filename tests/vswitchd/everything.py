"""A bridge that uses every table: each port in its own way, and the frames it takes."""

from __future__ import annotations

from tests.support import frames
from tests.support.accepting import Accepting
from tests.support.controller import Controller
from tests.support.hosts import wait_learned
from tests.support.ovs import Bridge
from tests.support.waiting import wait_for

DPID = 0xF0
GUEST, HUB, LOCK, KEEP, WATCH = 1, 2, 3, 4, 5
"""Ports: an isolated access port of VLAN 10 with an access list and storm control; a trunk of 10
with 20 untagged, which frames may return by and nothing floods to; a locked port and one that keeps
its one address, both of VLAN 10; the end of a mirror."""
ONE, TWO, SILENT, VM, DOOR, GATE = 6, 7, 8, 9, 10, 11
"""The members of a static aggregation, and the only one of another, whose partner is silent;
a port of VLAN 10 with `trust: guest`, and a host with bindings; a controlled port of VLAN 10 with
the host `ADMITTED`, and another one that `OPENER` has opened for all."""
NAMES = {GUEST: "guest", HUB: "hub", LOCK: "lock", KEEP: "keep", WATCH: "watch"}
NAMES |= {ONE: "one", TWO: "two", SILENT: "silent", VM: "vm", DOOR: "door", GATE: "gate"}
KEPT, FULL, FLAPPING, FIXED, BOUND, ADMITTED, OPENER = (
    frames.host(number) for number in range(0x41, 0x48)
)

CONFIG = f"""
bridges:
  "{DPID:016x}":
    lldp: {{enabled: true}}
    loop_protect: {{enabled: true}}
    mac_move: {{moves: 1, window: 60, hold: 60}}
    vlans:
      10: {{arp_suppress: true, nd_suppress: true}}
      20: {{fdb_max_learned: 1, over_limit: drop}}
    ports:
      guest:
        vlan: 10
        isolated: true
        acl: guests
        storm: {{broadcast: 100, multicast: 200, unknown_unicast: 300}}
        lldp: {{enabled: false}}
      hub:
        vlan: {{trunk: [10], native: 20}}
        hairpin: true
        flood: false
        mcast_flood: false
        stp: {{auto_edge: false}}
      lock: {{vlan: 10, locked: true, rate_out: 100000}}
      keep: {{vlan: 10, sticky: true, fdb_max_learned: 1, over_limit: drop}}
      LOCAL: {{vlan: 10, locked: true}}
      lag0: {{vlan: {{trunk: [10, 30], native: 30}}}}
      lag1: {{vlan: 30}}
      vm: {{vlan: 10, isolated: true, trust: guest, storm: {{}}, acl: answers}}
      door: {{vlan: 10, port_access: {{authentication: mab_dot1x, host_mode: multi_auth}}}}
      gate: {{vlan: 10, port_access: {{authentication: mab, host_mode: multi}}}}
    port_access: {{enabled: true, servers: "SERVERS", secret_file: "SECRET_FILE"}}
    lags:
      lag0: {{members: [one, two], lacp: "off", hash: layer3+4}}
      lag1: {{members: [silent]}}
    bindings:
      - {{mac: "{BOUND}", vlan: 10, port: vm, address: 10.0.0.5}}
      - {{mac: "{BOUND}", vlan: 10, port: vm, address: "2001:db8::5"}}
      - {{mac: "{BOUND}", vlan: 10, port: vm, address: "2001:db8:5::/56"}}
    static: [{{mac: "{FIXED}", vlan: 10, port: lock}}]
    mirrors: {{spy: {{to: watch, ingress: guest, egress: guest}}}}
    acls:
      guests:
        - {{name: no-rogue-dhcp, match: {{ip_proto: udp, udp_src: 67}}, action: drop}}
        - {{name: rest, match: {{}}, action: allow}}
      answers:
        - {{name: arp, match: {{eth_type: arp}}, action: allow}}
        - {{name: answers, match: {{state: [established, related]}}, action: allow}}
"""


def config(server: Accepting) -> str:
    """The configuration file.  server: accepts the hosts of controlled ports."""
    servers = CONFIG.replace("SERVERS", f"127.0.0.1:{server.port}")
    return servers.replace("SECRET_FILE", server.secret_file)


def build(bridge: Bridge, controller: Controller) -> None:
    """Give the bridge its ports and addresses, and connect it."""
    for number, name in NAMES.items():
        bridge.add_port(number, name)
    controller.connect(bridge)


def bring_about(bridge: Bridge, controller: Controller) -> None:
    """What only frames bring about: sticky, held, admitted hosts, and gates that are closed."""
    frame = frames.ethernet
    for port, host in ((DOOR, ADMITTED), (GATE, OPENER)):
        bridge.inject(port, frame(frames.BROADCAST, host))
    wait_for(
        lambda: len(controller.events("port_access.authorised")) == 2, "hosts to be authorised"
    )
    bridge.inject(KEEP, frame(frames.BROADCAST, KEPT))
    wait_learned(controller, bridge, KEPT, KEEP, 10)
    bridge.inject(HUB, frame(frames.BROADCAST, FULL))
    wait_learned(controller, bridge, FULL, HUB, 20)
    # Each move is waited for: a frame by the port that the switch still knows is not a packet-in.
    for port, vlan in ((HUB, 10), (GUEST, None)):
        bridge.inject(port, frame(frames.BROADCAST, FLAPPING, vlan=vlan))
        wait_learned(controller, bridge, FLAPPING, port, 10)
    bridge.inject(HUB, frame(frames.BROADCAST, FLAPPING, vlan=10))
    wait_for(lambda: bool(controller.events("fdb.held")), "it to be held")
