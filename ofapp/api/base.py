"""Types of identifiers, and models that several resources share.

A resource is a module or a package that contains its models (from which /openapi.json is made), the
functions that fill them (`*_view`), and the routes.  A view returns a model: one that
names all fields, so that the type checker finds missing and unknown ones, or one `filled` from a
value of the core with the same names.  Only pages of the forwarding and multicast databases, and
of bindings, are plain dictionaries of a model's shape, as a hundred thousand entries are too many
to pass through a model each.  Tests check those against the models.
"""

from __future__ import annotations

import re
from enum import Enum
from functools import cache
from ipaddress import ip_address
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from ofapp.bridge.mac import format_mac, is_group, parse_mac

Model = TypeVar("Model", bound=BaseModel)

MAX_PAGE = 10_000
PAGE = 1000
"""Most entries of a page, without `limit`."""

_OCTET = "[0-9a-fA-F]{1,2}"
_HEX = "[0-9a-fA-F]"


def _notations(first: str, octet: str, digit: str) -> str:
    """The pattern of all notations that `parse_mac` reads.

    first: pattern of the first octet; octet: pattern of an octet that may have one digit;
    digit: pattern of a digit.
    """
    rest = f"{first}{digit}{{2}}[.]{digit}{{4}}[.]{digit}{{4}}|{first}{digit}{{10}}"
    short = first.replace(digit, f"{digit}?", 1)
    return f"^({short}(:{octet}){{5}}|{short}(-{octet}){{5}}|{rest})$"


_MAC = _notations(_HEX * 2, _OCTET, _HEX)
_HOST_MAC = _notations(f"{_HEX}[02468aceACE]", _OCTET, _HEX)
_ZERO_MAC = _notations("00", "0{1,2}", "0")


def _mac(value: object) -> int:
    return parse_mac(value if isinstance(value, str) else repr(value))


def _host_mac(value: object) -> int:
    mac = _mac(value)
    if not mac or is_group(mac):
        raise ValueError(f"{value} is not the address of one host")
    return mac


def _ip(text: str) -> str:
    """Normalize an IP address.  Raises ValueError."""
    return str(ip_address(text))


def _decimal(value: object) -> object:
    """Check a number from path or query; pydantic alone would also accept 1_0, +1 and 1.0."""
    if isinstance(value, str) and not re.fullmatch("0|[1-9][0-9]{0,17}", value):
        raise ValueError(f"{value!r} is not a decimal number")
    return value


def json_number(value: object) -> object:
    """Check a number from a JSON body; pydantic alone would also accept true and "1"."""
    if isinstance(value, bool | str):
        raise PydanticCustomError("int_type", "must be a number")  # in words: config.errors
    return value


DatapathId = Annotated[
    str,
    Field(
        pattern="^[0-9a-fA-F]{16}$",
        description="datapath id",
        json_schema_extra={"example": "0000000000000001"},
    ),
]
BridgeText = Annotated[
    str,
    Field(
        min_length=1,
        max_length=64,
        description="a bridge's datapath id, 16 hex digits, or its name",
        json_schema_extra={"example": "0000000000000001"},
    ),
]
Mac = Annotated[
    int,
    BeforeValidator(_mac),
    WithJsonSchema({"type": "string", "pattern": _MAC, "example": "52:54:00:12:34:56"}),
]
MacOf = Annotated[
    str, BeforeValidator(lambda mac: format_mac(mac) if isinstance(mac, int) else mac)
]
"""An address in an answer, filled from one of the core."""
ValueOf = BeforeValidator(lambda member: member.value if isinstance(member, Enum) else member)
"""For a name in an answer, filled from a member of an enumeration."""
HostMac = Annotated[
    int,
    BeforeValidator(_host_mac),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": _HOST_MAC,
            "not": {"pattern": _ZERO_MAC},
            "description": "a MAC address of one host, not a group",
            "example": "52:54:00:12:34:56",
        }
    ),
]
Vid = Annotated[
    int, Field(ge=0, le=4094, description="VID, 0 = untagged"), BeforeValidator(_decimal)
]
Number = Annotated[int, Field(ge=0, le=10**15), BeforeValidator(_decimal)]
PageSize = Annotated[int, Field(ge=1, le=MAX_PAGE), BeforeValidator(_decimal)]
PortNumber = Annotated[
    int,
    Field(
        ge=1,
        le=0xFFFFFFFE,
        description="OpenFlow port number",
        json_schema_extra={"example": 1},
    ),
    BeforeValidator(json_number),
]
PortText = Annotated[
    str,
    Field(
        min_length=1,
        max_length=64,
        description="a port's name, its number, or LOCAL",
        json_schema_extra={"example": "eth1"},
    ),
]


IpAddress = Annotated[
    str,
    AfterValidator(_ip),
    WithJsonSchema(
        {
            "type": "string",
            "anyOf": [{"format": "ipv4"}, {"format": "ipv6"}],
            "description": "an IPv4 or IPv6 address",
            "example": "10.0.0.7",
        }
    ),
]


class Input(BaseModel):
    """Model that refuses unknown fields: a misspelt filter must not select everything."""

    model_config = ConfigDict(extra="forbid")

    @classmethod
    def model_json_schema(cls, *args: Any, **options: Any) -> dict[str, Any]:
        """The schema by pydantic; without arguments it is cached.

        flask-openapi3 gets a query's schema at each request, and each leaves a hundred objects that
        only the garbage collector frees.
        """
        return super().model_json_schema(*args, **options) if args or options else _schema(cls)


@cache
def _schema(model: type[Input]) -> dict[str, Any]:
    return super(Input, model).model_json_schema()


class OfCore(BaseModel):
    """Model that `model_validate` fills from a value of the core, by names of attributes."""

    model_config = ConfigDict(from_attributes=True)


def filled(model: type[Model], core: object, **others: Any) -> Model:
    """The model, with fields from the attributes of the same names in a value of the core.

    others: the fields that differ from the core's attributes.
    """
    names = model.model_fields.keys() - others.keys()
    return model(**{name: getattr(core, name) for name in names}, **others)


class NoQuery(Input):
    """No query parameters."""


class BridgePath(Input):
    """Path of a bridge."""

    dpid: BridgeText


class PortPath(BridgePath):
    """Path of a port of a bridge."""

    port: PortText


class PortRef(BaseModel):
    """A port.  number: OpenFlow's port number, 4294967294 is LOCAL;
    null while the port is absent."""

    number: int | None
    name: str


class Silent(BaseModel):
    """A member of the cluster whose part of a list is missing."""

    member: str
    reason: str


SilentMembers = Annotated[
    list[Silent], Field(description="members of the cluster whose bridges are missing here")
]


class Flushed(BaseModel):
    """Result of a flush."""

    flushed: int = Field(description="entries removed")
