"""A connection without a handshake is closed; no other is."""

import pytest

import ofapp.common.hub  # noqa: F401

# isort: split
from ofapp.bridge.event import Event
from ofapp.openflow.wire import handshakes
from ofapp.openflow.wire.handshakes import PATIENCE, Handshakes


class Caller:
    """A connection as far as the handshakes looks at it."""

    def __init__(self, peer: str = "192.0.2.1") -> None:
        self.address = (peer, 4711)
        self.introduced = self.behind = self.dead = False

    def close(self) -> None:
        self.dead = True


@pytest.fixture
def event_kinds() -> list[str]:
    return []


@pytest.fixture
def pending(event_kinds: list[str]) -> Handshakes:
    def emit(_bridge: int | None, event: Event) -> None:
        event_kinds.append(event.kind)

    return Handshakes(emit)


def test_a_peer_without_handshake_is_closed_in_time(
    pending: Handshakes, event_kinds: list[str]
) -> None:
    silent, honest = Caller(), Caller()
    pending.add(silent, 0.0)
    pending.add(honest, 0.0)
    honest.introduced = True
    pending.review(PATIENCE - 1)
    assert not silent.dead
    pending.review(PATIENCE)
    assert silent.dead
    assert not honest.dead
    assert event_kinds == ["openflow.unintroduced"]
    assert pending.counters["late"] == 1
    pending.review(2 * PATIENCE)
    assert event_kinds == ["openflow.unintroduced"]


def test_time_in_which_it_waits_for_us_does_not_count(pending: Handshakes) -> None:
    caller = Caller()
    pending.add(caller, 0.0)
    caller.behind = True
    pending.review(3 * PATIENCE)
    caller.behind = False
    pending.review(4 * PATIENCE - 1)
    assert not caller.dead
    pending.review(4 * PATIENCE)
    assert caller.dead


def test_a_crowd_of_one_peer_costs_that_peer_a_connection(
    monkeypatch: pytest.MonkeyPatch, pending: Handshakes, event_kinds: list[str]
) -> None:
    monkeypatch.setattr(handshakes, "MOST", 10)
    good = [Caller(f"192.0.2.{number}") for number in range(4)]
    for caller in good:
        pending.add(caller, 0.0)
    crowd = [Caller("203.0.113.9") for _ in range(40)]
    for caller in crowd:
        pending.add(caller, 1.0)
    assert not any(caller.dead for caller in good)
    assert [caller.dead for caller in crowd] == [True] * 34 + [False] * 6
    assert pending.counters["crowd"] == 34
    assert set(event_kinds) == {"openflow.unintroduced"}


def test_who_is_in_is_not_counted(monkeypatch: pytest.MonkeyPatch, pending: Handshakes) -> None:
    monkeypatch.setattr(handshakes, "MOST", 10)
    switches = [Caller() for _ in range(50)]
    for switch in switches:
        pending.add(switch, 0.0)
        switch.introduced = True
    assert not any(switch.dead for switch in switches)


def test_that_no_connection_can_be_taken_is_reported_and_that_one_can_again(
    pending: Handshakes, event_kinds: list[str]
) -> None:
    pending.report_full("Too many open files")
    pending.report_full("")
    assert event_kinds == ["openflow.full", "openflow.full.cleared"]
    assert pending.counters["full"] == 1
