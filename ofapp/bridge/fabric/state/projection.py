"""What one member should hold of the desired state of a fabric's bridge, in its port numbers."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from ofapp.bridge.desired import Desired, DesiredPort
from ofapp.bridge.effects import HoldDown, PutStatic
from ofapp.bridge.effects.content import DesiredLag
from ofapp.bridge.effects.fabric import FABRIC_PORT, DesiredFabric
from ofapp.bridge.fabric.state.places import Places
from ofapp.bridge.multicast import SetGroup, SetUnregistered
from ofapp.bridge.params.policy import PortPolicy
from ofapp.bridge.ports.vlan import TRANSPARENT
from ofapp.bridge.relay.policies import PortPolicies
from ofapp.bridge.stp import PortState

FABRIC = DesiredPort(
    FABRIC_PORT,
    PortState.FORWARDING,
    PortPolicy(),
    TRANSPARENT,
    copies=(),
    lag_copies=(),
    hello_time=0.0,
    snoops=False,
    learns=False,
    rate=1,
    full=False,
    full_vlans=(),
)
"""The port that leads to other members: it forwards all, and learns nothing."""


class Projection:
    """Values of the bridge as one member has them."""

    def __init__(self, places: Places, member: int) -> None:
        self._places = places
        self._member = member

    def port(self, desired: DesiredPort, number: int) -> DesiredPort:
        """One port; copies go to monitors at the same member."""
        wanted: list[tuple[str, object]] = [("fabric", True)]
        if len(self._places.of(desired.number)) > 1:
            wanted.append(("shared", True))
        return replace(
            desired,
            number=number,
            copies=self._places.here(self._member, desired.copies),
            lag_copies=self._places.here(self._member, desired.lag_copies),
            protocols=(*desired.protocols, *wanted),
        )

    def whole(self, desired: Desired, policies: PortPolicies, fabric: DesiredFabric) -> Desired:
        """The complete value; `desired` has the member's ports."""
        out, member = self._places.out, self._member
        protocols = {
            name: self._items(value) if isinstance(value, tuple) else value
            for name, value in desired.protocols.items()
        }
        return replace(
            desired,
            port_policies=policies,
            names={**dict(out(member, desired.names.items())), FABRIC_PORT: "to the fabric"},
            ports=(*self._items(desired.ports), FABRIC),
            statics=self._items(desired.statics),
            holds=self._items(desired.holds),
            mirrors={
                name: number
                for number, name in out(member, [(p, name) for name, p in desired.mirrors.items()])
            },
            protocols={**protocols, "fabric": fabric},
        )

    def item(self, value: Any) -> Any:
        """One value, as the member has it; None for a value that the member does not have.

        A value of a kind that is not named here has a `port`, and is where the port is.
        """
        places, member = self._places, self._member
        match value:
            case SetUnregistered(ports=None):
                return value
            case SetGroup() | SetUnregistered():
                return value._replace(ports=places.towards(member, value.ports or ()))
            case DesiredLag():
                return places.lag_parts(value).get(member)
            case HoldDown():
                return places.hold(member, value)
            case PutStatic():
                return replace(value, port=value.port and places.on(member, value.port))
            case DesiredPort():
                number = places.on(member, value.number)
                return None if number is None else self.port(value, number)
        number = places.on(member, value.port)
        return None if number is None else replace(value, port=number)

    def _items(self, values: Iterable[Any]) -> tuple[Any, ...]:
        return tuple(item for item in map(self.item, values) if item is not None)
