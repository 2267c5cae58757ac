"""Who may do what: roles, tokens, sessions of the page, and how failed logins are slowed down.

Nothing in here knows HTTP: whoever asks is a `Knock`, and a `Caller` once it is known who it is.
"""

from ofapp.controller.access.access import Access, Caller, Knock, RejectedError, Rules, User
from ofapp.controller.access.roles import Role
from ofapp.controller.access.tokens import Token, Tokens

__all__ = ["Access", "Caller", "Knock", "RejectedError", "Role", "Rules", "Token", "Tokens", "User"]
