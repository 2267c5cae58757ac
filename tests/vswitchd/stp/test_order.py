"""What has to be closed first is closed first, even if the switch is looked at meanwhile.

The switch here is a socket that does not answer barriers: Open vSwitch answers too soon.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable

from ofapp.openflow.model.cookie import Feature, make_cookie
from ofapp.openflow.model.traps import BPDU
from tests.support.controller import Controller
from tests.vswitchd import fakeswitch as of
from tests.vswitchd.fakeswitch import FakeSwitch, message
from tests.vswitchd.stp.neighbour import DESIGNATED, FORWARDING, LEARNING, rst

DPID = 0x57F0
FLOW_MOD = 14
ADMISSION, LETS_IN = 0, 100  # table and priority of what lets a port's frames in
OPEN = DESIGNATED | LEARNING | FORWARDING


class Switch(FakeSwitch):
    """Two ports. opened: those whose frames have been let in so far; looked: how often the
    controller has asked for its flows."""

    def __init__(self, port: int) -> None:
        super().__init__(port)
        self.opened: list[int] = []
        self.looked = 0
        self.unanswered: list[int] = []
        self.obedient = True

    def answer(self, type_: int, xid: int, body: bytes, dpid: int) -> None:
        if type_ == FLOW_MOD:
            self._flow_mod(body)
        elif type_ == of.BARRIER_REQUEST and not self.obedient:
            self.unanswered.append(xid)
        elif type_ == of.MULTIPART_REQUEST and body[1] == of.PORT_DESC:
            ports = b"".join(of.port_desc(number, f"order{number}") for number in (1, 2))
            reply = struct.pack("!HH4x", of.PORT_DESC, 0) + ports
            self.send(message(of.MULTIPART_REPLY, reply, xid))
        else:
            table = body[8:9]
            self.looked += (type_, body[1:2], table) == (of.MULTIPART_REQUEST, b"\1", b"\0")
            super().answer(type_, xid, body, dpid)

    def _flow_mod(self, body: bytes) -> None:
        table, command = body[16:18]
        (priority,) = struct.unpack_from("!H", body, 22)
        if (table, command, priority) == (ADMISSION, 0, LETS_IN):
            self.opened.append(int.from_bytes(body[48:52], "big"))

    def until(self, done: Callable[[], bool], what: str) -> None:
        """Answer until then."""
        deadline = time.monotonic() + 20
        while not done():
            assert time.monotonic() < deadline, f"no {what}; opened: {self.opened}"
            if (got := self.receive(0.1)) is not None:
                self.answer(*got, DPID)

    def hears(self, port: int, frame: bytes) -> None:
        """A BPDU comes in."""
        match = struct.pack("!HHHBBI4x", 1, 12, 0x8000, 0, 4, port)
        head = struct.pack("!IHBBQ", 0xFFFFFFFF, len(frame), 1, 0, make_cookie(BPDU.feature))
        self.send(message(of.PACKET_IN, head + match + b"\0\0" + frame))

    def loses_flows(self) -> None:
        """A user has deleted some of the controller's flows."""
        flow = struct.pack("!QHBBIIHHQQ", make_cookie(Feature.PORT), 1, 2, 0, 0, 0, 0, 0, 0, 0)
        self.send(message(of.FLOW_REMOVED, flow + struct.pack("!HH4x", 1, 4)) * 100)

    def obey(self) -> None:
        """Answer barriers from now on, and those of before."""
        self.obedient = True
        for xid in self.unanswered:
            self.send(message(of.BARRIER_REPLY, b"", xid))


def test_a_look_at_the_switch_opens_nothing_before_its_turn(
    controller_factory: Callable[..., Controller],
) -> None:
    """The root port changes; the old one is closed before the new one opens."""
    controller = controller_factory("defaults: {stp: {enabled: true}}")
    with Switch(controller.ofp_port) as switch:
        switch.handshake(DPID)
        switch.serve(DPID)
        switch.hears(1, rst(OPEN, root=0x1000, number=2))
        switch.until(lambda: switch.opened == [1], "root port that opens")
        switch.serve(DPID)
        switch.obedient = False
        switch.hears(2, rst(OPEN, root=0, number=3))
        switch.until(lambda: bool(switch.unanswered), "barrier behind what closes")
        looked = switch.looked
        switch.loses_flows()
        switch.until(lambda: switch.looked >= looked + 2, "second look")
        assert switch.opened == [1]
        switch.obey()
        switch.until(lambda: 2 in switch.opened, "new root port that opens")
