"""A parameter is declared once: the file, the API and the command line have it from the core."""

from dataclasses import dataclass
from math import inf, nan
from typing import Annotated, Any, Literal

import pytest
from annotated_types import Interval, MultipleOf
from pydantic import BaseModel, ValidationError
from typing_extensions import Doc

from ofapp.bridge import multicast, stp
from ofapp.bridge.params import policy
from ofapp.bridge.params.parameter import declared, refusals
from ofapp.bridge.params.params import BridgeParams, PortParams
from ofapp.config import Config
from ofapp.config.bridge import Bridge, MacMove, Vlan
from ofapp.config.derived import fields_of
from ofapp.config.multicast import MulticastBridge, MulticastPort, MulticastVlan
from ofapp.config.port import PortSection, Storm
from ofapp.config.stp import StpBridge, StpPort


@dataclass(frozen=True, slots=True)
class Some:
    """One parameter of each kind, and one thing that is none."""

    count: Annotated[int | None, Interval(ge=1, le=9), Doc("How many.")] = None
    wait: Annotated[float, Interval(gt=0, le=60), Doc("How long.")] = 1.0
    step: Annotated[int, Interval(ge=0, le=96), MultipleOf(32), Doc("How far.")] = 0
    kind: Annotated[Literal["red", "blue"], Doc("Which.")] = "red"
    quiet: Annotated[bool, Doc("Say nothing.")] = False
    inside: Annotated[int, Interval(ge=1)] = 1


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("count", 0, "a whole number from 1 to 9, not 0"),
        ("count", 10, "a whole number from 1 to 9, not 10"),
        ("count", True, "a whole number from 1 to 9, not True"),
        ("count", 1.0, "a whole number from 1 to 9, not 1.0"),
        ("wait", 0, "a number above 0, at most 60, not 0"),
        ("wait", nan, "a number above 0, at most 60, not nan"),
        ("wait", inf, "a number above 0, at most 60, not inf"),
        ("step", 33, "a whole number from 0 to 96 in steps of 32, not 33"),
        ("kind", "green", "red or blue, not 'green'"),
        ("quiet", 1, "true or false, not 1"),
    ],
)
def test_a_wrong_value_is_refused_in_words(name: str, value: Any, wanted: str) -> None:
    assert declared(Some)[name].refusal(value) == f"must be {wanted}"
    assert [own.name for own, _ in refusals(Some(**{name: value}))] == [name]
    with pytest.raises(ValidationError):
        fields_of(Some)(**{name: value})


def test_what_is_right_is_taken() -> None:
    for value in (Some(), Some(1, 60, 96, "blue", True, 0), Some(9, 0.001)):
        assert not [*refusals(value)]


def test_without_a_sentence_it_is_no_parameter() -> None:
    assert list(declared(Some)) == ["count", "wait", "step", "kind", "quiet"]


PAIRS: list[tuple[type, type[BaseModel]]] = [
    (BridgeParams, Bridge),
    (PortParams, PortSection),
    (policy.PortPolicy, PortSection),
    (policy.Storm, Storm),
    (policy.VlanPolicy, Vlan),
    (policy.MoveLimit, MacMove),
    (stp.BridgeParams, StpBridge),
    (stp.PortParams, StpPort),
    (multicast.Params, MulticastBridge),
    (multicast.VlanParams, MulticastVlan),
    (multicast.PortParams, MulticastPort),
]


@pytest.mark.parametrize(("core", "model"), PAIRS)
def test_the_file_has_each_with_the_cores_default_and_sentence(
    core: type, model: type[BaseModel]
) -> None:
    assert declared(core)
    schema = model.model_json_schema()["properties"]
    for name, parameter in declared(core).items():
        field = model.model_fields[name]
        assert (field.default, field.description) == (parameter.default, parameter.sentence)
        assert parameter.json_schema().items() <= schema[name].items()


@pytest.mark.parametrize(("core", "model"), PAIRS)
def test_every_sentence_is_one(core: type, model: type[BaseModel]) -> None:
    for parameter in declared(core).values():
        assert parameter.sentence[0].isupper() or parameter.sentence[0].isdigit()
        assert parameter.sentence.endswith(".")
        assert parameter.takes(parameter.default)  # it is not looked at when a value is made


def test_a_bridge_of_an_empty_file_is_the_cores_default() -> None:
    params = Config().bridge(1).params()
    assert params == BridgeParams(stp=stp.BridgeParams(), multicast=multicast.Params())
    assert PortSection().params(lambda ref: 1) == PortParams()
