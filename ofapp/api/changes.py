"""Changes of settings, and bodies of PATCH: omitted fields keep their values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, ParamSpec

from pydantic import BaseModel, BeforeValidator, Field, Strict, StrictBool, StrictInt, create_model

from ofapp.api.base import Input, json_number
from ofapp.api.problems import refused
from ofapp.controller.state.saving import Ticket

P = ParamSpec("P")

_WHOLE = Annotated[int, BeforeValidator(json_number)]
_FRACTION = Annotated[float, BeforeValidator(json_number)]
_JSON_TYPES: dict[Any, Any] = {
    bool: StrictBool,
    int: _WHOLE,
    float: _FRACTION,
    StrictInt | None: _WHOLE | None,
}
"""Strict types: pydantic alone would also accept "yes" for true and true for 1."""


class Change:
    """Base of all bodies of PATCH."""

    def values(self) -> dict[str, Any]:
        """The fields that are given."""
        return {name: getattr(self, name) for name in self.model_fields_set}  # type: ignore


def make_change(change: Callable[P, Ticket], *arguments: P.args, **options: P.kwargs) -> None:
    """Make a change and wait until it is saved; 409 if it is refused, 503 or 507 if not saved."""
    with refused(409):
        saved = change(*arguments, **options)
    saved.wait()


def nested(model: type[BaseModel]) -> tuple[str, ...]:
    """The fields of a configuration model that are sections."""
    types = {name: field.annotation for name, field in model.model_fields.items()}
    return tuple(
        name
        for name, type_ in types.items()
        if isinstance(type_, type) and issubclass(type_, BaseModel)
    )


def changes_of(model: type[BaseModel], leave_out: tuple[str, ...] = ()) -> Any:
    """Make a model with a configuration model's fields and checks, with strict JSON types."""
    fields: dict[str, Any] = {}
    for name, field in model.model_fields.items():
        if name in leave_out:
            continue
        type_ = _JSON_TYPES.get(field.annotation, field.annotation)
        for item in field.metadata:
            if not isinstance(item, Strict):
                type_ = Annotated[type_, item]
        extra = dict(field.json_schema_extra or {})  # type: ignore[arg-type]
        fields[name] = type_, Field(None, description=field.description, json_schema_extra=extra)
    return create_model(f"{model.__name__}Fields", __base__=Input, **fields)
