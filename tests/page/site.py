"""What the page shows in its tests: a manager, and bridges of an Open vSwitch joined in a ring.

The clock of this Open vSwitch goes by itself, as the browser's does.  Bridges are joined by patch
ports: BPDUs pass as they do by a cable.  Some names are hostile: markup that would run if the page
took it for any.
"""

from __future__ import annotations

import yaml

from ofapp.bridge.lldp.tlv import Type, tlv
from tests.support import frames
from tests.support.controller import Controller
from tests.support.ovs import Bridge, VSwitchd
from tests.support.waiting import wait_for
from tests.unit.bridge.lldp.lab import pdu

EVIL_PORT = "<img src=x>"
EVIL_BRIDGE = "<b id=evil>"
"""The longest names of interfaces have 15 characters."""

OFFICE, GUARDED, STICKY, FILTERED = 1, 2, 3, 4
"""Ports of the first bridge: in a VLAN, with BPDU guard, sticky, and with an access list."""
PLAIN = 1
"""A port of the other bridges."""
MEMBERS = (5, 6)
"""Of an aggregation of the second bridge."""
ACROSS = (11, 12)
"""To the bridge before and to the one after."""

GUEST, GUEST_PORT = "tap0", 3
"""A port of the third bridge whose hosts may be hostile."""
BOUND, BOUND_ADDRESS = frames.host(0x77), "192.0.2.77"
"""A host behind the port with the hostile name."""

CONFIG = {
    "defaults": {"stp": {"enabled": True, "hello_time": 1, "forward_delay": 4, "max_age": 6}},
    "bridges": {
        "br1": {
            "stp": {"priority": 4096},
            "fdb_max_learned": 4000,
            "vlans": {10: {"name": "office", "fdb_max_learned": 50}},
            "ports": {
                "br1p1": {"vlan": "office", "stp": {"admin_edge": True}},
                "br1p2": {"stp": {"admin_edge": True, "bpdu_guard": True}},
                "br1p3": {"sticky": True, "stp": {"admin_edge": True}},
                "br1p4": {"acl": "guests", "stp": {"admin_edge": True}},
            },
            "acls": {
                "guests": [
                    {"name": "no-rogue-dhcp", "match": {"udp_src": 67}, "action": "drop"},
                    {"name": "rest", "match": {}, "action": "allow"},
                ]
            },
        },
        "br2": {
            "lags": {"lag0": {"members": ["br2p5", "br2p6"], "lacp": "off"}},
            "ports": {"lag0": {"stp": {"admin_edge": True}}},
        },
        "br3": {
            "lldp": {"enabled": True},
            "ports": {GUEST: {"trust": "guest", "stp": {"admin_edge": True}}},
        },
    },
}


class Ticking(VSwitchd):
    """An Open vSwitch whose clock goes by itself."""

    def appctl(self, command: str, *args: str) -> str:
        return "" if command == "time/stop" else super().appctl(command, *args)


class Site:
    """The manager, the switch, and its bridges: br1, br2, br3 and one with a hostile name."""

    def __init__(self, *options: str) -> None:
        self.controller = Controller(yaml.safe_dump(CONFIG), options=options)
        self.switch = Ticking()
        self.controller.start()
        self.switch.start()
        self.bridges = [self.switch.add_bridge() for _ in range(3)]
        first, second, third = self.bridges
        for number in (OFFICE, GUARDED, STICKY, FILTERED):
            first.add_port(number)
        for number in (PLAIN, *MEMBERS):
            second.add_port(number)
        third.add_port(PLAIN)
        third.add_port(2, EVIL_PORT)
        third.add_port(GUEST_PORT, GUEST)
        self._evil()
        for bridge, after in zip(self.bridges, [*self.bridges[1:], first], strict=True):
            self._join(bridge, after)
        for bridge in self.bridges:
            bridge.set_controller(self.controller.target)

    def _evil(self) -> None:
        """A bridge whose name is markup."""
        dpid = "00000000000000e1"
        self.switch.vsctl(
            *("add-br", EVIL_BRIDGE, "--", "set", "Bridge", EVIL_BRIDGE, "datapath_type=dummy"),
            *("fail_mode=secure", "protocols=OpenFlow13", f"other_config:datapath-id={dpid}"),
            *("other_config:disable-in-band=true", "--"),
            *("set-controller", EVIL_BRIDGE, self.controller.target),
        )

    def _join(self, bridge: Bridge, after: Bridge) -> None:
        there, back = f"to-{after.name}", f"to-{bridge.name}"
        pairs = ((bridge, there, ACROSS[1]), (after, back, ACROSS[0]))
        names = [f"{own.name}-{name}" for own, name, _ in pairs]
        for (own, _, number), name, peer in zip(pairs, names, names[::-1], strict=True):
            self.switch.vsctl(
                *("add-port", own.name, name, "--", "set", "Interface", name, "type=patch"),
                *(f"options:peer={peer}", f"ofport_request={number}"),
            )
            own.names[number] = name

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.controller.api_port}/"

    def settle(self) -> None:
        """Until the ring is cut at one place, and hosts can be heard."""
        for bridge in self.bridges:
            self.controller.wait_ready(bridge)

        def cut() -> bool:
            states = [
                port["state"]
                for bridge in self.bridges
                for port in self.controller.get(f"/v1/bridges/{bridge.dpid16}/stp")["ports"]
                if port["number"] in ACROSS
            ]
            return sorted(states) == ["discarding"] + 5 * ["forwarding"]

        wait_for(cut, "the ring to be cut at one place", seconds=40)
        bound = {"port": EVIL_PORT, "mac": BOUND, "address": BOUND_ADDRESS}
        path = f"/v1/bridges/{self.bridges[2].dpid16}/bindings"
        assert self.controller.api("POST", path, bound).status in (200, 201)

    def introduce(self, bridge: Bridge, port: int, name: str, description: str) -> None:
        """A neighbour announces its name, port and chassis by LLDP."""
        own = name.encode()
        more = [tlv(kind, own) for kind in (Type.SYSTEM_NAME, Type.PORT_DESCRIPTION)]
        more.append(tlv(Type.SYSTEM_DESCRIPTION, description.encode()))
        frame = pdu(*more, chassis=b"\x07" + own, port=b"\x05" + own, ttl=65535)
        bridge.inject(port, frame)

    def say(self, bridge: Bridge, port: int, host: int, **tag: int) -> None:
        """A host sends a frame."""
        frame = frames.ethernet(frames.BROADCAST, frames.host(host), **tag)
        bridge.inject(port, frame)

    def close(self) -> None:
        self.switch.close()
        self.controller.close()
