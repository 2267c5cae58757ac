"""What can be set of an aggregation is checked when it is made, and refused by name."""

import pytest

from ofapp.bridge.input_error import InputError
from ofapp.bridge.lag import LagParams
from ofapp.bridge.params.parameter import declared


def test_defaults() -> None:
    params = LagParams(("eth0", "eth1"))
    assert (params.lacp, params.rate, params.hash) == ("active", "slow", "layer2+3")
    assert (params.min_links, params.max_links) == (1, 8)
    assert (params.system_priority, params.port_priority) == (32768, 32768)
    assert not params.fallback


def test_members_are_no_parameter_and_all_else_is() -> None:
    assert {*declared(LagParams)} == {*LagParams.__slots__} - {"members"}


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("members", {"members": ()}),
        ("members", {"members": tuple(f"eth{n}" for n in range(33))}),
        ("members", {"members": ("eth0", "eth1", "eth0")}),
        ("lacp", {"lacp": "on"}),
        ("rate", {"rate": 1}),
        ("hash", {"hash": "layer4"}),
        ("min_links", {"min_links": 0}),
        ("min_links", {"min_links": 3, "max_links": 2}),
        ("max_links", {"max_links": 9}),
        ("system_priority", {"system_priority": -1}),
        ("port_priority", {"port_priority": 65536}),
        ("fallback", {"fallback": 1}),
    ],
)
def test_what_is_refused(field: str, values: dict[str, object]) -> None:
    with pytest.raises(InputError) as refused:
        LagParams(**{"members": ("eth0",), **values})  # type: ignore[arg-type]
    assert refused.value.field == field
    assert str(refused.value)
