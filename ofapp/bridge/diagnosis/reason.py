"""A reason, and the words of which several are made."""

from collections.abc import Collection
from dataclasses import dataclass

NAMED = 4
"""Ports that a sentence names."""


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a host has no network.  problem: one sentence; fix: what to type or do."""

    problem: str
    fix: str


def listed(names: Collection[str]) -> str:
    """Names as in a sentence: the first few, and how many more there are."""
    shown = [*sorted(names)[:NAMED]]
    if more := len(names) - len(shown):
        shown.append(f"{more} more")
    return " and ".join(filter(None, (", ".join(shown[:-1]), *shown[-1:])))


def ago(since: float, now: float) -> str:
    """Describe the time since an instant, in words."""
    seconds = max(round(now - since), 0)
    if seconds < 120:
        return f"{seconds} s ago"
    return f"{seconds // 60} min ago" if seconds < 7200 else f"{seconds // 3600} h ago"


def times(count: int) -> str:
    """A number of times, in words."""
    return "once" if count == 1 else f"{count} times"


def vlan(vid: int) -> str:
    """A VLAN, in words."""
    return f"VLAN {vid}" if vid else "no VLAN"
