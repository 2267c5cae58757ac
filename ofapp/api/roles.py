"""Which role a route needs: written above its view, and nobody gets in where nothing is written."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ofapp.controller.access import Role

View = TypeVar("View", bound=Callable[..., object])

_ROLE = "ofapp_role"


def role_of(view: object) -> Role | None:
    """What a view needs; None where that is not declared."""
    return getattr(view, _ROLE, None)


def _needs(role: Role) -> Callable[[View], View]:
    def declare(view: View) -> View:
        setattr(view, _ROLE, role)
        return view

    return declare


anybody = _needs(Role.ANYBODY)
anybody = _needs(Role.ANYBODY)
"""Also who is not known: it tells next to nothing of the network."""
viewer = _needs(Role.VIEWER)
operator = _needs(Role.OPERATOR)
admin = _needs(Role.ADMIN)
