"""Links, addresses and routes as pyroute2 dumps them, made into values; settings beside netlink.

Programs that set addresses on a link are found by their files: a hint, no proof.  Nothing of theirs
is changed: the program that manages the NIC must manage the bridge instead, in a configuration that
only the host's administrator knows.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from socket import AF_INET6
from typing import Any

from pyroute2.ethtool.ethtool import Ethtool

from ofapp.host_setup.state import OFFLOADS, Address, Link, LinkState, Route, made_by_kernel
from ofapp.host_setup.wanted import TAKEN_OVER

PROC = Path("/proc/sys/net")
FOREVER = 0xFFFFFFFF
IFF_UP, IFF_LOOPBACK, IFF_PROMISC, IFF_LOWER_UP = 0x1, 0x8, 0x100, 0x10000
# What may be set: IFA_F_HOMEADDRESS, MANAGETEMPADDR, NOPREFIXROUTE, MCAUTOJOIN.
SETTABLE = 0x10 | 0x100 | 0x200 | 0x400
ONLINK = 0x4  # RTNH_F_ONLINK
CLONED = 0x200  # RTM_F_CLONED
LOCAL_TABLE = 255
TICKS = os.sysconf("SC_CLK_TCK")
CHECKSUMS = ("tx-checksum-ip-generic", "tx-checksum-ipv4")

Message = Any


def link(
    message: Message,
    master: str | None,
    addresses: tuple[Address, ...],
    routes: tuple[Route, ...],
    odd: tuple[str, ...],
) -> Link:
    name, flags = message.get("ifname"), message["flags"]
    info = message.get("linkinfo")
    state = LinkState(
        name,
        up=bool(flags & IFF_UP),
        mtu=message.get("mtu"),
        settings=settings(name),
        offloads=_on(OFFLOADS, name),
        addresses=addresses,
        routes=tuple(route for route in routes if not made_by_kernel(route, addresses)),
    )
    speed, half_duplex = _speed(name)
    return Link(
        state,
        index=message["index"],
        kind=(info.get("kind") if info else None) or "",
        mac=message.get("address") or "",
        max_mtu=message.get("max_mtu") or 65535,
        carrier=bool(flags & IFF_LOWER_UP),
        loopback=bool(flags & IFF_LOOPBACK),
        promiscuous=bool(flags & IFF_PROMISC or message.get("promiscuity")),
        master=master,
        speed_mbps=speed,
        half_duplex=half_duplex,
        checksums_later=bool(_on(CHECKSUMS, name)),
        other_end=None if message.get("link_netnsid") is not None else message.get("link"),
        odd_routes=odd,
        managers=managers_of(name, message["index"], addresses),
    )


def address(message: Message) -> Address:
    local, other = message.get("local"), message.get("address")
    cache = message.get("cacheinfo") or {}
    return Address(
        message["family"],
        address=local or other,
        prefix=message["prefixlen"],
        peer=other if local and other != local else None,
        broadcast=message.get("broadcast"),
        scope=message["scope"],
        flags=(message.get("IFA_FLAGS") or message["flags"]) & SETTABLE,
        label=message.get("label"),
        metric=message.get("IFA_RT_PRIORITY"),
        protocol=message.get("IFA_PROTO"),
        valid=_time(cache.get("ifa_valid", FOREVER)),
        preferred=_time(cache.get("ifa_preferred", FOREVER)),
    )


def sort_in(message: Message, routes: dict[int, list[Route]], odd: dict[int, list[str]]) -> None:
    if message.get("table") == LOCAL_TABLE or message["flags"] & CLONED:
        return
    route = _route(message)
    hops = message.get("multipath")
    peculiar = message.get("RTA_NH_ID") or message.get("RTA_ENCAP_TYPE")
    for hop in hops or ():
        odd.setdefault(hop["oif"], []).append(f"{route} (several next hops)")
    link = message.get("oif")
    if link and peculiar:
        odd.setdefault(link, []).append(f"{route} (next hop object or encapsulation)")
    elif link:
        routes.setdefault(link, []).append(route)


def _route(message: Message) -> Route:
    family = message["family"]
    nowhere = "::" if family == AF_INET6 else "0.0.0.0"
    origin = message.get("src")
    via = message.get("RTA_VIA")
    metrics = message.get("metrics")
    cache = message.get("cacheinfo") or {}
    expires = cache.get("rta_expires", 0)
    return Route(
        family,
        f"{message.get('dst') or nowhere}/{message['dst_len']}",
        table=message.get("table"),
        tos=message["tos"],
        metric=message.get("priority") or 0,
        protocol=message["proto"],
        scope=message["scope"],
        type=message["type"],
        flags=message["flags"] & ONLINK,
        gateway=message.get("gateway"),
        via=(via["family"], via["addr"]) if via else None,
        source=message.get("prefsrc"),
        origin=f"{origin}/{message['src_len']}" if origin else None,
        metrics=tuple((name, value) for name, value in metrics["attrs"]) if metrics else (),
        preference=message.get("RTA_PREF"),
        expires=expires // TICKS if expires > 0 else None,
    )


def settings(link: str) -> tuple[tuple[str, int], ...]:
    """Read the sysctls in `wanted.TAKEN_OVER`; those of link "default" apply to new links."""
    values = []
    for name in TAKEN_OVER:
        family, _, key = name.partition("/")
        with suppress(OSError, ValueError):
            values.append((name, int((PROC / family / "conf" / link / key).read_text())))
    return tuple(values)


def set_setting(link: str, name: str, value: int) -> None:
    """Write /proc/sys/net/FAMILY/conf/LINK/KEY."""
    family, _, key = name.partition("/")
    (PROC / family / "conf" / link / key).write_text(str(value))


def set_offloads(link: str, on: tuple[str, ...]) -> None:
    """Have just these of OFFLOADS on, as far as the link has them."""
    with _ethtool() as ethtool:
        features = ethtool.get_features(link)
        for name in OFFLOADS:
            if name in features.features and features.features[name].available:
                features.features[name].enable = name in on
        ethtool.set_features(link, features)


def _on(names: tuple[str, ...], link: str) -> tuple[str, ...]:
    """Return the enabled features; none if the driver does not report them."""
    with suppress(Exception), _ethtool() as ethtool:
        features: Any = ethtool.get_features(link).features
        return tuple(name for name in names if name in features and features[name].enable)
    return ()


def _speed(link: str) -> tuple[int | None, bool]:
    """The speed in Mbit/s, None if it is not known, and whether the link is at half duplex."""
    with suppress(Exception), _ethtool() as ethtool:
        mode: Any = ethtool.get_link_mode(link)
        known = isinstance(mode.speed, int) and mode.speed not in NO_SPEED
        return mode.speed if known else None, known and mode.duplex == "Half"
    return None, False


@contextmanager
def _ethtool() -> Iterator[Ethtool]:
    ethtool = Ethtool()
    try:
        yield ethtool
    finally:
        ethtool.close()


NO_SPEED = 0, 0xFFFF, 0xFFFF_FFFF
"""Values of an unknown speed (SPEED_UNKNOWN of ethtool, which has 16 bits in its old form)."""


def _time(seconds: int) -> int | None:
    return None if seconds == FOREVER else seconds


ROOT = Path("/")
DHCP_CLIENTS = ("dhclient", "dhcpcd", "udhcpc")


def managers_of(
    link: str, index: int, addresses: tuple[Address, ...], root: Path = ROOT
) -> tuple[str, ...]:
    """The managers of a link that carries addresses."""
    if all(address.link_local for address in addresses) or link == "lo":
        return ()
    names = []
    if "managed=true" in _read(root / f"run/NetworkManager/devices/{index}"):
        names.append("NetworkManager")
    if "ADMIN_STATE=configured" in _read(root / f"run/systemd/netif/links/{index}"):
        names.append("systemd-networkd")
    if f"{link}=" in _read(root / "run/network/ifstate"):
        names.append("ifupdown (/etc/network/interfaces)")
    names += _dhcp_clients(link, root)
    if not names and any(address.family == 2 and address.valid for address in addresses):
        names.append("a DHCP client (the address has a lifetime)")
    return tuple(names)


def _dhcp_clients(link: str, root: Path) -> list[str]:
    """DHCP clients whose command line names the link, in this network namespace."""
    clients = []
    here = _namespace(root / "proc/self")
    for process in (root / "proc").glob("[0-9]*"):
        words = _read(process / "cmdline").split("\0")
        program = Path(words[0]).name if words else ""
        if program in DHCP_CLIENTS and link in words[1:] and _namespace(process) == here:
            clients.append(f"{program} (process {process.name})")
    return clients


def _namespace(process: Path) -> str:
    with suppress(OSError):
        return str((process / "ns/net").readlink())
    return ""


def _read(path: Path) -> str:
    with suppress(OSError):
        return path.read_text(errors="replace")
    return ""
