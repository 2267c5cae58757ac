"""Models of /v1/what-if: a question, and what follows."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from ofapp.api.base import BridgeText, DatapathId, Input
from ofapp.api.http.streams import SeverityName
from ofapp.api.resources.bridge.planned import Planned
from ofapp.api.resources.bridge.stp import BridgeId, RoleName, StateName
from ofapp.api.resources.cluster import MemberName
from ofapp.api.resources.config import PushBody
from ofapp.bridge.first_hop.binding import Origin
from ofapp.bridge.twin.fabric import MOST_COMPARED
from ofapp.bridge.twin.prediction import MOST_SECONDS

SHOWN = 5000
"""Most changes of states, events, and pairs that are cut off, in an answer."""

SwitchText = Annotated[
    str,
    Field(
        pattern="^[^/]+(/[^/]+)?$",
        max_length=130,
        description="name or datapath id of a bridge; of a fabric's switch FABRIC/MEMBER",
        json_schema_extra={"example": "0000000000000001"},
    ),
]
PortText = Annotated[
    str,
    Field(
        pattern="^[^/]+(/[^/]+){1,2}$",
        max_length=196,
        description="BRIDGE/PORT: name or datapath id of a bridge, name or number of a port;"
        " FABRIC/MEMBER/PORT for any port of a fabric's switch",
        json_schema_extra={"example": "0000000000000001/eth1"},
    ),
]
MOST = 64
"""Most changes of one kind in a question."""


class NewCable(Input):
    """A cable that is plugged in."""

    a: PortText
    b: PortText


class NewSettings(Input):
    """Settings of a bridge that change."""

    bridge: BridgeText
    settings: dict[str, Any] = Field(
        description="as in PATCH /v1/bridges/{dpid}/settings: a part of the bridge's section"
    )


class NewBridge(Input):
    """A bridge with spanning tree, not of this controller, that is plugged in."""

    port: PortText
    priority: int = Field(32768, ge=0, le=61440, multiple_of=4096)


class MovedHost(Input):
    """A host that moves from one port to another."""

    source: PortText
    to: PortText


class NewStorm(Input):
    """Broadcasts that come in at a port without end."""

    port: PortText
    rate: int = Field(10_000, ge=1, le=100_000_000, description="frames a second")


class Question(Input):
    """Changes that are made at the same time, in this order."""

    cut: list[PortText] = Field(
        default_factory=list, max_length=MOST, description="cables that are cut, by one end"
    )
    plug: list[NewCable] = Field(default_factory=list, max_length=MOST)
    fail: list[SwitchText] = Field(
        default_factory=list, max_length=MOST, description="switches that lose their power"
    )
    set: list[NewSettings] = Field(default_factory=list, max_length=MOST)
    config: PushBody | None = Field(None, description="a configuration file that is applied")
    reload: Literal["keep", "reset"] | None = Field(
        None, description="the controller reads its file again; reset: without run-time settings"
    )
    attach: list[NewBridge] = Field(default_factory=list, max_length=MOST)
    move: list[MovedHost] = Field(default_factory=list, max_length=MOST)
    storm: list[NewStorm] = Field(default_factory=list, max_length=MOST)
    disconnected: float | None = Field(
        None,
        ge=1,
        le=MOST_SECONDS,
        description="seconds for which all switches are without this controller",
    )
    fail_member: MemberName | None = Field(
        None, description="the member of the cluster that dies; its own switches alone are copied"
    )
    seconds: float = Field(60.0, ge=1, le=MOST_SECONDS, description="how far to predict")

    @property
    def away(self) -> list[str]:
        """The fields by which switches lose their controller."""
        return [name for name in ("disconnected", "fail_member") if getattr(self, name) is not None]


class Where(BaseModel):
    """A port of a bridge."""

    datapath_id: DatapathId
    bridge: str
    port: str


class StateChange(Where):
    """A port changes its state."""

    at: float = Field(description="seconds since the change")
    old: StateName | None = Field(description="null: its link was down")
    new: StateName | None = Field(description="null: its link is down")
    reason: str


class RoleChange(Where):
    """A port has another role in the end."""

    before: RoleName | None
    after: RoleName | None


class RootChange(BaseModel):
    """A bridge has another root in the end."""

    datapath_id: DatapathId
    bridge: str
    root: BridgeId
    root_name: str | None = Field(description="null: it is none of the copied bridges")


class CutOffPair(BaseModel):
    """Hosts of two bridges that cannot reach each other for a time."""

    a: str
    b: str
    vlan: int
    hosts: tuple[int, int] = Field(description="learned addresses at each of the two")
    since: float = Field(description="seconds since the change")
    seconds: float | None = Field(description="null: to the end of what was predicted")


class SilentPort(Where):
    """A port with hosts that does not forward for a time."""

    vlan: int
    hosts: int
    since: float
    seconds: float | None


class LoopFound(BaseModel):
    """A loop, in which broadcasts circle."""

    vlan: int
    since: float
    seconds: float | None


class FlushedPort(Where):
    """A port whose learned addresses are forgotten."""

    at: float = Field(description="seconds since the change, of the first time")
    addresses: int


class StruckPort(Where):
    """A port with hosts that gets the broadcasts of a storm."""

    vlan: int
    rate: int = Field(description="frames a second, as the limits of the ports before leave them")


class GroupPort(Where):
    """A port that a multicast group gains or loses, compared with the beginning."""

    vlan: int
    group: str
    source: str | None = Field(description="null: all sources")
    change: Literal["gains", "loses"]
    receiver: bool = Field(
        description="hosts there have reported the group; else a bridge or router may be there"
    )


class RefusedHost(Where):
    """A host whose frames a guarded port drops, as it has no binding there."""

    vlan: int
    mac: str
    bound_bridge: str | None = Field(description="where the host has a binding; null: nowhere")
    bound_port: str | None
    origin: Origin | None = Field(description="of that binding: file and api do not move")


class PathsChange(BaseModel):
    """Paths between two switches of a fabric that differ in the end, each a list of links."""

    a: str
    b: str
    before: list[list[str]]
    after: list[list[str]] = Field(description="none: their frames do not reach each other")


class PredictedEvent(BaseModel):
    """An event that the log would have."""

    at: float = Field(description="seconds since the change")
    datapath_id: DatapathId
    bridge: str
    kind: str
    severity: SeverityName
    message: str
    port: int | None
    data: dict[str, Any]


class SwitchPlan(BaseModel):
    """What a switch holds at the end, compared with the beginning."""

    datapath_id: DatapathId
    bridge: str
    changes: list[str] = Field(description="settings that change, in words")
    planned: Planned = Field(
        description="without lines; at most 1000 items of all switches together"
    )


class Answer(BaseModel):
    """What follows."""

    seconds: float
    interrupted: bool = Field(
        description="some hosts are cut off for a time or refused, or there is a loop"
    )
    changes: list[StateChange] = Field(description=f"at most {SHOWN}")
    roles: list[RoleChange]
    roots: list[RootChange] = Field(
        description="the root of each bridge's tree afterwards, where another bridge is root"
    )
    cut_off: list[CutOffPair] = Field(description=f"at most {SHOWN}")
    silent: list[SilentPort]
    loops: list[LoopFound]
    flushed: list[FlushedPort]
    storms: list[StruckPort] = Field(description="ports that the broadcasts of storms leave by")
    groups: list[GroupPort] = Field(
        description=f"ports that multicast groups gain or lose, at most {SHOWN}"
    )
    refused: list[RefusedHost] = Field(
        description="hosts that are cut off by their new port or by new settings: no binding;"
        f" at most {SHOWN}"
    )
    paths: list[PathsChange] = Field(
        description="paths through fabrics that differ; of a fabric with more than"
        f" {MOST_COMPARED} members they are not compared"
    )
    events: list[PredictedEvent] = Field(
        description=f"what the log would say, at most {SHOWN}, in the form of /v1/events"
    )
    single_points: list[str] = Field(
        description="cables and switches without which the network would fall apart afterwards"
    )
    switches: list[SwitchPlan] = Field(
        description="switches that get new settings, or hold something else afterwards"
    )
    assumptions: list[str]
    took: float = Field(description="seconds that the answer took")
