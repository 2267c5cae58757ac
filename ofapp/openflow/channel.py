"""The OpenFlow channel: os-ken's Datapath with a receive and a send loop made for many messages.

os-ken reads eight bytes at a time and builds an object for every message.  This channel reads
what there is, takes packet-ins and notices about learned addresses out by their cookie, and
hands them over in batches; the statistics that a sweep asked for go to whoever asked.  All other
messages take os-ken's own way to every app's handlers.

Sending never blocks the caller: what changes the bridge's state and what tells the switch stay
one step.  A receiver that is ahead of the switch waits (`drained`), so the backlog is bounded.
"""

from __future__ import annotations

import logging
import struct
from collections import Counter
from collections.abc import Callable
from typing import Any, Protocol

from os_ken.controller import controller, ofp_event
from os_ken.controller.handler import DEAD_DISPATCHER
from os_ken.ofproto import ofproto_parser
from os_ken.ofproto import ofproto_v1_3 as ofp

from ofapp import hub
from ofapp.openflow.learned import (
    XID,
    Expired,
    is_bpdu,
    is_learned_notice,
    is_miss,
    is_snooped,
    read_flow_removed,
    read_miss,
    read_packet_in,
)
from ofapp.openflow.parse import EndlessError, parse

LOG = logging.getLogger(__name__)

# It logs a traceback for every malformed message, and a switch may send any number of them.
logging.getLogger(ofproto_parser.__name__).setLevel(logging.CRITICAL)

READ_SIZE = 1 << 16
BACKLOG = 1 << 18
"""Bytes not yet sent, above which a receiver waits: some 40 ms of a switch's time."""

_HEADER = struct.Struct("!BBHI")
_ERROR = struct.Struct("!HH")
_REPLIES = (ofp.OFPT_MULTIPART_REPLY, ofp.OFPT_BARRIER_REPLY, ofp.OFPT_ECHO_REPLY, ofp.OFPT_ERROR)


class Listener(Protocol):
    """Who hears what the channel takes out of the stream, in the order of the stream."""

    def on_learned(self, samples: list[tuple[int, int, int]], expired: list[Expired]) -> None: ...

    def on_learned_error(self, type_: int, code: int) -> None: ...

    def on_bpdu(self, port: int, frame: bytes) -> None: ...

    def on_snooped(self, port: int, frame: bytes) -> None: ...

    def on_port_status(self, message: bytes) -> None: ...


