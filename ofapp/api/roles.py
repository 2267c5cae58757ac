"""Decorators that declare the role that a route needs; a route without one is refused.

They also declare what a route is in a cluster.  Without a declaration, a route with `<dpid>` is
forwarded to the member that owns the bridge, and any other is answered by the member itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeVar

from ofapp.controller.access import UserRole

View = TypeVar("View", bound=Callable[..., object])
Merging = Literal[
    "bridges",
    "entries",
    "events",
    "fabrics",
    "forgotten",
    "found",
    "hosts",
    "loads",
    "map",
    "problems",
]
"""Function that merges the answers of all members; see `api.cluster.fan_out`."""

_ROLE = "ofapp_role"
_LOCAL = "ofapp_local"
_MERGED = "ofapp_merged"
_SOME = "ofapp_some"
_OUTLIVES = "ofapp_outlives"


def role_of(view: object) -> UserRole | None:
    """The role that a view needs; None if it declares none."""
    return getattr(view, _ROLE, None)


def local(view: View) -> View:
    """Mark a view that a member of a cluster answers also if it does not reach etcd.

    The answer is only about this process, or states its age.
    """
    setattr(view, _LOCAL, True)
    return view


def is_local(view: object) -> bool:
    """Whether a view is answered also without etcd."""
    return getattr(view, _LOCAL, False)


def all_members(merging: Merging) -> Callable[[View], View]:
    """Declare that all members of a cluster are asked, and their answers merged."""

    def declare(view: View) -> View:
        setattr(view, _MERGED, merging)
        return view

    return declare


def merging_of(view: object) -> Merging | None:
    """Return the function that merges all members' answers; None if one member answers."""
    return getattr(view, _MERGED, None)


def some_member(view: View) -> View:
    """Declare that all other members of a cluster are asked where this one answers 404."""
    setattr(view, _SOME, True)
    return view


def is_of_some(view: object) -> bool:
    """Whether others are asked for what a view does not find."""
    return getattr(view, _SOME, False)


def outlives_session(view: View) -> View:
    """Mark a view with effects that outlive a browser's session: no session may call it."""
    setattr(view, _OUTLIVES, True)
    return view


def is_for_sessions(view: object) -> bool:
    """Whether a browser's session may call a view."""
    return not getattr(view, _OUTLIVES, False)


def _needs(role: UserRole) -> Callable[[View], View]:
    def declare(view: View) -> View:
        setattr(view, _ROLE, role)
        return view

    return declare


anybody = _needs(UserRole.ANYBODY)
anybody = _needs(UserRole.ANYBODY)
"""Also unauthenticated callers: the answer contains next to nothing about the network."""
viewer = _needs(UserRole.VIEWER)
operator = _needs(UserRole.OPERATOR)
admin = _needs(UserRole.ADMIN)
