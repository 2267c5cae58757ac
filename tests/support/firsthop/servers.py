"""DHCP servers and routers on a LAN: dnsmasq, and Kea with radvd.

The LAN is 10.211.0.0/24 and fd00:211::/64, its gateway .1 and ::1.  Leases are from .100 and
from ::1:0 on; what is below is for static addresses.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from tests.support.firsthop.daemon import Daemon
from tests.support.lab import Host
from tests.support.waiting import wait_for

GATEWAY, GATEWAY6 = "10.211.0.1", "fd00:211::1"
POOL = "10.211.0.100", "10.211.0.200"
POOL6 = "fd00:211::1:0", "fd00:211::1:ff"
POOLS = {4: POOL, 6: POOL6}
PREFIX6 = "fd00:211::/64"


def be_gateway(host: Host) -> None:
    """Give the host the gateway's addresses."""
    host.run("ip", "addr", "add", f"{GATEWAY}/24", "dev", "eth0")
    host.run("ip", "addr", "add", f"{GATEWAY6}/64", "dev", "eth0", "nodad")
    host.run("sysctl", "-q", "-w", "net.ipv6.conf.all.forwarding=1")
    wait_for(  # servers bind to it
        lambda: "tentative" not in host.run("ip", "-6", "addr", "show", "dev", "eth0"),
        "the gateway's link-local address",
    )


@contextmanager
def dnsmasq(host: Host, *options: str) -> Iterator[Daemon]:
    """DHCPv4, stateful DHCPv6 and router advertisements; leases of 2 minutes, its shortest."""
    command = (
        *("dnsmasq", "--no-daemon", "--conf-file=/dev/null", "--user=root", "--port=0"),
        *("--interface=eth0", "--bind-interfaces", "--log-dhcp", "--dhcp-authoritative"),
        *("--no-ping", "--pid-file=/run/pid", "--dhcp-leasefile=/run/leases"),
        f"--dhcp-range={POOL[0]},{POOL[1]},255.255.255.0,2m",
        *options,
    )
    six = (f"--dhcp-range={POOL6[0]},{POOL6[1]},slaac,64,2m", "--enable-ra", "--ra-param=eth0,4,60")
    with Daemon(host, *command, *(() if options else six)) as daemon:
        daemon.wait_logged("started")
        yield daemon


@contextmanager
def kea(host: Host, lifetime: int = 6) -> Iterator[tuple[Daemon, Daemon]]:
    """Kea's DHCPv4 and DHCPv6 servers with leases of so many seconds, beside radvd."""
    times = {
        "valid-lifetime": lifetime,
        "renew-timer": max(lifetime // 3, 1),
        "rebind-timer": max(lifetime * 2 // 3, 2),
        "interfaces-config": {"interfaces": ["eth0"]},
        "lease-database": {"type": "memfile", "persist": False},
    }
    four = {
        "subnet": "10.211.0.0/24",
        "pools": [{"pool": "-".join(POOL)}],
        "option-data": [{"name": "routers", "data": GATEWAY}],
    }
    six = {
        "subnet": PREFIX6,
        "interface": "eth0",
        "pools": [{"pool": "-".join(POOL6)}],
        "pd-pools": [{"prefix": "fd00:212::", "prefix-len": 48, "delegated-len": 64}],
    }
    with ExitStack() as stack:
        daemons = []
        for family, subnet in ((4, four), (6, six)):
            more = {"preferred-lifetime": lifetime} if family == 6 else {}
            name, logger = f"kea-dhcp{family}", f"Dhcp{family}"
            outputs = [{"name": name, "output_options": [{"output": "stdout"}], "severity": "INFO"}]
            config = {**times, **more, f"subnet{family}": [subnet], "loggers": outputs}
            path = f"/run/kea/{family}.json"
            daemon = Daemon(
                host,
                *(name, "-c", path),
                setup="mkdir -p /var/lib/kea /run/kea",
                files={path: json.dumps({logger: config})},
            )
            daemons.append(stack.enter_context(daemon))
        for family, daemon in zip((4, 6), daemons, strict=True):
            daemon.wait_logged(f"DHCP{family}_STARTED")
        stack.enter_context(radvd(host, managed=True))
        yield daemons[0], daemons[1]


@contextmanager
def radvd(host: Host, *, managed: bool = False) -> Iterator[Daemon]:
    """A router that advertises the LAN's prefix every few seconds."""
    flag = "AdvManagedFlag on; " if managed else ""
    text = (
        f"interface eth0 {{ AdvSendAdvert on; {flag}MinRtrAdvInterval 3; MaxRtrAdvInterval 4;"
        f" prefix {PREFIX6} {{ AdvValidLifetime 600; AdvPreferredLifetime 300; }}; }};"
    )
    words = ("radvd", "-n", "-C", "/run/radvd.conf", "-p", "/run/pid", "-m", "stderr")
    with Daemon(host, *words, files={"/run/radvd.conf": text}) as daemon:
        daemon.wait_logged("started")
        yield daemon
