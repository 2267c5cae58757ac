"""The error of a request to a switch."""

from __future__ import annotations


class RequestError(Exception):
    """The switch refused, went away, or did not answer in time."""
