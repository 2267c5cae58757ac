"""What one member should hold of the desired state of a fabric's bridge, in its port numbers."""

from __future__ import annotations

from dataclasses import replace

from ofapp.bridge.desired import Desired, DesiredPort
from ofapp.bridge.fabric.desired import FABRIC_PORT, DesiredFabric
from ofapp.bridge.fabric.view.places import Places
from ofapp.bridge.multicast import SetGroup, SetUnregistered
from ofapp.bridge.params.policy import PortPolicy
from ofapp.bridge.ports.policies import PortPolicies
from ofapp.bridge.ports.vlan import TRANSPARENT
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
            copies=self._numbers(desired.copies),
            lag_copies=self._numbers(desired.lag_copies),
            protocols=(*desired.protocols, *wanted),
        )

    def whole(self, desired: Desired, policies: PortPolicies, fabric: DesiredFabric) -> Desired:
        """The complete value; `desired` has the member's ports."""
        places, member = self._places, self._member
        protocols = dict(desired.protocols)
        if desired.snoops:
            protocols["multicast"] = tuple(map(self._entry, desired.entries))
        parts = [places.lag_parts(lag).get(member) for lag in desired.lags]
        protocols["lags"] = tuple(part for part in parts if part is not None)
        protocols["lldp"] = self._numbers(desired.lldp)
        protocols["first_hop"] = tuple(
            replace(host, port=number)
            for host in protocols["first_hop"]
            if (number := places.on(member, host.port)) is not None
        )
        ports = [
            self.port(port, number)
            for port in desired.ports
            if (number := places.on(member, port.number)) is not None
        ]
        return replace(
            desired,
            port_policies=policies,
            numbers=(*self._numbers(desired.numbers), FABRIC_PORT),
            ports=(*ports, FABRIC),
            statics=tuple(
                replace(static, port=static.port and places.on(member, static.port))
                for static in desired.statics
            ),
            holds=tuple(places.hold(member, held) for held in desired.holds),
            mirrors={
                name: number
                for name, port in desired.mirrors.items()
                if (number := places.on(member, port)) is not None
            },
            protocols={**protocols, "fabric": fabric},
        )

    def _entry(self, entry: SetGroup | SetUnregistered) -> SetGroup | SetUnregistered:
        if entry.ports is None:
            return entry
        return entry._replace(ports=self._places.towards(self._member, entry.ports))

    def _numbers(self, ports: tuple[int, ...]) -> tuple[int, ...]:
        numbers = (self._places.on(self._member, port) for port in ports)
        return tuple(number for number in numbers if number is not None)
