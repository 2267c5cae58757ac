"""Many new hosts at once go to the switch as a bundle; what it refuses of one is put right."""

from __future__ import annotations

import pytest

from ofapp.openflow.model.rule import TableId
from tests.support import frames
from tests.support.controller import Controller
from tests.support.hosts import learn, learned_flows
from tests.support.ovs import Bridge
from tests.support.waiting import wait_for

HOSTS = range(100, 700)
FEW = range(100, 200)


pytestmark = pytest.mark.controller("defaults: {packet_in_rate: 100000}\n")
"""The controller hears of any number of hosts: the switch's clock, and its meters', stand still."""


def see_together(controller: Controller, bridge: Bridge, hosts: range) -> None:
    """All these hosts are seen before the controller gets round to the first."""
    controller.pause()
    try:
        bridge.inject(1, *(frames.arp_request(frames.host(host)) for host in hosts))
    finally:
        controller.resume()


def test_the_switch_looks_at_its_flows_for_bundles_and_not_for_messages(
    bridge: Bridge, controller: Controller
) -> None:
    def changes() -> int:
        return int(bridge.switch.appctl("coverage/read-counter", "rev_flow_table"))

    learn(controller, bridge, 1, port=2)
    one_by_one = sorted(flow.identity[3:] for flow in learned_flows(bridge))
    before = changes()
    see_together(controller, bridge, HOSTS)
    wait_for(lambda: len(learned_flows(bridge)) == 2 * (1 + len(HOSTS)), "the hosts", seconds=30)
    # It takes 50 messages at a time, so two flow-mods a host were at least 24 changes.
    assert changes() - before < 12
    # And they are what they are when they come one by one.
    mac = frames.host(HOSTS[300])
    source, destination = learned_flows(bridge, mac)
    assert destination.actions == "output:1"
    assert source.match == f"in_port=1,vlan_tci=0x0000/0x0fff,dl_src={mac}"
    assert sorted(flow.identity[5:] for flow in (source, destination)) == sorted(
        identity[2:] for identity in one_by_one
    )


def test_a_bundle_that_is_refused_costs_nobody_his_place(
    bridge: Bridge, controller: Controller
) -> None:
    table = int(TableId.SOURCE)
    bridge.limit_table(table, 50)

    def held() -> int:
        return sum(flow.table == table for flow in bridge.flows())

    before = held()
    see_together(controller, bridge, FEW)
    wait_for(lambda: controller.events("openflow.refused"), "the refusal")
    event = controller.events("openflow.refused")[0]
    assert event["data"] == {"what": "a flow of table source (learned)", "why": "the table is full"}

    def seen_again(flows: int) -> bool:
        see_together(controller, bridge, FEW)
        return held() == flows

    # From then on they come one by one when they are seen again, as far as they fit.
    wait_for(lambda: seen_again(50), "those that fit", seconds=30)
    bridge.unlimit_tables()
    wait_for(lambda: seen_again(before + len(FEW)), "all hosts", seconds=30)
