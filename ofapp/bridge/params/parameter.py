"""Declaration of parameters: once, on the frozen dataclass that the core uses.

    ageing_time: Annotated[int, Interval(ge=0, le=65535), Unit("s"), Doc("What it is for.")] = 300

The file's model, the API's document and bodies, the command line's options and their help all
follow from that line: a new parameter needs only this declaration and the code that uses it.
The metadata are plain values (`annotated_types`, PEP 727's `Doc` and those below), so that the
core needs no validation library.  A field without a `Doc` is no parameter, but a part with separate
parameters, or internal to the core.  With `Section` it is a section of the file.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from enum import Enum
from functools import cache
from types import MappingProxyType
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

from annotated_types import Interval, MultipleOf, Unit
from typing_extensions import Doc


class Items(NamedTuple):
    """Parts of a text that may be a list: a pattern of words, or hexadecimal numbers; how many."""

    pattern: str
    lowest: int
    highest: int
    most: int

    def joined(self, value: Any) -> Any:
        """The text of a list, or of one number; any other value as it is."""
        given = value if isinstance(value, list | tuple) else [value]
        if not given or isinstance(value, str) or not all(map(self._takes, given)):
            return value
        return ",".join(one if isinstance(one, str) else f"0x{int(one):04x}" for one in given)

    def json_schema(self, text: str) -> dict[str, Any]:
        """JSON Schema of what `joined` takes.  text: pattern of the text."""
        number = {"type": "integer", "minimum": self.lowest, "maximum": self.highest}
        item = {"anyOf": [{"type": "string", "pattern": self.pattern}, number]}
        array = {"type": "array", "items": item, "minItems": 1, "maxItems": self.most}
        return {"anyOf": [{"type": "string", "pattern": text}, number, array]}

    def _takes(self, item: Any) -> bool:
        if isinstance(item, float):
            return item.is_integer()  # an integer of JSON, too
        return isinstance(item, str) or (isinstance(item, int) and not isinstance(item, bool))


@dataclass(frozen=True, slots=True)
class Form:
    """The form of a text: in words, as a check, and as about the same pattern for a JSON Schema.

    items: what the parts between commas are, where the file may have a list in place of the text.
    """

    wanted: str
    fits: Callable[[str], bool]
    pattern: str
    items: Items | None = None


@dataclass(frozen=True, slots=True)
class Unset:
    """The word for None where a user types a value."""

    word: str


@dataclass(frozen=True, slots=True)
class Leaving:
    """Obeyed where frames leave a port: with another value than the default, they are checked."""


@dataclass(frozen=True, slots=True)
class Section:
    """A field that is a protocol's section of the file, with separate parameters.

    subject: the protocol.  enables: description of `enabled`, the switch of a bridge's section,
    which is None while the protocol is off.
    """

    subject: str
    enables: str = ""


_ANY = Interval()


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of the dataclass `owner`.

    type: bool, int, float, str, or an Enum; optional: None is a value, too.
    choices: the only valid values, empty for any; interval: bounds of a number.
    sentence: its description; unit: s for seconds; unset: the word for None.
    leaving: see `Leaving`.
    """

    name: str
    owner: type
    type: Any
    optional: bool
    default: Any
    sentence: str
    choices: tuple[Any, ...] = ()
    interval: Interval = _ANY
    step: Any = None
    form: Form | None = None
    unit: str | None = None
    unset: str = "none"
    leaving: bool = False

    def refusal(self, value: object) -> str | None:
        """The error of a value, in words; None for a valid one."""
        return None if self.takes(value) else f"must be {self.wanted}, not {value!r}"

    def takes(self, value: object) -> bool:
        """Whether a value is of the right type and in its range."""
        if value is None:
            return self.optional
        if isinstance(value, bool) != (self.type is bool):
            return False
        if not isinstance(value, int | float if self.type is float else self.type):
            return False
        if self.choices and value not in self.choices:
            return False
        if isinstance(value, str):
            return self.form is None or self.form.fits(value)
        if isinstance(value, Enum):
            return True
        return self._within(value)

    def _within(self, value: Any) -> bool:
        bounds = self.interval  # written so that NaN is in none
        return (
            (bounds.ge is None or value >= bounds.ge)
            and (bounds.gt is None or value > bounds.gt)
            and (bounds.le is None or value <= bounds.le)
            and (self.step is None or not value % self.step)
        )

    @property
    def wanted(self) -> str:
        """Describe the accepted values, in words."""
        if self.form is not None:
            return self.form.wanted
        if self.choices:
            return " or ".join(str(getattr(choice, "value", choice)) for choice in self.choices)
        if self.type is bool:
            return "true or false"
        if self.type is str:
            return "text"
        kind = "a whole number" if self.type is int else "a number"
        step = "" if self.step is None else f" in steps of {self.step}"
        unit = "" if self.unit is None else f" {self.unit}"
        return f"{kind}{self._bounds}{unit}{step}"

    @property
    def _bounds(self) -> str:
        low, above, high = self.interval.ge, self.interval.gt, self.interval.le
        top = "" if high is None else f"{high:.10g}"
        if above is not None:
            return f" above {above:g}" + (f", at most {top}" if top else "")
        if low is None:
            return f" of at most {top}" if top else ""
        return f" from {low:g} to {top}" if top else f" of at least {low:g}"

    def json_schema(self) -> dict[str, Any]:
        """The keywords of its JSON Schema beyond the type."""
        bounds = self.interval
        schema = {
            "minimum": bounds.ge,
            "exclusiveMinimum": bounds.gt,
            "maximum": bounds.le,
            "multipleOf": self.step,
            "pattern": None if self.form is None or self.form.items else self.form.pattern,
            "enum": [*self.choices] if self.choices and self.type is int else None,
        }
        return {key: value for key, value in schema.items() if value is not None}