class Channel(controller.Datapath):  # type: ignore[misc]
    """One switch's connection.

    listener: set once the switch is known; until then learning packet-ins are counted and dropped.
    """

    def __init__(self, socket: Any, address: Any, admit: Callable[[Channel, int], bool]) -> None:
        self._admit = admit
        self._out: list[bytes] = []
        self._out_bytes = 0
        self._out_ready = hub.Event()
        self._out_drained = hub.Event()
        self._close_after_send = False
        self._replies: dict[int, Callable[[bytes], None]] = {}
        self.listener: Listener | None = None
        self.counters: Counter[str] = Counter()
        super().__init__(socket, address)

    @property
    def dead(self) -> bool:
        """Whether the connection is at its end, whoever has been told of it."""
        return self.send_q is None or self.state == DEAD_DISPATCHER

    # Sending

    def send(self, buf: bytes, close_socket: bool = False) -> bool:
        """Queue bytes for the switch and return at once; False when the channel is closing."""
        if self.dead:
            return False
        self._out.append(bytes(buf))
        self._out_bytes += len(buf)
        self._close_after_send |= close_socket
        self._out_ready.set()
        return True

    def drained(self) -> None:
        """Wait until the backlog is small again; returns at once when it is."""
        while self._out_bytes > BACKLOG and self.send_q is not None:
            self._out_drained.clear()
            self._out_drained.wait()

    def _send_loop(self) -> None:
        try:
            while self.state != DEAD_DISPATCHER:
                self._out_ready.wait()
                self._out_ready.clear()
                while self._out:
                    batch, self._out = self._out, []
                    data = b"".join(batch)
                    self.socket.sendall(data)
                    self._out_bytes -= len(data)
                    self._out_drained.set()
                if self._close_after_send:
                    break
        except OSError as error:
            LOG.debug("cannot send to %s: %s", self.address, error)
        finally:
            self.send_q = None  # os-ken's own loops look at it to see that the end has come
            self._out.clear()
            self._out_bytes = 0
            self._out_drained.set()
            self._close_write()

    # Requests

    def request(self, xid: int, message: bytes, on_reply: Callable[[bytes], None]) -> None:
        """Send a message whose replies (all that carry `xid`, whole messages) go to `on_reply`."""
        self._replies[xid] = on_reply
        self.send(message)

    def end_request(self, xid: int) -> None:
        """No more replies are wanted."""
        self._replies.pop(xid, None)

    # Receiving

    def _recv_loop(self) -> None:
        rest = b""
        try:
            while self.state != DEAD_DISPATCHER:
                try:
                    data = self.socket.recv(READ_SIZE)
                except TimeoutError:
                    continue
                except OSError:
                    break
                if not data:
                    break
                rest = self._take(rest + data if rest else data)
                self.drained()
                hub.sleep(0)  # a busy switch must not starve the others
        finally:
            self.socket.close()

    def _take(self, data: bytes) -> bytes:
        """Handle the whole messages in `data`; what is left is the beginning of the next."""
        samples: list[tuple[int, int, int]] = []
        expired: list[Expired] = []
        at, end = 0, len(data)
        while end - at >= 8:
            _version, type_, length, xid = _HEADER.unpack_from(data, at)
            if length < 8:
                self.counters["malformed_messages"] += 1
                LOG.warning(
                    "%s sent a message of impossible length %d: closing", self.address, length
                )
                self.close()
                return b""
            if end - at < length:
                break
            if type_ == ofp.OFPT_PACKET_IN and is_miss(data, at):
                if (sample := read_miss(data, at, length)) is not None:
                    samples.append(sample)
                else:
                    self.counters["malformed_packet_ins"] += 1
            elif type_ == ofp.OFPT_PACKET_IN and (is_bpdu(data, at) or is_snooped(data, at)):
                self._take_protocol_frame(data[at : at + length])
            elif type_ == ofp.OFPT_FLOW_REMOVED and is_learned_notice(data, at):
                if (notice := read_flow_removed(data, at, length)) is not None:
                    if samples:
                        # Who was seen before it aged out was seen before: keep the order.
                        self._hand_over(samples, expired)
                        samples, expired = [], []
                    expired.append(notice)
            else:
                self._take_other(type_, xid, data[at : at + length])
                if self.state == DEAD_DISPATCHER:
                    return b""
            at += length
        if samples or expired:
            self._hand_over(samples, expired)
        return data[at:]

    def _take_other(self, type_: int, xid: int, message: bytes) -> None:
        if xid in self._replies and type_ in _REPLIES:
            self._replies[xid](message)
        elif xid == XID and type_ == ofp.OFPT_ERROR and len(message) >= 12:
            self.counters["refused_flow_mods"] += 1
            if self.listener is not None:
                self.listener.on_learned_error(*_ERROR.unpack_from(message, 8))
        elif type_ == ofp.OFPT_FEATURES_REPLY and self.id is None and not self._admitted(message):
            self.close()
        else:
            if type_ == ofp.OFPT_PORT_STATUS and self.listener is not None:
                self.listener.on_port_status(message)
            self._dispatch(type_, message)

    def _take_protocol_frame(self, message: bytes) -> None:
        """At once: sightings of the same chunk are handed over after it."""
        told = read_packet_in(message)
        if told is None:
            self.counters["malformed_packet_ins"] += 1
        elif self.listener is not None:
            hear = self.listener.on_bpdu if is_bpdu(message, 0) else self.listener.on_snooped
            hear(*told)

    def _admitted(self, features_reply: bytes) -> bool:
        if len(features_reply) < 32:
            self.counters["malformed_messages"] += 1
            return False
        return self._admit(self, int.from_bytes(features_reply[8:16], "big"))

    def _hand_over(self, samples: list[tuple[int, int, int]], expired: list[Expired]) -> None:
        if self.listener is None:
            self.counters["packet_ins_before_ready"] += len(samples)
            return
        self.listener.on_learned(samples, expired)

    def _dispatch(self, type_: int, message: bytes) -> None:
        """os-ken's way: an object, then the handlers of all apps."""
        try:
            parsed = parse(self, message)
            if self.ofp_brick is None:
                return
            event = ofp_event.ofp_msg_to_ev(parsed)
            self.ofp_brick.send_event_to_observers(event, self.state)
            for handler in self.ofp_brick.get_handlers(event, self.state):
                handler(event)
        except hub.GreenletExit:
            raise
        except Exception as error:  # a switch may send anything; os-ken's parser asserts
            self.counters["malformed_messages"] += 1
            first = self.counters["malformed_messages"] == 1
            LOG.log(
                logging.WARNING if first else logging.DEBUG,
                "dropped a message of type %d from %s that could not be handled "
                "(further ones are only counted): %s: %s",
                type_,
                self.address,
                type(error).__name__,
                error,
            )
            LOG.debug("the message: %s", message.hex(), exc_info=True)
            if isinstance(error, EndlessError):
                self.close()


def serve_with(admit: Callable[[Channel, int], bool]) -> None:
    """Make os-ken's listener give every connection a Channel.

    admit: asked once with the channel and its datapath id, before any app hears of it; False
        ends the connection.
    """

    def connected(socket: Any, address: Any) -> None:
        channel = Channel(socket, address, admit)
        try:
            channel.serve()
        except Exception:
            LOG.exception("the connection from %s ended with an error", address)
        finally:
            channel.close()

    controller.datapath_connection_factory = connected
