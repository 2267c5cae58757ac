"""Neighbour discovery: what is read, what is malformed, and what a bridge sends."""

import struct

import pytest

from ofapp.bridge.packet.malformed import Malformed
from ofapp.bridge.packet.neighbour import (
    Neighbour,
    Prefix,
    masked,
    probe_reachability,
    read_neighbour,
    resolve,
)
from tests.support import dhcp_frames as frames
from tests.support.dhcp_frames import (
    Nd,
    advertisement,
    dad,
    ip,
    link_layer,
    link_local,
    prefix_option,
    router_advertisement,
    router_solicitation,
    solicitation,
)

HOST, ROUTER, BRIDGE = 0x5254_0000_0007, 0x5254_0000_0001, 0x0200_0000_00FE
A = "2001:db8::7"
SOURCE = link_local(HOST)


def read(message: Nd) -> Neighbour:
    neighbour = read_neighbour(message.frame)
    assert isinstance(neighbour, Neighbour), neighbour
    assert neighbour.packet.ethernet.vid == message.vid
    assert neighbour.packet.ethernet.mac == message.mac
    return neighbour


def redirect(mac: int = ROUTER) -> Nd:
    body = bytes(4) + ip("fe80::9") + ip("2001:db8::99") + link_layer(2, 9)
    return Nd(kind=137, mac=mac, source=link_local(mac), dest=SOURCE, body=body)


@pytest.mark.parametrize("vid", [0, 7])
def test_messages_with_a_target(vid: int) -> None:
    for message, target, link in (
        (dad(HOST, A, vid=vid), A, None),
        (solicitation(HOST, SOURCE, A, vid=vid), A, HOST),
        (advertisement(HOST, A, vid=vid), A, HOST),
        (advertisement(HOST, A, dest=SOURCE, vid=vid), A, HOST),
        (redirect().but(vid=vid), "fe80::9", 9),
    ):
        neighbour = read(message)
        assert (neighbour.kind, neighbour.target) == (message.kind, ip(target))
        assert (neighbour.link_layer, neighbour.prefixes) == (link, ())
        assert neighbour.packet.source == ip(message.source)
        assert neighbour.solicited is (message.dest == SOURCE and message.kind == 136)


def test_router_solicitations() -> None:
    assert read(router_solicitation(HOST)).link_layer == HOST
    assert read(router_solicitation(HOST, "::"))[2:] == (None, None, False, ())


def test_the_prefixes_of_a_router() -> None:
    message = router_advertisement(
        ROUTER,
        prefix_option("2001:db8:1:2::99", 64, 1800),
        prefix_option("2001:db8:2::", 48, 0xFFFFFFFF, 0x80),
        prefix_option("2001:db8:3::", 64, 0, 0x40),
        prefix_option("fe80::", 64),  # to be ignored (RFC 4862 5.5.3)
        prefix_option("ff02::", 16),
        prefix_option("2001:db8:4::", 129),
        bytes((3, 1)) + bytes(6),
        bytes((5, 1)) + bytes(6),
    )
    neighbour = read(message)
    assert neighbour.link_layer == ROUTER
    assert neighbour.prefixes == (
        Prefix(ip("2001:db8:1:2::"), 64, True, True, 1800.0),
        Prefix(ip("2001:db8:2::"), 48, True, False, None),
        Prefix(ip("2001:db8:3::"), 64, False, True, 0.0),
    )


def test_prefixes_are_of_routers_only() -> None:
    message = solicitation(HOST, SOURCE, A)
    assert read(message.but(body=message.body + prefix_option("2001:db8::", 64))).prefixes == ()


def test_extension_headers_before_a_message() -> None:
    chain = bytes((58, 0)) + bytes(6)
    assert read(dad(HOST, A).but(first=60, chain=chain)).target == ip(A)


