"""Authorization: roles, tokens, sessions of the page, and the rate limit of failed logins.

This package is independent of HTTP: a client sends `Credentials`, `Caller` is its identity.
"""

from ofapp.controller.access.access import (
    Access,
    Caller,
    Credentials,
    RejectedError,
    Rules,
    StaleError,
    User,
)
from ofapp.controller.access.roles import UserRole
from ofapp.controller.access.tokens import Token, Tokens
