"""A real switch takes the actions of MAC-in-MAC, rates and priorities, and reports each as sent."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import ofapp.common.hub  # noqa: F401

# isort: split
from ofapp.bridge.bridge import Bridge as CoreBridge
from ofapp.bridge.params.params import BridgeParams, PortParams
from ofapp.bridge.params.policy import AclRule, Policies, PortPolicy
from ofapp.bridge.ports.port import Port
from ofapp.bridge.ports.vlan import TRANSPARENT, access
from ofapp.openflow.model.cookie import Feature
from ofapp.openflow.model.flow import (
    Action,
    Bits,
    ChooseInto,
    Clone,
    Decapsulate,
    Encapsulate,
    Flow,
    Hash,
    MoveBits,
    OutputRegister,
    SetBits,
)
from ofapp.openflow.model.rule import Register, TableId
from ofapp.openflow.pipeline.entries import GroupNumbers
from ofapp.openflow.switch.audit.comparison import flow_changes
from ofapp.openflow.switch.program import program
from ofapp.openflow.wire.messages import codec
from tests.support.ovs import Bridge, VSwitchd
from tests.vswitchd.wire import Wire

_ACTIONS: tuple[tuple[tuple[Action, ...], str], ...] = (
    (
        (Hash(Register.SENDER, 256),),
        "multipath(symmetric_l4,50,modulo_n,256,0,NXM_NX_REG12[0..7])",
    ),
    ((Encapsulate(),), "encap(mpls),encap(ethernet)"),
    ((Encapsulate(labelled=True),), "encap(nsh(md_type=2)),encap(ethernet)"),
    (
        (Clone((SetBits(Bits("eth_dst", 24, 2), 2), OutputRegister(Register.SENDER))),),
        "clone(load:0x2->NXM_OF_ETH_DST[24..25],output:NXM_NX_REG12[])",
    ),
    ((Decapsulate(),), "decap(),decap(packet_type(ns=0,type=0))"),
    (
        (ChooseInto((1, 2, 3), 7, Register.SENDER),),
        "bundle_load(eth_src,7,hrw,ofport,NXM_NX_REG12[],members:1,2,3)",
    ),
    (
        (ChooseInto((2, 1), None, Register.SENDER),),
        "bundle_load(eth_src,0,active_backup,ofport,NXM_NX_REG12[],members:2,1)",
    ),
    ((OutputRegister(Register.SENDER),), "output:NXM_NX_REG12[]"),
    (
        (SetBits(Bits("eth_dst", 0, 48), 0x020900000100),),
        "set_field:02:09:00:00:01:00->eth_dst",
    ),
    ((SetBits(Bits("eth_dst", 24, 2), 2),), "load:0x2->NXM_OF_ETH_DST[24..25]"),
    (
        (MoveBits(Bits("reg12", 0, 16), Bits("eth_dst", 8, 16)),),
        "move:NXM_NX_REG12[0..15]->NXM_OF_ETH_DST[8..23]",
    ),
    (
        (MoveBits(Bits("eth_dst", 0, 1), Bits("reg1", 0, 1)),),
        "move:NXM_OF_ETH_DST[0]->NXM_NX_REG1[0]",
    ),
)


@pytest.fixture
def switch(vswitchd: VSwitchd) -> Iterator[Bridge]:
    bridge = vswitchd.add_bridge(ports=3)
    yield bridge
    bridge.destroy()


def test_a_switch_reports_the_actions_as_they_were_sent(switch: Bridge) -> None:
    flows = [
        Flow(TableId.LAG, priority, (), Feature.LAG, actions)
        for priority, (actions, _) in enumerate(_ACTIONS)
    ]
    with Wire(switch) as wire:
        wire.send(map(codec.add_flow, flows))
        assert flow_changes(flows, wire.flows()) == {}
    text = switch.switch.ofctl("dump-flows", "--no-names", switch.name)
    for _, words in _ACTIONS:
        assert f"actions={words}\n" in text


def test_a_switch_reports_the_flows_of_rates_and_priorities_as_they_were_sent(
    switch: Bridge,
) -> None:
    """Otherwise each comparison would find them wrong, and send them again."""
    ports = {
        f"p{number}": PortParams(
            vlans=vlans, policy=PortPolicy(qos_trust=trust, priority=number, rate_out=1000)
        )
        for number, (trust, vlans) in enumerate(
            (("none", access(7)), ("dscp", TRANSPARENT), ("pcp", TRANSPARENT)), 1
        )
    }
    lists = {"low": (AclRule("low", pcp=1),)}
    ports["p4"] = PortParams(policy=PortPolicy(acl="low", rate_out=64, hairpin=True))
    made = CoreBridge(1, BridgeParams(ports=ports, policies=Policies(acls=lists)))
    made.set_ports([Port(number, f"p{number}", number, True) for number in range(1, 5)], 0.0)
    wanted = program(made.desired(), True, GroupNumbers())
    assert {flow.table for flow in wanted.flows.values()} >= {TableId.MARK, TableId.RATE}
    with Wire(switch) as wire:
        wire.send(map(codec.make_meter, wanted.meters.values()))
        wire.send([codec.put_group(group, exists=False) for group in wanted.groups.values()])
        wire.send(map(codec.add_flow, wanted.flows.values()))
        assert flow_changes([*wanted.flows.values()], wire.flows()) == {}
