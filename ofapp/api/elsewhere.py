"""In a cluster every member answers for every bridge: it asks the one that looks after it.

A request about one bridge goes on to its owner as it is, with who has asked; what is about all of
them is in `api.everywhere`.  What another member asks is answered from what this one has, and never
sent on: so nothing goes round in a circle.

That a request comes from a member is known by the listener that it came in by, and by its signature
(`controller.cluster.surface`): no client of the API can say for whom it asks.
"""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import quote

from flask import Flask, Response, request

from ofapp.api.gate import caller, guest
from ofapp.api.lookup import is_datapath_id
from ofapp.api.problems import ProblemError, field_problem
from ofapp.controller.access import Caller as ApiCaller
from ofapp.controller.access import RejectedError
from ofapp.controller.access.roles import GIVEN
from ofapp.controller.cluster.peers import Reply, Request, SilentError
from ofapp.controller.cluster.signing import Asked, Caller, ForgedError
from ofapp.controller.cluster.surface import Surface
from ofapp.controller.network import Network

ANSWERED_BY = "Ofapp-Member"
"""Header of an answer that another member has given: its name."""

NAMES = "/v1/cluster/bridges"

_SENT = ("Content-Type",)
_GIVEN_BACK = ("content-type", "retry-after", "allow", "cache-control")
_SAFE = "/:@!$&'()*+,;=~?"
_AGAIN = {"Retry-After": "1"}


class Elsewhere:
    """Of one application."""

    def __init__(self, app: Flask, network: Network, surface: Surface) -> None:
        self._network = network
        self._surface = surface
        app.before_request(self._send_on)

    def _send_on(self) -> Response | None:
        text = (request.view_args or {}).get("dpid")
        if text is None:
            return None
        owner = self._owner_of(str(text))
        if owner is None:
            return None
        if from_member():
            what = f"member {owner} looks after bridge {text}, not this one"
            raise ProblemError(503, what, headers=_AGAIN)
        try:
            return _given_back(self._ask(owner))
        except SilentError as error:
            what = f"member {owner} looks after bridge {text}, and does not answer: {error.why}"
            raise ProblemError(503, what, headers=_AGAIN) from None

    def _owner_of(self, text: str) -> str | None:
        """Which other member is to be asked about a bridge, by its datapath id or its name."""
        if is_datapath_id(text):
            datapath_id = int(text, 16)
            owner = self._surface.owner(datapath_id)
            if owner is not None or datapath_id in self._network.bridges:
                return owner
        return None if from_member() else self._owner_by_name(text)

    def _owner_by_name(self, name: str) -> str | None:
        return next(iter(self._by_name(name).values()), None) or None

    def datapath_id(self, name: str) -> str | None:
        """Of the bridge of that name, whoever looks after it; 409 where there are several."""
        return next(iter(self._by_name(name)), None)

    def _by_name(self, name: str) -> dict[str, str]:
        """The one bridge of that name by its datapath id, and who looks after it; "" = here."""
        own = [
            datapath_id
            for datapath_id, bridge in self._network.bridges.items()
            if bridge.name == name and self._surface.owner(datapath_id) is None
        ]
        replies, silent = self._surface.peers.ask_all(Request("GET", NAMES, _caller()))
        found = {f"{datapath_id:016x}": "" for datapath_id in own}
        for reply in replies:
            for bridge in body_of(reply).get("bridges", ()):
                if name in (bridge["name"], bridge["datapath_id"]):
                    found[bridge["datapath_id"]] = reply.member
        if len(found) > 1:
            what = f"{len(found)} bridges are called {name}, give a datapath id: "
            raise field_problem(409, "dpid", what + ", ".join(sorted(found)))
        if not found and silent:
            who = "; ".join(f"{member}: {why}" for member, why in silent)
            what = f"no bridge {name} is known here, and not all members answer ({who})"
            raise ProblemError(503, what, [("dpid", what)], _AGAIN)
        return found

    def _ask(self, owner: str) -> Reply:
        reply = self._surface.peers.ask(owner, as_asked())
        if reply.status == 401:
            why = str(body_of(reply).get("detail", "it does not say why"))
            raise SilentError(owner, f"it does not take this member's requests: {why}")
        return reply


def from_member() -> bool:
    """Whether another member asks, for somebody who has asked it."""
    own = guest()
    return own is not None and own.inside


def admit(surface: Surface) -> ApiCaller:
    """For whom the member asks; RejectedError where it is none."""
    own = guest()
    assert own is not None
    asked = Asked(surface.members.own, request.method, _target(), request.get_data(cache=True))
    header = request.headers.get("Authorization", "")
    try:
        member, found = surface.admit(header, asked, own.certified())
    except ForgedError as error:
        raise RejectedError(str(error)) from None
    role = GIVEN.get(found.role)
    if role is None:
        raise RejectedError(f"{found.role} is not a role that members ask with")
    return ApiCaller(found.name, role, f"{found.address} by way of {member}")


def _caller() -> Caller:
    own = caller()
    return Caller(own.name, str(own.role), own.address)


def as_asked(target: str = "") -> Request:
    """What has been asked, for another member; target: what to ask instead."""
    headers = {name: request.headers[name] for name in _SENT if name in request.headers}
    body = request.get_data(cache=True)
    return Request(request.method, target or _target(), _caller(), body, headers)


def _target() -> str:
    """Path and query in the one way of writing them, which nobody on the way changes."""
    query = request.query_string.decode("latin-1")
    whole = quote(request.path, safe=_SAFE.replace("?", ""))
    if query:
        sound = re.sub("%(?![0-9a-fA-F]{2})", "%25", query)
        whole += "?" + quote(sound, safe=_SAFE + "%", encoding="latin-1")
    return re.sub("%[0-9a-f]{2}", lambda found: found[0].upper(), whole, flags=re.IGNORECASE)


def _given_back(reply: Reply) -> Response:
    answer = Response(reply.body, reply.status)
    for name in _GIVEN_BACK:
        if name in reply.headers:
            answer.headers[name] = reply.headers[name]
    answer.headers[ANSWERED_BY] = reply.member
    return answer


def body_of(reply: Reply) -> dict[str, Any]:
    """What it says; nothing where that is no object of JSON."""
    try:
        found = json.loads(reply.body)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
