"""Links, addresses and routes through rtnetlink (pyroute2), read and changed.

Addresses and routes are sent as they were dumped, attribute by attribute, so that nothing that the
kernel reported is lost on the way to another link: metrics, protocols, preferences, lifetimes.
"""

from __future__ import annotations

import errno
import ipaddress
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from socket import AF_INET, AF_INET6
from typing import Any

from pyroute2 import IPRoute, NetlinkError
from pyroute2.netlink import (
    NLM_F_ACK,
    NLM_F_APPEND,
    NLM_F_CREATE,
    NLM_F_REPLACE,
    NLM_F_REQUEST,
    genlmsg,
)
from pyroute2.netlink.generic import GenericNetlinkSocket
from pyroute2.netlink.rtnl import (
    RTM_DELADDR,
    RTM_DELROUTE,
    RTM_NEWADDR,
    RTM_NEWROUTE,
)
from pyroute2.netlink.rtnl.ifaddrmsg import ifaddrmsg
from pyroute2.netlink.rtnl.rtmsg import rtmsg

from ofapp.host_setup import links
from ofapp.host_setup.links import FOREVER
from ofapp.host_setup.state import Address, Link, Route

NODAD = 0x02  # IFA_F_NODAD: the address was in use on this wire a moment ago, by us

Message = Any


