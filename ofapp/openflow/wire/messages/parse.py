"""os-ken's message parsers, kept from running for ever.

Lists in OpenFlow are made of items that give their own length.  os-ken 4.2 steps over an item by
that length, so an item of length 0 (in a HELLO, a group's bucket, a meter's band...) blocks its
parser, and with it every switch and the API, for ever.  Any host that reaches the OpenFlow port can
send one.  Checking every kind of list here would be a second parser; instead a parser gets a
generous share of the processor's time and is then stopped.  A HELLO, which comes before anything
is known of its sender, is checked as well, so that an unknown peer cannot use up even that share.
"""

import signal
import struct
from types import FrameType
from typing import Any

from ofapp.osken import ofp, parser

BUDGET = 0.25
"""Seconds of processor time; the longest honest message takes about a fifth of it."""
_AGAIN = 0.05  # os-ken catches everything, so one exception may not be enough

_ELEMENT = struct.Struct("!HH")


class MalformedError(ValueError):
    """The message contradicts its own header or lengths."""


class EndlessError(MalformedError):
    """Its parser did not come to an end: nothing more should be taken from its sender."""


class _OverrunError(BaseException):
    """Thrown into a parser whose time is up."""


_PARSERS = ("os_ken.", __name__)
"""Modules whose code may be interrupted."""


class _Watch:
    """State of the watch.  running: a parser may be interrupted; overrun: it was."""

    running = False
    overrun = False


_watch = _Watch()


def parse(channel: Any, message: bytes) -> Any:
    """The message as os-ken's object; MalformedError, or what os-ken raises."""
    version, type_, length, xid = parser.header(message)
    if type_ == ofp.OFPT_HELLO:
        _check_hello(message)
    _watch.overrun = False
    parsed = None
    try:
        try:
            _watch.running = True
            signal.setitimer(signal.ITIMER_VIRTUAL, BUDGET, _AGAIN)
            parsed = parser.msg(channel, version, type_, length, xid, bytearray(message))
        finally:
            _disarm()
    except _OverrunError:
        _disarm()  # the first may have been interrupted as well
    if _watch.overrun:
        raise EndlessError("a list in it has no end")
    if parsed is None:
        raise MalformedError("malformed")
    return parsed


def _check_hello(message: bytes) -> None:
    at = 8
    while at < len(message):
        if len(message) - at < _ELEMENT.size:
            raise MalformedError("a hello element is cut short")
        _, length = _ELEMENT.unpack_from(message, at)
        if length < _ELEMENT.size:
            raise MalformedError(f"a hello element of length {length}")
        at += length


def _disarm() -> None:
    _watch.running = False
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def _stop(_signal: int, frame: FrameType | None) -> None:
    """Interrupt the parser, and not what the interpreter runs in between.

    An exception in a callback of the garbage collector would be lost there; the timer comes again.
    """
    in_parser = frame is not None and frame.f_globals.get("__name__", "").startswith(_PARSERS)
    if _watch.running and in_parser:
        _watch.overrun = True
        raise _OverrunError


signal.signal(signal.SIGVTALRM, _stop)
