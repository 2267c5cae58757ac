"""ofapp on Open vSwitch with DPDK: ports on AF_PACKET and AF_XDP devices, and a vhost-user guest.

Without hugepages, and without a NIC that DPDK could drive.
"""

from __future__ import annotations

import itertools
import os
from types import SimpleNamespace

import pytest

from tests.guest.qemu import NO_OFFLOADS, Guest
from tests.support.debs import dpdk_switch
from tests.support.hosts import wait_known
from tests.support.ownswitch import ControllerInside, OwnSwitch
from tests.support.traffic import tcp_mbps
from tests.support.waiting import wait_for

SETTINGS = (
    "other_config:dpdk-init=true",
    # Without --legacy-mem DPDK refuses to do without hugepages.
    'other_config:dpdk-extra="--no-huge --legacy-mem --no-pci -m 1024 --file-prefix=ofapp-test"',
    f"other_config:dpdk-lcore-mask={1 << min(os.sched_getaffinity(0)):#x}",
    # One pool of buffers for all would be too large for this memory: vhost-user ports then vanish.
    "other_config:per-port-memory=true",
)
GUEST = SimpleNamespace(number=3, ip="10.211.0.3", ip6="fd00:211::3", mac="52:54:00:0a:02:03")


@pytest.fixture(scope="module")
def switch():
    """DPDK polls: it keeps a CPU busy."""
    switch = OwnSwitch(dpdk_switch(), *SETTINGS)
    try:
        switch.start()
        yield switch
    finally:
        switch.close()


@pytest.fixture(scope="module")
def guest(switch, image):
    """A virtual machine whose NIC is shared memory with the switch."""
    socket = switch.dir / "vhost"
    port = ("type=dpdkvhostuserclient", f"options:vhost-server-path={socket}")
    switch.add_port("guest", GUEST.number, *port)
    # QEMU 7.2 without KVM crashes when a vhost-user NIC has MSI-X vectors.
    nic = f"virtio-net-pci,netdev=n,mac={GUEST.mac},romfile=,vectors=0,{NO_OFFLOADS}"
    guest = Guest(
        image,
        ["-netdev", "vhost-user,id=n,chardev=c", "-device", nic],
        *("-chardev", f"socket,id=c,path={socket},server=on"),
        *("-object", "memory-backend-memfd,id=m,size=192M,share=on"),
        *("-machine", "memory-backend=m"),
    )
    yield guest
    guest.close()


@pytest.fixture(scope="module")
def hosts(switch):
    """One behind each of DPDK's devices for a Linux interface."""
    hosts = [switch.host(1), switch.host(2)]
    for host, driver in zip(hosts, ("net_af_packet", "net_af_xdp"), strict=True):
        device = f"options:dpdk-devargs={driver}{host.number},iface={host.plug}"
        switch.add_port(f"dpdk{host.number}", host.number, "type=dpdk", device)
    return hosts


@pytest.fixture(scope="module")
def controller(switch, hosts, guest):
    """It has set the switch up, and the guest is there."""
    controller = ControllerInside(switch.namespace)
    try:
        controller.start()
        controller.connect(switch.bridge)
        guest.shell.booted().configure(f"{GUEST.ip}/24", f"{GUEST.ip6}/64")
        yield controller
    finally:
        controller.close()


def test_dpdk_drives_the_ports(switch, hosts):
    for host, driver in zip(hosts, ("net_af_packet", "net_af_xdp"), strict=True):
        status = switch.vsctl("get", "Interface", f"dpdk{host.number}", "status")
        assert f"driver_name={driver}" in status


def test_hosts_reach_each_other(switch, hosts, controller, figure):
    one, other = hosts
    for address in (other.ip, other.ip6):
        wait_for(lambda a=address: one.reaches(a), f"{address} to answer")
    for host in hosts:
        wait_known(controller, switch.bridge, host.mac, host.number)
    figure(f"DPDK (AF_PACKET to AF_XDP), ofapp: TCP {tcp_mbps(one, other):.0f} Mbit/s")


def test_a_vhost_user_guest_reaches_the_hosts(switch, hosts, guest, controller):
    for host in hosts:
        for address in (host.ip, host.ip6):
            wait_for(lambda a=address: guest.shell.reaches(a), f"{address} to answer the guest")
        wait_for(lambda host=host: host.reaches(GUEST.ip), "the guest to answer")
    wait_known(controller, switch.bridge, GUEST.mac, GUEST.number)


def test_the_polling_thread_forwards(switch, hosts, controller):
    """Between each two of the three ports, in DPDK's thread and not in ovs-vswitchd's own."""
    macs = [*(host.mac for host in hosts), GUEST.mac]
    flows = switch.polled_flows()
    for source, destination in itertools.permutations(macs, 2):
        assert any(f"eth(src={source},dst={destination})" in flow for flow in flows)
