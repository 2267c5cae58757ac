"""/v1/what-if: what a change of the network would lead to, by a copy of it in virtual time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

from flask import Response, request

from ofapp.api.auth import caller, connection, party
from ofapp.api.base import NoQuery
from ofapp.api.http.connection_limiter import Connection
from ofapp.api.lookup import known_port
from ofapp.api.openapi import APIBlueprint, Tag
from ofapp.api.problems import ProblemError, documented, field_problem, resource
from ofapp.api.resources.bridge.planned import planned_of
from ofapp.api.resources.config import invalid, sent
from ofapp.api.resources.twin.dying_member import its_answer, without
from ofapp.api.resources.twin.models import Answer, Question, SwitchPlan
from ofapp.api.resources.twin.named import Named
from ofapp.api.resources.twin.questions import Questions
from ofapp.api.resources.twin.view import View
from ofapp.api.responses import answer
from ofapp.api.roles import viewer
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.queries import logical_port
from ofapp.bridge.twin.actions import (
    Action,
    Attach,
    Cut,
    Disconnect,
    Fail,
    Move,
    MovedHost,
    Plug,
    SetFabric,
    SetParams,
    Storm,
)
from ofapp.bridge.twin.hosts import RefusedHost, hosts_on
from ofapp.config import ConfigError
from ofapp.config.base import FaultsError
from ofapp.controller.access import UserRole
from ofapp.controller.configuration.changes.ports import missing_port
from ofapp.controller.configuration.plan import BridgePlan, Plan
from ofapp.controller.network import Network
from ofapp.controller.what_if import ask, cables_of, contents, present

if TYPE_CHECKING:
    from ofapp.controller.cluster.peers.surface import Surface

OCTETS_OF_VIEWER = 4096
"""Most octets of a viewer's question: settings of 1,000 ports take 80 ms to check, in one step."""

TAG = Tag(name="what-if", description="What a change of the network would lead to.")


def blueprint(network: Network, questions: Questions, surface: Surface | None) -> APIBlueprint:
    """The route; surface: None without a cluster."""
    api = resource("what_if", TAG, "/v1/what-if")

    @api.post("", responses={200: Answer, **documented(400, 404, 409, 413, 415)})
    @viewer
    def what_if(query: NoQuery, body: Question) -> Response:
        """Predict what changes would lead to.  Nothing is changed.

        The bridges of connected switches of this controller are copied, with their trees, cables,
        aggregations and fabrics; bridges of others go on with their last hellos.  A member that
        dies answers itself.  `config` and `reload` need the role admin.  429: questions of this
        token have taken too much processor time.  503: too many wait, or the answer takes too long.
        """
        if body.fail_member is not None:
            with questions.passed_on(network.events, party()):
                reply = its_answer(surface, body.fail_member)
            if reply is not None:
                return reply
        began = time.monotonic()
        if caller().role < UserRole.OPERATOR and len(request.get_data()) > OCTETS_OF_VIEWER:
            what = f"a viewer's question has at most {OCTETS_OF_VIEWER} octets: ask about less"
            raise ProblemError(413, what)
        file = body.config is not None or body.reload is not None
        if file and caller().role < UserRole.ADMIN:
            raise ProblemError(
                403, "a whole file is for the role admin: name what changes in `set`"
            )
        away = body.away
        if away and (file or body.set):
            what = "settings cannot change while switches have no controller: ask about each alone"
            raise field_problem(409, away[0], what)
        if len(away) > 1:
            what = "`disconnected` and `fail_member` both disconnect switches: give one of the two"
            raise field_problem(409, away[1], what)
        with questions.turn(network.events, party(), _has_left(connection())) as turn:
            copied = {bridge.datapath_id for bridge in present(network)}
            planned = _file(network, body)
            plans = [*turn.over(_plans(network, copied, planned, body))]
            actions = [*turn.over(_actions(network, copied, body))]
            if body.fail_member is not None and surface is not None:
                actions.insert(0, without(surface))
            actions += [SetParams(each.bridge.datapath_id, each.new.params()) for each in plans]
            fabrics = _fabrics(network, copied, planned)
            actions += fabrics.actions
            try:
                predicted = ask(network, actions, body.seconds, turn)
            except KeyError:
                what = "an earlier change has removed a bridge or port of a later change"
                raise ProblemError(409, what) from None
            unbound = (host for each in turn.over(plans) for host in _unbound(each))
            refused = (*predicted.refused, *unbound)
            view = View(network.bridges, replace(predicted, refused=refused), turn)
            settings = {each.bridge.datapath_id: each.changes for each in plans}
            switches = [
                SwitchPlan(
                    datapath_id=f"{bridge.datapath_id:016x}",
                    bridge=bridge.name,
                    changes=list(settings.get(bridge.datapath_id, ())),
                    planned=planned_of(preview),
                )
                for bridge, preview in turn.over(contents(network, predicted, turn.rest))
            ]
            took = time.monotonic() - began
            assumed = [*fabrics.assumptions, *_waiting(plans, body)]
            return answer(view.answer(body.seconds, switches, took, assumed))

    return api


