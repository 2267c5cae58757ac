"""What switches of the twin hold before and after the changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from ofapp.bridge.desired import Desired
from ofapp.bridge.multicast import SetGroup, SetUnregistered, family_of
from ofapp.bridge.twin.network import TwinNetwork


class Content(NamedTuple):
    """The desired state of a switch before and after the changes."""

    before: Desired
    after: Desired

    @property
    def differs(self) -> bool:
        """Whether there is any difference; policies follow from parameters and ports alone."""
        return self.after != replace(self.before, port_policies=self.after.port_policies)


class GroupPort(NamedTuple):
    """A port that a multicast group gains or loses.  source: None for all sources.

    receiver: hosts there have reported the group; else another bridge or a router has, or may.
    """

    datapath_id: int
    port: int
    vid: int
    group: bytes
    source: bytes | None
    gained: bool
    receiver: bool


def group_ports(network: TwinNetwork, contents: Mapping[int, Content]) -> Iterator[GroupPort]:
    """The ports that groups gain and lose; none of a group that floods before or afterwards."""
    for number, (before, after) in sorted(contents.items()):
        keys = {
            (each.vid, each.group, each.source): None
            for each in (*before.entries, *after.entries)
            if isinstance(each, SetGroup)
        }
        for vid, group, source in keys:
            old, new = (_ports(each, vid, group, source) for each in (before, after))
            if old is None or new is None:
                continue
            for port in sorted(old ^ new):
                receiver = network.receivers.had(number, port, vid, group)
                yield GroupPort(number, port, vid, group, source, port in new, receiver)


def _ports(desired: Desired, vid: int, group: bytes, source: bytes | None) -> frozenset[int] | None:
    """The ports that get a group; None if it floods."""
    rest: frozenset[int] | None = None
    for each in desired.entries:
        if isinstance(each, SetUnregistered):
            if (each.vid, each.family) == (vid, family_of(group)):
                rest = each.ports
        elif (each.vid, each.group, each.source) == (vid, group, source):
            return each.ports
    return rest
