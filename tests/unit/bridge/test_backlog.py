"""Who waits to be learned: each port in turn, each sighting once, no more than there is room."""

from __future__ import annotations

from collections import Counter

from ofapp.bridge.backlog import Backlog


def seen(port: int, *macs: int) -> list[tuple[int, int, int]]:
    return [(port, 0, mac) for mac in macs]


def test_ports_take_turns_whatever_waits_on_them() -> None:
    backlog = Backlog()
    assert backlog.put([*seen(1, *range(100)), *seen(2, 900, 901), *seen(3, *range(200, 300))]) == 0
    first = backlog.take(12)
    assert Counter(port for port, _, _ in first) == {1: 5, 2: 2, 3: 5}
    assert [sample for sample in first if sample[0] == 1] == seen(1, *range(5))
    assert 2 not in backlog
    assert len(backlog) == 190


def test_more_ports_than_are_taken_have_their_turn_later() -> None:
    backlog = Backlog()
    backlog.put([(port, 0, mac) for port in range(5) for mac in range(2)])
    assert [port for port, _, _ in backlog.take(3)] == [0, 1, 2]
    assert [port for port, _, _ in backlog.take(4)] == [3, 4, 0, 1]
    assert [port for port, _, _ in backlog.take(9)] == [2, 3, 4]
    assert not backlog
    assert backlog.take(9) == []


def test_a_sighting_waits_once() -> None:
    backlog = Backlog(room=2)
    assert backlog.put(seen(1, 7, 7, 8, 7)) == 0
    assert backlog.take(9) == seen(1, 7, 8)


def test_a_loud_port_leaves_room_for_the_others() -> None:
    backlog = Backlog(room=100)
    assert backlog.put(seen(1, *range(250))) == 150
    assert backlog.put(seen(2, *range(250))) == 200
    assert backlog.put(seen(1, 0, 999)) == 1
    assert len(backlog) == 150
