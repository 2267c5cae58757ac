"""Frames of attacks, built by scapy: run by Debian's Python, which has it.

    python3 crafted.py '{"mac": ..., "victim_mac": ..., ...}'

Keys are the attacker's mac, ip, ll (link-local), the victim's and the gateway's with these
prefixes.  Prints by name a list of frames in hexadecimal.  Each is a lie of the attacker.
"""

from __future__ import annotations

import json
import struct
import sys

from scapy.all import (  # type: ignore
    ARP,
    BOOTP,
    DHCP,
    ICMP,
    IP,
    LLC,
    SNAP,
    UDP,
    Dot1Q,
    Dot3,
    Ether,
    ICMPv6ND_NA,
    ICMPv6ND_NS,
    ICMPv6ND_RA,
    ICMPv6ND_Redirect,
    ICMPv6NDOptDstLLAddr,
    ICMPv6NDOptPrefixInfo,
    ICMPv6NDOptSrcLLAddr,
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
    IPv6ExtHdrRouting,
    PadN,
    Raw,
    mac2str,
)
from scapy.layers.dhcp6 import DUID_LL, DHCP6_Advertise, DHCP6OptServerId  # type: ignore

BROADCAST, ALL_NODES = "ff:ff:ff:ff:ff:ff", "33:33:00:00:00:01"


