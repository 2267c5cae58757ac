"""Which IP addresses hosts were heard with: what frames tell of their sender, and what is kept."""

from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ofapp.bridge.event import Event
from ofapp.bridge.fdb.fdb import Entry, EntryType, Fdb
from ofapp.bridge.fdb.ip_addresses import ADDRESSES, IpAddresses, own_address

MAC = bytes.fromhex("525400000001")
BROADCAST = b"\xff" * 6


def octets(text: str) -> bytes:
    return ip_address(text).packed


def ethernet(kind: int, content: bytes, mac: bytes = MAC, tags: bytes = b"") -> bytes:
    return BROADCAST + mac + tags + kind.to_bytes(2, "big") + content


def arp(address: str, mac: bytes = MAC, sender: bytes | None = None, tags: bytes = b"") -> bytes:
    body = bytes.fromhex("000108000604") + b"\0\1" + (sender or mac) + octets(address) + bytes(10)
    return ethernet(0x0806, body, mac, tags)


def ipv4(address: str, ttl: int = 64, protocol: int = 17) -> bytes:
    head = b"\x45" + bytes(7) + bytes([ttl, protocol]) + bytes(2) + octets(address) + bytes(4)
    return ethernet(0x0800, head)


def solicitation(target: str, source: str = "::", hops: int = 255, type_: int = 135) -> bytes:
    body = bytes([type_, 0, 0, 0, 0, 0, 0, 0]) + octets(target)
    head = b"\x60" + bytes(5) + bytes([58, hops]) + octets(source) + octets("ff02::1:ff00:7")
    return ethernet(0x86DD, head + body)


def ipv6(address: str, hops: int = 64) -> bytes:
    return ethernet(0x86DD, b"\x60" + bytes(6) + bytes([hops]) + octets(address) + bytes(24))


TAG, TWO_TAGS = bytes.fromhex("81000007"), bytes.fromhex("88a8000781000008")


@pytest.mark.parametrize(
    ("frame", "address"),
    [
        (arp("10.0.0.7"), "10.0.0.7"),
        (arp("10.0.0.7", tags=TAG), "10.0.0.7"),
        (arp("10.0.0.7", tags=TWO_TAGS), None),  # content, as the switch forwards it
        (arp("0.0.0.0"), None),  # a probe (RFC 5227): it has none yet
        (arp("10.0.0.7", sender=BROADCAST), None),  # for another host
        (arp("10.0.0.7")[:30], None),  # cut off
        (ipv4("10.0.0.7"), "10.0.0.7"),
        (ipv4("10.0.0.7", ttl=128), "10.0.0.7"),
        (ipv4("192.0.2.1", ttl=57), None),  # a router has passed it on
        (ipv4("10.0.0.7", ttl=1, protocol=2), "10.0.0.7"),  # IGMP, which none passes on
        (ipv4("224.0.0.1"), None),
        (ipv4("127.0.0.1"), None),
        (ipv4("255.255.255.255"), None),
        (ipv6("2001:db8::7"), "2001:db8::7"),
        (ipv6("2001:db8::7", hops=61), None),
        (ipv6("fe80::7", hops=1), "fe80::7"),  # link-local: no router passes it on
        (ipv6("::"), None),
        (solicitation("2001:db8::9"), "2001:db8::9"),  # looks for others with its address
        (solicitation("2001:db8::9", source="fe80::7"), "fe80::7"),  # looks for another host
        (solicitation("2001:db8::9", hops=61), None),
        (solicitation("2001:db8::9", type_=136), None),
        (solicitation("2001:db8::9")[:64], None),
        (ipv6("::1"), None),
        (ipv6("ff02::1"), None),
        (ipv6("2001:db8::7")[:30], None),
        (ethernet(0x88CC, bytes(46)), None),
        (b"", None),
    ],
)
def test_a_frame_tells_its_senders_own_address(frame: bytes, address: str | None) -> None:
    assert own_address(frame) == (None if address is None else octets(address))


def test_what_the_switch_copies_is_enough() -> None:
    for frame in (arp("10.0.0.7", tags=TAG), ipv4("10.0.0.7"), ipv6("2001:db8::7")):
        assert own_address((frame + bytes(100))[:64]) is not None


KINDS = [bytes.fromhex(kind) for kind in ("0806", "0800", "86dd", "8100")]


@given(st.binary(max_size=80), st.sampled_from(KINDS))
def test_no_frame_is_too_odd(content: bytes, kind: bytes) -> None:
    address = own_address(BROADCAST + MAC + kind + content)
    assert address is None or len(address) in (4, 16)


def database(*hosts: tuple[int, int, bytes]) -> Fdb:
    """Of (port, VID, MAC)."""
    fdb = Fdb()
    for port, vid, mac in hosts:
        fdb.add(vid, int.from_bytes(mac, "big"), Entry(port, EntryType.LEARNED, 1, 0.0))
    return fdb


