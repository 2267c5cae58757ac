"""What the sample of a refused frame says that it claims."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ofapp.bridge.first_hop.ethertypes import LLC, admitted
from ofapp.bridge.first_hop.refused.claim import Claim, read_claim
from tests.support import dhcp_frames as frames
from tests.support.dhcp_frames import Arp, Bootp, ethernet, ip, ipv4, ipv6, link_local, udp

HOST, PEER = 0x5254_0000_0007, 0x5254_0000_0001
SOURCE, A = link_local(HOST), "2001:db8::7"
SAMPLE = 128

OFFER = frames.from_server4(Bootp(op=2, mac=HOST, yiaddr="10.0.0.7"))
REDIRECT = bytes((5, 1)) + bytes(6)


def v4(payload: bytes, protocol: int = 17) -> bytes:
    return ethernet(HOST, PEER, 0x0800, ipv4("10.0.0.7", "10.0.0.1", payload, protocol))


def v6(payload: bytes, protocol: int = 17, chain: bytes = b"", source: str = A) -> bytes:
    return ethernet(HOST, PEER, 0x86DD, ipv6(source, "ff02::1", payload, protocol, 255, chain))


def nd(kind: int, source: str = A, target: bytes = ip("2001:db8::9")) -> bytes:
    return v6(bytes((kind,)) + bytes(7) + target, 58, source=source)


@pytest.mark.parametrize(
    ("frame", "kind", "address"),
    [
        (v4(bytes(400)), "source", "10.0.0.7"),
        (v4(b""), "source", "10.0.0.7"),
        (v4(bytes(8), 6), "source", "10.0.0.7"),
        (v4(bytes(8), 1), "source", "10.0.0.7"),
        (v6(bytes(400)), "source", A),
        (v6(b"", 58), "source", A),
        (v6(b"\x80" + bytes(20), 58), "source", A),
        (ethernet(HOST, PEER, 0x88B5, bytes(46)), "source", None),
        (Arp(HOST, "10.0.0.7", "10.0.0.1").frame(), "arp", "10.0.0.7"),
        (Arp(HOST, "0.0.0.0", "10.0.0.8").frame(), "arp", "10.0.0.8"),
        (Arp(HOST, "10.0.0.7", "10.0.0.1").frame()[:30], "arp", None),
        (nd(135, "::"), "nd", "2001:db8::9"),
        (nd(135), "nd", A),
        (nd(136), "nd", "2001:db8::9"),
        (nd(136, target=b""), "nd", A),
        (nd(134), "router", A),
        (nd(137), "redirect", A),
        (v4(REDIRECT, 1), "redirect", "10.0.0.7"),
        (v4(udp("10.0.0.7", "10.0.0.1", (67, 68), bytes(400))), "dhcp-server", "10.0.0.7"),
        (v4(udp("10.0.0.7", "10.0.0.1", (9, 68), b"")), "dhcp-server", "10.0.0.7"),
        (v4(udp("10.0.0.7", "10.0.0.1", (68, 67), b"")), "source", "10.0.0.7"),
        (v6(udp(A, "ff02::1", (547, 1), b"")), "dhcp-server", A),
        (v6(udp(A, "ff02::1", (1, 546), b"")), "dhcp-server", A),
        (v6(udp(A, "ff02::1", (546, 547), b"")), "source", A),
        (v6(b"", 44, bytes((58, 0)) + bytes(6)), "fragment", A),
        (v6(bytes(400), 60, bytes((58, 30)) + bytes(246)), "fragment", A),
        (v6(b"", 60)[:30], "fragment", None),
        (v4(b"")[:20] + b"\x20" + v4(b"")[21:], "fragment", "10.0.0.7"),
        (ethernet(HOST, PEER, 0x8100, b"\0\7\x08\0" + bytes(40), 7), "nested", None),
        (ethernet(HOST, PEER, 40, bytes(40)), "nested", None),
    ],
)
def test_claims(frame: bytes, kind: str, address: str | None) -> None:
    claim = read_claim(frame[:SAMPLE])
    assert claim is not None
    expected = None if address is None else ip(address)
    assert claim == Claim(claim.vid, HOST, kind, expected)
    assert claim.vid == (7 if frame[12:14] == b"\x81\0" else 0)


def test_a_tagged_frame_has_its_vlan() -> None:
    frame = Arp(HOST, "10.0.0.7", "10.0.0.1").frame(vid=7)
    assert read_claim(frame) == Claim(7, HOST, "arp", ip("10.0.0.7"))
    assert read_claim(OFFER) == Claim(0, frames.SERVER, "dhcp-server", ip("10.0.0.1"))


@given(st.binary(max_size=17))
def test_a_cut_off_header_claims_nothing_or_something(sample: bytes) -> None:
    read_claim(sample)


def test_nothing_is_claimed_by_no_frame() -> None:
    assert read_claim(b"") is None
    assert read_claim(bytes(12) + b"\x81\0\0\7") is None


IP_TYPES = admitted("ip")


@pytest.mark.parametrize("vid", [0, 7])
def test_an_ethertype_that_the_port_does_not_admit(vid: int) -> None:
    session = ethernet(HOST, PEER, 0x8864, bytes(46), vid)
    refused = Claim(vid, HOST, "ethertype", ethertype=0x8864)
    assert read_claim(session, IP_TYPES) == refused
    assert read_claim(session, admitted("ip,pppoe")) == Claim(vid, HOST, "source")
    llc = ethernet(HOST, PEER, 46, b"\xe0\xe0\x03" + bytes(43), vid)
    assert read_claim(llc, IP_TYPES) == Claim(vid, HOST, "ethertype", ethertype=LLC)
    assert read_claim(llc, admitted("ip,llc")) == Claim(vid, HOST, "nested")
    tagged = ethernet(HOST, PEER, 0x8100, bytes(46), vid or 1)
    assert read_claim(tagged, IP_TYPES) == Claim(vid or 1, HOST, "nested")
