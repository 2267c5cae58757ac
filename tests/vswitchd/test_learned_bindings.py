"""Bindings that a real switch's hosts get by DHCP and neighbour discovery, and keep."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support import dhcp_frames as dhcp
from tests.support.controller import Controller
from tests.support.ovs import Bridge
from tests.support.waiting import wait_for

DPID = 0xF1558
GUEST, OTHER, UPLINK = 1, 2, 3
CONFIG = repr(
    {
        "bridges": {
            f"{DPID:016x}": {
                "multicast": {"mcast_snooping": False},
                "ports": {"tap*": {"trust": "guest"}},
            }
        }
    }
)
MAC, ROUTER = 0x020F00000101, 0x020F000001FF
FOUR, SIX = "10.0.0.9", "2001:db8::9"


@pytest.fixture
def controller(controller_factory: Callable[[str], Controller]) -> Controller:
    return controller_factory(CONFIG)


@pytest.fixture
def bridge(bridge_factory: Callable[..., Bridge]) -> Bridge:
    return bridge_factory(dpid=DPID, ports=("tap1", "tap2", "eth0"))


def packet(source: str, mac: int = MAC) -> bytes:
    """A packet of a host to the router."""
    if ":" in source:
        datagram = dhcp.udp(source, "2001:db8::1", (9, 9), b"data")
        return dhcp.ethernet(mac, ROUTER, 0x86DD, dhcp.ipv6(source, "2001:db8::1", datagram, 17))
    datagram = dhcp.udp(source, "10.0.0.1", (9, 9), b"data")
    return dhcp.ethernet(mac, ROUTER, 0x0800, dhcp.ipv4(source, "10.0.0.1", datagram))


def heard(bridge: Bridge, port: int, frame: bytes, by: int) -> None:
    """Send a frame that the controller holds, and wait until it leaves."""
    bridge.forget_sent()
    bridge.inject(port, frame)
    wait_for(lambda: frame in bridge.sent(by), "the frame that was held")


def lease(bridge: Bridge, guest: int, uplink: int) -> None:
    """Get MAC the address FOUR from a DHCP server behind the uplink."""
    heard(bridge, guest, dhcp.request(MAC, FOUR), uplink)
    bridge.forget_sent()
    bridge.inject(uplink, dhcp.ack(MAC, FOUR))
    wait_for(lambda: bridge.sent(guest), "the server's answer")


def passes(bridge: Bridge, port: int, frame: bytes) -> bool:
    return frame in bridge.deliver(port, frame).get(UPLINK, [])


def test_a_host_keeps_its_addresses_over_kill_9(bridge: Bridge, controller: Controller) -> None:
    assert not passes(bridge, GUEST, packet(FOUR))
    lease(bridge, GUEST, UPLINK)
    assert passes(bridge, GUEST, packet(FOUR)), "it may use what it has just heard of"

    option = dhcp.prefix_option("2001:db8::", 64)
    bridge.inject(UPLINK, dhcp.router_advertisement(ROUTER, option).frame)

    def claimed() -> bool:
        bridge.inject(GUEST, dhcp.dad(MAC, SIX).frame)
        return passes(bridge, GUEST, packet(SIX))

    wait_for(claimed, "the claimed address")
    assert not passes(bridge, OTHER, packet(FOUR))
    assert not passes(bridge, OTHER, packet(SIX, MAC + 1))

    file = controller.dir / "state" / f"bindings-{DPID:016x}.json"
    octets = dhcp.ip(SIX).hex()
    wait_for(lambda: file.exists() and octets in file.read_text(), "the stored bindings")
    controller.kill9()
    for source in (FOUR, SIX):
        assert passes(bridge, GUEST, packet(source)), "also without a controller"
    controller.start()
    controller.wait_ready(bridge)
    for source in (FOUR, SIX):
        assert passes(bridge, GUEST, packet(source))
        assert not passes(bridge, OTHER, packet(source))
