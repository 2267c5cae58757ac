"""Steps of a deployment, one value each.  `plan` orders them, `execute` runs them.

Each can be done again when it is done already, so a plan that was broken off is planned again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ofapp.host_setup.state import Address, Bridge, BridgePort, Lag, Route


class Step:
    """A change of the host, or a check.  Its text for a person is `words` with its fields."""

    words: ClassVar[str]

    def __init_subclass__(cls, words: str = "") -> None:
        cls.words = words

    def __str__(self) -> str:
        return self.words.format_map(vars(self))


@dataclass(frozen=True)
class MakeTap(Step, words="make the tap device {name}"):
    """Make a persistent tap device."""

    name: str


@dataclass(frozen=True)
class RemoveTap(Step, words="remove the tap device {name}"):
    """Remove a tap device of ours."""

    name: str


@dataclass(frozen=True)
class PutBridge(Step):
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


@dataclass(frozen=True)
class RemoveBridge(Step, words="remove bridge {name}"):
    """Remove the bridge and all its ports."""

    name: str


@dataclass(frozen=True)
class PutPort(Step):
    """Plug an interface in, or give it other options."""

    bridge: str
    port: BridgePort

    def __str__(self) -> str:
        type_ = f" ({self.port.type})" if self.port.type else ""
        return f"plug {self.port.name}{type_} into {self.bridge}"


@dataclass(frozen=True)
class RemovePort(Step, words="unplug {name} from {bridge}"):
    """Unplug an interface."""

    bridge: str
    name: str


@dataclass(frozen=True)
class PutLag(Step, words="write into {file}.d, and reload the controller: {lag}"):
    """Write a drop-in of the controller's file with the aggregation, and reload the controller."""

    file: str
    lag: Lag


@dataclass(frozen=True)
class RemoveLag(Step, words="take {lag.name} of {lag.bridge} out of {file}.d"):
    """Remove the drop-in with the aggregation, and reload the controller."""

    file: str
    lag: Lag


@dataclass(frozen=True)
class SetLink(Step):
    """Set up or down, and the MTU."""

    link: str
    up: bool | None = None
    mtu: int | None = None

    def __str__(self) -> str:
        what = [] if self.up is None else ["up" if self.up else "down"]
        what += [] if self.mtu is None else [f"mtu {self.mtu}"]
        return f"set {self.link} {', '.join(what)}"


@dataclass(frozen=True)
class SetSetting(Step):
    """Write a setting of the kernel's for one link."""

    link: str
    name: str  # "ipv4/rp_filter"
    value: int

    def __str__(self) -> str:
        family, _, key = self.name.partition("/")
        return f"set net.{family}.conf.{self.link}.{key} = {self.value}"


@dataclass(frozen=True)
class SetOffloads(Step):
    """Have just these of `state.OFFLOADS` on."""

    link: str
    on: tuple[str, ...]

    def __str__(self) -> str:
        return f"set receive offloads of {self.link}: {', '.join(self.on) or 'none'}"


@dataclass(frozen=True)
class AddAddress(Step, words="add {address} to {link}"):
    """Add an address."""

    link: str
    address: Address


@dataclass(frozen=True)
class RemoveAddress(Step, words="remove {address} from {link}"):
    """Remove an address."""

    link: str
    address: Address


@dataclass(frozen=True)
class PutRoute(Step):
    """Add a route; `replacing`: in one stroke in place of the one over another link."""

    link: str
    route: Route
    replacing: bool

    def __str__(self) -> str:
        return f"{'move' if self.replacing else 'add'} route {self.route} to {self.link}"


@dataclass(frozen=True)
class RemoveRoute(Step, words="remove route {route} from {link}"):
    """Remove a route."""

    link: str
    route: Route


@dataclass(frozen=True)
class AwaitController(Step):
    """Wait until the bridge's controller has it."""

    bridge: str
    spanning_tree: bool  # and until spanning tree is seen to run there
    lag: str | None = None  # and until it has that aggregation there

    def __str__(self) -> str:
        also = " and runs spanning tree" if self.spanning_tree else ""
        also += f" with {self.lag}" if self.lag else ""
        return f"check that the controller has {self.bridge}{also}"


@dataclass(frozen=True)
class AwaitGateways(Step):
    """Wait until those gateways that answered before answer over the bridge."""

    bridge: str
    gateways: tuple[str, ...]
    seconds: float

    def __str__(self) -> str:
        return (
            f"check that {', '.join(self.gateways)} answers over {self.bridge}"
            f" (within {self.seconds:g} s)"
        )
