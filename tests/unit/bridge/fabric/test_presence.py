"""Which members of a fabric are gone, and which may forward without the controller."""

from ofapp.bridge.fabric.plans.graph import End, Graph, Link
from ofapp.bridge.fabric.state.presence import PATIENCE, Presence

MEMBERS = range(1, 5)
LINE = Graph((1, 2, 3, 4), tuple(Link(End(at, 2), End(at + 1, 1)) for at in (1, 2, 3)))


def connected(*members: int) -> Presence:
    presence = Presence()
    for member in members:
        presence.connect(member)
    return presence


def look(presence: Presence, alone: set[int], now: float = 0.0) -> list[int]:
    return presence.look(MEMBERS, alone.__contains__, LINE, now)


def test_a_member_without_links_is_gone_at_once_if_it_was_connected() -> None:
    presence = connected(1, 2, 3, 4)
    presence.disconnect(4)
    assert look(presence, {4}) == [4]
    assert presence.disconnected(MEMBERS) == []


def test_a_member_that_was_never_connected_is_gone_after_a_time() -> None:
    presence = connected(1, 2, 3)
    assert look(presence, {4}, 5.0) == []
    assert presence.next_wakeup() == 5.0 + PATIENCE
    assert look(presence, set(), 6.0) == []
    assert look(presence, {4}, 7.0) == []
    assert look(presence, {4}, 7.0 + PATIENCE) == [4]


def test_a_member_behind_one_that_is_away_may_forward() -> None:
    presence = connected(1, 2, 3, 4)
    for member in (2, 3, 4):
        presence.disconnect(member)
    assert look(presence, {3, 4}) == []
    assert look(presence, {2, 3, 4}) == [2, 3, 4]


def test_a_member_that_is_cut_off_and_has_links_again_is_away() -> None:
    presence = connected(1, 2, 3, 4)
    presence.disconnect(4)
    assert look(presence, {4}) == [4]
    assert look(presence, set()) == []
    assert presence.disconnected(MEMBERS) == [4]
    presence.connect(4)
    assert presence.disconnected(MEMBERS) == []


def test_no_member_is_gone_while_none_is_connected_or_it_is_connecting() -> None:
    presence = connected(1)
    presence.disconnect(1)
    assert look(presence, {1, 2, 3, 4}) == []
    presence.connect(1)
    presence.connect(2)
    presence.disconnect(2)
    presence.expect(2)
    assert 2 not in look(presence, {2, 3, 4})


def test_a_member_is_not_gone_while_links_are_being_found_again() -> None:
    """After a takeover no link of it is known for a moment, and it forwards."""
    presence = connected(1, 2, 3, 4)
    presence.disconnect(4)
    assert presence.look(MEMBERS, {4}.__contains__, Graph((), ()), 0.0, found=False) == []
    assert presence.look(MEMBERS, set().__contains__, LINE, 1.0) == []
    assert look(presence, {4}, 2.0) == [4]
