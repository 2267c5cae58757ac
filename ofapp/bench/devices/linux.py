"""The kernel's forwarding: none (a cable), its bridge, its routing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ofapp.bench.bed import DEVICE_SPACE, Bed, raise_up, remove_link
from ofapp.bench.devices import Device, Up
from ofapp.bench.frames import ADDRESS, GATEWAY, Side, mac
from ofapp.bench.spaces import netlink, sysctl

_ROUTER_HOST = 0xFFFFFE


class Wire(Device):
    """A cable: what the generator and the ends can do."""

    label = "wire"
    learns = False

    @contextmanager
    def up(self, bed: Bed, hosts: int) -> Iterator[Up]:
        with bed.wire():
            yield Up()


class External(Device):
    """A device that exists already between the given interfaces."""

    label = "external"

    @contextmanager
    def up(self, bed: Bed, hosts: int) -> Iterator[Up]:
        with bed.cabled(None):
            yield Up()


class LinuxBridge(Device):
    """The kernel's bridge as it is made by default, without spanning tree or snooping."""

    label = "Linux bridge"

    @contextmanager
    def up(self, bed: Bed, hosts: int) -> Iterator[Up]:
        space = bed.space(DEVICE_SPACE)
        names = [f"br{number}" for number, _ in enumerate(bed.groups)]
        with bed.cabled(space):
            for name, ports in zip(names, bed.groups, strict=True):
                self._make(space, name, ports)
                raise_up(space, name, bed.mtu)
            try:
                yield Up(space=space)
            finally:
                for name in names:
                    remove_link(space, name)

    @staticmethod
    def _make(space: str, name: str, ports: Sequence[str]) -> None:
        with netlink(space) as kernel:
            kernel.link("add", ifname=name, kind="bridge", br_stp_state=0, br_mcast_snooping=0)
            (bridge,) = kernel.link_lookup(ifname=name)
            for port in ports:
                (index,) = kernel.link_lookup(ifname=port)
                kernel.link("set", index=index, master=bridge)


class LinuxRouter(Device):
    """The kernel's IPv4 forwarding between two networks."""

    label = "Linux router"
    learns = False

    @contextmanager
    def up(self, bed: Bed, hosts: int) -> Iterator[Up]:
        space = bed.space(DEVICE_SPACE)
        with bed.cabled(space) as ports:
            with netlink(space) as kernel:
                sysctl("ipv4/ip_forward", 1)
                for side, port in zip(Side, ports, strict=False):
                    (index,) = kernel.link_lookup(ifname=port)
                    router, other = mac(side, _ROUTER_HOST).hex(":"), mac(side).hex(":")
                    kernel.link("set", index=index, address=router)
                    kernel.addr("replace", index=index, address=GATEWAY[side], prefixlen=24)
                    kernel.neigh(
                        "replace", dst=ADDRESS[side], lladdr=other, ifindex=index, state="permanent"
                    )
            yield Up(gateway=mac(Side.TX, _ROUTER_HOST), space=space)
