"""State of a fabric, for display."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from ofapp.bridge.effects.fabric import Colour


class LinkState(Enum):
    """State of a link between two members."""

    CARRIES = "carries frames"
    PROBING = "is being proven by probes in both directions"
    HELD = "is proven, and waits"
    DOWN = "has no carrier at an end"
    UNREACHABLE = "a member is not connected, so it is not proven now"
    WRONG = "is not cabled as the file says"


@dataclass(frozen=True, slots=True)
class LinkStatus:
    """A link, or a link port without one.

    one, other: names of its ports, as in `s1/eth1`; other is None while the other end is unknown.
    since: seconds in this state; reason: why it does not carry frames, empty if it does.
    failures: how often it has stopped carrying frames.
    """

    one: str
    other: str | None
    state: LinkState
    cost: int
    since: float
    reason: str = ""
    failures: int = 0


@dataclass(frozen=True, slots=True)
class MemberStatus:
    """A member.

    ready: it is connected, and holds the plan that its frames use.
    refuses: its switch has refused flows of the newest plan; it goes on with those that it holds.
    version: version of the plan that frames use that enter here;
    None: unknown, or such frames are dropped.
    versions: those that it holds.
    conversations: hosts at other members that it may have flows for.
    """

    name: str
    number: int
    datapath_id: int
    connected: bool
    ready: bool
    refuses: bool
    version: int | None
    versions: tuple[int, ...]
    ports: int
    hosts: int
    conversations: int


@dataclass(frozen=True, slots=True)
class FabricStatus:
    """A fabric.

    settled: all connected members use the newest plan, and no link is being proven.
    paused: why the protocols of its bridge are paused; empty if they run.
    """

    name: str
    number: int
    datapath_id: int
    settled: bool
    paused: str
    members: tuple[MemberStatus, ...]
    links: tuple[LinkStatus, ...]
    counters: Mapping[str, int]


def link_states(status: FabricStatus) -> dict[LinkState, int]:
    """The number of links in each state, also where it is 0."""
    counted = Counter(link.state for link in status.links)
    return {state: counted[state] for state in LinkState}


@dataclass(frozen=True, slots=True)
class TraceHop:
    """A step of a frame: from a port of one member to a port of the next, and its colour there."""

    out: str
    into: str
    colour: Colour


@dataclass(frozen=True, slots=True)
class Trace:
    """The path of frames to a host.

    paths: each a list of hops; different flows use them at the same time.
    flooded: the host is not known, so that frames take the tree to all members.
    member, port: where the host is; None while it is not known.
    after: the paths after the failure of each of their links, by the link's ports.
    """

    member: int | None
    port: str | None
    flooded: bool
    paths: tuple[tuple[TraceHop, ...], ...]
    after: Mapping[tuple[str, str], tuple[tuple[TraceHop, ...], ...]]
