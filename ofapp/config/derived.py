"""Models of the core's parameters: type, default, bounds and sentence are those of the declaration
(`bridge.parameter`), and so is the refusal that the user reads.

pydantic sees to the type; whether a value is in its range the declaration says.  What has to be
known of several values together the core's dataclass checks when it is made.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    create_model,
)

from ofapp.bridge.params.parameter import Parameter, declared
from ofapp.config.base import Model

Refusal = Callable[[Parameter, Any], str | None]
"""What is wrong with a value, in words."""

_STRICT: dict[Any, Any] = {bool: StrictBool, int: StrictInt, float: StrictFloat, str: StrictStr}


def fields_of(core: type, refusal: Refusal = Parameter.refusal) -> Any:
    """A model of the parameters of a dataclass of the core, to be a base beside others."""
    fields: dict[str, Any] = {}
    for name, parameter in declared(core).items():
        fields[name] = (
            _type(parameter, refusal),
            Field(
                parameter.default,
                description=parameter.sentence,
                json_schema_extra=parameter.json_schema(),
            ),
        )
    return create_model(f"{core.__name__}Fields", __base__=Model, **fields)


def core_values(model: BaseModel, core: type) -> dict[str, Any]:
    """The arguments of a dataclass of the core that the model has."""
    return {name: getattr(model, name) for name in declared(core)}


def _type(parameter: Parameter, refusal: Refusal) -> Any:
    named = parameter.choices and parameter.type is str
    type_ = Literal[parameter.choices] if named else _STRICT.get(parameter.type, parameter.type)

    def check(value: Any) -> Any:
        if what := refusal(parameter, value):
            raise ValueError(what)
        return value

    whole = type_ | None if parameter.optional else type_
    return Annotated[whole, AfterValidator(check), parameter]  # the last for `errors` only
