"""An aggregation in the configuration file: several ports of a switch that are one of the bridge.

The parameters are the core's own.  Members are named one by one: a port that happened to fit a
pattern would carry half of another host's frames.
"""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from ofapp.bridge.input_error import InputError
from ofapp.bridge.lag.params import MAX_MEMBERS, LagParams
from ofapp.config.base import FaultsError, Model, PortName, is_pattern, port_number
from ofapp.config.derived import core_values, fields_of


def _lag_name(name: Any) -> Any:
    if isinstance(name, str) and port_number(name) is not None:
        raise ValueError(f"{name} means a port already: an aggregation needs another name")
    if isinstance(name, str) and is_pattern(name):
        raise ValueError(f"{name!r} is a pattern: an aggregation is one port and has one name")
    return name


LagName = Annotated[PortName, BeforeValidator(_lag_name)]
"""Name of the bridge's port that the members form."""


def _member(name: Any) -> Any:
    if name == "LOCAL":
        raise ValueError("LOCAL is the bridge's own port, and no link that could be one of several")
    if isinstance(name, str) and is_pattern(name):
        what = f"{name!r} is a pattern, and any port of such a name would join"
        raise ValueError(f"{what}: name the members one by one")
    return name


_MEMBER_SCHEMA = {
    "type": "string",
    "pattern": r"^(?!LOCAL$)([!-)+-.0->@-Z\\-~]{1,15}/)?[!-)+-.0->@-Z\\-~]{1,15}$",
}
"""ASCII without what makes a pattern, behind the name of a fabric's member in a fabric.  Other
letters are taken, too, while the name has no more than 15 bytes, which a schema cannot say: who
follows it is never refused."""

MemberPort = Annotated[PortName, BeforeValidator(_member), WithJsonSchema(_MEMBER_SCHEMA)]


class Lag(fields_of(LagParams), Model):  # type: ignore[misc]
    """Ports that are one port of the bridge.  Its VLANs and policies stand under `ports`, by the
    aggregation's name."""

    members: tuple[MemberPort, ...] = Field(
        description="the ports that make it up, each by its name; one that is not there is waited"
        f" for; {MAX_MEMBERS} at most"
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        self.params()
        return self

    def params(self) -> LagParams:
        """The core's value.  Raises FaultsError."""
        try:
            made = LagParams(self.members, **core_values(self, LagParams))
        except InputError as error:
            raise FaultsError([((error.field,), str(error))]) from None
        if self.min_links > len(self.members):
            what = f"is {self.min_links}, more than there are members ({len(self.members)})"
            raise FaultsError([(("min_links",), f"{what}: it could never be up")])
        return made

    def check(self) -> None:
        """Make the core's value.  Raises FaultsError."""
        self.params()
