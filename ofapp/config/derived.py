"""Models of the core's parameters: type, default, bounds and sentence are those of the declaration
(`bridge.parameter`), and so is the refusal that the user reads.

pydantic checks the type, and the declaration the range.  The core's dataclass checks values that
depend on each other when it is made.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    WithJsonSchema,
    create_model,
)

from ofapp.bridge.params.parameter import Parameter, Section, declared, sections
from ofapp.config.base import Flag, Model

Refusal = Callable[[Parameter, Any], str | None]
"""Gives the error of a value, in words; None for a valid one."""

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


class _Section(Model):
    """Base of derived sections.

    core: the dataclass; switched: whether the bridge runs the protocol only if it is `enabled`.
    """

    core: ClassVar[type]
    switched: ClassVar[bool]

    def params(self) -> Any:
        """The core's value; None where the protocol is off."""
        off = self.switched and not self.enabled  # type: ignore[attr-defined]
        return None if off else self.core(**core_values(self, self.core))


def sections_of(core: type) -> Any:
    """A model of the sections of protocols of a dataclass of the core, to be a base beside others.

    A protocol needs no module here: its section is what the core declares (`parameter.Section`).
    """
    models = {name: _section(core, name, *section) for name, section in sections(core).items()}
    fields: dict[str, Any] = {name: (model, model()) for name, model in models.items()}
    return create_model(f"{core.__name__}Sections", __base__=Model, **fields)


def _section(owner: type, name: str, core: type, declared: Section) -> Any:
    level = owner.__name__.removesuffix("Params")
    switch: Any = _Section
    if declared.enables:
        enabled: Any = Flag, Field(False, description=declared.enables)
        switch = create_model("Switch", __base__=_Section, enabled=enabled)
    model: Any = create_model(
        f"{name.title().replace('_', '')}{level}",
        __base__=(fields_of(core), switch),
        __doc__=f"{declared.subject} of a {level.lower()}.",
    )
    model.core = core  # type: ignore[attr-defined]
    model.switched = bool(declared.enables)  # type: ignore[attr-defined]
    return model


def section_values(model: BaseModel, core: type) -> dict[str, Any]:
    """The sections of protocols that the model has, as values of the core."""
    return {name: getattr(model, name).params() for name in sections(core)}


def section_model(model: type[BaseModel], name: str) -> Any:
    """The derived model of a section, for annotations."""
    return model.model_fields[name].annotation


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
    if parameter.form is not None and (items := parameter.form.items) is not None:
        schema = WithJsonSchema(items.json_schema(parameter.form.pattern))
        whole = Annotated[whole, BeforeValidator(items.joined), schema]
    if "off" in parameter.choices:
        whole = Annotated[whole, BeforeValidator(off_word)]
    return Annotated[whole, AfterValidator(check), parameter]  # the last for `errors` only


def off_word(value: Any) -> Any:
    """`off` without quotes is false in YAML 1.1, and in what reads a command line here."""
    return "off" if value is False else value
