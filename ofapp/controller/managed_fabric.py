"""A fabric as the API, the metrics and the page know it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.fabric.fabric import Fabric
from ofapp.bridge.fabric.params import FabricParams
from ofapp.bridge.fabric.status import FabricStatus, Trace
from ofapp.bridge.ports.port import PortCount


class ManagedFabric(Protocol):
    """Several switches that form one bridge of this controller."""

    @property
    def params(self) -> FabricParams:
        """Its parameters."""

    @property
    def bridge(self) -> Bridge:
        """The bridge that its members are together."""

    @property
    def core(self) -> Fabric:
        """The fabric itself, which the twin copies."""

    def status(self, now: float) -> FabricStatus:
        """Its present state."""

    def trace(self, member: int, vid: int, mac: int) -> Trace:
        """The way of frames that enter the fabric at a member, to a host."""

    def link_counts(self) -> Mapping[str, PortCount]:
        """The latest counters of link ports, by name as in `s1/eth1`."""
