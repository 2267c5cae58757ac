"""In a cluster every member answers for all: it asks the others, and merges their answers.

This applies to lists over all bridges, the search, the event log, and the map, which the member
that is asked makes from the data of the others.  The answer names members that do not answer, and
waits no longer than `peers.PATIENCE` for them.

The stream of events and the metrics are not merged: read them from each member.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import wraps
from typing import Any, Generic, NamedTuple, TypeVar, cast
from urllib.parse import urlencode

from flask import Flask, Response, request
from pydantic import TypeAdapter, ValidationError
from werkzeug.datastructures import ImmutableMultiDict

from ofapp.api.cluster.merging import (
    Answers,
    Claimed,
    merge_around,
    merge_bridges,
    merge_entries,
    merge_events,
    merge_fabrics,
    merge_forgotten,
    merge_found,
    merge_hosts,
    merge_loads,
    merge_problems,
    neighbour_key,
)
from ofapp.api.cluster.proxy import as_asked, body_of, from_member, returned
from ofapp.api.lookup import is_datapath_id
from ofapp.api.problems import ProblemError
from ofapp.api.resources.topology import Around, around, map_view
from ofapp.api.responses import answer, listing, plain
from ofapp.api.roles import Merging, is_of_some, merging_of
from ofapp.common import hub
from ofapp.controller.cluster.peers.requests import Reply, Request
from ofapp.controller.cluster.peers.surface import Surface
from ofapp.controller.network import Network
from ofapp.controller.topology import Surroundings, link_ends

T = TypeVar("T")
View = Callable[..., Response]
Merge = Callable[[Answers, Claimed], dict[str, Any]]

_ATTACHED = TypeAdapter(bool)
AROUND = "/v1/topology/around"
EVENTS = "/v1/events"


class Gathered(NamedTuple, Generic[T]):
    """answers: by member; silent: members without an answer and why, as in the API's answer."""

    answers: dict[str, T]
    silent: list[dict[str, str]]


