"""A section of the file that follows from the core's declaration."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

import pytest
from annotated_types import Interval
from pydantic import ValidationError
from typing_extensions import Doc

from ofapp.bridge.params.parameter import Section
from ofapp.config.derived import section_values, sections_of


@dataclass(frozen=True, slots=True)
class Snooping:
    lease: Annotated[int, Interval(ge=1, le=60), Doc("Seconds of a lease.")] = 5


@dataclass(frozen=True, slots=True)
class SnoopingPort:
    trusted: Annotated[bool, Doc("A server may be here.")] = False


@dataclass(frozen=True, slots=True)
class BridgeParams:
    dhcp: Annotated[Snooping | None, Section("DHCP snooping", "Watch DHCP.")] = None


@dataclass(frozen=True, slots=True)
class PortParams:
    dhcp: Annotated[SnoopingPort, Section("DHCP snooping")] = field(default_factory=SnoopingPort)


def read(core: type, section: dict[str, Any]) -> Any:
    model = sections_of(core).model_validate({"dhcp": section})
    return section_values(model, core)["dhcp"]


def test_a_bridge_runs_it_where_it_is_enabled() -> None:
    assert read(BridgeParams, {}) is None
    assert read(BridgeParams, {"lease": 7}) is None
    assert read(BridgeParams, {"enabled": True, "lease": 7}) == Snooping(7)


def test_a_port_has_its_values_in_any_case() -> None:
    assert read(PortParams, {}) == SnoopingPort()
    assert read(PortParams, {"trusted": True}) == SnoopingPort(True)


@pytest.mark.parametrize(
    ("section", "what"),
    [({"lease": 0}, "from 1 to 60"), ({"leese": 5}, "leese"), ({"lease": "5"}, "lease")],
)
def test_a_mistake_is_refused(section: dict[str, Any], what: str) -> None:
    with pytest.raises(ValidationError, match=what):
        read(BridgeParams, section)


def test_the_schema_has_the_sentences_of_the_declaration() -> None:
    schema = str(sections_of(BridgeParams).model_json_schema())
    assert all(words in schema for words in ("Watch DHCP.", "Seconds of a lease.", "'maximum': 60"))
