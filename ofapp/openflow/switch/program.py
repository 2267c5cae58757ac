"""Complete contents of a switch, and the difference between two such programs.

Learned addresses are not part of it: they come and go by the thousand, each by a separate
effect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from operator import attrgetter
from typing import Generic, NamedTuple, TypeVar

from ofapp.bridge.desired import Desired
from ofapp.bridge.effects.fabric import DesiredFabric
from ofapp.common.portions import AT_ONCE, Portions
from ofapp.openflow.model.cookie import Feature
from ofapp.openflow.model.flow import Flow, Group, Identity, Meter
from ofapp.openflow.model.rule import TableId
from ofapp.openflow.pipeline.chain import parts_of
from ofapp.openflow.pipeline.egress import port_groups
from ofapp.openflow.pipeline.entries import GroupNumbers
from ofapp.openflow.pipeline.fabric.forwarding import Version, versions
from ofapp.openflow.pipeline.flood import flood_groups
from ofapp.openflow.pipeline.flows import base_flows, version_flows
from ofapp.openflow.pipeline.meters import base_meters
from ofapp.openflow.pipeline.part import NOTHING, Context, Key, Part
from ofapp.openflow.pipeline.parts import items, part_of
from ofapp.openflow.pipeline.rate import rate_meters
from ofapp.openflow.pipeline.tables import NAMES, check
from ofapp.openflow.wire.messages import bundle, codec

K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True)
class Program:
    """Flows by what makes them the same flow, groups and meters by their numbers.

    parts: what was made for each value, by its key; all of it is in `flows`, `groups` and `meters`.
    versions: versions of a fabric's plan, each of which stands for hundreds of flows that are not
    in `flows`.
    """

    flows: dict[Identity, Flow] = field(default_factory=dict)
    groups: dict[int, Group] = field(default_factory=dict)
    meters: dict[int, Meter] = field(default_factory=dict)
    versions: dict[int, Version] = field(default_factory=dict)
    parts: dict[Key, Part] = field(default_factory=dict)

    def copy(self) -> Program:
        """A copy that later changes do not affect."""
        return Program(*(dict(each) for each in vars(self).values()))

    def all_flows(self) -> Iterator[Flow]:
        """All flows, those of versions first: other flows lead there."""
        for version in self.versions.values():
            yield from version_flows(version)
        yield from self.flows.values()

    def take_in(self, before: Program, after: Program, changes: Changes) -> None:
        """Apply changes that were made meanwhile by other code, from `before` to `after`."""
        if before.versions != after.versions:  # they are always set together
            self.versions.clear()
            self.versions.update(after.versions)
        own = ([flow for flow in part if not is_of_version(flow)] for part in changes.flows)
        Changed(*map(tuple, own)).apply(self.flows, attrgetter("identity"))
        changes.groups.apply(self.groups, attrgetter("id"))
        changes.meters.apply(self.meters, attrgetter("id"))
        for key in before.parts.keys() | after.parts.keys():
            part = after.parts.get(key, NOTHING)
            if part is not before.parts.get(key, NOTHING):
                self.put_part(key, part)

    def put_part(self, key: Key, part: Part) -> None:
        """Note what was made for a value, or that it has nothing any more."""
        if part.empty:
            self.parts.pop(key, None)
        else:
            self.parts[key] = part


def is_of_version(flow: Flow) -> bool:
    """Whether a flow belongs to a version of a fabric's plan."""
    return flow.feature is Feature.VERSION and flow.table == TableId.FABRIC


class Changed(NamedTuple, Generic[V]):
    """Changes of flows, of groups or of meters: the objects as they will be, or were."""

    added: tuple[V, ...] = ()
    changed: tuple[V, ...] = ()
    removed: tuple[V, ...] = ()

    def apply(self, there: dict[K, V], key: Callable[[V], K]) -> None:
        """Change these objects, which are by their keys."""
        there.update((key(each), each) for each in (*self.added, *self.changed))
        for each in self.removed:
            there.pop(key(each), None)


