"""Queriers without an address: every Linux bridge with mcast_querier 1, and this bridge's default.

Linux asks IGMPv2 questions by default, and keeps IGMPv2 reports from ports where it has
heard no querier or router [measured with 6.18]: who is a member behind it, is not known here.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

import pytest
import yaml

from tests.support.controller import Controller
from tests.support.lab import Lab
from tests.support.multicast_entries import family_status, wait_forwarding
from tests.support.queriers import kernel_querier, put_behind, set_querier
from tests.support.streams import Member, Streams, sysctl
from tests.support.waiting import wait_for

GROUP, OTHER = "239.5.5.5", "239.6.6.6"
QUICK = {
    "mcast_last_member_interval": 0.2,
    "mcast_query_interval": 2,
    "mcast_query_response_interval": 0.5,
    "mcast_startup_query_interval": 1,
    "mcast_querier_interval": 5,
}
_STP = {"stp": {"enabled": True, "hello_time": 1, "max_age": 6, "forward_delay": 4}}
BESIDE_V2, BESIDE_V3, ASKS, HEARS = range(0x4D30, 0x4D34)
CONFIG = {
    "defaults": {"multicast": QUICK},
    "bridges": {
        f"{ASKS:016x}": {**_STP, "multicast": {"mcast_querier": True}},
        f"{HEARS:016x}": _STP,
    },
}


@pytest.fixture(scope="module")
def controller(controller_factory: Callable[[str], Controller]) -> Controller:
    return controller_factory(yaml.safe_dump(CONFIG))


@pytest.mark.parametrize(
    "dpid",
    [
        pytest.param(BESIDE_V2, id="igmpv2"),
        pytest.param(BESIDE_V3, id="igmpv3", marks=pytest.mark.thorough),
    ],
)
def test_a_linux_bridge_that_asks_from_nowhere(lab: Lab, controller: Controller, dpid: int) -> None:
    switch = lab.switch(dpid)
    sender, member, silent, linux = [lab.host(switch) for _ in range(4)]
    far, quiet = lab.host(), lab.host()
    version = 2 if dpid == BESIDE_V2 else 3
    kernel_querier(linux, igmp=version, use_ifaddr=False)
    for host in (far, quiet):
        put_behind(linux, host)
        sysctl(host, "ipv4/conf/{}/force_igmp_version", version)
    sysctl(member, "ipv4/conf/{}/force_igmp_version", version)
    controller.connect(switch)
    with Streams(lab.hosts) as streams, ExitStack() as members:
        for host in (member, far):
            members.enter_context(Member(host, GROUP))
        wait_forwarding(controller, switch, "restrict", 4)
        answer = family_status(controller, switch, 4)
        assert (answer["querier"]["state"], answer["querier"]["address"]) == ("other", "0.0.0.0")
        assert answer["router_ports"] == []
        (port,) = answer["querier"]["proxies"]
        assert port["number"] == switch.towards(linux)
        # Its members get what they want, though it may keep their reports, and no other host does;
        # and members here get what is sent behind it, because it hears of them.
        streams.wait(streams.start(sender, GROUP), {member, linux, far}, seconds=10)
        streams.wait(streams.start(quiet, GROUP), {member, far}, seconds=10)
        streams.wait(streams.start(sender, OTHER), {linux}, seconds=10)
        # It asks no more, nor does another: all floods.
        set_querier(linux, "mcast_querier", 0)
        wait_forwarding(controller, switch, "flood", 4, seconds=15)
        streams.wait((sender, GROUP), {member, silent, linux, far, quiet}, seconds=10)


def test_two_bridges_of_ours_beside_each_other(lab: Lab, controller: Controller) -> None:
    near, beyond = lab.switch(ASKS), lab.switch(HEARS)
    lab.link(near, beyond)
    sender, close, silent = [lab.host(near) for _ in range(3)]
    other, away, idle = [lab.host(beyond) for _ in range(3)]
    for switch in (near, beyond):
        controller.connect(switch)
    lab.settle()
    for switch in (near, beyond):
        wait_for(
            lambda switch=switch: family_status(controller, switch, 4)["forwarding"] == "restrict",
            "IPv4 to be restricted",
        )
    assert family_status(controller, beyond, 4)["router_ports"] == []
    with Streams(lab.hosts) as streams, Member(close, GROUP), Member(away, GROUP):
        streams.wait(streams.start(sender, GROUP), {close, away}, seconds=10)
        streams.wait(streams.start(other, GROUP), {close, away}, seconds=10)
        for host in (sender, other):
            streams.wait(streams.start(host, OTHER), set(), seconds=10)
    assert silent
    assert idle
