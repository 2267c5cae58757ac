"""In a cluster every member answers for every bridge: it forwards requests to the bridge's owner.

A request about one bridge is forwarded to its owner unchanged, with the identity of the caller;
requests about all bridges are in `api.cluster.fan_out`.  Requests of other members are answered
locally and never forwarded: so there are no loops.

A member's request is recognized by its listener and by its certificate
(`controller.cluster.peers.surface`): no client of the API can claim another caller's identity.
"""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import quote

from flask import Flask, Response, request

from ofapp.api.auth import caller, connection
from ofapp.api.lookup import is_datapath_id
from ofapp.api.problems import AGAIN, ProblemError, field_problem
from ofapp.controller.access import Caller as ApiCaller
from ofapp.controller.access import RejectedError
from ofapp.controller.access.roles import GIVEN
from ofapp.controller.cluster.peers.requests import CALLER, Caller, Reply, Request, SilentError
from ofapp.controller.cluster.peers.surface import Surface
from ofapp.controller.network import Network

ANSWERED_BY = "Ofapp-Member"
"""Header of an answer by another member: its name."""
OWNER = "Ofapp-Owner"
"""Header of a member's refusal to answer for another member's bridge: the name of the owner."""

NAMES = "/v1/cluster/bridges"
FABRICS = "/v1/fabrics"

_SENT = ("Content-Type", "If-Match")
_RETURNED = ("content-type", "retry-after", "allow", "cache-control", "etag")
_SAFE = "/:@!$&'()*+,;=~"


class Proxy:
    """Forwards requests about a bridge to the member that owns it."""

    def __init__(self, app: Flask, network: Network, surface: Surface) -> None:
        self._network = network
        self._surface = surface
        app.before_request(self._forward)

    def _forward(self) -> Response | None:
        named = request.view_args or {}
        text = named.get("dpid") or self.bridge_of_fabric(named.get("fabric"))
        if text is None:
            return None
        owner = self._owner_of(str(text))
        if owner is None:
            return None
        if from_member():
            what = f"member {owner} owns bridge {text}, not this one"
            raise ProblemError(503, what, headers={**AGAIN, OWNER: owner})
        try:
            return returned(self._ask_owner(owner))
        except SilentError as error:
            what = f"member {owner} owns bridge {text}, and does not answer: {error.why}"
            raise ProblemError(503, what, headers=AGAIN) from None

    def bridge_of_fabric(self, name: str | None) -> str | None:
        """Datapath id of a fabric's bridge, by this member or another; None without the fabric."""
        if name is None:
            return None
        if (fabric := self._network.fabrics.get(name)) is not None:
            return f"{fabric.params.datapath_id:016x}"
        if from_member():
            return None
        replies, _ = self._surface.peers.ask_all(Request("GET", FABRICS, _caller()))
        lists = (body_of(reply).get("fabrics", ()) for reply in replies)
        return next(
            (each["datapath_id"] for fabrics in lists for each in fabrics if each["name"] == name),
            None,
        )

    def _owner_of(self, text: str) -> str | None:
        """Find the other member that owns a bridge, by its datapath id or its name.

        None if this one does, or there is no such bridge; 503 if there may be one soon.
        """
        if is_datapath_id(text):
            datapath_id = int(text, 16)
            owner = self._surface.owner(datapath_id)
            if owner is not None or datapath_id in self._network.bridges:
                return owner
            if from_member() and datapath_id in self._surface.cluster.expected():
                raise _unserved(text)
        return None if from_member() else next(iter(self._by_name(text).values()), None) or None

    def datapath_id(self, name: str) -> str | None:
        """Datapath id of the bridge of that name on any member; 409 if there are several."""
        return next(iter(self._by_name(name)), None)

    def _by_name(self, name: str) -> dict[str, str]:
        """Find the bridge of that name: its datapath id, and the member that owns it; "" = here.

        503 if it may be a bridge whose name is not known now.
        """
        local = {
            f"{datapath_id:016x}": bridge.name
            for datapath_id, bridge in self._network.bridges.items()
            if self._surface.owner(datapath_id) is None
        }
        replies, unreached = self._surface.peers.ask_all(Request("GET", NAMES, _caller()))
        refused = [reply for reply in replies if reply.status != 200]
        silent = *unreached, *((one.member, body_of(one).get("detail", "")) for one in refused)
        places, names = dict.fromkeys(local, ""), local
        for reply in replies:
            for bridge in body_of(reply).get("bridges", ()):
                places[bridge["datapath_id"]] = reply.member
                names[bridge["datapath_id"]] = bridge["name"]
        matches = {
            datapath_id: places[datapath_id]
            for datapath_id, own_name in names.items()
            if name in (own_name, datapath_id)
        }
        if len(matches) > 1:
            what = f"{len(matches)} bridges are called {name}, give a datapath id: "
            raise field_problem(409, "dpid", what + ", ".join(sorted(matches)))
        if not matches and silent:
            who = "; ".join(f"{member}: {why}" for member, why in silent)
            what = f"no bridge {name} is known here, and not all members answer ({who})"
            raise ProblemError(503, what, [("dpid", what)], AGAIN)
        unserved = {
            f"{datapath_id:016x}" for datapath_id in self._surface.cluster.expected()
        } - names.keys()
        if not matches and (name in unserved if is_datapath_id(name) else unserved):
            raise _unserved(name)
        return matches

    def _ask_owner(self, owner: str) -> Reply:
        """Ask the owner, and then once the new owner if the switch has just been handed over.

        The former owner has refused the request before any of it was carried out.
        """
        reply = self._ask(owner)
        new = reply.headers.get(OWNER.lower())
        return self._ask(new) if new and new != self._surface.members.own else reply

    def _ask(self, owner: str) -> Reply:
        reply = self._surface.peers.ask(owner, as_asked())
        if reply.status == 401:
            why = str(body_of(reply).get("detail", "it does not say why"))
            raise SilentError(owner, f"it refuses this member's requests: {why}")
        return reply


