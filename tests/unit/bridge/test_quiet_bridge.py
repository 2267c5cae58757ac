"""A bridge at rest is looked at as often as it has something to say, and ports come together."""

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import SendFrame
from ofapp.bridge.event import Event
from ofapp.bridge.params.params import BridgeParams
from ofapp.bridge.ports.port import LOCAL_PORT, Port
from ofapp.bridge.stp import BridgeParams as StpParams
from ofapp.bridge.stp.bpdu import decode, encode
from tests.unit.bridge.changes import changed

PORTS = [
    Port(LOCAL_PORT, "br0", 0x020000000001, True, 1000),
    *(Port(number, f"p{number}", number, True, 1000) for number in range(1, 5)),
]


def resting() -> Bridge:
    """Its ports are edges and forward."""
    bridge = Bridge(1, BridgeParams(stp=StpParams()))
    bridge.set_ports(PORTS, 0.0)
    lived(bridge, 20.0)
    return bridge


def lived(bridge: Bridge, until: float) -> list[tuple[float, SendFrame]]:
    """What it sends until then, whenever it wants to be woken."""
    sent = []
    while (due := bridge.next_wakeup()) is not None and due <= until:
        sent += [(due, effect) for effect in bridge.tick(due) if isinstance(effect, SendFrame)]
    return sent


def test_it_is_woken_for_its_hellos_and_for_nothing_else() -> None:
    bridge = resting()
    wakes = []
    while (due := bridge.next_wakeup()) is not None and due <= 40.0:
        wakes.append([type(effect) for effect in bridge.tick(due)])
    assert len(wakes) == 10
    assert all(kinds == [SendFrame] * 4 for kinds in wakes)


def test_each_hello_is_whole_and_has_a_number_of_its_own() -> None:
    bridge = resting()
    frames = [effect.frame for _, effect in lived(bridge, 30.0) if effect.ports == {1}]
    heard = [decode(frame) for frame in frames]
    assert [encode(bpdu, 1) for bpdu in heard] == frames
    first = heard[0].serial
    assert [bpdu.serial for bpdu in heard] == [first + n for n in range(len(frames))]
    assert len({bpdu.vector for bpdu in heard}) == 1


def test_a_hello_says_what_is_true_now() -> None:
    bridge = resting()
    before = [decode(effect.frame) for _, effect in lived(bridge, 30.0)][-1]
    bridge.set_params(changed(bridge, stp=StpParams(priority=4096)), 30.5)
    after = [decode(effect.frame) for _, effect in lived(bridge, 40.0)][-1]
    assert before.vector.root >> 48 == 32768
    assert after.vector.root >> 48 == after.vector.bridge >> 48 == 4096


def test_of_ports_that_come_together_none_is_open_for_being_alone() -> None:
    bridge = Bridge(1, BridgeParams(stp=StpParams()))
    events = [effect for effect in bridge.set_ports(PORTS, 0.0) if isinstance(effect, Event)]
    assert [event.port for event in events if event.kind == "stp.role"] == [1, 2, 3, 4]
    assert not [event for event in events if event.kind == "stp.state"]
    assert not bridge.flooding.ports - {LOCAL_PORT}
    alone = Bridge(2, BridgeParams(stp=StpParams()))
    alone.set_ports(PORTS[:2], 0.0)
    assert alone.flooding.ports == {LOCAL_PORT, 1}, "but the only one is"