@cache
def declared(owner: type[Any]) -> Mapping[str, Parameter]:
    """The parameters of a dataclass by name, in its order."""
    hints = get_type_hints(owner, include_extras=True)
    parameters = {
        field.name: _parameter(owner, field.name, field.default, hints[field.name])
        for field in fields(owner)
    }
    return MappingProxyType(
        {name: parameter for name, parameter in parameters.items() if parameter is not None}
    )


@cache
def sections(owner: type[Any]) -> Mapping[str, tuple[type[Any], Section]]:
    """The sections of protocols that a dataclass has, by name: their types and declarations."""
    hints = get_type_hints(owner, include_extras=True)
    result = {}
    for name, hint in hints.items():
        if get_origin(hint) is Annotated:
            type_, *metadata = get_args(hint)
            for item in metadata:
                if isinstance(item, Section):
                    result[name] = (get_args(type_) or (type_,))[0], item
    return MappingProxyType(result)


def refusals(value: Any) -> Iterator[tuple[Parameter, Any]]:
    """The parameters of a dataclass instance with invalid values, and these values."""
    for name, default, parameter in _defaults(value.__class__):
        given = getattr(value, name)
        if given is not default and not parameter.takes(given):  # most are as declared
            yield parameter, given


@cache
def _defaults(owner: type) -> tuple[tuple[str, Any, Parameter], ...]:
    return tuple(
        (name, parameter.default, parameter) for name, parameter in declared(owner).items()
    )


def _parameter(owner: type, name: str, default: object, hint: Any) -> Parameter | None:
    if get_origin(hint) is not Annotated:
        return None
    type_, *metadata = get_args(hint)
    optional = type(None) in get_args(type_)
    if optional:
        (type_,) = (member for member in get_args(type_) if member is not type(None))
    about: dict[str, Any] = {}
    if get_origin(type_) is Literal:
        about["choices"] = get_args(type_)
        type_ = type(about["choices"][0])
    elif issubclass(type_, Enum):
        about["choices"] = tuple(type_)
    for item in metadata:
        match item:
            case Doc():
                about["sentence"] = item.documentation
            case Interval():
                about["interval"] = item
            case MultipleOf():
                about["step"] = item.multiple_of
            case Unit():
                about["unit"] = item.unit
            case Form():
                about["form"] = item
            case Unset():
                about["unset"] = item.word
            case Leaving():
                about["leaving"] = True
    if "sentence" not in about:
        return None
    return Parameter(name, owner, type_, optional, default, **about)
