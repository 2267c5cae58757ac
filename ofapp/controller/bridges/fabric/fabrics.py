"""The fabrics of the configuration, each with its bridge and its members' sessions."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.fabric.fabric import Fabric
from ofapp.bridge.fabric.params import FabricParams
from ofapp.bridge.fabric.status import FabricStatus, Trace
from ofapp.bridge.lldp import OwnAgents
from ofapp.bridge.ports.port import PortCount
from ofapp.controller.bridges.dispatcher import Shared
from ofapp.controller.bridges.fabric.fabric_datapath import FabricDatapath
from ofapp.controller.bridges.lifetime import Lifetime
from ofapp.controller.state.store import State


class Membership(NamedTuple):
    """A switch's place: the fabric, and the number of the member."""

    fabric: FabricParams
    member: int


class RunningFabric:
    """A fabric of this controller, whether members are connected or not.

    It is what the API, the metrics and the page know of one.
    """

    def __init__(self, datapath: FabricDatapath) -> None:
        self.datapath = datapath

    @property
    def params(self) -> FabricParams:
        """Its parameters."""
        return self.datapath.params

    @property
    def bridge(self) -> Bridge:
        """The bridge that its members are together."""
        return self.datapath.bridge

    @property
    def core(self) -> Fabric:
        """The fabric itself, which the twin copies."""
        return self.datapath.fabric

    def status(self, now: float) -> FabricStatus:
        """Its present state."""
        return self.datapath.fabric.status(now)

    def trace(self, member: int, vid: int, mac: int) -> Trace:
        """The way of frames that enter the fabric at a member, to a host."""
        return self.datapath.fabric.trace(member, vid, mac)

    def link_counts(self) -> Mapping[str, PortCount]:
        """The latest counters of link ports, by name as in `s1/eth1`."""
        return self.datapath.link_counts()


class Fabrics(Mapping[str, RunningFabric]):
    """Fabrics by name.

    A fabric is here as long as its bridge is known: from the start on, or from the first
    connection of a member if the bridge was forgotten.  In a cluster it is here while this
    controller is its owner.

    in_cluster: whether other controllers may own a fabric.
    """

    def __init__(
        self,
        shared: Shared,
        lifetime: Lifetime,
        state: State,
        agents: OwnAgents,
        in_cluster: bool = False,
    ) -> None:
        self._in_cluster = in_cluster
        self._bridges = shared.registry.bridges
        self._dispatcher = shared.dispatcher
        self._running = shared.running
        self._events = shared.events
        self._lifetime = lifetime
        self._store = state.fabrics
        self._agents = agents
        self._fabrics: dict[str, RunningFabric] = {}

    def __getitem__(self, name: str) -> RunningFabric:
        fabric = self._fabrics[name]
        if self._bridges.get(fabric.bridge.datapath_id) is not fabric.bridge:
            raise KeyError(name)
        return fabric

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._fabrics if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def place(self, datapath_id: int) -> Membership | None:
        """The place of a switch in a fabric; None: it is in none."""
        for fabric in self._running.fabrics:
            if (member := fabric.member(datapath_id)) is not None:
                return Membership(fabric, member)
        return None

    def of(self, datapath_id: int) -> FabricParams | None:
        """The fabric whose bridge, or one of whose members, has this datapath id; or None."""
        for fabric in self._running.fabrics:
            if datapath_id == fabric.datapath_id or fabric.member(datapath_id) is not None:
                return fabric
        return None

    def start(self) -> None:
        """Make the bridges of all fabrics, which are disconnected until a member connects.

        In a cluster only the owner of a fabric knows its bridge.
        """
        if self._in_cluster:
            return
        for params in self._running.fabrics:
            self._lifetime.expect_fabric(params.datapath_id, time.monotonic())
            self.running(params)

    def running(self, params: FabricParams) -> FabricDatapath:
        """The datapath of a fabric, whose bridge is known."""
        known = self.get(params.name)
        if known is None:
            known = self._fabrics[params.name] = RunningFabric(self._make(params))
        return known.datapath

    def follow_file(self) -> None:
        """Apply changed fabrics; members that are in others now are disconnected already."""
        now = {params.name: params for params in self._running.fabrics}
        for name, fabric in [*self.items()]:
            params = now.get(name)
            if params is None or params.datapath_id != fabric.params.datapath_id:
                del self._fabrics[name]
                self._lifetime.retire(fabric.bridge.datapath_id, "the fabric is not in the file")
            elif params != fabric.params:
                fabric.datapath.set_params(params)
        self.start()

    def _make(self, params: FabricParams) -> FabricDatapath:
        bridge = self._bridges[params.datapath_id]
        stored = self._store.load(params.datapath_id)
        try:
            fabric = Fabric(params, bridge, self._agents, stored)
        except ValueError as error:
            self._store.set_aside(params.datapath_id, str(error))
            fabric = Fabric(params, bridge, self._agents)
        handle, fault = self._dispatcher.handle, self._events.fault
        return FabricDatapath(fabric, handle, self._store, fault, self._in_cluster)
