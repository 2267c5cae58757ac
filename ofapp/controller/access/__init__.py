"""Authorization: roles, tokens, sessions of the page, and the rate limit of failed logins.

This package is independent of HTTP: `Knock` has a client's credentials, `Caller` its identity.
"""

from ofapp.controller.access.access import (
    Access,
    Caller,
    Knock,
    RejectedError,
    Rules,
    StaleError,
    User,
)
from ofapp.controller.access.roles import Role
from ofapp.controller.access.tokens import Token, Tokens

__all__ = [
    "Access",
    "Caller",
    "Knock",
    "RejectedError",
    "Role",
    "Rules",
    "StaleError",
    "Token",
    "Tokens",
    "User",
]
