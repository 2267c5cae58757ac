"""Who waits to be learned: each port in turn, each sighting once, no more than there is room."""

from collections import Counter

from ofapp.bridge.fdb.backlog import LONGEST, Backlog

NOW = 100.0


def seen(port: int, *macs: int) -> list[tuple[int, int, int]]:
    return [(port, 0, mac) for mac in macs]


def test_ports_take_turns_whatever_waits_on_them() -> None:
    backlog = Backlog()
    backlog.put([*seen(1, *range(100)), *seen(2, 900, 901), *seen(3, *range(200, 300))], NOW)
    assert not backlog.dropped
    first = backlog.take(12)
    assert Counter(port for port, _, _ in first) == {1: 5, 2: 2, 3: 5}
    assert [sample for sample in first if sample[0] == 1] == seen(1, *range(5))
    assert 2 not in backlog
    assert len(backlog) == 190


def test_more_ports_than_are_taken_have_their_turn_later() -> None:
    backlog = Backlog()
    backlog.put([(port, 0, mac) for port in range(5) for mac in range(2)], NOW)
    assert [port for port, _, _ in backlog.take(3)] == [0, 1, 2]
    assert [port for port, _, _ in backlog.take(4)] == [3, 4, 0, 1]
    assert [port for port, _, _ in backlog.take(9)] == [2, 3, 4]
    assert not backlog
    assert backlog.take(9) == []


def test_a_sighting_waits_once() -> None:
    backlog = Backlog(room=2)
    backlog.put(seen(1, 7, 7, 8, 7), NOW)
    assert not backlog.dropped
    assert backlog.take(9) == seen(1, 7, 8)


def test_a_loud_port_leaves_room_for_the_others() -> None:
    backlog = Backlog(room=100)
    backlog.put(seen(1, *range(250)), NOW)
    assert backlog.dropped == {1: 150}
    backlog.put(seen(2, *range(250)), NOW)
    assert backlog.dropped == {1: 150, 2: 200}
    backlog.put(seen(1, 0, 999), NOW)
    assert backlog.dropped[1] == 151
    assert len(backlog) == 150


def test_what_has_waited_for_too_long_is_dropped_unless_it_was_seen_again() -> None:
    backlog = Backlog()
    backlog.put([*seen(1, 5, 6), *seen(2, 9)], NOW)
    backlog.put(seen(1, 7), NOW + LONGEST)
    backlog.expire(NOW + LONGEST)
    assert len(backlog) == 4
    backlog.put(seen(1, 6), NOW + LONGEST)
    backlog.expire(NOW + LONGEST + 0.1)
    assert backlog.dropped == {1: 1, 2: 1}
    assert 2 not in backlog
    assert backlog.take(9) == seen(1, 6, 7)
