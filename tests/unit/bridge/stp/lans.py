"""What `topology.Network` is made of: bridges, the LANs between them, and the error of a loop."""

from dataclasses import dataclass, field

from ofapp.bridge.stp import (
    BridgeParams,
    PortParams,
    PortState,
    SpanningTree,
)


class LoopError(AssertionError):
    """A frame could go round for ever."""


@dataclass
class Lan:
    name: str
    shared: bool
    delay: float
    loopback: bool = False
    up: bool = True
    members: list[tuple[str, int]] = field(default_factory=list)
    epoch: int = 0  # frames of an earlier one are lost


@dataclass
class Bridge:
    name: str
    params: BridgeParams
    address: int
    legacy: bool = False
    foreign: bool = False
    alive: bool = False
    tree: SpanningTree | None = None
    lans: dict[int, Lan] = field(default_factory=dict)
    port_params: dict[int, PortParams] = field(default_factory=dict)
    states: dict[int, PortState] = field(default_factory=dict)
    linked: dict[int, bool] = field(default_factory=dict)
    wake: float | None = None
