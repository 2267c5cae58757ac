"""The planned change of a switch: of its flows, and of the items that have them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

from ofapp.bridge.datapath_status import PlannedItem
from ofapp.bridge.desired import Desired
from ofapp.common.portions import AT_ONCE, Portions
from ofapp.openflow.model.flow import Flow, Group, Meter
from ofapp.openflow.pipeline.entries import GroupNumbers
from ofapp.openflow.pipeline.part import NOTHING, Key, Names
from ofapp.openflow.pipeline.parts import FABRIC_KEY, words_of
from ofapp.openflow.pipeline.words import differences
from ofapp.openflow.switch.program import (
    Changes,
    Program,
    difference,
    is_of_version,
    program,
)

Content = Flow | Group | Meter

BASE: Key = ("base",)
"""Contents that depend on parameters and present ports alone, as flood groups."""


@dataclass(frozen=True)
class Plan:
    """Changes from one content of a switch to another.

    names: names of ports, by number; portions: in which the work for items is done.
    """

    before: Program
    after: Program
    changes: Changes
    names: Names
    portions: Portions = AT_ONCE

    def items(self) -> Iterator[PlannedItem]:
        """Items that change: first those of the former content, last the base.

        Each change of a flow, group or meter is counted once: for the item that has it afterwards,
        or else had it.
        """
        old, new = self.before.parts, self.after.parts
        keys = [key for key in {**old, **new} if old.get(key, NOTHING) != new.get(key, NOTHING)]
        owners: dict[tuple[str, Any], Key] = {}
        for parts in (old, new):
            for key in self.portions.of(keys):
                part = parts.get(key, NOTHING)
                made: Iterator[Content] = chain(part.flows, part.groups, part.meters)
                owners |= dict.fromkeys(map(_named, made), key)
        sent = {key: {"flows": 0, "groups": 0, "meters": 0} for key in (*keys, FABRIC_KEY, BASE)}
        for item in self.portions.of(self.changes.items()):
            of_version = isinstance(item, Flow) and is_of_version(item)
            owner = FABRIC_KEY if of_version else owners.get(_named(item), BASE)
            sent[owner][_named(item)[0]] += 1
        for key, counts in sent.items():
            was, becomes = (words_of(parts.get(key, NOTHING), self.names) for parts in (old, new))
            about = becomes or was
            changes = differences(was, becomes) if about else ()
            if changes or any(counts.values()):
                yield PlannedItem(about.item if about else "the whole bridge", changes, counts)


def compared(
    before: Desired, after: Desired, metered: bool, names: Mapping[int, str], portions: Portions
) -> Plan:
    """The change of a switch from one desired state to another; metered: it has meters.

    names: those of ports, by number.  The numbers of groups are none that a switch has.
    """
    numbers = GroupNumbers()
    old = program(before, metered, numbers, portions)
    new = program(after, metered, numbers, portions)
    changes = difference(old, new, portions)
    return Plan(old, new, changes, lambda port: names.get(port, str(port)), portions)


def _named(item: Content) -> tuple[str, Any]:
    """The kind of an object, as in `Changes.counts`, and its identity in a switch."""
    if isinstance(item, Flow):
        return "flows", item.identity
    return "groups" if isinstance(item, Group) else "meters", item.id
