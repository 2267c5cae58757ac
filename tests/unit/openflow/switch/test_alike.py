"""Many ports of which the same is to be told at the same time are reported once."""

from ofapp.bridge import stp
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import Effect, SetFlood
from ofapp.bridge.event import Event, Severity
from ofapp.bridge.params.params import BridgeParams
from ofapp.bridge.ports.port import Port
from ofapp.openflow.switch.queue.alike import MANY, together
from tests.unit.made_event import made_event


def ports(count: int, up: bool = True) -> list[Port]:
    return [Port(number, f"p{number}", number, up, 1000) for number in range(1, count + 1)]


def events_of(effects: list[Effect]) -> list[Event]:
    """What the log has."""
    events = [effect for effect in together(effects) if isinstance(effect, Event)]
    return [event for event in events if event.severity is not Severity.DEBUG]


def test_a_switch_that_adds_thousands_of_ports_writes_some_lines_for_each_portion() -> None:
    bridge = Bridge(1, BridgeParams(stp=stp.BridgeParams()))
    events = events_of(bridge.put_ports(ports(64), 1.0))
    (added,) = (event for event in events if event.kind == "port.added")
    assert added.message == "port p1 was added; the same for 63 other ports"
    assert added.data == {"ports": [*range(1, 65)]}
    assert len(events) < 8
    for second in range(2, 10):
        assert len(events_of(bridge.tick(float(second)))) < 8
    assert len(events_of(bridge.remove_ports(range(1, 65), 20.0))) < 8


def test_all_of_them_are_there_for_a_trace_and_nothing_else_is_lost() -> None:
    bridge = Bridge(1, BridgeParams())
    effects = bridge.put_ports(ports(MANY), 1.0)
    after = together(effects)
    traced = [effect for effect in after if isinstance(effect, Event) and effect.kind == "port.up"]
    assert [event.port for event in traced] == [*range(1, MANY + 1), None]
    assert [e for e in after if isinstance(e, SetFlood)] == [
        e for e in effects if isinstance(e, SetFlood)
    ]


def test_few_ports_and_what_differs_are_reported_one_by_one() -> None:
    bridge = Bridge(1, BridgeParams())
    effects = bridge.put_ports(ports(MANY - 1), 1.0)
    assert together(effects) == effects
    warning = made_event("fdb.limit", "has learned", Severity.WARNING, 1)
    assert together([warning] * MANY) == [warning] * MANY
