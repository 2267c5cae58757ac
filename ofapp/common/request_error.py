"""The error of a request to a switch."""


class RequestError(Exception):
    """The switch refused, went away, or did not answer in time."""