def _has_left(its: Connection | None) -> Callable[[], bool]:
    return lambda: its is not None and (its.dismissed or its.has_left())


def _file(network: Network, body: Question) -> Plan | None:
    """What a configuration file changes; None without a file, 409 for one that is not valid."""
    if body.config is not None and body.reload is not None:
        raise field_problem(409, "reload", "another file is in the question: name one of the two")
    if body.config is None and body.reload is None:
        return None
    try:
        file = network.reloader.read() if body.config is None else sent(body.config).config()
        return network.reloader.plan(file, reset=body.reload == "reset")
    except ConfigError as error:
        raise invalid(error) from None


class _Fabrics(NamedTuple):
    """Changes of fabrics by a file, and sentences about those that are not predicted."""

    actions: list[SetFabric]
    assumptions: list[str]


def _fabrics(network: Network, copied: Set[int], file: Plan | None) -> _Fabrics:
    """What a file changes in fabrics: costs, cables and MTU of those with the same members."""
    result = _Fabrics([], [])
    new = {} if file is None else {each.name: each for each in file.config.fabric_params()}
    for name, fabric in network.fabrics.items() if file is not None else ():
        params, datapath_id = new.get(name), fabric.bridge.datapath_id
        if params is None or params.members != fabric.params.members:
            result.assumptions.append(f"fabric {name} keeps its members and their link ports")
        elif params != fabric.params and datapath_id in copied:
            result.actions.append(SetFabric(datapath_id, params))
    return result


def _plans(
    network: Network, copied: Set[int], file: Plan | None, body: Question
) -> Iterator[BridgePlan]:
    """New settings of bridges that are copied, from the file and then from requests."""
    seen = set[int]()
    for each in () if file is None else file.changed:
        if each.bridge.datapath_id in copied:
            seen.add(each.bridge.datapath_id)
            yield each
    for at, new in enumerate(body.set):
        bridge = Named(network, copied).bridge(new.bridge)
        if bridge.datapath_id in seen:
            what = f"bridge {bridge.name} has new settings already: name them together"
            raise field_problem(409, "set", what)
        seen.add(bridge.datapath_id)
        try:
            yield network.changes.settings.plan(bridge, new.settings)
        except FaultsError as error:
            fields = [
                (".".join(map(str, ("set", at, "settings", *path))), what)
                for path, what in error.faults
            ]
            raise ProblemError(409, str(error), fields) from None


def _waiting(plans: Iterable[BridgePlan], body: Question) -> Iterator[str]:
    """Sentences about settings in the request of ports that are not there."""
    for each, new in product(plans, body.set):
        bridge = each.bridge
        if new.bridge not in (bridge.name, f"{bridge.datapath_id:016x}"):
            continue
        for name in new.settings.get("ports") or ():
            lag = name in each.new.params().lags or bridge.params.lag_of(name) is not None
            if not lag and known_port(bridge, name) is None:
                yield f"{missing_port(bridge, name)}: its settings wait until it is there"


def _actions(network: Network, copied: Set[int], body: Question) -> Iterator[Action]:
    named = Named(network, copied)
    if body.disconnected is not None:
        yield Disconnect(body.disconnected)
    yield from (Cut(named.port(text)) for text in body.cut)
    yield from (Plug(*named.cable(new.a, new.b)) for new in body.plug)
    yield from (Fail(each) for text in body.fail for each in named.switches(text))
    cables = cables_of(present(network)) if body.move else set()
    for index, new in enumerate(body.move):
        source, to = named.edge(new.source), named.edge(new.to)
        if source == to:
            raise field_problem(409, f"move.{index}.to", "the host is at this port already")
        if any(source in each for each in cables):
            what = f"{new.source} leads to another switch, and has no host: ask with `cut`, `plug`"
            raise field_problem(409, f"move.{index}.source", what)
        yield Move(source, to, _hosts(network.bridges[source.datapath_id], source.port))
    yield from (Storm(named.edge(new.port), new.rate) for new in body.storm)
    yield from (Attach(named.edge(new.port), new.priority) for new in body.attach)


def _hosts(bridge: Bridge, number: int) -> tuple[MovedHost, ...]:
    port = logical_port(bridge, number)
    return () if port is None else hosts_on(bridge, port.number)


def _unbound(plan: BridgePlan) -> Iterator[RefusedHost]:
    """Hosts that new settings cut off: their port is guarded then, and they have no binding."""
    for name, vid, mac in plan.bridge.first_hop.would_refuse(plan.new.params()):
        port = plan.bridge.ports.named(name)
        if port is not None:
            yield RefusedHost(plan.bridge.datapath_id, port.number, vid, mac)
