"""What Open vSwitch makes of OpenFlow's roles: the facts that members of a cluster build on.

`openflow/switch/mastership/roles.py` says them.
tests/unit/cluster/test_two_writers.py has a model of
a switch that is like this one.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

import pytest
from os_ken.ofproto import ofproto_protocol
from os_ken.ofproto import ofproto_v1_3 as ofp
from os_ken.ofproto import ofproto_v1_3_parser as parser

from ofapp.openflow.model.cookie import Feature
from ofapp.openflow.model.flow import Flow, Match
from ofapp.openflow.switch.mastership.roles import (
    Asking,
    ControllerRole,
    RoleReply,
    RoleRequest,
    StaleError,
    become_master,
    become_slave,
)
from ofapp.openflow.wire.messages import codec
from tests.support.ovs import Bridge, VSwitchd
from tests.vswitchd.wire import Wire

_OPENFLOW = ofproto_protocol.ProtocolDesc(version=ofp.OFP_VERSION)
_REFUSED = "refused: "
STALE, IS_SLAVE = "000b0000", "0001000a"


@pytest.fixture
def bridge(vswitchd: VSwitchd) -> Iterator[Bridge]:
    made = vswitchd.add_bridge(ports=1)
    yield made
    made.destroy()


def answer(wire: Wire, request: RoleRequest) -> RoleReply:
    """As a connection of ours gets it."""
    message = parser.OFPRoleRequest(_OPENFLOW, int(request.role), request.generation)
    try:
        (reply,) = wire.ask(message, ofp.OFPT_ROLE_REPLY)
    except AssertionError as error:
        if _REFUSED + STALE not in str(error):
            raise
        return RoleReply(None)
    role, generation = struct.unpack_from("!8xI4xQ", reply)
    return RoleReply(ControllerRole(role), generation)


def ask(wire: Wire, asking: Asking) -> None:
    """All the way."""
    request = next(asking)
    while True:
        try:
            request = asking.send(answer(wire, request))
        except StopIteration:
            return


def writes(wire: Wire, port: int) -> bool:
    """Whether the switch takes a flow of this connection."""
    flow = Flow(0, 1, (Match("in_port", port),), Feature.OWNER)
    try:
        wire.send([codec.add_flow(flow)])
    except AssertionError as error:
        if _REFUSED + IS_SLAVE not in str(error):
            raise
        return False
    return True


def test_the_later_term_is_the_only_writer(bridge: Bridge) -> None:
    with Wire(bridge) as a, Wire(bridge) as b:
        for wire in (a, b):
            ask(wire, become_slave())
            assert not writes(wire, 1)
        ask(a, become_master(100))
        assert writes(a, 1)
        ask(b, become_slave())  # with the master's generation: it stays a slave
        ask(b, become_master(101))
        assert writes(b, 2)
        assert not writes(a, 3)
        with pytest.raises(StaleError) as stale:
            ask(a, become_master(100))
        assert stale.value.seen == 101
        assert not writes(a, 3)
        assert writes(b, 4)


def test_a_former_master_that_comes_again_could_write_unless_it_asks_first(bridge: Bridge) -> None:
    with Wire(bridge) as b:
        ask(b, become_slave())
        ask(b, become_master(101))
        with Wire(bridge) as a:
            with pytest.raises(StaleError):
                ask(a, become_master(100))
            assert writes(a, 1), "an EQUAL may: that is why no member ever is one"
        with Wire(bridge) as a:
            assert answer(a, RoleRequest(ControllerRole.SLAVE, 100)).role is None, (
                "stale for a SLAVE, too"
            )
            assert writes(a, 2)
        with Wire(bridge) as a:
            ask(a, become_slave())
            assert not writes(a, 3)
        assert writes(b, 4)
