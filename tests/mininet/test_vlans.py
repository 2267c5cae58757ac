"""VLANs and isolation as hosts meet them: two switches, a trunk between, guests kept apart."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.controller import Controller
from tests.support.hosts import wait_known
from tests.support.lab import Lab, Stream, Switch, sh
from tests.support.waiting import wait_for

VLANS = {1: 10, 2: 10, 3: 20, 4: 10, 5: 20}
"""By host; 1 to 3 are on the first switch, 4 and 5 on the second."""


def configure(lab: Lab) -> dict[str, object]:
    own = {host.plug: {"vlan": VLANS[host.number]} for host in lab.hosts}
    ports = {f"{lab.tag}l*": {"vlan": {"trunk": "10,20"}}, **own, "LOCAL": {"vlan": 10}}
    return {"defaults": {"ports": ports}}


@pytest.fixture
def site(lab: Lab, start: Callable[..., Controller]) -> tuple[Lab, Controller]:
    first, second = lab.switch(), lab.switch()
    for number in VLANS:
        lab.host(first if number < 4 else second)
    lab.link(first, second)
    return lab, start(configure(lab), *lab.switches)


def test_hosts_reach_those_of_their_vlan_on_both_switches(site) -> None:
    lab, controller = site
    for one, other in ((1, 2), (1, 4), (3, 5)):
        here, there = lab.hosts[one - 1], lab.hosts[other - 1]
        wait_for(lambda a=here, b=there: a.reaches(b.ip, 1), f"{one} to reach {other}", seconds=15)
    for one, other in ((1, 3), (4, 5), (5, 1)):
        assert not lab.hosts[one - 1].reaches(lab.hosts[other - 1].ip, 1)
    first: Switch = lab.switches[0]
    wait_known(controller, first, lab.hosts[3].mac, first.towards(lab.hosts[3]), 10)
    wait_known(controller, first, lab.hosts[4].mac, first.towards(lab.hosts[4]), 20)


def test_the_hosts_own_address_in_its_vlan(site) -> None:
    lab, _ = site
    first: Switch = lab.switches[0]
    for host in lab.hosts:
        host.run("ip", "addr", "add", f"10.213.0.{host.number}/24", "dev", "eth0")
    sh("ip", "addr", "add", "10.213.0.99/24", "dev", first.name)
    sh("ip", "link", "set", first.name, "up")
    Path(f"/proc/sys/net/ipv4/conf/{first.name}/arp_ignore").write_text("0")
    for host in (lab.hosts[0], lab.hosts[3]):
        wait_for(lambda host=host: host.reaches("10.213.0.99", 1), "an answer", seconds=15)
    assert not lab.hosts[4].reaches("10.213.0.99", 1)


def test_isolation_and_another_vlan_at_run_time_lose_nobody_elses_frame(site) -> None:
    lab, controller = site
    one, two, three, four, _ = lab.hosts
    first = lab.switches[0]
    assert one.reaches(four.ip, 5)
    assert four.reaches(one.ip, 5)

    def port(host, **values) -> None:
        reply = controller.api("PATCH", f"/v1/bridges/{first.dpid16}/ports/{host.plug}", values)
        assert reply.status == 200, reply

    with Stream(one, four) as stream:
        stream.more(100)
        port(two, isolated=True)
        port(three, isolated=True, vlan=10)
        port(one, isolated=True)
        wait_for(lambda: not two.reaches(one.ip, 1), "isolation")
        assert not three.reaches(two.ip, 1)
        wait_for(lambda: three.reaches(four.ip, 1), "the other VLAN", seconds=15)
        port(one, isolated=False)
        wait_for(lambda: two.reaches(one.ip, 1), "isolation to end", seconds=15)
        stream.more(100)
        assert stream.lost() == 0
