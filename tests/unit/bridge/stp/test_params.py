"""What may be set, what is refused and how the refusal reads."""

import pytest

from ofapp.bridge.stp import BridgeParams, Link, ParameterError, PortParams, path_cost
from ofapp.bridge.stp.port import TreePort
from ofapp.bridge.stp.vectors import (
    PriorityVector,
    Times,
    format_bridge_id,
    format_port_id,
    port_identifier,
    supersedes,
    within_table,
)


def test_defaults_are_the_standards() -> None:
    params = BridgeParams()
    assert (params.priority, params.transmit_hold_count, params.force_version) == (32768, 6, 2)
    assert params.times == Times(0, 20, 15, 2)
    assert PortParams().priority == 128


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"priority": 4095}, "4095 is not a multiple of 4096"),
        ({"priority": 65536}, "between 0 and 61440"),
        ({"priority": -4096}, "between 0 and 61440"),
        ({"hello_time": 0.5}, "hello time 0.5 is not between 1 and 2 s"),
        ({"max_age": 41}, "max age 41"),
        ({"forward_delay": 3}, "forward delay 3"),
        ({"transmit_hold_count": 0}, "transmit hold count 0"),
        ({"force_version": 1}, "neither 0 (STP) nor 2 (RSTP)"),
        ({"force_version": 3}, "neither"),
        ({"bpdu_guard_recovery": -1}, "BPDU guard recovery -1"),
    ],
)
def test_bridge_values_out_of_range_are_refused(values: dict[str, float], words: str) -> None:
    with pytest.raises(ValueError) as refused:  # noqa: PT011
        BridgeParams(**values)  # type: ignore[arg-type]
    assert words in str(refused.value)
    assert isinstance(refused.value, ParameterError)
    assert refused.value.fields == tuple(values)


@pytest.mark.parametrize("values", [{"max_age": 29.0}, {"forward_delay": 10.5}])
def test_broken_relation_is_refused_naming_the_values(values: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"2 × \(forward delay − 1\) ≥ max age ≥") as refused:
        BridgeParams(**values)
    for value in values.values():
        assert f"{value:g} s" in str(refused.value)
    assert isinstance(refused.value, ParameterError)
    assert set(refused.value.fields) == {"forward_delay", "max_age", "hello_time"}


def test_edges_of_the_relation_are_accepted() -> None:
    BridgeParams(forward_delay=11, max_age=20)
    BridgeParams(hello_time=2, max_age=6)


@pytest.mark.parametrize(
    "values",
    [
        {"priority": 8},
        {"priority": 256},
        {"path_cost": 0},
        {"path_cost": 200_000_001},
        {"path_cost": 10**400},
        {"root_guard": True, "loop_guard": True},
    ],
)
def test_port_values_are_checked(values: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"port priority|path cost|exclude"):
        PortParams(**values)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("mbps", "cost"),
    [
        (0, 200_000_000),
        (10, 2_000_000),
        (100, 200_000),
        (1000, 20_000),
        (10_000, 2000),
        (100_000, 200),
        (400_000, 50),
        (10**9, 1),
    ],
)
def test_path_cost_follows_table_17_3(mbps: int, cost: int) -> None:
    assert path_cost(mbps) == cost


def test_administered_cost_wins_over_speed() -> None:
    port = TreePort(1, 1, PortParams(path_cost=7), Link(True, 100), 0)
    assert port.port_path_cost == 7
    port.configure(PortParams(), Link(True, 100))
    assert port.port_path_cost == 200_000


def test_identifiers_read_as_people_know_them() -> None:
    assert format_bridge_id(0x8000_0200_0000_0A01) == "8000.02:00:00:00:0a:01"
    assert format_port_id(port_identifier(128, 1)) == "8.001"
    assert port_identifier(240, 0xFFF) == 0xFFFF


def test_designated_port_may_replace_what_it_said() -> None:
    held = PriorityVector(1, 10, 0x8000_0000_0000_0007, 0x8001)
    assert supersedes(held._replace(root=9), held)
    assert supersedes(held._replace(root=9, bridge=0x1000_0000_0000_0007, port=0xF001), held)
    assert not supersedes(held._replace(cost=11, port=0x8002), held)
    assert supersedes(held._replace(cost=9, bridge=8), held)


def test_times_of_a_mad_root_are_brought_inside_table_17_1() -> None:
    assert within_table(Times(3, 0, 0, 0)) == Times(3, 6, 4, 1)
    assert within_table(Times(3, 255, 255, 255)) == Times(3, 40, 30, 10)
