"""DeferredDeletes that wait until a switch has time for them."""

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import InstallEntry, RemoveDestination
from ofapp.bridge.params.params import BridgeParams
from ofapp.bridge.ports.port import Port
from ofapp.openflow.switch.queue.delivery import DeferredDeletes

A, B = 0x02000000000A, 0x02000000000B


def bridge() -> Bridge:
    made = Bridge(1, BridgeParams())
    for number in (1, 2):
        made.put_port(Port(number, f"p{number}", 0x020000000000 + number, True, 10_000, True), 0.0)
    return made


def test_only_removals_wait_and_they_come_back_in_their_order() -> None:
    removals = DeferredDeletes(bridge().addresses)
    install = InstallEntry(1, 0, B, 9, 0)
    gone = [RemoveDestination(0, A, 5), RemoveDestination(7, A, 5)]
    assert removals.put_off([gone[0], install, gone[1]]) == [install]
    assert len(removals) == 2
    assert removals.take(1) == gone[:1]
    assert removals.take(9) == gone[1:]
    assert not removals


def test_one_address_waits_once_with_the_serial_that_its_flow_has() -> None:
    removals = DeferredDeletes(bridge().addresses)
    removals.put_off([RemoveDestination(0, A, 5), RemoveDestination(0, A, 8)])
    assert removals.take(9) == [RemoveDestination(0, A, 8)]


def test_who_was_learned_anew_meanwhile_keeps_the_new_flow_even_with_the_same_serial() -> None:
    made = bridge()
    removals = DeferredDeletes(made.addresses)
    ((_, _, _, serial, _),) = made.learning.learn([(1, 0, A)], 1.0)  # type: ignore[misc]
    removals.put_off(made.learning.expired(0, A, serial))
    made.learning.learn([(2, 0, A)], 2.0)
    assert removals.take(9) == []


def test_a_port_that_does_not_forward_has_no_new_flow_to_keep() -> None:
    made = bridge()
    removals = DeferredDeletes(made.addresses)
    made.learning.learn([(1, 0, A)], 1.0)
    removals.put_off([RemoveDestination(0, A, 1)])
    made.put_port(Port(1, "p1", 0x020000000001, False, 10_000, True), 2.0)
    assert removals.take(9) == [RemoveDestination(0, A, 1)]
