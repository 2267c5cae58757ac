"""Events of logins to the API."""

from __future__ import annotations

from ofapp.bridge.event import BY_ITSELF, INFO, WARNING, EventKind

API_LOGIN_REJECTED = EventKind(
    "api.login.rejected",
    WARNING,
    "A request had a token that is not valid.",
    "See which client it is; make a new token if it has expired.",
    "...",
)
API_LOGIN_LIMITED = EventKind(
    "api.login.limited",
    WARNING,
    "An address sent too many invalid tokens; its logins are refused for a while.",
    BY_ITSELF,
    "peer",
)
API_LOGIN_LIMITED_CLEARED = EventKind(
    "api.login.limited.cleared", INFO, "That address may log in again."
)