def _unserved(name: str) -> ProblemError:
    what = f"bridge {name} is not known now, and there is a switch that no member serves yet"
    return ProblemError(503, what, [("dpid", what)], AGAIN)


def from_member() -> bool:
    """Whether another member has forwarded this request."""
    client = connection()
    return client is not None and client.inside


def admit(surface: Surface) -> ApiCaller:
    """The caller that the member acts for; RejectedError if it is no member."""
    client = connection()
    assert client is not None
    member = surface.member_of(client.certificate())
    if member is None:
        raise RejectedError("this is for present members of the cluster, and the client is none")
    try:
        sender = Caller(**json.loads(request.headers.get(CALLER, "")))
        role = GIVEN[sender.role]
    except (ValueError, TypeError, KeyError):
        raise RejectedError("the header with the member's client is not valid") from None
    return ApiCaller(sender.name, role, f"{sender.address} by way of {member}")


def _caller() -> Caller:
    user = caller()
    return Caller(user.name, str(user.role), user.address)


def as_asked(target: str = "") -> Request:
    """The present request for another member; target: replaces its path and query."""
    headers = {name: request.headers[name] for name in _SENT if name in request.headers}
    body = request.get_data(cache=True)
    return Request(request.method, target or _target(), _caller(), body, headers)


def _target() -> str:
    """Path and query of the present request, percent-encoded."""
    path = quote(request.path, safe=_SAFE)
    query = re.sub("%(?![0-9a-fA-F]{2})", "%25", request.query_string.decode("latin-1"))
    encoded = quote(query, safe=f"{_SAFE}?%", encoding="latin-1")
    return f"{path}?{encoded}" if query else path


def returned(reply: Reply) -> Response:
    """The answer of another member, as an own answer."""
    answer = Response(reply.body, reply.status)
    for name in _RETURNED:
        if name in reply.headers:
            answer.headers[name] = reply.headers[name]
    answer.headers[ANSWERED_BY] = reply.member
    return answer


def body_of(reply: Reply) -> dict[str, Any]:
    """The JSON object in a reply; empty if there is none."""
    try:
        body = json.loads(reply.body)
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}
