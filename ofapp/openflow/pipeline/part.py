"""A part of what a switch holds: the flows, groups and meters of one value of its bridge."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ofapp.bridge.ports.policies import PortPolicies
from ofapp.openflow.model.flow import Flow, Group, Meter
from ofapp.openflow.pipeline.entries import GroupNumbers

Key = tuple[Any, ...]
"""What makes two values the same thing, for example a port: the kind, and its numbers."""


class Context(NamedTuple):
    """What makers need besides the value.

    policies: the policies of all ports; metered: the switch has meters; numbers: which group
    belongs to which multicast entry on the switch.
    """

    policies: PortPolicies
    metered: bool
    numbers: GroupNumbers


class Part(NamedTuple):
    """Flows, innermost table first, groups and meters of a value.

    value: the value; None where it is not asked for again.
    """

    value: Any = None
    flows: tuple[Flow, ...] = ()
    groups: tuple[Group, ...] = ()
    meters: tuple[Meter, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether the switch holds nothing of it."""
        return not (self.flows or self.groups or self.meters)


NOTHING = Part()


class Kind(NamedTuple):
    """One kind of values.

    key: the key of a value; make: its part; closes: of the old part the flows that are left over
    are deleted before the new part is added, so that no frame of a former port enters.
    """

    key: Callable[[Any], Key]
    make: Callable[[Any, Context], Part]
    closes: bool = False
