"""Assumed contents of a switch: what it reported, and what was sent since.

Each change gives the smallest message that makes it: none where the switch has it already.
Learned addresses are not part of it.
"""

from collections.abc import Iterable
from itertools import chain
from typing import NamedTuple

from ofapp.bridge.desired import Desired
from ofapp.common.portions import AT_ONCE, Portions
from ofapp.openflow.model.flow import Flow, Group, Meter
from ofapp.openflow.pipeline.chain import parts_of
from ofapp.openflow.pipeline.entries import GroupNumbers
from ofapp.openflow.pipeline.entries import Key as EntryKey
from ofapp.openflow.pipeline.part import NOTHING, Key, Part
from ofapp.openflow.switch.program import Program, program
from ofapp.openflow.wire.messages import codec


class Exchange(NamedTuple):
    """Messages that put one part in the place of another.

    limits: meters that are added or changed; added: groups, then flows, innermost table first;
    deleted: flows that are left over, the outermost first; dropped: groups and meters that no flow
    leads to any more.
    """

    limits: list[bytes]
    added: list[bytes]
    deleted: list[bytes]
    dropped: list[bytes]


class Installed:
    """Assumed contents of one switch.

    metered: whether it has meters.
    program: its flows, groups and meters; entries: which group belongs to which multicast entry.
    flooded: the ports that its flood groups have; None while that is not known.
    bundles: whether many learned addresses go as a bundle, which a switch refuses as a whole.
    fragments: whether it shows the ports of first fragments (`codec.read_fragments`).
    kept: versions of a fabric's plan that an earlier controller added; not in `program`.
    removed: flows deleted since the last comparison, for which no FLOW_REMOVED has come yet.
    foreign: number of flows without a cookie, which other programs have set.
    """

    def __init__(self, metered: bool = False) -> None:
        self.metered = metered
        self.forget()

    def forget(self) -> None:
        """Start again: nothing is known of the switch's flows."""
        self.program = Program()
        self.entries = GroupNumbers()
        self.flooded: frozenset[int] | None = None
        self.bundles = True
        self.fragments = False
        self.kept: frozenset[int] = frozenset()
        self.removed = 0
        self.foreign = 0

    def holds(self, program: Program) -> None:
        """Take this as what the switch was found to hold."""
        self.program, self.flooded = program, None

    def wanted(self, desired: Desired, portions: Portions = AT_ONCE) -> Program:
        """Return the wanted contents, with the groups of its multicast entries."""
        return program(desired, self.metered, self.entries, portions)

    def read_fragments(self, on: bool) -> bytes:
        """Have it show the ports and types of first fragments, or not."""
        if self.fragments == on:
            return b""
        self.fragments = on
        return codec.read_fragments(on)

    def replace(self, key: Key, part: Part, closes: bool) -> bytes:
        """Put a part in the place of what was made before for the same value.

        closes: flows that are left over are deleted before others are added; else after that.
        """
        limits, added, deleted, dropped = self.exchange(key, part)
        order = (deleted, limits, added) if closes else (limits, added, deleted)
        return b"".join([*chain(*order), *dropped])

    def exchange(self, key: Key, part: Part) -> Exchange:
        """Do the same; gives the messages by what they do."""
        old, kept = self.program.parts.get(key, NOTHING), {flow.identity for flow in part.flows}
        left = [flow for flow in old.flows if flow.identity not in kept]
        left.sort(key=lambda flow: (flow.table, flow.priority))
        self.program.put_part(key, part)
        if part.empty and isinstance(key, EntryKey):
            self.entries.release(key)
        groups = {group.id for group in old.groups} - {group.id for group in part.groups}
        meters = {meter.id for meter in old.meters} - {meter.id for meter in part.meters}
        return Exchange(
            [*map(self._put_meter, part.meters)],
            [self.put_groups(part.groups), *map(self._put, part.flows)],
            [*map(self._take_out, left)],
            [*map(self._drop_group, sorted(groups)), *map(self._drop_meter, sorted(meters))],
        )

    def add(self, meters: Iterable[Meter], groups: Iterable[Group], flows: Iterable[Flow]) -> bytes:
        """Add flows of its next program, with meters, ahead of the others, and groups to them."""
        return b"".join(
            [*map(self._put_meter, meters), *map(self._put, flows), self.put_groups(groups)]
        )

    def _put(self, flow: Flow) -> bytes:
        """Add or change a flow; one with a hard timeout is also renewed."""
        have = self.program.flows.get(flow.identity)
        if (have is flow or have == flow) and not flow.hard_timeout:
            return b""
        self.program.flows[flow.identity] = flow
        return codec.add_flow(flow)

    def _take_out(self, flow: Flow) -> bytes:
        """Delete a flow, unless another part has put a different one in its place."""
        if self.program.flows.get(flow.identity) != flow:
            return b""
        del self.program.flows[flow.identity]
        self.deleted([flow])
        return codec.delete_flow(flow)

    def deleted(self, flows: Iterable[Flow]) -> None:
        """Expect the reports of flows that are deleted."""
        self.removed += sum(flow.notify_removal for flow in flows)

    def put_groups(self, groups: Iterable[Group]) -> bytes:
        """Groups after their parts; parts that nothing leads to any more go."""
        messages: list[bytes] = []
        for group in groups:
            have = self.program.groups.get(group.id)
            if have != group:
                self.program.groups[group.id] = group
                messages.append(codec.put_group(group, have is not None))
                messages += map(self._drop_group, parts_of(have) - parts_of(group))
        return b"".join(messages)

    def _drop_group(self, number: int) -> bytes:
        """Delete a group and its parts."""
        group = self.program.groups.pop(number, None)
        if group is None:
            return b""
        return b"".join([codec.delete_group(number), *map(self._drop_group, parts_of(group))])

    def _put_meter(self, meter: Meter) -> bytes:
        """Add or change a meter."""
        have = self.program.meters.get(meter.id)
        if have == meter:
            return b""
        self.program.meters[meter.id] = meter
        return codec.make_meter(meter) if have is None else codec.put_meter(meter, exists=True)

    def _drop_meter(self, number: int) -> bytes:
        """Delete a meter."""
        known = self.program.meters.pop(number, None)
        return b"" if known is None else codec.delete_meter(number)
