"""Attacks on the first hop: what is run on the attacker, what is done meanwhile, what it is called.

thc-ipv6, dsniff, yersinia, and dnsmasq as a server where none belongs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.support.firsthop.bed import Guest, Lan
from tests.support.firsthop.daemon import Daemon
from tests.support.firsthop.servers import GATEWAY, GATEWAY6
from tests.support.waiting import wait_for

Words = tuple[str, ...]

FREE = "fd00:211::77"
"""An address that is used in no other way."""


@dataclass(frozen=True)
class Attack:
    """A program that a guest runs.

    claims: what is reported of it as refused, any of these; none of what the controller drops by
    itself, and counts.  provoke: what makes it act, if it waits for others' frames.
    outcome: what the victim has achieved by then all the same.
    """

    name: str
    command: Callable[[Lan], Words]
    claims: tuple[str, ...]
    provoke: Callable[[Lan], None] | None = None
    outcome: Callable[[Lan], None] | None = None

    def __str__(self) -> str:
        return self.name


def victim(lan: Lan) -> Guest:
    """The guest that is lied to."""
    return lan.guests[0]


def attacker(lan: Lan) -> Guest:
    """The guest that lies."""
    return lan.guests[1]


def gateway_ll(lan: Lan) -> str:
    """The gateway's link-local address."""
    return lan.gateway.link_local() or ""


def victim_ip6(lan: Lan) -> str:
    """The victim's global IPv6 address."""
    return victim(lan).address(6) or ""


def _words(line: str) -> Callable[[Lan], Words]:
    """The words of a command, with {victim}, {victim6}, {me}, {me6} and {router} filled in."""

    def command(lan: Lan) -> Words:
        names = {
            "victim": victim(lan).address(4),
            "victim6": victim_ip6(lan),
            "me": attacker(lan).address(4),
            "me6": attacker(lan).link_local(),
            "router": gateway_ll(lan),
        }
        return tuple(line.format(**names).split())

    return command


def _ask_for_a_lease(lan: Lan) -> None:
    words = "busybox udhcpc -f -q -n -t 1 -T 1 -i eth0 -s /bin/true -r 10.211.0.250"
    victim(lan).run(*words.split(), check=False)


def _ask_for_a_lease6(lan: Lan) -> None:
    files = ("-lf", "/run/leases", "-pf", "/run/pid", "-sf", "/bin/true")
    with Daemon(victim(lan), "dhclient", "-6", "-d", "-v", *files, "eth0") as client:
        client.wait_logged("Advertise", 5)


def _look_for_the_gateway(lan: Lan) -> None:
    victim(lan).run("ip", "neigh", "flush", "dev", "eth0")
    victim(lan).reaches(GATEWAY6, 1)


def _take_an_address(lan: Lan) -> None:
    """Duplicate address detection of an address that is free, again where it has failed."""
    words = f"{FREE}/64", "dev", "eth0"
    shown = victim(lan).run("ip", "-6", "addr", "show", "dev", "eth0", "to", FREE)
    if "tentative" not in shown or "dadfailed" in shown:
        victim(lan).run("ip", "addr", "del", *words, check=False)
        victim(lan).run("ip", "addr", "add", *words)


def _took_an_address(lan: Lan) -> None:
    """Wait until the victim has the address and uses it; take it away again."""
    wait_for(lambda: FREE in victim(lan).addresses(), f"{FREE} at {victim(lan).namespace}")
    wait_for(lambda: victim(lan).reaches(GATEWAY6, source=FREE), f"the gateway from {FREE}")
    victim(lan).run("ip", "addr", "del", f"{FREE}/64", "dev", "eth0")


ROGUE = (
    "dnsmasq --no-daemon --conf-file=/dev/null --user=root --port=0 --interface=eth0 --no-ping"
    " --pid-file=/run/pid --dhcp-leasefile=/run/leases --dhcp-authoritative"
    " --dhcp-range=10.211.0.240,10.211.0.250,255.255.255.0,2m"
)
ROGUE6 = ROGUE.rpartition(" ")[0] + " --dhcp-range=fd00:211::2:0,fd00:211::2:ff,64,2m"
ROUTER = ("router", "fragment", "source", "nd", "nested")
ND = ("nd", "fragment", "source")

ATTACKS = [
    Attack("dnsmasq", _words(ROGUE), ("dhcp-server",), _ask_for_a_lease),
    Attack("dnsmasq DHCPv6", _words(ROGUE6), ("dhcp-server",), _ask_for_a_lease6),
    Attack(
        "yersinia",
        _words("timeout 0.5 yersinia dhcp -M -attack 1 -interface eth0"),
        (),
    ),
    Attack(
        "flood_dhcpc6",
        _words("timeout 1 atk6-flood_dhcpc6 -n eth0"),
        (),
    ),
    Attack("arpspoof", _words(f"arpspoof -i eth0 -t {{victim}} {GATEWAY}"), ("arp",)),
    *(
        Attack(
            f"fake_router26{evasion and ' -E '}{evasion}",
            _words(f"atk6-fake_router26 {evasion and '-E '}{evasion} -A fd66::/64 -i 1 -n 9 eth0"),
            ROUTER,
        )
        for evasion in ("", "H", "1", "D", "F", "O", "o", "H111")
    ),
    *(
        Attack(
            f"flood_router26 {options}".strip(),
            _words(f"timeout 0.6 atk6-flood_router26 {options} eth0"),
            ROUTER,
        )
        for options in ("", "-H", "-f", "-F")  # -D crashes in this version
    ),
    *(
        Attack(
            f"fake_advertise6 {options}".strip(),
            _words(f"atk6-fake_advertise6 {options} -w 1 -n 9 eth0 {GATEWAY6}"),
            ND,
        )
        for options in ("", "-H", "-f", "-D", "-F")
    ),
    Attack(
        "fake_solicitate6",
        _words("timeout 3 atk6-fake_solicitate6 eth0 {victim6} ff02::1 02:66:66:66:66:66"),
        ND,
    ),
    Attack("parasite6", _words("atk6-parasite6 eth0"), ND, _look_for_the_gateway),
    Attack("parasite6 -F", _words("atk6-parasite6 -F eth0"), ND, _look_for_the_gateway),
    Attack(
        "redir6",
        _words("atk6-redir6 eth0 {victim6} fd99::1 {router} {me6}"),
        ("redirect", "source", "nd"),
    ),
    Attack("dos-new-ip6", _words("atk6-dos-new-ip6 eth0"), ND, _take_an_address, _took_an_address),
    Attack("kill_router6", _words("timeout 12 atk6-kill_router6 eth0 *"), ROUTER),
]
"""All of them; the gate runs `REPRESENTATIVE` only.

Left out: fake_dhcps6 does not answer dhclient; flood_advertise6 fills the kernel's table of
neighbours, which all namespaces share.
"""

REPRESENTATIVE = {
    *("dnsmasq", "yersinia", "arpspoof", "fake_router26", "fake_router26 -E D"),
    *("fake_advertise6 -F", "parasite6", "redir6", "dos-new-ip6"),
}
