"""A member of a cluster that dies, in a question to the twin."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from flask import Response

from ofapp.api.problems import AGAIN, ProblemError, field_problem
from ofapp.api.resources.cluster import ALONE
from ofapp.bridge.twin.actions import Disconnect

if TYPE_CHECKING:
    from ofapp.controller.cluster.peers.surface import Surface

PATIENCE = 60.0
"""Seconds for the answer of another member, which has its own limit."""


def its_answer(surface: Surface | None, name: str) -> Response | None:
    """The answer of the member that dies, if it is another one: it has copies of its switches.

    404: there is no such member; 409: this controller is in no cluster; 503: it does not answer.
    """
    if surface is None:
        raise field_problem(409, "fail_member", f"{ALONE}; ask with `disconnected`")
    if name == surface.members.own:
        return None
    from ofapp.api.cluster.proxy import as_asked, returned
    from ofapp.controller.cluster.peers.requests import SilentError

    present = [one.name for one in surface.members.all() if one.gone is None]
    if name not in present:
        what = f"there is no member {name}; present are: {', '.join(present)}"
        raise field_problem(404, "fail_member", what)
    try:
        return returned(surface.peers.ask(name, as_asked(), PATIENCE))
    except SilentError as error:
        raise ProblemError(503, str(error), headers=AGAIN) from None


def without(surface: Surface) -> Disconnect:
    """The switches of this member lose it, until another member has them."""
    name, seconds = surface.members.own, surface.cluster.takeover
    if seconds is None:
        return Disconnect(inf, f"no other member takes the switches of {name}")
    lease = surface.cluster.lease_keeper.seconds
    what = (
        f"another member has the switches of {name} after {seconds:g} s: its lease is {lease:g} s"
    )
    return Disconnect(seconds, what)
