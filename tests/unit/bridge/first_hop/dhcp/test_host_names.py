"""Names of hosts in DHCP requests: option 12 of DHCPv4, option 39 of DHCPv6."""

from tests.support.dhcp_frames import (
    INFORM,
    REQUEST,
    SOLICIT,
    Bootp,
    from_client4,
    ia_na,
    option6,
    request6,
)
from tests.unit.bridge.first_hop.dhcp.snooped import GUEST, HOST, OTHER, OTHER_HOST, snooping


def request(name: bytes, mac: int = HOST, kind: int = REQUEST) -> Bootp:
    return Bootp(mac=mac, kind=kind, options=((12, name),))


def test_a_request_has_the_name_of_its_host_which_may_change() -> None:
    dhcp = snooping()
    for name in (b"laptop", b"laptop2"):
        assert dhcp.from_client(GUEST, from_client4(request(name)), 0.0).frame is not None
        assert dhcp.names.of(HOST) == name.decode()


def test_a_request_of_ipv6_has_it_in_wire_format() -> None:
    dhcp = snooping()
    name = option6(39, b"\0\x06laptop\x03lan\0")
    dhcp.from_client(GUEST, request6(HOST, ia_na(), name, kind=SOLICIT), 0.0)
    assert dhcp.names.of(HOST) == "laptop.lan"


def test_a_hostile_name_is_counted_and_its_request_passes() -> None:
    dhcp = snooping()
    verdict = dhcp.from_client(GUEST, from_client4(request(b"<script>")), 0.0)
    assert verdict.frame is not None
    assert (dhcp.names.of(HOST), dhcp.names.refused) == (None, 1)


def test_a_dropped_request_names_no_host() -> None:
    dhcp = snooping()
    forged = from_client4(request(b"other", mac=OTHER_HOST), mac=HOST)
    assert dhcp.from_client(GUEST, forged, 0.0).frame is None
    dhcp.from_client(OTHER, from_client4(request(b"later", kind=INFORM)), 0.0)
    assert dhcp.names.of(OTHER_HOST) is dhcp.names.of(HOST) is None
