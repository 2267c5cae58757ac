"""The Linux bridge as a querier on the LAN, as a host among hosts."""

from __future__ import annotations

from tests.support.lab import Host, sh

LAST_MEMBER = 0.4
"""Seconds from a leave to the end of a stream: two questions, each given half of it."""


def kernel_querier(
    host: Host, *, igmp: int = 3, mld: int = 2, interval: float = 1.0, use_ifaddr: bool = True
) -> None:
    """Put a bridge over the host's eth0 and let it ask, from a separate address.

    Without mcast_query_use_ifaddr Linux asks from 0.0.0.0, and a switch sees no router there.  With
    a global IPv6 address it asks about MLDv2 groups of global scope from that, and hosts, switches
    and Linux itself discard such questions (RFC 3810 5.1.14): so it has none.
    """
    for words in (
        "link add br0 type bridge",
        "addr del {ip}/24 dev eth0",
        "addr del {ip6}/64 dev eth0",
        "link set br0 address {mac}",
        "addr add {ip}/24 dev br0",
        "link set br0 type bridge mcast_querier 1 mcast_query_use_ifaddr {use_ifaddr}"
        " mcast_query_interval {interval} mcast_startup_query_interval {interval}"
        " mcast_query_response_interval 20 mcast_last_member_interval 20"
        " mcast_igmp_version {igmp} mcast_mld_version {mld}",
        "link set eth0 master br0",
        "link set br0 up",
    ):
        line = words.format(
            ip=host.ip,
            ip6=host.ip6,
            mac=host.mac,
            igmp=igmp,
            mld=mld,
            interval=round(interval * 100),
            use_ifaddr=int(use_ifaddr),
        )
        host.run("ip", *line.split())


def put_behind(host: Host, far: Host) -> None:
    """Plug a host that is in no switch into the bridge of `kernel_querier`."""
    sh("ip", "link", "set", far.plug, "netns", host.namespace)
    host.run("ip", "link", "set", far.plug, "master", "br0", "up")


def set_querier(host: Host, *words: object) -> None:
    """Change it: `set_querier(host, "mcast_querier", 0)`."""
    host.run("ip", "link", "set", "br0", "type", "bridge", *words)
