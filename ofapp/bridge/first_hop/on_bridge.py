"""First-hop security on a bridge."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ofapp.bridge.effects import Effect
from ofapp.bridge.first_hop.binding import (
    Binding,
    BoundAddress,
    BoundHost,
    DhcpRequest,
    FullLimit,
    GuardedPort,
    Origin,
    Refused,
)
from ofapp.bridge.first_hop.params import BridgeParams
from ofapp.bridge.params.params import BridgeParams as AllParams
from ofapp.bridge.ports.port import Port
from ofapp.bridge.protocol import Protocol


class FirstHop(Protocol[BridgeParams]):
    """The bindings of a bridge, and what the switch is to check of them."""

    name = "first_hop"

    def desired(self, params: AllParams) -> tuple[BoundHost, ...]:
        """The hosts with bindings that are on guarded ports."""
        return ()

    def desired_port(self, port: Port, params: AllParams) -> GuardedPort | None:
        """What is checked of the frames of a port; None for nothing."""
        return None

    # Queries

    def bindings(self) -> Iterator[Binding]:
        """All bindings; changes meanwhile are safe."""
        return iter(())

    def having(self, address: bytes) -> Iterable[Binding]:
        """The bindings with this address, or with a prefix that has it; one for each VLAN."""
        return ()

    def of_host(self, vid: int, mac: int) -> Iterable[Binding]:
        """The bindings of a host."""
        return ()

    def refused(self) -> Iterable[Refused]:
        """What was refused last, the latest first."""
        return ()

    def unanswered(self, mac: int) -> Iterable[DhcpRequest]:
        """The DHCP requests of a host that no server has answered, one for each port and VLAN."""
        return ()

    def ended(self, mac: int) -> Iterable[Binding]:
        """Bindings of a host whose lease or lifetime ended, the latest first; the last few."""
        return ()

    def full(self, port: str, vid: int) -> Iterable[FullLimit]:
        """The limits of bindings that are reached on a port and in a VLAN."""
        return ()

    # Changes

    def add(
        self, port: str, vid: int, mac: int, address: BoundAddress, origin: Origin, now: float
    ) -> list[Effect]:
        """Add a binding of a user; InputError."""
        raise NotImplementedError

    def remove(self, vid: int, address: BoundAddress, now: float) -> list[Effect]:
        """Remove a binding of any origin; InputError."""
        raise NotImplementedError

    def clear_refused(self) -> None:
        """Forget what was refused."""
