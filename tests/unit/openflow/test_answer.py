"""Whose address the switch answers for, while an address moves from host to host."""

from ipaddress import ip_address

import pytest

import ofapp.common.hub  # noqa: F401

# isort: split
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import Reprogram
from ofapp.bridge.effects.content import BoundAddress, BoundHost
from ofapp.bridge.params.params import BridgeParams
from ofapp.bridge.params.policy import Policies, VlanPolicy
from ofapp.openflow.model.flow import SetRegister
from ofapp.openflow.model.rule import Register, TableId
from ofapp.openflow.switch.encode.encoder import Encoder
from ofapp.openflow.switch.installed import Installed
from tests.support.message_switch import MessageSwitch

ADDRESS = BoundAddress(ip_address("10.0.0.7").packed, 32)
OLD, NEW = 0x02_0F_00_00_00_01, 0x02_0F_00_00_00_02


def host(port: int, mac: int, *addresses: BoundAddress) -> BoundHost:
    return BoundHost(port, 0, mac, addresses)


@pytest.mark.parametrize("port", [1, 2])
@pytest.mark.parametrize("first", ["old", "new"])
def test_an_address_that_moves_is_answered_for_its_new_host(first: str, port: int) -> None:
    """In the order of effects that the table of bindings happens to give."""
    policies = Policies(vlans={0: VlanPolicy(arp_suppress=True)})
    bridge, installed = Bridge(1, BridgeParams(policies=policies)), Installed(True)
    encoder, switch = Encoder(bridge, installed), MessageSwitch()

    def send(*effects: BoundHost | Reprogram) -> None:
        for effect in effects:
            for _ in switch.take(encoder.encode([effect])):
                pass

    send(Reprogram(), host(1, OLD, ADDRESS))
    moves = [host(1, OLD), host(port, NEW, ADDRESS)]
    send(*(moves if first == "old" else moves[::-1]))
    flows = [flow for flow in installed.program.flows.values() if flow.table == TableId.ANSWER]
    (bound,) = (flow for flow in flows if flow.priority == 100)
    assert SetRegister(Register.SENDER_LOWER, NEW & 0xFFFFFFFF) in bound.actions
    assert len(switch.tables[TableId.ANSWER]) == len(flows) == 4
