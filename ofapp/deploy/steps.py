"""Steps of a deployment, one value each.  `plan` orders them, `execute` runs them.

Each can be done again when it is done already, so a plan that was broken off is planned again.
"""

from __future__ import annotations

from dataclasses import dataclass

from ofapp.deploy.state import Address, Bridge, BridgePort, Lag, Route


@dataclass(frozen=True, slots=True)
class MakeTap:
    """Make a persistent tap device."""

    name: str

    def __str__(self) -> str:
        return f"make the tap device {self.name}"


@dataclass(frozen=True, slots=True)
class RemoveTap:
    """Remove a tap device of ours."""

    name: str

    def __str__(self) -> str:
        return f"remove the tap device {self.name}"


@dataclass(frozen=True, slots=True)
class PutBridge:
    """Make the bridge, or give it other settings; ports are left alone."""

    bridge: Bridge
    new: bool

    def __str__(self) -> str:
        targets = ", ".join(controller.target for controller in self.bridge.controllers)
        return (
            f"{'make' if self.new else 'set'} bridge {self.bridge.name}: {self.bridge.datapath}"
            f" datapath, id {self.bridge.datapath_id}, MAC {self.bridge.mac}, fail_mode"
            f" {self.bridge.fail_mode}, {'+'.join(self.bridge.protocols)}, controller {targets}"
        )


@dataclass(frozen=True, slots=True)
class RemoveBridge:
    """Remove the bridge and all its ports."""

    name: str

    def __str__(self) -> str:
        return f"remove bridge {self.name}"


@dataclass(frozen=True, slots=True)
class PutPort:
    """Plug an interface in, or give it other options."""

    bridge: str
    port: BridgePort

    def __str__(self) -> str:
        type_ = f" ({self.port.type})" if self.port.type else ""
        return f"plug {self.port.name}{type_} into {self.bridge}"


@dataclass(frozen=True, slots=True)
class RemovePort:
    """Unplug an interface."""

    bridge: str
    name: str

    def __str__(self) -> str:
        return f"unplug {self.name} from {self.bridge}"


@dataclass(frozen=True, slots=True)
class PutLag:
    """Write a drop-in of the controller's file with the aggregation, and reload the controller."""

    file: str
    lag: Lag

    def __str__(self) -> str:
        return f"write into {self.file}.d, and reload the controller: {self.lag}"


@dataclass(frozen=True, slots=True)
class RemoveLag:
    """Remove the drop-in with the aggregation, and reload the controller."""

    file: str
    lag: Lag

    def __str__(self) -> str:
        return f"take {self.lag.name} of {self.lag.bridge} out of {self.file}.d"


@dataclass(frozen=True, slots=True)
class SetLink:
    """Set up or down, and the MTU."""

    link: str
    up: bool | None = None
    mtu: int | None = None

    def __str__(self) -> str:
        what = [] if self.up is None else ["up" if self.up else "down"]
        what += [] if self.mtu is None else [f"mtu {self.mtu}"]
        return f"set {self.link} {', '.join(what)}"


@dataclass(frozen=True, slots=True)
class SetSetting:
    """Write a setting of the kernel's for one link."""

    link: str
    name: str  # "ipv4/rp_filter"
    value: int

    def __str__(self) -> str:
        family, _, key = self.name.partition("/")
        return f"set net.{family}.conf.{self.link}.{key} = {self.value}"


@dataclass(frozen=True, slots=True)
class SetOffloads:
    """Have just these of `state.OFFLOADS` on."""

    link: str
    on: tuple[str, ...]

    def __str__(self) -> str:
        return f"set receive offloads of {self.link}: {', '.join(self.on) or 'none'}"


@dataclass(frozen=True, slots=True)
class AddAddress:
    """Add an address."""

    link: str
    address: Address

    def __str__(self) -> str:
        return f"add {self.address} to {self.link}"


@dataclass(frozen=True, slots=True)
class RemoveAddress:
    """Remove an address."""

    link: str
    address: Address

    def __str__(self) -> str:
        return f"remove {self.address} from {self.link}"


@dataclass(frozen=True, slots=True)
class PutRoute:
    """Add a route; `replacing`: in one stroke in place of the one over another link."""

    link: str
    route: Route
    replacing: bool

    def __str__(self) -> str:
        return f"{'move' if self.replacing else 'add'} route {self.route} to {self.link}"


@dataclass(frozen=True, slots=True)
class RemoveRoute:
    """Remove a route."""

    link: str
    route: Route

    def __str__(self) -> str:
        return f"remove route {self.route} from {self.link}"


@dataclass(frozen=True, slots=True)
class AwaitController:
    """Wait until the bridge's controller has it."""

    bridge: str
    spanning_tree: bool  # and until spanning tree is seen to run there
    lag: str | None = None  # and until it has that aggregation there

    def __str__(self) -> str:
        also = " and runs spanning tree" if self.spanning_tree else ""
        also += f" with {self.lag}" if self.lag else ""
        return f"check that the controller has {self.bridge}{also}"


@dataclass(frozen=True, slots=True)
class AwaitGateways:
    """Wait until those gateways that answered before answer over the bridge."""

    bridge: str
    gateways: tuple[str, ...]
    seconds: float

    def __str__(self) -> str:
        return (
            f"check that {', '.join(self.gateways)} answers over {self.bridge}"
            f" (within {self.seconds:g} s)"
        )


Step = (
    MakeTap
    | RemoveTap
    | PutBridge
    | RemoveBridge
    | PutPort
    | RemovePort
    | PutLag
    | RemoveLag
    | SetLink
    | SetSetting
    | SetOffloads
    | AddAddress
    | RemoveAddress
    | PutRoute
    | RemoveRoute
    | AwaitController
    | AwaitGateways
)
