"""Guards over sources as flows: single effects lead to what the whole program says."""

import ofapp.common.hub  # noqa: F401

# isort: split
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import Effect, Flush, InstallEntry, InstallSticky
from ofapp.bridge.params.params import BridgeParams
from ofapp.bridge.ports.port import Port
from ofapp.bridge.stp import PortState
from ofapp.openflow.model.cookie import Feature, make_cookie
from ofapp.openflow.model.flow import Flow
from ofapp.openflow.model.rule import TableId
from ofapp.openflow.pipeline import flows
from ofapp.openflow.pipeline.tables import check
from ofapp.openflow.switch.encode.encoder import Encoder
from ofapp.openflow.switch.installed import Installed
from ofapp.openflow.wire.messages import codec
from tests.support.contents import wanted_flows
from tests.unit.openflow.guarded import HELD, guarded

STATIC = 0x02000000000A


def names(bridge: Bridge) -> set[tuple[str, int | None]]:
    """(rule, ingress port) of the source table's flows."""
    wanted = wanted_flows(bridge.desired(), True)
    return {(check(flow).name, _in_port(flow)) for flow in wanted if flow.table == TableId.SOURCE}


def _in_port(flow: Flow) -> int | None:
    return next((match.value for match in flow.match if match.field == "in_port"), None)


class Switch:
    """A bridge and the writer of its effects, which must stay in line."""

    def __init__(self) -> None:
        self.bridge = guarded()
        self.installed = Installed(True)
        self.writer = Encoder(self.bridge, self.installed)
        self.installed.program = self.installed.wanted(self.bridge.desired())

    def apply(self, effects: list[Effect]) -> bytes:
        written = self.writer.encode(effects)
        assert self.installed.program.flows == self.installed.wanted(self.bridge.desired()).flows
        return written


def test_each_guard_has_its_flows() -> None:
    found = names(guarded())
    assert {port for rule, port in found if rule == "full"} == {1}
    # not where nothing is learned anyway
    assert {port for rule, port in found if rule == "full-vlan"} == {1, 2}
    assert ("locked-static", 3) in found
    assert ("held", None) in found
    assert {rule for rule, port in found if port == 4} == {"miss"}
    quiet = [flow for flow in wanted_flows(guarded().desired(), True) if _in_port(flow) == 4]
    miss = next(flow for flow in quiet if flow.table == TableId.SOURCE)
    assert (miss.actions, miss.goto) == ((), TableId.DESTINATION)


def test_what_happens_one_by_one_is_what_the_program_says() -> None:
    switch = Switch()
    bridge = switch.bridge
    assert switch.apply(bridge.learning.move_guard.let_go((7, HELD)))
    assert switch.apply(bridge.learning.learn([(2, 7, HELD)], 2.0))
    assert switch.apply(bridge.learning.tick(99.0))
    assert switch.apply(bridge.flush(mac=HELD))
    assert switch.apply(bridge.learning.learn([(1, 7, HELD)], 100.0))
    assert switch.apply(bridge.put_port(Port(1, "p1", 1, False), 101.0))
    assert switch.apply(bridge.put_port(Port(1, "p1", 1, True), 102.0))
    assert switch.apply(bridge.relay.set_state(2, PortState.LEARNING))
    assert switch.apply(bridge.relay.set_state(2, PortState.FORWARDING))
    assert switch.apply(bridge.add_static(0, STATIC, "p3", 103.0))
    assert switch.apply(bridge.add_static(7, STATIC, "p2", 104.0))
    assert switch.apply(bridge.put_port(Port(3, "p3", 3, False), 105.0))
    assert switch.apply(bridge.put_port(Port(3, "p3", 3, True), 106.0))
    assert switch.apply(bridge.remove_static(0, STATIC))
    assert switch.apply(bridge.remove_port(3, 107.0))


def test_without_guards_nothing_is_there() -> None:
    switch = Switch()
    switch.apply(switch.bridge.set_params(BridgeParams(), 2.0))
    assert {rule for rule, _port in names(switch.bridge)} == {"local", "static", "miss", "held"}
    assert switch.apply(switch.bridge.tick(99.0))
    assert {rule for rule, _port in names(switch.bridge)} == {"local", "static", "miss"}


def test_a_sticky_address_is_of_a_kind_of_its_own_but_deleted_like_any() -> None:
    ordinary, sticky = (flows.learned_flows(1, 0, HELD, 5, age) for age in (300, None))
    assert (sticky[1].idle_timeout, sticky[1].notify_removal) == (0, False)
    assert {flow.feature for flow in sticky} == {Feature.STICKY}
    writer = Encoder(guarded(), Installed(True))
    assert codec.add_flow(sticky[1])[8:] in writer.encode([InstallSticky(1, 0, HELD, 5, 0)])
    assert codec.add_flow(ordinary[1])[8:] in writer.encode([InstallEntry(1, 0, HELD, 5, 0)])
    cookie, mask = _cookie(codec.delete_flow(ordinary[0]))
    assert make_cookie(Feature.STICKY, 5) & mask == cookie & mask
    assert make_cookie(Feature.STICKY, 6) & mask != cookie & mask
    assert make_cookie(Feature.STATIC, 5) & mask != cookie & mask


def test_a_flush_takes_sticky_ones_only_when_reported() -> None:
    writer = Encoder(guarded(), Installed(True))
    for sticky in (False, True):
        cookie, mask = _cookie(writer.encode([Flush(1, sticky=sticky)]))
        assert make_cookie(Feature.LEARNED, 9) & mask == cookie & mask
        assert (make_cookie(Feature.STICKY, 9) & mask == cookie & mask) is sticky
        assert make_cookie(Feature.STATIC, 9) & mask != cookie & mask


def _cookie(message: bytes) -> tuple[int, int]:
    """A flow-mod's cookie and its mask."""
    return int.from_bytes(message[8:16], "big"), int.from_bytes(message[16:24], "big")
