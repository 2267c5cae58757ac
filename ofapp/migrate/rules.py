"""Rules for the keys of a source: the setting of ofapp, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ofapp.migrate.draft import Draft, Path
from ofapp.migrate.setting import Setting


def same(value: Any) -> Any:
    """The value as it is."""
    return value


@dataclass(frozen=True, slots=True)
class Into:
    """Translated.  path: with dots, from the section on; of: the value in ofapp's unit.

    `of` raises ValueError for what it cannot read, with the wanted form as its message.
    """

    path: str
    of: Callable[[Any], Any] = same


@dataclass(frozen=True, slots=True)
class Lost:
    """Without equivalent; reason: with the nearest alternative.  off: values of no effect."""

    reason: str
    off: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Ignored:
    """Not needed, and why."""

    reason: str


@dataclass(frozen=True, slots=True)
class Read:
    """Translated by the code of the source, together with other keys."""


Rule = Into | Lost | Ignored | Read
Rules = Mapping[str, Rule]
READ = Read()
STATE = Ignored("state, not a setting")
COUNTED = Ignored("ofapp always counts")
OF_HOST = Ignored("of the host, not of the bridge: it stays where it is, for the LOCAL port")
STP_OFF = Ignored("spanning tree is off")
STAYS = Ignored("stays in force in Open vSwitch")
OFF = (None, False, 0, "0", "off", "no", "", "none", "false")
"""Values by which an option is off."""


def translate(draft: Draft, at: Path, settings: Iterable[Setting], rules: Rules) -> None:
    """Translate settings into the section at `at`; ImportFault."""
    for setting in settings:
        match rules.get(setting.key):
            case Into(path, of):
                draft.put((*at, *path.split(".")), converted(setting, of), setting)
            case Lost(reason, off):
                if not any(setting.value is value or setting.value == value for value in off):
                    draft.lose(setting, reason)
            case Ignored(reason):
                draft.ignore(setting, reason)
            case None:
                draft.lose(setting, "this key is unknown to `ofapp import`: check it by hand")


def while_on(rules: Rules, on: bool, otherwise: Ignored) -> Rules:
    """The rules of a protocol's settings, which are not needed while the protocol is off."""
    return rules if on else dict.fromkeys(rules, otherwise)


def converted(setting: Setting, of: Callable[[Any], Any]) -> Any:
    """The setting's value, converted; ImportFault."""
    try:
        return of(setting.value)
    except (ValueError, TypeError) as error:
        raise setting.fault(str(error)) from None


def whole(value: Any) -> int:
    """A whole number, also from text.  Raises ValueError."""
    try:
        return int(str(value), 0)
    except ValueError:
        raise ValueError("a whole number") from None


def seconds(value: Any) -> float:
    """Seconds, also from text.  Raises ValueError."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ValueError("a number of seconds") from None
    return int(number) if number == int(number) else number


_YES = ("yes", "on", "true", "1", "y")
_NO = ("no", "off", "false", "0", "n", "")


def flag(value: Any) -> bool:
    """A flag in any of the usual spellings.  Raises ValueError."""
    text = str(value).lower()
    if text not in (*_YES, *_NO):
        raise ValueError("yes or no")
    return text in _YES


def put_ageing(draft: Draft, at: Path, setting: Setting, value: float) -> None:
    """Set the ageing time of a source in which 0 means that nothing is kept."""
    if value == 0:
        reason = (
            "0 keeps no address, so that each frame floods; ofapp's 0 keeps addresses for ever."
            " Set `learning: false` on the ports to have them flood"
        )
        draft.lose(setting, reason)
    else:
        draft.put((*at, "ageing_time"), round(value), setting)