def frames(a: dict[str, str]) -> dict[str, list[object]]:
    """By name."""
    mac, ip, ll = a["mac"], a["ip"], a["ll"]
    victim, victim_ip, victim_ip6 = a["victim_mac"], a["victim_ip"], a["victim_ip6"]
    gateway_ip, gateway_ll, gateway_mac = a["gateway_ip"], a["gateway_ll"], a["gateway_mac"]
    group = Ether(src=mac, dst=ALL_NODES, type=0x86DD)
    to_all = IPv6(src=ll, dst="ff02::1", hlim=255)
    prefix = ICMPv6NDOptPrefixInfo(prefix="fd66::", prefixlen=64)
    advert = ICMPv6ND_RA(routerlifetime=1800) / prefix / ICMPv6NDOptSrcLLAddr(lladdr=mac)
    taken = ICMPv6ND_NA(tgt=victim_ip6, R=0, S=0, O=1) / ICMPv6NDOptDstLLAddr(lladdr=mac)
    reply = {"op": 2, "hwsrc": mac, "psrc": gateway_ip, "hwdst": victim, "pdst": victim_ip}
    arp = ARP(**reply)
    padding = IPv6ExtHdrDestOpt(options=[PadN(optdata=b"\0" * 128)] * 8)
    ra, na = bytes(to_all / advert), bytes(to_all / taken)
    fragmented = bytes(to_all / padding / advert)[40:]
    offer = [("message-type", "offer"), ("server_id", ip), ("router", ip), "end"]
    bootp = {"op": 2, "yiaddr": "10.211.0.222", "siaddr": ip, "chaddr": mac2str(victim)}
    discover = [("message-type", "discover"), "end"]
    request = Ether(src=mac, dst=BROADCAST) / IP(src="0.0.0.0", dst="255.255.255.255")
    client = request / UDP(sport=68, dport=67)
    own = BOOTP(chaddr=mac2str(mac), xid=7)
    broken = bytearray(na)
    broken[-7] = 0  # the length of the option
    return {
        "arp-reply": [Ether(src=mac, dst=victim) / arp],
        "arp-request": [Ether(src=mac, dst=BROADCAST) / ARP(**(reply | {"op": 1}))],
        "arp-gratuitous": [
            Ether(src=mac, dst=BROADCAST) / ARP(op=2, hwsrc=mac, psrc=gateway_ip, pdst=gateway_ip)
        ],
        "arp-other-hardware": [
            Ether(src=mac, dst=victim) / ARP(**(reply | {"hwsrc": "02:66:66:66:66:66", "psrc": ip}))
        ],
        "arp-vlan0": [Ether(src=mac, dst=victim) / Dot1Q(vlan=0) / arp],
        "arp-vlan0-twice": [Ether(src=mac, dst=victim) / Dot1Q(vlan=0) / Dot1Q(vlan=0) / arp],
        "arp-snap": [Dot3(src=mac, dst=victim) / LLC(dsap=0xAA, ssap=0xAA, ctrl=3) / SNAP() / arp],
        "ip-source": [
            Ether(src=mac, dst=victim) / IP(src=gateway_ip, dst=victim_ip) / ICMP() / Raw(b"lie")
        ],
        "mac-source": [
            Ether(src=gateway_mac, dst=victim) / IP(src=ip, dst=victim_ip) / ICMP() / Raw(b"lie")
        ],
        "ip6-source": [
            Ether(src=mac, dst=victim)
            / IPv6(src=a["gateway_ip6"], dst=victim_ip6)
            / UDP(sport=5, dport=9)
        ],
        "link-local-source": [
            Ether(src=mac, dst=victim)
            / IPv6(src=gateway_ll, dst=victim_ip6)
            / UDP(sport=5, dport=9)
        ],
        "icmp-redirect": [
            Ether(src=mac, dst=victim)
            / IP(src=ip, dst=victim_ip)
            / ICMP(type=5, code=1, gw=ip)
            / IP(src=victim_ip, dst="192.0.2.1")
            / UDP()
        ],
        "ra": [group / ra],
        "ra-vlan0": [Ether(src=mac, dst=ALL_NODES) / Dot1Q(vlan=0, type=0x86DD) / ra],
        "ra-vlan0-twice": [
            Ether(src=mac, dst=ALL_NODES) / Dot1Q(vlan=0) / Dot1Q(vlan=0, type=0x86DD) / ra
        ],
        "ra-snap": [
            Dot3(src=mac, dst=ALL_NODES)
            / LLC(dsap=0xAA, ssap=0xAA, ctrl=3)
            / SNAP(code=0x86DD)
            / ra
        ],
        "ra-hop-by-hop": [group / to_all / IPv6ExtHdrHopByHop(options=[PadN()]) / advert],
        "ra-destination": [group / to_all / IPv6ExtHdrDestOpt(options=[PadN()]) / advert],
        "ra-routing": [group / to_all / IPv6ExtHdrRouting(segleft=0) / advert],
        "ra-many-headers": [
            group
            / to_all
            / IPv6ExtHdrHopByHop(options=[PadN()])
            / IPv6ExtHdrDestOpt(options=[PadN()])
            / IPv6ExtHdrDestOpt(options=[PadN()])
            / advert
        ],
        "ra-atomic-fragment": [group / to_all / IPv6ExtHdrFragment(nh=58, id=1) / advert],
        "ra-fragments": [
            group / to_all / IPv6ExtHdrFragment(nh=60, id=2, m=1) / Raw(fragmented[:1024]),
            group / to_all / IPv6ExtHdrFragment(nh=60, id=2, offset=128) / Raw(fragmented[1024:]),
        ],
        "na": [group / na],
        "na-snap": [
            Dot3(src=mac, dst=ALL_NODES)
            / LLC(dsap=0xAA, ssap=0xAA, ctrl=3)
            / SNAP(code=0x86DD)
            / na
        ],
        "na-option-of-length-0": [group / bytes(broken)],
        "na-atomic-fragment": [group / to_all / IPv6ExtHdrFragment(nh=58, id=3) / taken],
        "na-hop-by-hop": [group / to_all / IPv6ExtHdrHopByHop(options=[PadN()]) / taken],
        "ns-other-hardware": [
            group
            / to_all
            / ICMPv6ND_NS(tgt=victim_ip6)
            / ICMPv6NDOptSrcLLAddr(lladdr="02:66:66:66:66:66")
        ],
        "nd-redirect": [
            Ether(src=mac, dst=victim)
            / IPv6(src=ll, dst=victim_ip6, hlim=255)
            / ICMPv6ND_Redirect(tgt=ll, dst="fd99::1")
            / ICMPv6NDOptDstLLAddr(lladdr=mac)
        ],
        "dhcp-offer": [
            Ether(src=mac, dst=victim)
            / IP(src=ip, dst="255.255.255.255")
            / UDP(sport=67, dport=68)
            / BOOTP(**bootp)
            / DHCP(options=offer)
        ],
        "dhcp-other-hardware": [
            client / BOOTP(chaddr=mac2str("02:66:66:66:66:66"), xid=6) / DHCP(options=discover)
        ],
        "dhcp-option-82": [
            client
            / own
            / DHCP(options=[discover[0], ("relay_agent_information", b"\x02\x06ofapp!"), "end"])
        ],
        "dhcpv6-advertise": [
            Ether(src=mac, dst=victim)
            / IPv6(src=ll, dst=a["victim_ll"])
            / UDP(sport=547, dport=546)
            / DHCP6_Advertise(trid=1)
            / DHCP6OptServerId(duid=DUID_LL(lladdr=mac))
        ],
        "fragments-to-a-group": [
            Ether(src=mac, dst=BROADCAST)
            / IP(src=ip, dst="255.255.255.255", proto=17, flags="MF", id=5)
            / Raw(struct.pack("!HHHH", 67, 68, 16, 0))
        ],
    }


if __name__ == "__main__":
    made = frames(json.loads(sys.argv[1]))
    print(json.dumps({name: [bytes(one).hex() for one in each] for name, each in made.items()}))
