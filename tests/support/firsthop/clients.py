"""DHCP clients as Linux distributions ship them, each in a host's namespace."""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import dataclass

from tests.support.firsthop.daemon import Daemon
from tests.support.lab import Host

HOOK = """#!/bin/sh
[ "$reason" ] || reason=$1
echo "hook $reason $ip$new_ip_address$new_ip6_address$new_ip6_prefix"
case $reason in
PREINIT|PREINIT6) ip link set $interface up;;
bound|renew)
    ip addr replace $ip/$mask dev $interface
    [ -z "$router" ] || ip route replace default via $router;;
deconfig|EXPIRE|FAIL|RELEASE|STOP) ip -4 addr flush dev $interface;;
BOUND|RENEW|REBIND|REBOOT)
    ip addr replace $new_ip_address/$new_subnet_mask dev $interface
    [ -z "$new_routers" ] || ip route replace default via $new_routers;;
BOUND6|RENEW6|REBIND6)
    [ -z "$new_ip6_address" ] || ip addr replace $new_ip6_address/128 dev $interface;;
EXPIRE6|RELEASE6|STOP6) ip addr del $old_ip6_address/128 dev $interface;;
esac
exit 0
"""
_HOOK_AT = "/run/hook"

NETWORK_FILE = """[Match]
Name=eth0
[Network]
DHCP=yes
IPv6AcceptRA=yes
[DHCPv4]
SendRelease=yes
ClientIdentifier=mac
"""


def _udhcpc(host: Host) -> Daemon:
    words = ("busybox", "udhcpc", "-f", "-i", "eth0", "-t", "10", "-T", "1", "-s", _HOOK_AT)
    return _with_hook(host, *words)


def _dhclient(host: Host) -> Daemon:
    where = ("-lf", "/run/leases", "-pf", "/run/pid", "-sf", _HOOK_AT)
    return _with_hook(host, "dhclient", "-4", "-d", "-v", *where, "eth0")


def _dhclient6(host: Host) -> Daemon:
    """Again until it can bind to the link-local address."""
    where = "-lf /run/leases -pf /run/pid -sf /run/hook"
    words = f"until dhclient -6 -d -v {where} eth0; do sleep 0.2; done"
    return _with_hook(host, "sh", "-c", words)


def _dhcpcd(host: Host) -> Daemon:
    """With RFC 5227's probes, SLAAC and stateful DHCPv6."""
    text = "option rapid_commit\nrequire dhcp_server_identifier\nslaac hwaddr\n"
    words = ("dhcpcd", "-B", "-d", "-f", "/run/conf", "-c", "/bin/true", "eth0")
    return Daemon(host, *words, setup="mkdir -p /var/lib/dhcpcd", files={"/run/conf": text})


def _networkd(host: Host) -> Daemon:
    """A read-only /sys stands for a container, where no udev is waited for."""
    return Daemon(
        host,
        *("env", "SYSTEMD_LOG_TARGET=console", "SYSTEMD_LOG_LEVEL=debug"),
        "/lib/systemd/systemd-networkd",
        setup="mount -o remount,bind,ro /sys\n"
        "mkdir -p /run/systemd/netif; chown -R systemd-network /run/systemd",
        files={"/etc/systemd/network/eth0.network": NETWORK_FILE},
    )


def _with_hook(host: Host, *words: str) -> Daemon:
    return Daemon(host, *words, setup=f"chmod +x {_HOOK_AT}", files={_HOOK_AT: HOOK})


@dataclass(frozen=True)
class Kind:
    """A client: what starts it, and the families in which it gets a lease."""

    start: Callable[[Host], Daemon]
    families: tuple[int, ...]
    release: int | None = None

    def __str__(self) -> str:
        return self.start.__name__.lstrip("_")


UDHCPC = Kind(_udhcpc, (4,), release=signal.SIGUSR2)
DHCLIENT = Kind(_dhclient, (4,))
DHCLIENT6 = Kind(_dhclient6, (6,))
DHCPCD = Kind(_dhcpcd, (4, 6), release=signal.SIGALRM)
NETWORKD = Kind(_networkd, (4, 6), release=signal.SIGTERM)
KINDS = (UDHCPC, DHCLIENT, DHCLIENT6, DHCPCD, NETWORKD)
