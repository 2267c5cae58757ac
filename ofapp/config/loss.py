"""Whether a changed file looks as if a part of it were missing.

A file that an editor, a full disk or a copy has cut is often valid YAML still: all that it says no
more would be taken back on every bridge.  Two things give it away: most of what the file said
before is gone, or the end mark of YAML (a last line `...`), which it had before, is.  A start has
the file compared with what was accepted last, which the state directory keeps (see `reload`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ofapp.config.model import Config

FEW = 8
"""So many settings may go at once as long as some are left: small changes need no confirmation."""

_NOT_READ = {"deploy"}  # (by the controller)


@dataclass(frozen=True)
class Extent:
    """Amount of content of a file, to detect truncation by comparison.

    ends_marked: see `Config.ends_marked`; settings: the places of single values;
    drop_ins: the files that were read after it.
    """

    ends_marked: bool
    settings: frozenset[tuple[str, ...]]
    drop_ins: frozenset[str] = frozenset()


def extent(config: Config) -> Extent:
    """Return the extent of the file that this was read from."""
    return Extent(config.ends_marked, frozenset(_settings(config)), frozenset(config.drop_ins))


def missing(old: Extent, new: Extent) -> str | None:
    """Describe why the new file looks truncated; None if it does not."""
    if old.ends_marked and not new.ends_marked:
        return "the last line was `...` and is not there any more: the file looks cut short"
    if old.drop_ins - new.drop_ins:
        return None  # a file that was removed was not cut: its settings are meant to go
    before, after = old.settings, new.settings
    gone = len(before - after)
    if before and (not after or (gone > FEW and 2 * gone > len(before))):
        return f"{gone} of the {len(before)} settings that the file had are not there any more"
    return None


def _settings(config: Config) -> set[tuple[str, ...]]:
    values = config.model_dump(mode="json", exclude_defaults=True, exclude=_NOT_READ)
    return {*_paths(values, ())} if values else set()


def _paths(value: Any, above: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The places of single values; a list counts each of its items, one without any is a value."""
    inner: Iterator[tuple[str, Any]] | None = None
    if isinstance(value, dict):
        inner = iter(value.items())
    elif isinstance(value, list):
        inner = ((str(at), item) for at, item in enumerate(value))
    if inner is None or not value:
        yield above
        return
    for key, item in inner:
        yield from _paths(item, (*above, key))
