"""Linux hosts as members and senders, the Linux bridge as the querier of their LAN.

Every host's wire is listened to: members get every frame of a stream, other hosts none.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.controller import Controller
from tests.support.lab import Host, Lab
from tests.support.multicast_entries import family_status, members, wait_forwarding
from tests.support.queriers import LAST_MEMBER, kernel_querier
from tests.support.streams import Member, Streams, sysctl

GROUPS = {4: "239.4.4.4", 6: "ff1e::4:4"}
SSM = {4: "232.4.4.4", 6: "ff3e::4:4"}


@pytest.fixture(scope="module")
def controller(controller_factory: Callable[[str], Controller]) -> Controller:
    """With quick questions after a leave."""
    return controller_factory("defaults: {multicast: {mcast_last_member_interval: 0.2}}")


def address(host: Host, family: int) -> str:
    return host.ip if family == 4 else host.ip6


@pytest.mark.parametrize(("igmp", "mld"), [(3, 2), (2, 1)], ids=["v3-mldv2", "v2-mldv1"])
def test_the_linux_bridge_asks(lab: Lab, controller: Controller, igmp: int, mld: int) -> None:
    lab.single(5)
    (switch,), (sender, one, other, bystander, router) = lab.switches, lab.hosts
    controller.connect(switch)
    kernel_querier(router, igmp=igmp, mld=mld)
    with Streams(lab.hosts) as streams:
        for family in (4, 6):
            wait_forwarding(controller, switch, "restrict", family)
            (router_port,) = family_status(controller, switch, family)["router_ports"]
            assert router_port["port"]["number"] == switch.towards(router)
            stream = streams.start(sender, GROUPS[family])
            streams.wait(stream, {router})
            with Member(one, GROUPS[family]):
                streams.wait(stream, {one, router})
                with Member(other, GROUPS[family]), Member(bystander, SSM[family]):
                    streams.wait(stream, {one, other, router})
                took = streams.wait(stream, {one, router})
                print(f"IPv{family}: left after {took:.2f} s")
                assert took < LAST_MEMBER + 0.6
            streams.wait(stream, {router})


def test_sources_are_reported_apart(lab: Lab, controller: Controller) -> None:
    lab.single(6)
    (switch,), (good, bad, one, other, _, router) = lab.switches, lab.hosts
    controller.connect(switch)
    kernel_querier(router)
    with Streams(lab.hosts) as streams:
        for family in (4, 6):
            wait_forwarding(controller, switch, "restrict", family)
            group = SSM[family]
            wanted, unwanted = streams.start(good, group), streams.start(bad, group)
            with Member(one, group, source=address(good, family)):
                streams.wait(wanted, {one, router})
                streams.expect(unwanted, {router})
                with Member(other, group, without=address(bad, family)):
                    streams.wait(wanted, {one, other, router})
                    streams.wait(unwanted, {router})
                    with Member(one, group, source=address(bad, family)):
                        streams.wait(unwanted, {one, router})
                        streams.expect(wanted, {one, other, router})
                    streams.wait(unwanted, {router})
                streams.wait(wanted, {one, router})
            streams.wait(wanted, {router})


def test_old_hosts_and_new_ones_share_a_lan(lab: Lab, controller: Controller) -> None:
    lab.single(5)
    (switch,), (sender, v1, v2, v3, router) = lab.switches, lab.hosts
    for host, igmp, mld in ((v1, 1, 1), (v2, 2, 1), (v3, 3, 2)):
        sysctl(host, "ipv4/conf/{}/force_igmp_version", igmp)
        sysctl(host, "ipv6/conf/{}/force_mld_version", mld)
    controller.connect(switch)
    kernel_querier(router)
    with Streams(lab.hosts) as streams:
        for family in (4, 6):
            wait_forwarding(controller, switch, "restrict", family)
            stream = streams.start(sender, GROUPS[family])
            with Member(v2, GROUPS[family]):
                streams.wait(stream, {v2, router})
                with Member(v3, GROUPS[family]):
                    streams.wait(stream, {v2, v3, router})
                streams.wait(stream, {v2, router})
            streams.wait(stream, {router})
        with Member(v1, GROUPS[4]):  # which never says that it leaves
            streams.wait((sender, GROUPS[4]), {v1, router})
    kinds = {
        name
        for port in controller.get(f"/v1/bridges/{switch.dpid16}/multicast")["ports"]
        for name in port["counters"]
    }
    assert {
        f"rx_{kind}_report" for kind in ("igmp_v1", "igmp_v2", "igmp_v3", "mld_v1", "mld_v2")
    } <= kinds
    assert any(group == GROUPS[4] for _, group, *_ in members(controller, switch))