DAD, NS, NA = dad(HOST, A), solicitation(HOST, SOURCE, A), advertisement(HOST, A)
RA = router_advertisement(ROUTER, prefix_option("2001:db8::", 64))
MALFORMED = {
    "nd_other": [
        DAD.but(kind=128),
        DAD.but(body=b"", kind=0),
        DAD.but(first=6),
        DAD.but(first=59),
    ],
    "nd_truncated": [
        NS.but(body=NS.body[:19]),
        NA.but(body=NA.body[:19]),
        RA.but(body=RA.body[:11]),
        router_solicitation(HOST).but(body=b""),
        redirect().but(body=redirect().body[:35]),
    ],
    "nd_hop_limit": [NS.but(hops=254), RA.but(hops=64)],
    "nd_code": [NS.but(code=1)],
    "nd_checksum": [NS.but(checked=False)],
    "nd_options": [
        NS.but(body=NS.body + b"\1"),
        NS.but(body=NS.body + b"\1\0" + bytes(6)),
        NS.but(body=NS.body + b"\1\2" + bytes(6)),
        NS.but(body=NS.body[:20] + b"\1\2" + bytes(14)),  # not of Ethernet
    ],
    "nd_address": [
        dad(HOST, "ff02::1").but(dest="ff02::1:ff00:1"),
        NS.but(body=bytes(4) + bytes(16)),
        NA.but(body=bytes(4) + ip("ff02::1")),
        DAD.but(body=DAD.body + link_layer(1, HOST)),
        DAD.but(dest="ff02::1"),
        DAD.but(dest=A),
        NA.but(source="::"),
        RA.but(source="::"),
        RA.but(source=A),
        redirect().but(source=A),
        NS.but(source="ff02::1"),
        NA.but(body=struct.pack("!I", 0x60000000) + NA.body[4:]),  # solicited, to a group
        router_solicitation(HOST).but(source="::"),
    ],
    "ip_fragment": [DAD.but(first=44, chain=bytes((58, 0)) + bytes(6))],
}


@pytest.mark.parametrize(
    ("reason", "message"), [(reason, each) for reason, all_ in MALFORMED.items() for each in all_]
)
def test_malformed_messages(reason: str, message: Nd) -> None:
    assert read_neighbour(message.frame) == Malformed(reason)


def test_ipv4_is_not_neighbour_discovery() -> None:
    frame = frames.ethernet(
        HOST, ROUTER, 0x0800, frames.ipv4("10.0.0.7", "10.0.0.1", bytes(24), 58)
    )
    assert read_neighbour(frame) == Malformed("nd_other")
    empty = frames.ethernet(HOST, ROUTER, 0x86DD, frames.ipv6(SOURCE, A, b"", 58))
    assert read_neighbour(empty) == Malformed("nd_other")


@pytest.mark.parametrize("vid", [0, 7])
def test_a_bridge_looks_for_an_address(vid: int) -> None:
    made = resolve(ip(A), BRIDGE, vid)
    assert made == solicitation(BRIDGE, link_local(BRIDGE), A, vid=vid).frame
    at = 4 if vid else 0
    assert made[:6] == bytes.fromhex("3333ff000007")
    assert made[at + 38 : at + 54] == ip("ff02::1:ff00:7")
    assert isinstance(read_neighbour(made), Neighbour)


@pytest.mark.parametrize("vid", [0, 7])
def test_a_bridge_asks_a_host_for_its_address(vid: int) -> None:
    made = probe_reachability(ip(A), HOST, BRIDGE, vid)
    assert int.from_bytes(made[:6], "big") == HOST
    neighbour = read_neighbour(made)
    assert isinstance(neighbour, Neighbour)
    assert (neighbour.target, neighbour.link_layer) == (ip(A), BRIDGE)
    assert neighbour.packet.ethernet.vid == vid
    assert (neighbour.packet.source, neighbour.packet.dest) == (ip(link_local(BRIDGE)), ip(A))


def test_masks() -> None:
    assert masked(b"\xff\xff", 0) == bytes(2)
    assert masked(b"\xff\xff", 9) == b"\xff\x80"
    assert masked(b"\xff\xff", 16) == b"\xff\xff"