class Netlink:
    """A connection to the kernel; to be closed."""

    def __init__(self) -> None:
        self._ip = IPRoute()

    def __enter__(self) -> Netlink:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the connection."""
        self._ip.close()

    # --- reading

    def links(self) -> tuple[Link, ...]:
        """All links with their addresses and routes."""
        messages = list(self._ip.get_links())
        names = {message["index"]: message.get("ifname") for message in messages}
        addresses: dict[int, list[Address]] = {}
        for message in self._ip.get_addr():
            addresses.setdefault(message["index"], []).append(links.address(message))
        routes: dict[int, list[Route]] = {}
        odd: dict[int, list[str]] = {}
        for message in self._ip.get_routes():
            links.sort_in(message, routes, odd)
        return tuple(
            links.link(
                message,
                names.get(message.get("master")),
                tuple(addresses.get(message["index"], ())),
                tuple(routes.get(message["index"], ())),
                tuple(odd.get(message["index"], ())),
            )
            for message in messages
        )

    def exists(self, name: str) -> bool:
        """Whether there is such a link."""
        return bool(self._ip.link_lookup(ifname=name))

    def leads_to(self, address: str) -> str | None:
        """The link that packets to the address leave by; None when there is no route."""
        family = AF_INET6 if ":" in address else AF_INET
        with suppress(NetlinkError):
            for message in self._ip.route("get", dst=address, family=family):
                return self._name(message.get("oif"))
        return None

    def neighbour(self, link: str, address: str) -> bool:
        """Whether the kernel knows the neighbour's MAC address and has no doubt of it."""
        known = 0x02 | 0x40 | 0x80  # NUD_REACHABLE, NOARP, PERMANENT
        family = AF_INET6 if ":" in address else AF_INET
        return any(
            message.get("dst") == address and message["state"] & known
            for message in self._ip.get_neighbours(family=family, ifindex=self._index(link))
        )

    def forget_neighbour(self, link: str, address: str) -> None:
        """Have the kernel ask for it again."""
        with suppress(NetlinkError):
            self._ip.neigh("del", dst=address, ifindex=self._index(link))

    # --- changing

    def make_tap(self, name: str) -> None:
        """A persistent tap device, up."""
        with _already(errno.EBUSY, errno.EEXIST):
            self._ip.link("add", ifname=name, kind="tuntap", mode="tap")
        self.set_link(name, up=True, mtu=None)

    def remove_link(self, name: str) -> None:
        """Remove a virtual link."""
        if index := self._ip.link_lookup(ifname=name):
            self._ip.link("del", index=index[0])

    def set_link(self, name: str, *, up: bool | None, mtu: int | None) -> None:
        """Set up or down and the MTU, where given."""
        values: dict[str, Any] = {}
        if up is not None:
            values["state"] = "up" if up else "down"
        if mtu is not None:
            values["mtu"] = mtu
        self._ip.link("set", index=self._index(name), **values)

    def add_address(self, link: str, address: Address) -> None:
        """Add an address; without duplicate address detection."""
        self._send_address(link, address, RTM_NEWADDR, NLM_F_CREATE | NLM_F_REPLACE)

    def remove_address(self, link: str, address: Address) -> None:
        """Remove an address."""
        with _already(errno.EADDRNOTAVAIL, errno.ENODEV):
            self._send_address(link, address, RTM_DELADDR, 0)

    def put_route(self, link: str, route: Route, *, replacing: bool) -> None:
        """Add a route, in place of the one of the same key when `replacing`."""
        how = NLM_F_CREATE | (NLM_F_REPLACE if replacing else NLM_F_APPEND)
        with _already(errno.EEXIST):
            self._send_route(link, route, RTM_NEWROUTE, how)

    def remove_route(self, link: str, route: Route) -> None:
        """Remove a route."""
        with _already(errno.ESRCH, errno.ENODEV):
            self._send_route(link, route, RTM_DELROUTE, 0)

    # --- inside

    def _send_address(self, link: str, address: Address, kind: int, flags: int) -> None:
        message = ifaddrmsg()
        set_flags = address.flags | (NODAD if address.family == AF_INET6 else 0)
        message["family"], message["prefixlen"] = address.family, address.prefix
        message["index"], message["scope"] = self._index(link), address.scope
        message["flags"] = set_flags & 0xFF
        attributes: list[tuple[str, Any]] = [
            ("IFA_LOCAL", address.address),
            ("IFA_ADDRESS", address.peer or address.address),
            ("IFA_FLAGS", set_flags),
        ]
        if address.broadcast:
            attributes.append(("IFA_BROADCAST", address.broadcast))
        if address.label and ":" in address.label:  # eth0:1 becomes br0:1
            attributes.append(("IFA_LABEL", f"{link}:{address.label.partition(':')[2]}"[:15]))
        if address.metric:
            attributes.append(("IFA_RT_PRIORITY", address.metric))
        if address.protocol and address.protocol > 3:  # 1 to 3 are the kernel's own
            attributes.append(("IFA_PROTO", address.protocol))
        attributes.append(("IFA_CACHEINFO", _lifetimes(address)))
        message["attrs"] = attributes
        self._request(message, kind, flags)

    def _send_route(self, link: str, route: Route, kind: int, flags: int) -> None:
        message = rtmsg()
        network = ipaddress.ip_network(route.destination)
        message["family"], message["dst_len"] = route.family, network.prefixlen
        message["tos"], message["proto"] = route.tos, route.protocol
        message["scope"], message["type"], message["flags"] = route.scope, route.type, route.flags
        message["table"] = min(route.table, 252)
        attributes: list[tuple[str, Any]] = [
            ("RTA_TABLE", route.table),
            ("RTA_OIF", self._index(link)),
        ]
        if network.prefixlen:
            attributes.append(("RTA_DST", str(network.network_address)))
        if route.origin:
            source = ipaddress.ip_network(route.origin)
            message["src_len"] = source.prefixlen
            attributes.append(("RTA_SRC", str(source.network_address)))
        if route.via:
            attributes.append(("RTA_VIA", {"family": route.via[0], "addr": route.via[1]}))
        for name, value in (
            ("RTA_GATEWAY", route.gateway),
            ("RTA_PREFSRC", route.source),
            ("RTA_PRIORITY", route.metric or None),
            ("RTA_PREF", route.preference),
        ):
            if value is not None:
                attributes.append((name, value))
        if route.metrics:
            attributes.append(("RTA_METRICS", {"attrs": list(route.metrics)}))
        if route.expires is not None and kind == RTM_NEWROUTE:
            attributes.append(("RTA_EXPIRES", struct.pack("=I", route.expires)))
        message["attrs"] = attributes
        self._request(message, kind, flags)

    def _request(self, message: Message, kind: int, flags: int) -> None:
        # As a batch of one: pyroute2 0.9's nlm_request of the synchronous class is broken.
        message["header"]["type"] = kind
        message["header"]["flags"] = NLM_F_REQUEST | NLM_F_ACK | flags
        self._ip.nlm_request_batch([message])

    def _index(self, name: str) -> int:
        indices = self._ip.link_lookup(ifname=name)
        if not indices:
            raise NetlinkError(errno.ENODEV, f"there is no interface {name}")
        return int(indices[0])

    def _name(self, index: int | None) -> str | None:
        for message in self._ip.get_links(index) if index else ():
            return str(message.get("ifname"))
        return None


def has_family(name: str) -> bool:
    """Whether the kernel has this generic netlink family: the module behind it is loaded."""
    with GenericNetlinkSocket() as probe, suppress(NetlinkError):
        probe.bind(name, genlmsg)
        return True
    return False


@contextmanager
def _already(*codes: int) -> Iterator[None]:
    """Ignore that a change is already in effect."""
    try:
        yield
    except NetlinkError as error:
        if error.code not in codes:
            raise


def _lifetimes(address: Address) -> dict[str, int]:
    return {
        "ifa_preferred": FOREVER if address.preferred is None else address.preferred,
        "ifa_valid": FOREVER if address.valid is None else max(1, address.valid),
        "cstamp": 0,
        "tstamp": 0,
    }
