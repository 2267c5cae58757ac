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

from ofapp.api.answers import answer, listing, plain
from ofapp.api.cluster.merging import (
    Answers,
    Claimed,
    merge_around,
    merge_bridges,
    merge_entries,
    merge_events,
    merge_forgotten,
    merge_found,
    neighbour_key,
)
from ofapp.api.cluster.proxy import as_asked, body_of, from_member
from ofapp.api.lookup import is_datapath_id
from ofapp.api.resources.topology import Around, around, link_ends, map_view
from ofapp.common import hub
from ofapp.controller.cluster.peers.requests import Reply, Request
from ofapp.controller.cluster.peers.surface import Surface
from ofapp.controller.network import Network
from ofapp.controller.topology import Surroundings

T = TypeVar("T")
View = Callable[..., Response]
Merge = Callable[[Answers, Claimed], dict[str, Any]]

_ATTACHED = TypeAdapter(bool)
AROUND = "/v1/topology/around"
EVENTS = "/v1/events"
OF_EVENTS = ("events.latest", "events.stream")


class Told(NamedTuple, Generic[T]):
    """answers: by member; silent: members without an answer and why, as in the API's answer."""

    answers: dict[str, T]
    silent: list[dict[str, str]]


class Everywhere:
    """Merges answers of all members.  named: finds the datapath id of a bridge by its name."""

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
        for endpoint, merge, asked in (
            ("bridges.bridges", merge_bridges, as_asked),
            ("bridges.forget_absent", merge_forgotten, as_asked),
            ("fdb.whole_fdb", self._merge_entries, as_asked),
            ("search.search", self._merge_found, as_asked),
            ("events.latest", self._merge_events, self._events_asked),
        ):
            view = cast(View, app.view_functions[endpoint])
            app.view_functions[endpoint] = self._of_all(view, merge, asked)
        view = cast(View, app.view_functions["topology.topology"])
        app.view_functions["topology.topology"] = self._map(view)

    def _of_all(self, view: View, merge: Merge, asked: Callable[[], Request]) -> View:
        @wraps(view)
        def everywhere(*args: Any, **named: Any) -> Response:
            own = view(*args, **named)
            if from_member() or own.status_code != 200:
                return own
            told = self._ask(asked(), body_of)
            told.answers[self._surface.members.own] = dict(own.get_json())
            merged = merge(told.answers, self._claimed) | {"silent": told.silent}
            if "entries" in merged:
                return listing("entries", merged.pop("entries"), lambda some: some, merged)
            return plain(merged)

        return everywhere

    def _map(self, view: View) -> View:
        @wraps(view)
        def everywhere(*args: Any, **named: Any) -> Response:
            if from_member():
                return view(*args, **named)
            known, silent = self._around()
            drawn = map_view(known)
            return answer(drawn.model_copy(update={"silent": silent}))

        return everywhere

    def _ask(self, asked: Request, read: Callable[[Reply], T]) -> Told[T]:
        """Ask all other members; read: parses a reply."""
        replies, silent = self._surface.peers.ask_all(asked)
        told: dict[str, T] = {}
        quiet = dict(silent)
        for reply in replies:
            hub.sleep(0)  # ten thousand entries take some ten milliseconds to read
            if reply.status != 200:
                why = body_of(reply).get("detail", f"status {reply.status}")
                quiet[reply.member] = str(why)
                continue
            try:
                told[reply.member] = read(reply)
            except ValidationError:
                quiet[reply.member] = "its answer has the format of another version"
        return Told(told, [{"member": name, "reason": why} for name, why in sorted(quiet.items())])

    def _around(self) -> tuple[Sequence[Surroundings], list[dict[str, str]]]:
        """The surroundings of all bridges, and the members that do not answer."""
        told, silent = self._ask(as_asked(AROUND), _surroundings)
        told[self._surface.members.own] = around(self._network)
        return [*merge_around(told, self._claimed).values()], silent

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
        drawn = {own.datapath_id for own in known}
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
        if request.endpoint not in OF_EVENTS or not text or is_datapath_id(text) or from_member():
            return
        if (datapath_id := self._named(text)) is not None:
            request.args = ImmutableMultiDict({**request.args.to_dict(), "bridge": datapath_id})

    def _claimed(self, datapath_id: str) -> str | None:
        """The member that owns a bridge; None if it has no owner."""
        claim = self._surface.claims.of(int(datapath_id, 16))
        return None if claim is None else claim.member


def _surroundings(reply: Reply) -> Sequence[Surroundings]:
    return Around.model_validate_json(reply.body).bridges
