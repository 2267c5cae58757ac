"""Port numbers of a fabric's bridge."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ofapp.bridge.fabric.state.numbering import LAST, MemberPort, Numbering
from ofapp.bridge.ports.port import LOCAL_PORT


def test_local_of_the_first_member_is_the_bridges() -> None:
    numbering = Numbering(3)
    assert numbering.put(MemberPort(1, LOCAL_PORT), "fabric") == LOCAL_PORT
    number = numbering.put(MemberPort(2, LOCAL_PORT), "s2/LOCAL")
    assert number is not None
    assert 0 < number <= LAST


def test_a_port_has_the_same_number_in_any_order_of_arrival() -> None:
    places = [MemberPort(member, number) for member in (1, 2, 3) for number in (1, 2, 7)]
    one, other = Numbering(3), Numbering(3)
    numbers = {place: one.put(place, str(place)) for place in places}
    assert {place: other.put(place, str(place)) for place in reversed(places)} == numbers
    assert numbers[MemberPort(1, 7)] == 7


def test_a_port_that_returns_by_its_name_gets_its_number() -> None:
    numbering = Numbering(2)
    first = numbering.put(MemberPort(1, 3), "s1/eth0")
    assert numbering.drop(MemberPort(1, 3)) == first
    assert numbering.put(MemberPort(1, 3), "s1/eth1") != first
    assert numbering.put(MemberPort(1, 8), "s1/eth0") == first


def test_a_renamed_port_keeps_its_number_and_frees_its_name() -> None:
    numbering = Numbering(2)
    first = numbering.put(MemberPort(1, 3), "s1/eth0")
    assert numbering.put(MemberPort(1, 3), "s1/up0") == first
    assert numbering.put(MemberPort(1, 4), "s1/eth0") != first


def test_a_port_that_the_switch_renumbers_at_once_keeps_its_number() -> None:
    numbering = Numbering(2)
    first = numbering.put(MemberPort(1, 3), "s1/eth0")
    assert numbering.put(MemberPort(1, 4), "s1/eth0") == first
    assert numbering.drop(MemberPort(1, 3)) is None
    assert numbering.place(first or 0) == MemberPort(1, 4)


def test_the_port_that_was_away_longest_gives_its_number_up_and_then_there_is_none() -> None:
    numbering = Numbering(2, last=4)
    for number in range(1, 5):
        numbering.put(MemberPort(1, number), f"s1/{number}")
    gone = numbering.drop(MemberPort(1, 2))
    numbering.drop(MemberPort(1, 1))
    assert numbering.put(MemberPort(2, 1), "s2/1") == gone
    assert numbering.put(MemberPort(2, 2), "s2/2") is not None
    assert numbering.put(MemberPort(2, 3), "s2/3") is None


@given(
    st.lists(
        st.tuples(st.booleans(), st.integers(1, 3), st.integers(1, 5), st.sampled_from("abcdefgh")),
        max_size=60,
    )
)
def test_no_two_ports_have_one_number(steps: list[tuple[bool, int, int, str]]) -> None:
    numbering = Numbering(3, last=6)
    for puts, member, number, name in steps:
        place = MemberPort(member, number)
        if puts:
            given_number = numbering.put(place, f"s{member}/{name}")
            assert given_number is None or 1 <= given_number <= 6
        else:
            numbering.drop(place)
            assert numbering.number(place) is None
        places = [MemberPort(m, n) for m in (1, 2, 3) for n in range(1, 6)]
        present = {p: numbering.number(p) for p in places if numbering.number(p) is not None}
        assert len({*present.values()}) == len(present)
        assert all(numbering.place(n or 0) == p for p, n in present.items())


def test_ports_have_their_numbers_again_after_a_restart() -> None:
    numbering = Numbering(2, 8)
    gone, kept = MemberPort(1, 9), MemberPort(2, 9)
    numbering.put(gone, "s1/away")
    numbering.put(kept, "s2/kept")
    numbering.drop(gone)
    restored = Numbering(2, 8)
    restored.restore(numbering.dump())
    assert restored.put(MemberPort(2, 3), "s2/kept") == numbering.number(kept)
    assert restored.put(MemberPort(1, 3), "s1/away") == 8
    with pytest.raises(ValueError, match="numbers of ports"):
        restored.restore([["s1/eth0"]])
