"""Requests to a switch, and the replies as they come in."""

from collections.abc import Callable, Iterator
from typing import Any

from ofapp.common import hub
from ofapp.common.request_error import RequestError as RequestError
from ofapp.openflow.wire.channel import Channel
from ofapp.openflow.wire.messages import codec
from ofapp.openflow.wire.messages.multipart import BODY, has_more
from ofapp.openflow.wire.messages.parse import EndlessError, parse
from ofapp.osken import ofp, parser

PATIENCE = 10.0
"""Seconds without any reply after which a request has failed."""

MOST = 1 << 25
"""Bytes of an answer: the flows of a switch with 4,094 VLANs on 48 ports take less."""
MOST_PARSED = 1 << 23
"""Bytes of an answer that is made os-ken's objects, which take some thirty times as many."""
MOST_PORTS = 1 << 20
"""Bytes of a list of ports: 16,384 of them."""


class RefusedError(RequestError):
    """The switch refused.  code: type and code of its error (OpenFlow 1.3.5, 7.4.4)."""

    def __init__(self, what: str, error: bytes) -> None:
        super().__init__(f"{what} was refused: {error[8:12].hex()}")
        self.code = int.from_bytes(error[8:10], "big"), int.from_bytes(error[10:12], "big")


class EndlessAnswerError(RequestError):
    """The switch's answer does not end: its connection is closed."""


class _Size:
    """Size of one answer so far, in bytes, and its limit."""

    def __init__(self, channel: Channel, what: str, most: int) -> None:
        self._channel, self._what, self._left = channel, what, most

    def fits(self, reply: bytes) -> bool:
        """Count one more part and return whether it fits; if not, the connection ends."""
        self._left -= len(reply)
        if self._left < 0 and not self._channel.dead:
            self._channel.fail(self.error())
        return self._left >= 0

    def error(self) -> EndlessAnswerError:
        return EndlessAnswerError(f"the answer to {self._what} has no end")


def replies(
    channel: Channel,
    *messages: Any,
    arrived: Callable[[bytes], None] | None = None,
    most: int = MOST,
) -> Iterator[bytes]:
    """Send os-ken requests, all at once, and give the messages that answer them, each whole.

    A multipart answer is as many messages as the switch makes of it; a barrier's is one.  Each is
    given when it is this connection's turn.
    arrived: called for each reply at its place in the stream, before anything behind it is read.
    most: bytes that all the answers may have.
    """
    queue: Any = hub.Queue()
    size = _Size(channel, ", ".join({type(message).__name__ for message in messages}), most)

    def on_reply(reply: bytes) -> None:
        if not size.fits(reply):
            queue.put(None)
            return
        channel.unread(len(reply))
        if arrived is not None:
            arrived(reply)  # which may wait for its turn
        queue.put(reply)

    asked = {channel.set_xid(message): type(message).__name__ for message in messages}
    for xid, message in zip(asked, messages, strict=True):
        channel.request(xid, codec.serialize(message), on_reply)
    left = len(asked)
    try:
        while left:
            try:
                reply = queue.get(timeout=PATIENCE)
            except hub.QueueEmpty:
                if channel.behind:
                    continue
                what = ", ".join(sorted(set(asked.values())))
                raise RequestError(f"no answer to {what} within {PATIENCE:.0f} s") from None
            if reply is None:
                raise size.error()
            channel.unread(-len(reply))
            channel.turn()
            type_, more = reply[1], has_more(reply)
            if type_ == ofp.OFPT_ERROR:
                what = asked[int.from_bytes(reply[4:8], "big")]
                raise RefusedError(what, reply)
            yield reply
            left -= not more
    finally:
        for xid in asked:
            channel.end_request(xid)
        while not queue.empty():
            channel.unread(-len(queue.get() or b""))


def parsed(channel: Channel, message: Any, most: int = MOST_PARSED) -> list[Any]:
    """The bodies of a multipart answer as os-ken's objects; RequestError when malformed."""
    body: list[Any] = []
    faults: list[Exception] = []

    def take(reply: bytes) -> None:
        if reply[1] == ofp.OFPT_ERROR:
            return
        try:
            part = parse(channel, reply).body
            body.extend(part if isinstance(part, list) else [part])
        except Exception as error:  # os-ken's parser raises any kind of exception
            faults.append(error)
            if isinstance(error, EndlessError):
                channel.close()

    for _ in replies(channel, message, arrived=take, most=most):
        pass
    if faults:
        what = type(message).__name__
        raise RequestError(f"a malformed answer to {what}: {faults[0]!r}")
    return body


def ask(channel: Channel, message: Any, arrived: Callable[[list[bytes]], None]) -> None:
    """Send a multipart request and do not wait.

    arrived: gets the raw bodies, at the place in the stream where the answer is whole; it is not
    called when the switch refuses or goes away.
    """
    xid = channel.set_xid(message)
    parts: list[bytes] = []
    size = _Size(channel, type(message).__name__, MOST)

    def on_reply(reply: bytes) -> None:
        if not size.fits(reply):
            channel.end_request(xid)
            return
        parts.append(reply[BODY:])
        if not has_more(reply):
            channel.end_request(xid)
            if reply[1] == ofp.OFPT_MULTIPART_REPLY:
                arrived(parts)

    channel.request(xid, codec.serialize(message), on_reply)


def ask_once(
    channel: Channel, message: Any, arrived: Callable[[bytes], None], urgent: bool = False
) -> int:
    """Send a request that has one reply and do not wait; gives its xid, to end it before that.

    arrived: gets the whole reply, at its place in the stream; urgent: as soon as it is read.
    """
    xid = int(channel.set_xid(message))

    def on_reply(reply: bytes) -> None:
        channel.end_request(xid)
        arrived(reply)

    channel.request(xid, codec.serialize(message), on_reply, urgent)
    return xid


class _Numbered:
    """Stand-in for a message that is bytes already, to get its transaction id."""

    def set_xid(self, xid: int) -> None:
        pass


def expect_error(channel: Channel, message: bytes, refused: Callable[[bytes], None]) -> int:
    """Send a message that has no answer unless it is refused; gives its xid, to end that."""
    xid = int(channel.set_xid(_Numbered()))
    channel.request(xid, message[:4] + xid.to_bytes(4, "big") + message[8:], refused)
    return xid


def echo(channel: Channel, arrived: Callable[[], None]) -> int:
    """Send an echo request; gives its xid.  arrived: called as soon as the answer is read."""
    request = parser.OFPEchoRequest(channel, b"ofapp: are you there?")
    return ask_once(channel, request, lambda _reply: arrived())


def answers(channel: Channel, patience: float) -> bool:
    """Whether the switch answers an echo request within `patience` seconds."""
    answered = hub.Event()
    xid = echo(channel, answered.set)
    try:
        return bool(answered.wait(patience))
    finally:
        channel.end_request(xid)


def bodies(channel: Channel, *messages: Any) -> Iterator[bytes]:
    """The raw bodies of multipart answers, for what is too much for objects."""
    for reply in replies(channel, *messages):
        yield reply[BODY:]
