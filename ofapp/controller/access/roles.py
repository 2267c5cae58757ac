"""Roles of callers; each role includes the rights of those below it."""

from __future__ import annotations

from enum import IntEnum


class UserRole(IntEnum):
    """ANYBODY: unauthenticated; VIEWER reads; OPERATOR changes bridges; ADMIN all the rest."""

    ANYBODY = 0
    VIEWER = 1
    OPERATOR = 2
    ADMIN = 3

    def __str__(self) -> str:
        return self.name.lower()


GIVEN = {str(role): role for role in (UserRole.VIEWER, UserRole.OPERATOR, UserRole.ADMIN)}
"""Roles that a token can have, by name."""
