"""Names with a slash as a part of a path: `%2F` in it separates no parts, and `/` does.

WSGI has the path decoded, where both are one.  So `%2F` is another character until it is routed.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

from werkzeug.routing import PathConverter, UnicodeConverter

_SLASH = "\x1f"
_ENCODED = re.compile("%2f", re.IGNORECASE)


def path_info(path: str) -> str:
    """WSGI's form of a path as it was requested."""
    return unquote(_ENCODED.sub("%1F", path), "latin-1")


def shown(path: str) -> str:
    """Return a decoded path for people."""
    return path.replace(_SLASH, "/")


class Part(UnicodeConverter):
    """A part of a path that is a variable of a route."""

    def to_python(self, value: str) -> str:
        """Decode the value."""
        return shown(value)


class Rest(PathConverter):
    """The rest of a path as a variable of a route."""

    def to_python(self, value: str) -> str:
        """Decode the value."""
        return shown(value)


CONVERTERS = {"default": Part, "path": Rest}
"""Converters of variables, by their names in routes."""