def number(index: int) -> bytes:
    return (0x525400 << 24 | index).to_bytes(6, "big")


def addresses_of(book: IpAddresses, mac: bytes = MAC, vid: int = 0) -> list[str]:
    return [str(ip_address(each)) for each in book.of(vid, int.from_bytes(mac, "big"))]


def test_the_last_one_comes_first_and_each_once() -> None:
    book = IpAddresses(database((1, 0, MAC)))
    book.hear([(1, arp("10.0.0.1")), (1, ipv6("fe80::1")), (1, arp("10.0.0.1"))])
    assert addresses_of(book) == ["10.0.0.1", "fe80::1"]


def test_vlans_are_apart() -> None:
    book = IpAddresses(database((1, 0, MAC), (1, 7, MAC)))
    book.hear([(1, arp("10.0.0.1")), (1, arp("10.0.7.1", tags=TAG))])
    assert (addresses_of(book), addresses_of(book, vid=7)) == (["10.0.0.1"], ["10.0.7.1"])


def test_who_claims_many_has_the_last_few() -> None:
    book = IpAddresses(database((1, 0, MAC)))
    book.hear([(1, arp(f"10.0.0.{last}")) for last in range(1, 101)])
    assert addresses_of(book) == ["10.0.0.100", "10.0.0.99", "10.0.0.98", "10.0.0.97"]
    assert book.counters["ip_addresses_replaced"] == 100 - ADDRESSES


def test_many_addresses_of_one_family_do_not_displace_the_other() -> None:
    book = IpAddresses(database((1, 0, MAC)))
    book.hear([(1, arp("10.0.0.7")), *((1, ipv6(f"2001:db8::{last}")) for last in range(1, 10))])
    assert addresses_of(book)[-1] == "10.0.0.7"
    assert len(addresses_of(book)) == 1 + ADDRESSES


def test_another_port_does_not_speak_for_a_host() -> None:
    book = IpAddresses(database((1, 0, MAC)))
    book.hear([(1, arp("10.0.0.1")), (2, arp("10.6.6.6"))])
    assert addresses_of(book) == ["10.0.0.1"]


def test_who_is_not_known_any_more_is_not_found_and_makes_room() -> None:
    fdb = database(*((1, 0, number(index)) for index in range(4)))
    book = IpAddresses(fdb, hosts=4)
    book.hear([(1, arp(f"10.0.0.{index}", number(index))) for index in range(1, 5)])
    fdb.remove(0, int.from_bytes(number(2), "big"))
    assert book.having(octets("10.0.0.2")) == frozenset()
    assert len(list(book.hosts())) == 2  # 1 and 3: 4 is not learned
    for _ in range(2):
        book.hear([(1, arp("10.0.0.9", number(9)))])
    assert addresses_of(book, number(9)) == ["10.0.0.9"]
    assert addresses_of(book, number(1)) == ["10.0.0.1"]
    assert addresses_of(book, number(2)) == []


def test_a_full_book_says_so_once_and_again_when_there_is_room() -> None:
    fdb = database(*((1, 0, number(index)) for index in range(16)))
    book = IpAddresses(fdb, hosts=16)
    assert book.hear([(1, arp(f"10.0.0.{index + 1}", number(index))) for index in range(16)]) == []
    (full,) = book.hear([(1, arp("10.0.1.1", number(100 + index))) for index in range(20)])
    assert isinstance(full, Event)
    assert (full.kind, full.data) == ("fdb.ip_full", {"hosts": 16})
    assert book.counters["ip_hosts_refused"] == 20
    assert len(book) == 16
    for index in range(16):
        fdb.remove(0, int.from_bytes(number(index), "big"))
    events: list[object] = []
    for _ in range(4):
        events += book.hear([(1, arp("10.0.1.1", number(100)))])
    assert [event.kind for event in events if isinstance(event, Event)] == ["fdb.ip_full.cleared"]
    assert addresses_of(book, number(100)) == ["10.0.1.1"]


def test_a_port_with_many_hosts_makes_room_for_hosts_of_others() -> None:
    """A host that invents others fills the table, and not for the others."""
    invented = [(1, 0, number(index)) for index in range(16)]
    book = IpAddresses(database(*invented, (2, 0, number(100)), (3, 0, number(200))), hosts=16)
    book.hear([(1, arp(f"10.0.0.{index + 1}", number(index))) for index in range(16)])
    for _ in range(3):
        book.hear([(2, arp("10.0.1.1", number(100))), (3, arp("10.0.1.2", number(200)))])
    assert addresses_of(book, number(100)) == ["10.0.1.1"]
    assert addresses_of(book, number(200)) == ["10.0.1.2"]
    assert len(book) == 16
    assert book.counters["ip_hosts_displaced"] == 2
    (full,) = book.hear([(1, arp("10.0.1.1", number(50 + index))) for index in range(20)])
    assert isinstance(full, Event)
    assert full.port == 1
    assert addresses_of(book, number(100)) == ["10.0.1.1"]
