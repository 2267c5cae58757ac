"""A prediction with the names of bridges and ports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ofapp.api.resources.twin.models import (
    SHOWN,
    Answer,
    CutOffPair,
    FlushedPort,
    GroupPort,
    LoopFound,
    PathsChange,
    PredictedEvent,
    RefusedHost,
    RoleChange,
    RootChange,
    SilentPort,
    StateChange,
    StruckPort,
    SwitchPlan,
)
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.mac import format_mac
from ofapp.bridge.packet.address import text
from ofapp.bridge.ports.port import LOCAL_PORT
from ofapp.bridge.stp.vectors import ADDRESS_MASK, format_bridge_id
from ofapp.bridge.twin import content, hosts
from ofapp.bridge.twin.cable import SwitchPort
from ofapp.bridge.twin.fabric import PathChange
from ofapp.bridge.twin.network import Logged
from ofapp.bridge.twin.prediction import Prediction
from ofapp.bridge.twin.reach import HostPort, Interruption, Loop, Pair
from ofapp.controller.what_if import Turn


class View:
    """Makes the answer.  bridges: those of the controller, by datapath id."""

    def __init__(self, bridges: Mapping[int, Bridge], predicted: Prediction, turn: Turn) -> None:
        self._turn = turn
        self._bridges = bridges
        self._predicted = predicted
        self._hosts = predicted.hosts

    def answer(
        self,
        seconds: float,
        switches: list[SwitchPlan],
        took: float,
        assumptions: Iterable[str] = (),
    ) -> Answer:
        """The model of what was predicted.

        seconds: how far that is; switches: what new settings change; took: seconds of work.
        assumptions: further sentences.
        """
        predicted, over = self._predicted, self._turn.over
        pairs: list[CutOffPair] = []
        silent, loops = [], []
        for each in over(predicted.interruptions):
            if isinstance(each.what, Pair):
                if len(pairs) < SHOWN:
                    pairs.append(self._pair(each.what, each))
            elif isinstance(each.what, Loop):
                loops.append(
                    LoopFound(vlan=each.what.vid, since=_since(each), seconds=_seconds(each))
                )
            else:
                silent.append(self._silent(each.what, each))
        return Answer(
            seconds=seconds,
            interrupted=bool(pairs or silent or loops or predicted.refused),
            changes=[
                StateChange(
                    **self._where(each.datapath_id, each.port),
                    at=round(each.at, 3),
                    old=each.old and each.old.value,
                    new=each.new and each.new.value,
                    reason=each.reason,
                )
                for each in over(predicted.changes[:SHOWN])
            ],
            roles=[
                RoleChange(
                    **self._where(each.datapath_id, each.port),
                    before=each.before and each.before.value,
                    after=each.after and each.after.value,
                )
                for each in over(predicted.roles)
            ],
            roots=[self._root(number, root) for number, root in predicted.roots.items()],
            cut_off=pairs,
            silent=silent,
            loops=loops,
            flushed=[
                FlushedPort(
                    **self._where(each.datapath_id, each.port),
                    at=round(each.at, 3),
                    addresses=each.addresses,
                )
                for each in over(predicted.flushed)
            ],
            storms=[
                StruckPort(
                    **self._where(each.datapath_id, each.port), vlan=each.vid, rate=each.rate
                )
                for each in over(predicted.struck)
            ],
            groups=[self._group(each) for each in over(predicted.groups[:SHOWN])],
            refused=[self._refused(each) for each in over(predicted.refused[:SHOWN])],
            paths=[self._paths(each) for each in over(predicted.paths)],
            events=[self._event(each) for each in over(predicted.events[:SHOWN])],
            single_points=[self._point(*each) for each in predicted.single_points],
            switches=switches,
            assumptions=[*predicted.assumptions, *assumptions],
            took=round(took, 3),
        )

    def _name(self, datapath_id: int) -> str:
        bridge = self._bridges.get(datapath_id)
        if bridge is not None:
            return bridge.name
        return self._predicted.names.get(datapath_id, "the new bridge")

    def _switch(self, datapath_id: int) -> str:
        """The name of a switch, which may be a member of a fabric."""
        return self._predicted.names.get(datapath_id) or self._name(datapath_id)

    def _paths(self, each: PathChange) -> PathsChange:
        before, after = (
            [[" - ".join(link) for link in path] for path in paths]
            for paths in (each.before, each.after)
        )
        return PathsChange(
            a=self._switch(each.a), b=self._switch(each.b), before=before, after=after
        )

    def _where(self, datapath_id: int, port: int) -> dict[str, Any]:
        bridge = self._bridges.get(datapath_id)
        known = None if bridge is None else bridge.port_at(port)
        return {
            "datapath_id": f"{datapath_id:016x}",
            "bridge": self._name(datapath_id),
            "port": known.name
            if known is not None
            else "LOCAL"
            if port == LOCAL_PORT
            else str(port),
        }

    def _event(self, logged: Logged) -> PredictedEvent:
        bridge = self._bridges.get(logged.datapath_id)
        event = logged.event.worded(lambda port: None if bridge is None else bridge.port_at(port))
        return PredictedEvent(
            at=round(logged.at, 3),
            datapath_id=f"{logged.datapath_id:016x}",
            bridge=self._name(logged.datapath_id),
            kind=event.kind,
            severity=event.severity.value,
            message=event.message,
            port=event.port,
            data=dict(event.data),
        )

    def _pair(self, pair: Pair, each: Interruption) -> CutOffPair:
        return CutOffPair(
            a=self._switch(pair.a),
            b=self._switch(pair.b),
            vlan=pair.vid,
            hosts=(
                self._predicted.populations.get((pair.a, pair.vid), 0),
                self._predicted.populations.get((pair.b, pair.vid), 0),
            ),
            since=_since(each),
            seconds=_seconds(each),
        )

    def _silent(self, place: HostPort, each: Interruption) -> SilentPort:
        return SilentPort(
            **self._where(place.datapath_id, place.port),
            vlan=place.vid,
            hosts=self._hosts[place],
            since=_since(each),
            seconds=_seconds(each),
        )

    def _group(self, each: content.GroupPort) -> GroupPort:
        return GroupPort(
            **self._where(each.datapath_id, each.port),
            vlan=each.vid,
            group=text(each.group),
            source=None if each.source is None else text(each.source),
            change="gains" if each.gained else "loses",
            receiver=each.receiver,
        )

    def _refused(self, host: hosts.RefusedHost) -> RefusedHost:
        bound = host.bound
        return RefusedHost(
            **self._where(host.datapath_id, host.port),
            vlan=host.vid,
            mac=format_mac(host.mac),
            bound_bridge=None if host.bound_at is None else self._name(host.bound_at),
            bound_port=None if bound is None else bound.port,
            origin=None if bound is None else bound.origin,
        )

    def _root(self, datapath_id: int, root: int) -> RootChange:
        owners = (b for b in self._bridges.values() if b.address == root & ADDRESS_MASK)
        owner = next(owners, None)
        return RootChange(
            datapath_id=f"{datapath_id:016x}",
            bridge=self._name(datapath_id),
            root=format_bridge_id(root),
            root_name=None if owner is None else owner.name,
        )

    def _point(self, kind: str, what: object) -> str:
        if isinstance(what, int):
            return f"{kind} {self._switch(what)}"
        assert isinstance(what, tuple)
        return f"{kind} " + " - ".join(map(self._end, what))

    def _end(self, end: SwitchPort) -> str:
        """The name of a cable's end."""
        where = self._where(*end)
        return f"{where['bridge']}/{self._predicted.ports.get(end, where['port'])}"


def _since(each: Interruption) -> float:
    return round(each.since, 3)


def _seconds(each: Interruption) -> float | None:
    return None if each.until is None else round(each.until - each.since, 3)
