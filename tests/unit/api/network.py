"""Networks without switches, as far as the API is concerned."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from ipaddress import ip_address
from types import MappingProxyType, SimpleNamespace
from typing import Any

import ofapp.launcher.options  # noqa: F401  (os-ken's modules in the order that works)
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.datapath_status import DatapathStatus
from ofapp.bridge.effects.content import BoundAddress
from ofapp.bridge.first_hop.binding import Origin
from ofapp.bridge.lldp import OwnAgents
from ofapp.bridge.lldp.tlv import Type, tlv
from ofapp.bridge.mac import parse_mac
from ofapp.bridge.multicast.permanent_entries import PermanentEntry
from ofapp.bridge.params.acl import IMPLICIT, rule_number
from ofapp.bridge.ports.port import LOCAL_PORT, Port, PortCount
from ofapp.bridge.state import SharedState
from ofapp.bridge.stp.bpdu import encode
from ofapp.bridge.stp.transmit import EDGE_WAIT
from ofapp.config import Config
from ofapp.controller.access import UserRole
from ofapp.controller.events import EventLog
from ofapp.controller.network import Network
from ofapp.controller.state.store import State
from ofapp.openflow.model.cookie import Feature, make_cookie
from ofapp.openflow.pipeline.acl import rule_meter
from ofapp.openflow.switch.counters.acl import AclCounters
from ofapp.openflow.switch.counters.ports import PortCounters
from ofapp.openflow.wire.messages.flow_stats import FlowStats
from tests.unit.api.cables import Cables
from tests.unit.api.fabrics import NAMES, FakeFabric
from tests.unit.bridge.lldp.lab import pdu as lldpdu
from tests.unit.bridge.multicast.lan import V4, ip
from tests.unit.bridge.stp.lab import WORSE, rst

DPID = "0000000000000001"
FULL = "00000000000000ff"
OWN = "02:00:00:00:00:01"
STATIC = "52:54:00:00:57:a7"


def mac(number: int) -> str:
    """The address of host `number`."""
    return f"52:54:00:{number >> 16:02x}:{number >> 8 & 255:02x}:{number & 255:02x}"


def empty_network(**config: Any) -> Network:
    """No bridges; `config` as in the configuration file.  Ports open as they come up."""
    config = {"defaults": {"stp": {"enabled": False}}, **config}
    return Network(Config.model_validate(config), State(None), EventLog())


def add_bridge(
    network: Network,
    datapath_id: int = 1,
    name: str = "br0",
    ports: int = 3,
    ago: float = 0,
    shared: SharedState | None = None,
) -> Bridge:
    """A bridge with ports eth1.. that came up `ago` seconds ago, and its LOCAL port.

    Edge ports are open.
    """
    bridge = Bridge(datapath_id, network.running.of(datapath_id).params(), shared)
    network.bridges[datapath_id] = bridge
    there = [Port(number, f"eth{number}", number, True) for number in range(1, ports + 1)]
    own = parse_mac(OWN) + datapath_id - 1
    now = time.monotonic() - ago
    effects = bridge.set_ports([*there, Port(LOCAL_PORT, name, own, True)], now - EDGE_WAIT)
    opened = bridge.carry_out(bridge.stp.tick(now), now)  # LLDP waits for its cables
    network.dispatcher.apply(bridge, effects + opened)
    return bridge


def learn(network: Network, bridge: Bridge, *hosts: tuple[int, int, str]) -> None:
    """(port, vid, mac) is seen, for each of `hosts`."""
    for port, vid, text in hosts:
        network.changes.fdb.teach(bridge, port, vid, parse_mac(text))


def some_network() -> Network:
    """Bridge br0: hosts 1 to 40 on eth1, 41 to 60 in VLAN 7 on eth2, STATIC in VLAN 7 on eth3.

    Host 1 was heard with 10.0.0.1 and then fe80::1, host 10 with 10.0.0.10.

    Bridge br1 may learn one address and has: host 1, on eth3.
    """
    network = empty_network(bridges={FULL: {"fdb_max_learned": 1}})
    first, second = add_bridge(network), add_bridge(network, 0xFF, "br1")
    learn(network, first, *((1, 0, mac(number)) for number in range(1, 41)))
    learn(network, first, *((2, 7, mac(number)) for number in range(41, 61)))
    learn(network, second, (3, 0, mac(1)))
    network.changes.fdb.add_static(first, 7, parse_mac(STATIC), "eth3")
    speak(first, 1, mac(1), "10.0.0.1", "fe80::1")
    speak(first, 1, mac(10), "10.0.0.10")
    speak(second, 3, mac(1), "10.0.0.1")
    return network


def speak(bridge: Bridge, port: int, who: str, *addresses: str) -> None:
    """A host that is known is heard with these addresses, the last one last."""
    source = parse_mac(who).to_bytes(6, "big")
    for address in addresses:
        octets = ip_address(address).packed
        head = b"\x45" + bytes(7) + b"\x40" + bytes(3)
        if len(octets) == 16:
            head = b"\x60" + bytes(6) + b"\x40"
        kind = b"\x08\x00" if len(octets) == 4 else b"\x86\xdd"
        bridge.ip_addresses.hear([(port, bytes(6) + source + kind + head + octets)])


def stp_network() -> Network:
    """Bridge br0 with spanning tree, hosts on eth1, which is an edge; bridge br1 without."""
    own = {"stp": {"enabled": True}, "ports": {"eth1": {"stp": {"admin_edge": True}}}}
    network = empty_network(bridges={DPID: own})
    first = add_bridge(network)
    add_bridge(network, 0xFF, "br1")
    learn(network, first, *((1, 0, mac(number)) for number in range(1, 41)))
    return network


def connected_stp_network() -> Network:
    """`stp_network`, whose switches are connected."""
    network = stp_network()
    network.datapaths.update({number: _session() for number in network.bridges})
    return network


def mcast_network() -> Network:
    """Bridge br0 snoops: a querier and router, 10.0.0.5, on eth3, heard ten seconds ago.

    In VLAN 0: 239.1.1.1 on eth1; all but 10.9.0.1 of 239.1.1.2, and only 10.9.0.1 of 239.1.1.3, on
    eth2, where hosts are tracked; in VLAN 7 239.1.1.1 on eth2, and 239.7.7.7 permanently on eth1.
    Bridge br1 does not snoop.
    """
    fast = {"ports": {"eth2": {"multicast": {"mcast_fast_leave": True}}}}
    network = empty_network(
        bridges={
            DPID: {**fast, "vlans": {10: {"multicast": {"mcast_querier": True}}}},
            FULL: {"multicast": {"mcast_snooping": False}},
        }
    )
    first = add_bridge(network, ago=10.2)
    add_bridge(network, 0xFF, "br1")
    tag = b"\x81\x00\x00\x07"
    for port, frame in (
        (3, V4.query(src="10.0.0.5")),
        (1, V4.join("239.1.1.1")),
        (2, V4.report((4, "239.1.1.2", ["10.9.0.1"]), host=7)),
        (2, V4.report((3, "239.1.1.3", ["10.9.0.1"]), host=7)),
        (2, V4.report((4, "239.1.1.1", []), host=7, tags=tag)),
    ):
        network.dispatcher.apply(
            first, first.hear("snooped", [(port, frame)], time.monotonic() - 10.1)
        )
    first.tick(time.monotonic())
    network.changes.mdb.add_permanent(first, PermanentEntry(7, ip("239.7.7.7"), "eth1"))
    return network


def guarded_network() -> Network:
    """Bridge br0: host 1 on eth1 flapped and is held, host 2 of eth2, which is sticky, was claimed
    on eth1 in VLAN 7, which is full with it and drops what is beyond; eth3 is full with host 3.
    """
    own = {
        "mac_move": {"moves": 1},
        "vlans": {7: {"fdb_max_learned": 1, "over_limit": "drop"}},
        "ports": {"eth2": {"sticky": True}, "eth3": {"fdb_max_learned": 1, "over_limit": "drop"}},
    }
    network = empty_network(bridges={DPID: own})
    bridge = add_bridge(network)
    learn(network, bridge, *((port, 0, mac(1)) for port in (1, 2)))
    learn(network, bridge, (1, 0, mac(1)), (2, 7, mac(2)), (1, 7, mac(2)), (3, 0, mac(3)))
    learn(network, bridge, (1, 7, mac(4)), (3, 0, mac(5)))
    return network


def acl_network() -> Network:
    """Bridge br0: `guests` on eth1 and eth2, whose rules have hit 1, 2, 3, ... frames of 100 bytes
    in the last minute, `arp` 5 above its rate; `spare` on no port. eth3 gets copies, `gone` is away
    """
    rules = [
        {"name": "dhcp", "match": {"udp_src": 67}, "action": "drop", "mirror": "gone"},
        {"name": "arp", "match": {"eth_type": "arp"}, "rate": 50},
        {"match": {"ip_dst": "10.0.0.0/8", "tcp_dst": "80,443"}, "mirror": "eth3"},
    ]
    lists = {"guests": rules, "spare": [{"action": "allow"}]}
    ports = {name: {"acl": "guests"} for name in ("eth1", "eth2")}
    network = empty_network(bridges={DPID: {"acls": lists, "ports": ports}})
    bridge = add_bridge(network)
    add_bridge(network, 0xFF, "br1")
    hits, now = AclCounters(bridge), time.time()
    names = ("dhcp", "arp", "ip_dst=10.0.0.0/8 tcp_dst=80,443", IMPLICIT)
    cookies = (make_cookie(Feature.ACL, rule_number("guests", name)) for name in names)
    hits.see_flows(
        (
            FlowStats(30, 1, 0, 0, cookie, count, b"", b"", 100 * count, 60.0)
            for count, cookie in enumerate(cookies, 1)
        ),
        now,
    )
    over = SimpleNamespace(packet_band_count=5, byte_band_count=500)
    meter = {"meter_id": rule_meter("guests", "arp"), "duration_sec": 60, "duration_nsec": 0}
    hits.see_meters([SimpleNamespace(**meter, band_stats=[over])], now)
    network.datapaths[1] = _session(acl=hits, ask_acl_counters=lambda: None)
    return network


def port_counters() -> PortCounters:
    """What a switch has counted at port 1: 1 to 8; at port 2 it counts no errors."""
    counters = PortCounters(SimpleNamespace(dead=True), None)  # type: ignore[arg-type]
    counters.latest = {1: PortCount(*range(1, 9)), 2: PortCount(*range(1, 7), None, None)}
    counters.at = time.monotonic()
    return counters


def standing(
    acl: Any = None,
    drops: Mapping[str, int] = MappingProxyType({}),
    held_back: Mapping[str, Mapping[int, int]] = MappingProxyType({}),
) -> Callable[[], DatapathStatus]:
    """The status of a session in line, with meters."""
    return lambda: DatapathStatus(True, None, [], True, drops, held_back, acl)


def _session(acl: Any = None, **more: object) -> Any:
    """What the API asks of a session in line."""
    return SimpleNamespace(
        channel=SimpleNamespace(address=("192.0.2.7", 4711), counters={}, round_trip=0.002),
        port_counters=port_counters(),
        packet_ins={"sighting": 4, "bpdu": 5, "snooped": 6},
        in_line=True,
        status=standing(acl),
        apply=lambda effects: None,
        reconfigure=lambda effects: None,
        carried_out=lambda _patience: True,
        **more,
    )


def remade_network() -> Network:
    """Bridge br0, 1, was deleted and made again as 255."""
    network = empty_network()
    add_bridge(network)
    network.disconnected.left(1, time.monotonic() - 3700)
    network.bridges[1].former_name = "br0"
    network.datapaths[0xFF] = _session()
    add_bridge(network, 0xFF, "br0")
    return network


def lag_network() -> Network:
    """Bridge br0: eth1 and eth2 are lag0, eth3 is lag1, which waits for eth9; both are static.

    Its switch is connected; see `port_counters`.  lag0 has counted 2 of everything but errors sent.
    """
    lags = {"lag0": ["eth1", "eth2"], "lag1": ["eth3", "eth9"]}
    own = {name: {"members": members, "lacp": "off"} for name, members in lags.items()}
    network = empty_network(bridges={DPID: {"lags": own}})
    add_bridge(network)
    add_bridge(network, 0xFF, "br1")
    network.datapaths[1] = session = _session()
    session.port_counters.latest[4095] = PortCount(*[2] * 7, None)
    return network


def cabled_network(now: float | None = None) -> Network:
    """Bridges br1, the root, and br2 with two cables between them, eth1 to eth1 and eth2 to eth2,
    and another owner's bridge on eth3 of br1, which is worse.  Their switches are connected.  now:
    core time, the clock's if None.
    """
    trees = {1: {"stp": {"enabled": True, "priority": 4096}}, 2: {"stp": {"enabled": True}}}
    network = empty_network(bridges={f"{number:016x}": own for number, own in trees.items()})
    now = time.monotonic() if now is None else now
    for number in trees:
        add_bridge(network, number, f"br{number}", ago=time.monotonic() - now + 20)
        network.datapaths[number] = _session()
    cables = Cables(network, ((1, 1), (2, 1)), ((1, 2), (2, 2)))
    cables.settle(now - 20, now)
    first = network.bridges[1]
    cables.carry(first, first.hear("bpdu", [(3, encode(rst(WORSE), 0x99))], now), now)
    return network


def half_network() -> Network:
    """`cabled_network`, whose br1 has been deleted."""
    network = cabled_network()
    del network.datapaths[1]
    network.disconnected.left(1, time.monotonic())
    return network


def lldp_network() -> Network:
    """Bridges br0 and br1, whose LLDP runs, know of each other: eth1 and eth2 of both are lag0.

    On eth3 of br0 is a guest with a hostile name; eth4 is marked as a link, and a host there
    says to be eth3 of br1.
    """
    lag = {"members": ["eth1", "eth2"], "lacp": "off"}
    own = {"lldp": {"enabled": True}, "lags": {"lag0": lag}}
    marked = {"ports": {"eth4": {"lldp": {"link": True}}}}
    network = empty_network(bridges={DPID: {**own, **marked}, FULL: own})
    shared = SharedState(OwnAgents(b"secret"))
    now = time.monotonic()
    for number, name in ((1, "br0"), (0xFF, "br1")):
        add_bridge(network, number, name, ports=4, shared=shared)
    Cables(network, ((1, 1), (0xFF, 1)), ((1, 2), (0xFF, 2))).settle(now, now + 0.2)
    first = network.bridges[1]
    address = network.bridges[0xFF].address.to_bytes(6, "big")
    guest = lldpdu(tlv(Type.SYSTEM_NAME, b"<script>\x1b[2J"))
    claim = lldpdu(chassis=b"\x04" + address, port=b"\x05eth3")
    network.dispatcher.apply(first, first.hear("lldp", [(3, guest), (4, claim)], now))
    return network


def looped_network() -> Network:
    """Bridge br0, whose port eth2 is held by loop protection; the other end of the loop is eth1."""
    network = empty_network(bridges={DPID: {"loop_protect": {"enabled": True}}})
    bridge = add_bridge(network, shared=SharedState(OwnAgents(b"secret")))
    now = time.monotonic()
    sent = [each for step in range(8) for each in bridge.tick(now - 2 + step / 4)]
    frame = next(each.frame for each in reversed(sent) if getattr(each, "ports", ()) == {1})
    network.dispatcher.apply(bridge, bridge.hear("loop_protect", [(2, frame)], now))
    return network


SECRETS: dict[str, str] = {}
"""The tokens of `closed_network`, by role."""


def closed_network() -> Network:
    """Where everybody needs a token: one of each role, and `spare`.  Bridge br0 has all there is.

    Host 1 on eth1, STATIC in VLAN 7 on eth2, 239.7.7.7 permanently there; list `guests` on eth2, an
    aggregation lag0 of eth3 and eth4, spanning tree, snooping and LLDP.
    """
    own = {
        "stp": {"enabled": True},
        "lldp": {"enabled": True},
        "vlans": {7: {"multicast": {"mcast_query_interval": 60}}},
        "lags": {"lag0": {"members": ["eth3", "eth4"], "lacp": "off"}},
        "ports": {"eth1": {"stp": {"admin_edge": True}}, "eth2": {"acl": "guests"}},
        "acls": {"guests": [{"name": "rest", "match": {}, "action": "allow"}]},
    }
    network = empty_network(bridges={DPID: own})
    bridge = add_bridge(network, ports=4)
    learn(network, bridge, (1, 0, mac(1)))
    speak(bridge, 1, mac(1), "10.0.0.1")
    network.changes.fdb.add_static(bridge, 7, parse_mac(STATIC), "eth2")
    network.changes.mdb.add_permanent(bridge, PermanentEntry(7, ip("239.7.7.7"), "eth2"))
    network.fabrics = {"mesh": FakeFabric(bridge)}
    for role in (UserRole.VIEWER, UserRole.OPERATOR, UserRole.ADMIN):
        SECRETS[str(role)] = network.access.tokens.create(str(role), role, "root", 0.0)[0]
    network.access.tokens.create("spare", UserRole.VIEWER, "root", 0.0)
    return network


def odd_network() -> Network:
    """Bridge br0 with a port that is called `a#b?c%d`."""
    network = empty_network()
    bridge = add_bridge(network)
    odd = Port(4, "a#b?c%d", 4, True)
    network.dispatcher.apply(bridge, bridge.set_ports([*bridge.ports, odd], time.monotonic()))
    return network


def first_hop_network() -> Network:
    """Bridge br0 with the guests eth1 and eth2, which are bound to 10.0.0.1 and 10.0.0.2.

    Host 1 is on eth1, and host 3 on eth2, where nothing is bound to it.
    """
    guests = {name: {"trust": "guest"} for name in ("eth1", "eth2")}
    network = empty_network(bridges={DPID: {"ports": guests}})
    bridge = add_bridge(network)
    learn(network, bridge, (1, 0, mac(1)), (2, 0, mac(3)))
    for number in (1, 2):
        address = BoundAddress(ip_address(f"10.0.0.{number}").packed, 32)
        port, host = f"eth{number}", parse_mac(mac(number))
        bridge.first_hop.add(port, 0, host, address, Origin.API, time.monotonic())
    return network


def fabric_network() -> Network:
    """Fabric mesh: a ring of s1, s2 and s3 with a port eth0 each; see `FakeFabric`.

    Hosts 1 to 3 are behind these ports; host 1 was heard with 10.0.0.1.  Host 1 is in VLAN 7, too.
    """
    network = empty_network()
    bridge = Bridge(1, network.running.of(1).params())
    network.bridges[1] = bridge
    there = [Port(number, f"{name}/eth0", number, True) for number, name in enumerate(NAMES, 1)]
    network.dispatcher.apply(bridge, bridge.set_ports(there, time.monotonic()))
    learn(network, bridge, *((number, 0, mac(number)) for number in (1, 2, 3)))
    learn(network, bridge, (1, 7, mac(1)))
    speak(bridge, 1, mac(1), "10.0.0.1")
    network.fabrics = {"mesh": FakeFabric(bridge)}
    return network


def recorded_network() -> Network:
    """Bridge br0 with host 1 on eth1, recorded from its beginning."""
    network = empty_network()
    network.lifetime.record()
    bridge = network.lifetime.back(1)
    there = [Port(LOCAL_PORT, "br0", 1, True), Port(1, "eth1", 2, True)]
    network.dispatcher.apply(bridge, bridge.set_ports(there, time.monotonic()))
    learn(network, bridge, (1, 0, mac(1)))
    return network


NETWORKS = {
    "acl": acl_network,
    "cabled": cabled_network,
    "fabric": fabric_network,
    "half": half_network,
    "closed": closed_network,
    "first-hop": first_hop_network,
    "lag": lag_network,
    "lldp": lldp_network,
    "looped": looped_network,
    "guarded": guarded_network,
    "mcast": mcast_network,
    "odd": odd_network,
    "recorded": recorded_network,
    "remade": remade_network,
    "some": some_network,
    "stp": stp_network,
    "stp-connected": connected_stp_network,
}
