"""ofapp on Open vSwitch's userspace datapath with AF_XDP ports: `type=afxdp`."""

from __future__ import annotations

import contextlib
import json
import shutil
import socket
from pathlib import Path

import pytest

from tests.support.hosts import wait_known
from tests.support.ownswitch import ControllerInside, OwnSwitch
from tests.support.traffic import running, tcp_mbps
from tests.support.waiting import wait_for

AF_XDP = 44  # of Linux; Python does not name it


@pytest.fixture(scope="module")
def switch():
    """AF_XDP ports are polled: it keeps a CPU busy."""
    try:
        socket.socket(AF_XDP, socket.SOCK_RAW).close()
    except OSError as error:
        pytest.skip(f"this kernel has no AF_XDP sockets: {error}")
    switch = OwnSwitch(Path(shutil.which("ovs-vswitchd")))
    try:
        switch.start()
        yield switch
    finally:
        switch.close()


@pytest.fixture(scope="module")
def hosts(switch):
    """Two, on ports of either kind."""
    hosts = [switch.host(1), switch.host(2)]
    for host, mode in zip(hosts, ("native", "best-effort"), strict=True):
        switch.add_port(host.plug, host.number, "type=afxdp", f"options:xdp-mode={mode}")
    return hosts


def test_hosts_reach_each_other(switch, hosts, figure):
    one, other = hosts
    with contextlib.closing(ControllerInside(switch.namespace)) as controller:
        controller.start()
        controller.connect(switch.bridge)
        for address in (other.ip, other.ip6):
            wait_for(lambda a=address: one.reaches(a), f"{address} to answer")
        for host in hosts:
            wait_known(controller, switch.bridge, host.mac, host.number)
    figure(f"AF_XDP (native to best-effort), ofapp: TCP {tcp_mbps(one, other):.0f} Mbit/s")


def test_frames_take_the_way_of_af_xdp(switch, hosts):
    """By an XDP program of each port, to the thread that polls it."""
    for host in hosts:
        (link,) = json.loads(switch.inside("ip", "-j", "link", "show", host.plug))
        assert link["xdp"]["mode"] == 1, "1 is the driver's own mode"
    one, other = hosts
    with running(one, "ping", "-n", "-i", "0.1", other.ip):
        wait_for(lambda: in_use(switch, one, other), "a flow in the thread that polls")


def in_use(switch, one, other):
    """The flows of that thread from one host to the other that have carried packets."""
    addresses = f"eth(src={one.mac},dst={other.mac}),eth_type(0x0800)"
    return [
        line
        for line in switch.polled_flows()
        if addresses in line and f"actions:{other.plug}" in line and "packets:0," not in line
    ]
