"""Aggregations of the ring's switches with partners of another make: Open vSwitch's own bond.

    switch 1 ==== partner, lacp-time=fast        switch 2 ==== partner, lacp-time=slow

A partner is an Open vSwitch by itself that does NORMAL, without a controller, so what it does in a
fault is its own.  Behind it is a host that talks with one of the switch that nothing else uses.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from tests.support.bonds import BOND, OFFLOADS, End, Mode, NormalSide
from tests.support.lab import Stream, sh
from tests.support.ownswitch import dropped

if TYPE_CHECKING:
    from tests.cluster.site import Switch

RATE = 250
"""Frames a second of each stream."""
HOST_PORT = 6
MEMBERS = 7, 8
"""OpenFlow ports of the switch's members."""

Rate = Literal["fast", "slow"]


class Partner:
    """rate: how often each side asks the other for LACPDUs: each second, or each 30."""

    def __init__(self, switch: Switch, rate: Rate, number: int) -> None:
        self.rate = rate
        self.switch = switch
        self.host = switch.host(10 * switch.number + 4)
        switch.add_port(self.host.plug, HOST_PORT)
        self._side = NormalSide(number)
        ends = []
        for name, port in zip(self.members(rate), MEMBERS, strict=True):
            far = End(self._side.namespace, name)
            sh(
                *("ip", "-n", switch.namespace, "link", "add", name, "up", "type", "veth"),
                *("peer", "name", name, "netns", far.namespace),
            )
            for namespace in (switch.namespace, far.namespace):
                sh("ip", "netns", "exec", namespace, "ethtool", "-K", name, *OFFLOADS)
            far.ip("link", "set", name, "up")
            switch.add_port(name, port)
            ends.append(far)
        self._side.take(ends, Mode("active", rate))
        self.interfaces = {self.host.plug, *self.members(rate)}

    @staticmethod
    def members(rate: Rate) -> tuple[str, str]:
        """The interfaces' names, at both ends."""
        return f"{rate}1", f"{rate}2"

    @staticmethod
    def lag(rate: Rate) -> dict[str, object]:
        """As the members' file has it."""
        return {rate: {"members": list(Partner.members(rate)), "lacp": "active", "rate": rate}}

    def whole(self) -> bool:
        """Whether the partner sends by both cables, and frames pass both ways."""
        return self._side.used() == set(self.members(self.rate)) and self.host.reaches(
            self._side.host.ip, seconds=1
        )

    def streams(self) -> Iterator[Stream]:
        """One each way over the bond."""
        yield Stream(self.host, self._side.host, RATE)
        yield Stream(self._side.host, self.host, RATE)

    def dropped(self) -> int:
        """Frames of the ports for which a switch's sockets had no room, at both sides."""
        drops = dropped(self.switch)
        own = sum(count for name, count in drops.items() if name in self.interfaces)
        return own + sum(dropped(self._side.switch).values())

    def describe(self) -> str:
        """What the partner tells of its bond, for a person."""
        return f"{BOND} ({self.rate}):\n{self._side.describe()}"

    def close(self) -> None:
        """Remove the partner."""
        self._side.close()
