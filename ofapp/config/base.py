"""The base of all models of the file: no unknown keys, never changed in place; and names.

Values are strict: YAML knows numbers from text, and `"10"` for a number is a mistake more often
than not.  Only what names a VLAN or a port is taken as either.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    WithJsonSchema,
    model_validator,
)

from ofapp.bridge.mac import format_mac, is_group, parse_mac
from ofapp.bridge.ports.names import MAX_NAME, base_name
from ofapp.bridge.ports.port import LOCAL_PORT

MAX_VID = 4094
MAX_PORT_NAME = MAX_NAME
"""Characters of an interface's name in Linux, and of a port's in OpenFlow."""

Path = tuple[str | int, ...]
"""Where in the file, from the top: keys, and places in lists."""

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,31}")
_NOT_VLANS = ("all", "none", "transparent")

Number = StrictInt | StrictFloat
"""Strict, because true and "1" are not numbers."""
Rate = Annotated[StrictInt, Field(ge=1, le=1_000_000_000)]
Flag = StrictBool
Text = Annotated[StrictStr, Field(max_length=255)]


class Model(BaseModel):
    """A section of the file.  A key without a value counts as absent."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _without_empty(cls, given: Any) -> Any:
        if given is None:
            return {}
        if not isinstance(given, dict):
            return given
        fields = cls.model_fields
        return {
            key: value
            for key, value in given.items()
            if value is not None or key not in fields or fields[key].default is None
        }

    def check(self) -> None:
        """ValueError for values that contradict each other."""

    def changed(self, values: Mapping[str, Any]) -> Self:
        """A copy with other values, of the right types; ValueError as in `check`."""
        new = self.model_copy(update=values)
        new.check()
        return new


def similar(given: str, known: Iterable[str]) -> str | None:
    """The known name that was likely meant; a third of the letters may be missing at most."""
    near = [name for name in known if abs(len(name) - len(given)) <= max(1, len(given) // 3)]
    return next(iter(difflib.get_close_matches(given, near, 1, 0.7)), None)


class FaultsError(ValueError):
    """Several things that do not go together.  faults: (path from where this is raised, what)."""

    def __init__(self, faults: Iterable[tuple[Path, str]]) -> None:
        self.faults = list(faults)
        super().__init__(
            "; ".join(f"{'.'.join(map(str, path))}: {what}" for path, what in self.faults)
        )


def _host_mac(text: str) -> str:
    mac = parse_mac(text)
    if not mac or is_group(mac):
        raise ValueError(f"{text} is not the address of one host")
    return format_mac(mac)


HostMac = Annotated[StrictStr, AfterValidator(_host_mac)]


def _decimal(value: Any) -> Any:
    """Text of digits as a number; a leading zero may mean octal, and is refused."""
    if isinstance(value, str) and value.isascii() and value.isdigit():
        if value != "0" and value.startswith("0"):
            raise ValueError(f"{value} begins with 0: write {int(value)} if it is decimal")
        return int(value[:12])
    return value


def vlan_ref(value: Any) -> Any:
    """A VID as a number, or a VLAN's name.  Raises ValueError."""
    value = _decimal(value)
    if isinstance(value, str) and (not _NAME.fullmatch(value) or value in _NOT_VLANS):
        raise ValueError(f"{value!r} is neither a VID, 1 to {MAX_VID}, nor the name of a VLAN")
    if not isinstance(value, str) and (type(value) is not int or not 0 <= value <= MAX_VID):
        raise ValueError(f"{value!r} is neither a VID, 1 to {MAX_VID}, nor the name of a VLAN")
    return value


def member_vlan(value: int | str) -> int | str:
    """The same; ValueError for VID 0, which no port is a member of."""
    if value == 0:
        raise ValueError(f"VID 0 stands for untagged: a port's VLAN is 1 to {MAX_VID}, or a name")
    return value


_VLAN_REF_SCHEMA = {
    "anyOf": [
        {"type": "integer", "minimum": 0, "maximum": MAX_VID},
        {"type": "string", "pattern": f"^{_NAME.pattern}$"},
    ]
}

VlanRef = Annotated[int | str, BeforeValidator(vlan_ref), WithJsonSchema(_VLAN_REF_SCHEMA)]
"""A VLAN by its VID, 0 = untagged, or by its name in `vlans`."""
MemberVlan = Annotated[VlanRef, AfterValidator(member_vlan)]
"""Likewise, but not untagged."""


def _vlan_name(name: str) -> str:
    if not _NAME.fullmatch(name) or name in _NOT_VLANS:
        raise ValueError(
            f"{name!r} cannot be a VLAN's name: a letter, then at most 31 letters, digits, "
            "'_', '.' or '-'"
        )
    return name


VlanName = Annotated[StrictStr, AfterValidator(_vlan_name)]


def _vid_key(value: Any) -> int:
    vid = _decimal(value)
    if type(vid) is not int or not 0 <= vid <= MAX_VID:
        raise ValueError(f"{value} is not a VID: 0 (untagged) to {MAX_VID}")
    return vid


VidKey = Annotated[int, BeforeValidator(_vid_key)]


def is_pattern(key: str) -> bool:
    """Whether a key of `ports` stands for several ports."""
    return any(character in key for character in "*?[")


def _port_key(value: Any) -> str:
    """Canonical: a name, a pattern, a number in decimal, or LOCAL."""
    number = _decimal(value)
    if type(number) is int:
        if not 1 <= number < 0xFFFFFF00:
            what = "write LOCAL" if number == LOCAL_PORT else "1 to 4294967039"
            raise ValueError(f"{value} is not the number of a port: {what}")
        return str(number)
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not a port's name, number or pattern")  # noqa: TRY004
    parts = value.split("/")
    if not all(parts) or len(parts) > 2 or any(map(str.isspace, value)):
        raise ValueError(f"{value!r} is not a port's name, number or pattern")
    if not is_pattern(value) and any(map(_is_too_long, parts)):
        raise ValueError(f"{value!r} is too long for a port's name: at most {MAX_PORT_NAME}")
    return value


def _is_too_long(part: str) -> bool:
    return len((base_name(part) or part).encode()) > MAX_PORT_NAME


PortKey = Annotated[str, BeforeValidator(_port_key)]
"""A port by its name, a pattern of names (`vnet*`), its number, or LOCAL.

Digits are always a number.  See `bridge.ports.names` for ports of which each has the same name.

Ports of a fabric have the name of their member in front (`s1/eth0`).
"""


def _port_pattern(value: str) -> str:
    if "/" in value:
        raise ValueError(f"{value!r} is no name of a port of a switch")
    return _port_key(value) if not value.isdigit() else value


PortPattern = Annotated[
    StrictStr, Field(min_length=1, max_length=64), AfterValidator(_port_pattern)
]
"""A port of a switch by its name, or a pattern of names."""


def _port_name(name: str) -> str:
    if is_pattern(name):
        raise ValueError(f"{name!r} is a pattern: one port's name is needed here")
    return _port_key(name) if not name.isdigit() else name


PortName = Annotated[StrictStr, Field(min_length=1, max_length=64), AfterValidator(_port_name)]


def port_number(key: str) -> int | None:
    """The number that a port's key is; None for a name or pattern."""
    if key == "LOCAL":
        return LOCAL_PORT
    return int(key) if key.isascii() and key.isdigit() else None