class FanOut:
    """Asks all members for routes that declare it (`@all_members`), and merges their answers.

    named: finds the datapath id of a bridge by its name.
    """

    def __init__(
        self,
        app: Flask,
        network: Network,
        surface: Surface,
        named: Callable[[str], str | None],
    ) -> None:
        self._network = network
        self._surface = surface
        self._named = named
        app.before_request(self._name_bridge)
        merges: dict[Merging, Merge] = {
            "bridges": merge_bridges,
            "entries": self._merge_entries,
            "events": self._merge_events,
            "fabrics": merge_fabrics,
            "forgotten": merge_forgotten,
            "found": self._merge_found,
            "hosts": merge_hosts,
            "loads": merge_loads,
            "problems": merge_problems,
        }
        for endpoint, each in app.view_functions.items():
            view = cast(View, each)
            if (merging := merging_of(view)) == "map":
                app.view_functions[endpoint] = self._map(view)
            elif merging is not None:
                app.view_functions[endpoint] = self._merged(view, merging, merges[merging])
            elif is_of_some(view):
                app.view_functions[endpoint] = self._sought(view)

    def _sought(self, view: View) -> View:
        @wraps(view)
        def sought(*args: Any, **named: Any) -> Response:
            try:
                return view(*args, **named)
            except ProblemError as error:
                if error.status != 404 or from_member():
                    raise
                replies, _ = self._surface.peers.ask_all(as_asked())
                found = [reply for reply in replies if reply.status != 404]
                if not found:
                    raise
                return returned(min(found, key=lambda reply: reply.status))

        return sought

    def _merged(self, view: View, merging: Merging, merge: Merge) -> View:
        @wraps(view)
        def merged(*args: Any, **named: Any) -> Response:
            answer = view(*args, **named)
            incomplete = [] if merging in ("events", "forgotten") else self._taking_over()
            if answer.status_code != 200 or (from_member() and not incomplete):
                return answer
            body = {**answer.get_json(), "silent": incomplete}
            if from_member():
                return plain(body)
            asked = self._events_asked() if merging == "events" else as_asked()
            answers, silent = self._gather(asked, body_of)
            answers[self._surface.members.own] = body
            silent += [one for each in answers.values() for one in each.get("silent", ())]
            whole = merge(answers, self._claimed) | {"silent": silent}
            if "entries" in whole:
                return listing("entries", whole.pop("entries"), lambda some: some, whole)
            return plain(whole)

        return merged

    def _taking_over(self) -> list[dict[str, str]]:
        """The bridges of which this member cannot answer all yet, as it has just claimed them."""
        member, silent = self._surface.members.own, []
        for claim in self._surface.claims.all():
            bridge = self._network.bridges.get(claim.datapath_id)
            if claim.member == member and (bridge is None or not bridge.ports.complete):
                reason = f"it is taking over bridge {claim.datapath_id:016x}"
                silent.append({"member": member, "reason": reason})
        return silent

    def _map(self, view: View) -> View:
        @wraps(view)
        def merged(*args: Any, **named: Any) -> Response:
            if from_member():
                return view(*args, **named)
            known, silent = self._around()
            return answer(map_view(known).model_copy(update={"silent": silent}))

        return merged

    def _gather(self, asked: Request, read: Callable[[Reply], T]) -> Gathered[T]:
        """Ask all other members; read: parses a reply."""
        replies, silent = self._surface.peers.ask_all(asked)
        answers: dict[str, T] = {}
        quiet = dict(silent)
        for reply in replies:
            hub.sleep(0)  # ten thousand entries take some ten milliseconds to read
            if reply.status != 200:
                why = body_of(reply).get("detail", f"status {reply.status}")
                quiet[reply.member] = str(why)
                continue
            try:
                answers[reply.member] = read(reply)
            except ValidationError:
                quiet[reply.member] = "its answer has the format of another version"
        listed = [{"member": name, "reason": why} for name, why in sorted(quiet.items())]
        return Gathered(answers, listed)

    def _around(self) -> tuple[Sequence[Surroundings], list[dict[str, str]]]:
        """The surroundings of all bridges, and the members that do not answer."""
        answers, silent = self._gather(as_asked(AROUND), _surroundings)
        answers[self._surface.members.own] = around(self._network)
        return [*merge_around(answers, self._claimed).values()], silent

    def _merge_entries(self, answers: Answers, claimed: Claimed) -> dict[str, Any]:
        """Merge entries; only here ports that lead to another member's bridge are known."""
        merged = merge_entries(answers, claimed)
        if _ATTACHED.validate_python(request.args.get("attached", "false")):
            inner = {(f"{end.datapath_id:016x}", end.port) for end in link_ends(self._around()[0])}
            merged["entries"] = [
                entry
                for entry in merged["entries"]
                if (entry["datapath_id"], entry["port"]["number"]) not in inner
            ]
        return merged

    def _merge_found(self, answers: Answers, claimed: Claimed) -> dict[str, Any]:
        """Merge what was found; bridges of other members are no neighbours of the cluster."""
        merged = merge_found(answers, claimed)
        if not merged["neighbours"]:  # mostly; then the map is not needed
            return merged
        known, _ = self._around()
        drawn = {bridge.datapath_id for bridge in known}
        strangers = {
            neighbour_key(one.model_dump(mode="json")) for one in map_view(known).neighbours
        }
        merged["neighbours"] = [
            one
            for one in merged["neighbours"]
            if neighbour_key(one) in strangers or int(one["datapath_id"], 16) not in drawn
        ]
        return merged

    def _merge_events(self, answers: Answers, claimed: Claimed) -> dict[str, Any]:
        del claimed  # events of a bridge's former owners are kept
        return merge_events(answers, self._surface.members.own)

    def _events_asked(self) -> Request:
        """Convert an event number to a time for the others: each member counts its own events."""
        query = request.args.to_dict()
        since = query.pop("since", "0")
        if not since.isdigit():
            query["since"] = since
        elif moment := self._network.events.moment(int(since)):
            query["since"] = f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%dT%H:%M:%S.%fZ}"
        return as_asked(f"{EVENTS}?{urlencode(query)}" if query else EVENTS)

    def _name_bridge(self) -> None:
        """Replace the bridge's name by its datapath id: names of others' bridges are not known."""
        text = request.args.get("bridge", "")
        if not text or is_datapath_id(text) or from_member():
            return
        if (datapath_id := self._named(text)) is not None:
            request.args = ImmutableMultiDict({**request.args.to_dict(), "bridge": datapath_id})

    def _claimed(self, datapath_id: str) -> str | None:
        """The member that owns a bridge; None if it has no owner."""
        claim = self._surface.claims.of(int(datapath_id, 16))
        return None if claim is None else claim.member


def _surroundings(reply: Reply) -> Sequence[Surroundings]:
    return Around.model_validate_json(reply.body).bridges