@dataclass(frozen=True)
class Changes:
    """The changes that turn one program into another."""

    flows: Changed[Flow] = field(default_factory=Changed)
    groups: Changed[Group] = field(default_factory=Changed)
    meters: Changed[Meter] = field(default_factory=Changed)

    def __len__(self) -> int:
        return sum(self.counts().values())

    def items(self) -> Iterator[Flow | Group | Meter]:
        """All that is added, changed or removed."""
        for changed in vars(self).values():
            yield from chain(*changed)

    def counts(self) -> dict[str, int]:
        """Count the flows, groups and meters."""
        return {kind: sum(map(len, changed)) for kind, changed in vars(self).items()}

    def lines(self) -> Iterator[str]:
        """For people: one line for each change."""
        for kind, changed in vars(self).items():
            for what, objects in changed._asdict().items():
                for item in objects:
                    yield f"{what} {kind.removesuffix('s')}: {describe(item)}"

    def messages(self, portions: Portions = AT_ONCE) -> bytes:
        """Encoded: flows and groups in one bundle (see `bundle`), meters around it."""
        of = portions.of
        meters = [codec.make_meter(meter) for meter in of(self.meters.added)]
        meters += [codec.put_meter(meter, exists=True) for meter in of(self.meters.changed)]
        body = [codec.put_group(group, exists=False) for group in of(self.groups.added, work_on)]
        body += [codec.put_group(group, exists=True) for group in of(self.groups.changed, work_on)]
        body += [codec.add_flow(flow) for flow in of((*self.flows.added, *self.flows.changed))]
        body += [codec.delete_flow(flow) for flow in of(self.flows.removed)]
        body += [codec.delete_group(group.id) for group in self.groups.removed]
        gone = [codec.delete_meter(meter.id) for meter in of(self.meters.removed)]
        return b"".join([*meters, bundle.wrap(body, portions), *gone])


def program(
    desired: Desired, metered: bool, numbers: GroupNumbers, portions: Portions = AT_ONCE
) -> Program:
    """All that a switch should hold for its bridge.

    numbers: which group belongs to which multicast entry on that switch.
    """
    context, policies = Context(desired.port_policies, metered, numbers), desired.port_policies
    base = chain(flood_groups(policies, desired.flooded), port_groups(policies, desired.numbers))
    limits = chain(base_meters(desired), rate_meters(policies, desired.numbers))
    fabric: DesiredFabric | None = desired.protocols.get("fabric")
    made = Program(
        {flow.identity: flow for flow in portions.of(base_flows(desired, metered))},
        {group.id: group for group in portions.of(base, work_on)},
        {meter.id: meter for meter in portions.of(limits) if metered},
        {} if fabric is None else versions(fabric),
    )
    for key, part in portions.of((part_of(item, context) for item in items(desired)), _work_for):
        made.put_part(key, part)
        for flow in part.flows:
            made.flows[flow.identity] = flow
        for group in part.groups:
            made.groups[group.id] = group
        for meter in part.meters:
            made.meters[meter.id] = meter
    return made


def work_on(group: Group) -> int:
    """The work for a group, as a number of flows."""
    return len(group.buckets) + 1


def _work_for(made: tuple[Key, Part]) -> int:
    """The work for a part, as a number of flows."""
    _, part = made
    work = len(part.flows) + len(part.meters)
    return work + sum(map(work_on, part.groups)) if part.groups else work


def difference(old: Program, new: Program, portions: Portions = AT_ONCE) -> Changes:
    """The changes that turn `old` into `new`, neither of which may change meanwhile."""
    of_versions = _compare(_other_flows(old, new), _other_flows(new, old), portions)
    flows = zip(of_versions, _compare(old.flows, new.flows, portions), strict=True)
    return Changes(
        Changed(*(versions + others for versions, others in flows)),
        _compare(old.groups, new.groups, portions),
        _compare(old.meters, new.meters, portions),
    )


def _other_flows(one: Program, other: Program) -> dict[Identity, Flow]:
    """The flows of those versions of one program that the other has not."""
    return {
        flow.identity: flow
        for number, version in one.versions.items()
        if _differ(other.versions.get(number), version)
        for flow in version_flows(version)
    }


def _compare(old: Mapping[K, V], new: Mapping[K, V], portions: Portions) -> Changed[V]:
    added: list[V] = []
    changed: list[V] = []
    for key, value in portions.of(new.items()):
        known = old.get(key)
        if known is None:
            added.append(value)
        elif _differ(known, value):
            changed.append(value)
    removed = tuple(value for key, value in portions.of(old.items()) if key not in new)
    return Changed(tuple(added), tuple(changed), removed)


def _differ(one: object, other: object) -> bool:
    """Compare; most are the same object, which takes a tenth of the time to test."""
    return one is not other and one != other


def describe(item: Flow | Group | Meter) -> str:
    """One object in readable form."""
    if isinstance(item, Meter):
        return f"{item.id:#x}: {item.rate} frames/s"
    if isinstance(item, Group):
        if parts := parts_of(item):
            return f"{item.id:#x}: groups {', '.join(f'{part:#x}' for part in sorted(parts))}"
        return f"{item.id:#x}: ports {', '.join(map(str, sorted(item.ports))) or 'none'}"
    name = f"{NAMES[item.table]}/{check(item).name}"
    match = ",".join(_match(m.field, m.value, m.mask) for m in item.match)
    return f"{name} {match}".rstrip()


def _match(name: str, value: int, mask: int | None) -> str:
    text = f"{value:#x}" if value > 9 else str(value)
    return f"{name}={text}" if mask is None else f"{name}={text}/{mask:#x}"
