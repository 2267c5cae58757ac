"""VLAN membership as values: classes of VIDs, blocks, which ports reach which."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ofapp.bridge.params.params import BridgeParams, PortParams
from ofapp.bridge.params.policy import Mirror, Policies, PortPolicy
from ofapp.bridge.ports.port import Port
from ofapp.bridge.ports.vlan import ALL_VIDS, NO_VLAN, TRANSPARENT, access, blocks, spoken, trunk
from ofapp.bridge.relay.policies import PortPolicies

vids = st.frozensets(st.integers(1, 4094), max_size=60) | st.builds(
    lambda first, size: frozenset(range(first, min(first + size, 4095))),
    st.integers(1, 4094),
    st.integers(0, 4094),
)


@given(vids)
def test_blocks_cover_just_the_vids(members: frozenset[int]) -> None:
    covered = [vid for value, mask in blocks(members) for vid in range(4096) if vid & mask == value]
    assert sorted(covered) == sorted(members)


def test_a_trunk_of_everything_is_a_handful_of_blocks() -> None:
    assert len(blocks(ALL_VIDS)) == 22


def test_vids_for_people() -> None:
    assert spoken({20, 1, 2, 3, 22}) == "1-3,20,22"
    assert spoken([]) == ""


@pytest.mark.parametrize(
    ("vlans", "untagged", "in_10", "in_20"),
    [
        (TRANSPARENT, 0, 10, 20),
        (access(10), 10, None, None),
        (trunk(frozenset({10})), None, 10, None),
        (trunk(frozenset({20}), native=10), 10, 10, 20),
    ],
)
def test_what_is_admitted(vlans, untagged, in_10, in_20) -> None:  # type: ignore[no-untyped-def]
    assert [vlans.classify(vid) for vid in (0, 10, 20)] == [untagged, in_10, in_20]


def test_a_native_vlan_may_leave_tagged() -> None:
    assert trunk(frozenset({1}), native=1).pops(1)
    assert not trunk(frozenset({1}), native=1, native_tagged=True).pops(1)


def reach(*ports: PortParams, mirrors: tuple[Mirror, ...] = ()) -> PortPolicies:
    named = {f"p{number}": params for number, params in enumerate(ports, 1)}
    params = BridgeParams(ports=named, policies=Policies(mirrors=mirrors))
    return PortPolicies(params, [Port(n, f"p{n}", n, True) for n in range(1, len(ports) + 1)])


def class_of(made: PortPolicies, vid: int) -> int | None:
    """The class of a VID, None for one like any other."""
    return next((name for name, vids in made.classes.items() if vid in vids), None)


class TestClasses:
    def test_vlans_on_the_same_ports_are_one(self) -> None:
        both = PortParams(vlans=trunk(frozenset(range(100, 200))))
        made = reach(both, both, PortParams(vlans=access(150)))
        assert made.classes == {
            100: frozenset(range(100, 200)) - {150},
            150: frozenset({150}),
        }
        assert made.members(150) == {1, 2, 3}
        assert made.members(160) == {1, 2}
        assert made.members(NO_VLAN) == frozenset()

    def test_what_nobody_names_goes_where_everything_goes(self) -> None:
        made = reach(PortParams(), PortParams(vlans=trunk()), PortParams(vlans=access(5)))
        assert class_of(made, 77) is None
        assert made.others() == {1, 2}
        assert made.members(NO_VLAN) == {1}
        assert class_of(made, 5) == 5

    def test_without_vlans_there_are_none(self) -> None:
        assert not reach(PortParams(), PortParams()).classes

    @given(
        st.lists(
            st.sampled_from([TRANSPARENT, access(3), access(4)])
            | st.builds(trunk, vids, st.sampled_from([0, 3])),
            min_size=1,
            max_size=5,
        ),
        st.integers(0, 4094),
    )
    def test_a_vid_floods_to_its_members(self, ports: list, vid: int) -> None:  # type: ignore[type-arg]
        made = reach(*(PortParams(vlans=vlans) for vlans in ports))
        name = class_of(made, vid)
        flooded = made.others() if name is None else made.members(name)
        assert flooded == {n for n, vlans in enumerate(ports, 1) if vlans.has(vid)}


class TestParts:
    @pytest.mark.parametrize("policy", [PortPolicy(monitor=True), PortPolicy(shutdown=True)])
    def test_who_takes_none_is_in_no_vlan(self, policy: PortPolicy) -> None:
        made = reach(PortParams(policy=policy), PortParams(vlans=access(5)), PortParams())
        assert not made.takes_part(1)
        assert 1 not in made.members(5) | made.others()

    def test_a_mirror_listens_and_hears_all_but_itself(self) -> None:
        made = reach(PortParams(), PortParams(), PortParams(), mirrors=(Mirror("p3", None, None),))
        assert not made.takes_part(3)
        assert made.ingress_copies == made.egress_copies == {1: (3,), 2: (3,)}

    def test_isolated_ports_reach_others(self) -> None:
        alone = PortParams(policy=PortPolicy(isolated=True))
        made = reach(alone, alone, PortParams())
        assert not made.may_pass(1, 2)
        assert made.may_pass(1, 3)
        assert made.may_pass(3, 1)
