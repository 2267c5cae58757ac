"""Status of what forwards for a bridge, as of its last poll, and a planned change of it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol


@dataclass(frozen=True, slots=True)
class Count:
    """Frames and bytes since a moment (seconds since the epoch)."""

    packets: int
    octets: int
    since: float


class AclCounters(Protocol):
    """Frames that the rules of access lists matched, as last polled."""

    def matched(self, name: str, rule: str) -> Count | None:
        """Frames that a rule of a list decided on; None before the first poll."""

    def over_rate(self, name: str, rule: str) -> int:
        """Frames above the rule's rate, which were dropped."""


class Answered(NamedTuple):
    """Requests that the switch has answered for bound hosts; None where it answers none.

    arp: ARP requests; nd: neighbour solicitations.
    """

    arp: int | None = None
    nd: int | None = None


_NEVER = Answered()


@dataclass(frozen=True, slots=True)
class DatapathStatus:
    """Status of a datapath; counters are as of the last poll.

    in_line: it holds what its bridge wants.  owner: the other controller that is its master, in
    words; None for none.  refused: what it refuses now, in words.
    metered: it has meters: without them no rate is kept.
    drops: frames the pipeline has dropped, by rule.  held_back: frames for the controller that came
    too fast, by kind and port.  acl: counters of the rules of access lists.
    limited: ports of which the last poll found further frames dropped or held back, by kind.
    throttled: it sends faster than it is served.
    full: those of `refused` for which it has no room.
    foreign: number of flows that other programs have set.
    polled: when the counters of meters were read last, monotonic; None before that.
    """

    in_line: bool
    owner: str | None
    refused: Sequence[str]
    metered: bool
    drops: Mapping[str, int]
    held_back: Mapping[str, Mapping[int, int]]
    acl: AclCounters
    answered: Answered = _NEVER
    limited: Mapping[str, Collection[int]] = field(default_factory=dict)
    throttled: bool = False
    full: Sequence[str] = ()
    foreign: int = 0
    polled: float | None = None


class PlannedItem(NamedTuple):
    """The planned change of one thing that a datapath forwards by, as a port or an aggregation.

    item: what it is, with its name.
    changes: its own changes, in words; none if only flows change, as a consequence of others.
    sent: how many of its flows, groups and meters change.
    """

    item: str
    changes: tuple[str, ...]
    sent: dict[str, int]
