"""Declaration of a kind of frames for the controller; `traps.TRAPS` has all kinds."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from ofapp.bridge.desired import DesiredPort
from ofapp.openflow.model.flow import Match
from ofapp.openflow.model.rule import TableId

WHOLE_FRAME = 0xFFFF  # OFPCML_NO_BUFFER


class Lane(Enum):
    """Urgency of frames, see `wire.inbox`.

    FRAMES: only echoes overtake them.  PROMPT: in the order of the stream.
    BULK: behind all else, and no more of them are read than `wire.inbox.IpSampling` allows.
    """

    FRAMES = 1
    PROMPT = 2
    BULK = 3


@dataclass(frozen=True, slots=True)
class TrapPort:
    """A port of the switch where a trap has a flow.

    serial: in the flow's cookie; seconds: until the flow ends unless it is renewed, 0 for never.
    goto: the table that its frames go to as well; None for none.
    match: what is matched here besides.
    """

    port: int
    serial: int = 0
    seconds: int = 0
    goto: int | None = None
    match: tuple[Match, ...] = ()


@dataclass(frozen=True, slots=True)
class TrapRule:
    """The rule of a trap's flows, which match `in_port` and `match`.

    fields: what they match besides, with other values in each place.
    goto: the tables that they may lead to, None among them when the frame may end here.
    drops: what is not copied to the controller is lost.
    """

    table: TableId
    name: str
    priority: int
    about: str
    match: tuple[Match, ...] = ()
    fields: frozenset[str] = frozenset()
    goto: tuple[int | None, ...] = (None,)
    drops: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MeterKind:
    """Frames that a meter of each port limits.

    name: in the API and in metrics.
    meter: the upper half of the numbers of its meters, which are in switches: it never changes.
    event: `<event>.limited` is emitted when frames are held back; "" for no event.
    what, fate: the frames and what happened to them, in words; remedy: what to do about it.
    """

    name: str
    meter: int
    event: str
    what: str = ""
    fate: str = "were too fast for the controller and held back"
    remedy: str = "`ofapp port show BRIDGE -s --watch 2` shows the port's rate."


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trap(MeterKind):
    """One kind of frames for the controller.

    feature: in the cookies of its flows, which are in switches: it never changes.
    rate: frames a second that a meter lets through; None for the port's `packet_in_rate`.
    octets: how much of a frame is sent.
    lane: see `Lane`.
    rule: rule of its flows; None where a table's builder makes these.
    of_port: where the flow is that a port of the bridge has while it is up.
        None for a trap of another value, such as an aggregation, or of a port of the switch
        (`SetTrap`).
    """

    feature: int
    rate: int | None = None
    octets: int = WHOLE_FRAME
    lane: Lane = Lane.FRAMES
    rule: TrapRule | None = None
    of_port: Callable[[DesiredPort], TrapPort | None] | None = None

    @property
    def of_link(self) -> bool:
        """Whether its frames are for this bridge alone and so are in no VLAN, as BPDUs are."""
        return self.rule is not None and self.rule.table is TableId.ADMISSION
