"""A part of what a switch holds: the flows, groups and meters of one value of its bridge."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ofapp.bridge.relay.policies import PortPolicies
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
    """Flows, innermost table first, groups and meters of a value."""

    value: Any = None
    flows: tuple[Flow, ...] = ()
    groups: tuple[Group, ...] = ()
    meters: tuple[Meter, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether the switch holds nothing of it."""
        return not (self.flows or self.groups or self.meters)


NOTHING = Part()


Names = Callable[[int], str]
"""The name of a port of a switch, by its number."""


class Words(NamedTuple):
    """A value in words.

    item: what it is, with its name.
    fields: its values by name.  Those in a mapping are elements, as members, that come and go.
    """

    item: str
    fields: Mapping[str, Any]


class Kind(NamedTuple):
    """One kind of values.

    key: the key of a value; make: its part; closes: whether left-over flows of the old part
    are deleted before the new part is added, so that no frame of a former port enters.
    words: the value in words, for plans; None for a kind that only removes a part.
    """

    key: Callable[[Any], Key]
    make: Callable[[Any, Context], Part]
    closes: bool = False
    words: Callable[[Any, Names], Words] | None = None
