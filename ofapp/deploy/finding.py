"""What a doctor says of one illness."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """`where`: the bridge or interface.  `fix`: what to type or do."""

    where: str
    problem: str
    fix: str
    fatal: bool = True
