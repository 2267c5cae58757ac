"""A problem that `ofapp doctor` found, and several of them as a person reads them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

PLACE = "NAME"
"""Placeholder for the bridge or interface in a text about several."""


@dataclass(frozen=True, slots=True)
class Finding:
    """`where`: the bridge or interface.  `fix`: what to type or do."""

    where: str
    problem: str
    fix: str
    fatal: bool = True


@dataclass(frozen=True, slots=True)
class Group:
    """The same problem at one or more places.

    problem: with several places, PLACE stands for the name; fixes: what to type or do, each once.
    """

    places: tuple[str, ...]
    problem: str
    fixes: tuple[str, ...]
    fatal: bool


def grouped(findings: Iterable[Finding]) -> list[Group]:
    """Join findings that differ in the name of their place only; the order stays."""
    alike: dict[tuple[str, str, bool], list[Finding]] = {}
    for finding in findings:
        key = _general(finding.problem, finding), _general(finding.fix, finding), finding.fatal
        alike.setdefault(key, []).append(finding)
    groups = []
    for (problem, _, fatal), group in alike.items():
        if len(group) == 1:
            problem = group[0].problem
        fixes = tuple(dict.fromkeys(one.fix for one in group))
        groups.append(Group(tuple(one.where for one in group), problem, fixes, fatal))
    return groups


def _general(text: str, finding: Finding) -> str:
    """The text with PLACE for the name, as `eth0` in `net.ipv4.conf.eth0.arp_ignore`."""
    return re.sub(rf"(?<![\w-]){re.escape(finding.where)}(?![\w-])", PLACE, text)
