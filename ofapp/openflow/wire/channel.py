"""The OpenFlow channel: os-ken's Datapath with a receive and a send loop made for many messages.

os-ken reads eight bytes at a time and builds an object for every message.  This channel reads
all available octets and sorts messages (`inbox`).  Echoes are answered and frames of protocols
handled at once, within a budget.  All else is done in slices, in turn with other connections
(`turns`): replies go to their requests, messages about learned addresses are handed over in
batches, and the rest takes os-ken's own way to every app's handlers.
So no storm makes BPDUs late, on this switch or another;
what arrives faster than it can be handled waits, and beyond some megabytes in the switch.

Sending never blocks the caller: changing the bridge's state and queueing the messages stay
one step.  Work that is ahead of the switch waits (`drained`), so the backlog is bounded.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable
from itertools import groupby
from operator import attrgetter
from typing import Any, ClassVar, Protocol

from ofapp.common import hub
from ofapp.openflow.model.trap import Trap
from ofapp.openflow.wire.echoes import Unreplied
from ofapp.openflow.wire.inbox import IP_SAMPLING, Batch, BrokenStreamError, Frame, Inbox, Message
from ofapp.openflow.wire.messages.bundle import is_reply
from ofapp.openflow.wire.messages.flow_removed import Expired, is_deletion
from ofapp.openflow.wire.messages.multipart import describes_ports, has_more
from ofapp.openflow.wire.messages.parse import EndlessError, parse
from ofapp.openflow.wire.outbox import FencedError, Outbox
from ofapp.openflow.wire.refusals import Refusal, read_refusal
from ofapp.openflow.wire.turns import SLICE, TURNS, Budget, Share, Turns
from ofapp.osken import ofp
from ofapp.osken.application import (
    DEAD_DISPATCHER,
    MAIN_DISPATCHER,
    Datapath,
    EventOFPStateChange,
    ofp_msg_to_ev,
)

LOG = logging.getLogger(__name__)

READ_SIZE = 1 << 16
READS = 8
"""Reads in a row while there is more, before others get their turn."""
BACKLOG = 1 << 18
"""Bytes not yet sent, above which bulk waits: some 40 ms of a switch's time."""
MOST_UNSENT = 1 << 22
"""Bytes not yet sent, above which nothing is read: the peer asks and does not read."""
UNREAD, LEAST_UNREAD, MOST_UNREAD = 1 << 28, 1 << 18, 1 << 24
"""Bytes read and not yet acted on: of all connections, and of one, at least and at most."""
LEAST_OF_REPLIES = 1 << 20
"""The least for replies: their reader may wait for a barrier's reply, which is behind them."""
UNINTRODUCED = 1 << 20
"""Bytes that a switch may send before its handshake is done; a list of 4,096 ports has 2^18."""
AT_ONCE, SAVED = 0.2, 0.05
"""Reading and handling protocols may take so long out of turn: seconds a second, and saved up."""
FRAMES = 32
"""Frames of protocols handled together at most."""
PORTS = 64
"""Ports reported together at most: work over all ports is done once for all of these."""
THROTTLED_AFTER = 1.0
"""Seconds of waiting after which input counts as throttled, and the listener is notified."""

_ECHO_REPLY = bytes([ofp.OFPT_ECHO_REPLY])
_trap = attrgetter("trap")
_REPLIES = (
    *(ofp.OFPT_MULTIPART_REPLY, ofp.OFPT_BARRIER_REPLY, ofp.OFPT_ROLE_REPLY),
    ofp.OFPT_ERROR,
)


class Listener(Protocol):
    """Handler of a switch's messages, as its channel knows it.

    on_sampled: the beginnings of some frames of which `on_learned` had the addresses.
    """

    def on_learned(self, samples: list[tuple[int, int, int]], expired: list[Expired]) -> None: ...

    def on_frames(self, trap: Trap, frames: list[tuple[int, bytes]]) -> None: ...

    def on_sampled(self, frames: list[tuple[int, bytes]]) -> None: ...

    def on_refused(self, refusal: Refusal) -> None: ...

    def on_deleted(self) -> None: ...

    def on_port_news(self, messages: list[bytes]) -> None: ...

    def on_throttled(self, throttled: bool) -> None: ...

    def on_fault(self, error: Exception) -> None: ...


class Channel(Datapath):  # type: ignore[misc]
    """One switch's connection.

    listener: set once the switch is known; until then learning packet-ins are counted and dropped.
    """

    open: ClassVar[int] = 0
    """Connections that are served now."""

    def __init__(
        self,
        socket: Any,
        address: Any,
        admit: Callable[[Channel, int], bool],
        turns: Turns = TURNS,
    ) -> None:
        self._admit = admit
        self._outbox = Outbox(socket, self._note_sent)
        self._replies: dict[int, Callable[[bytes], None]] = {}
        self.listener: Listener | None = None
        self.counters: Counter[str] = Counter()
        self._inbox = Inbox(self.counters)
        self._turns, self._share = turns, Share()
        self._budget = Budget(AT_ONCE, SAVED)
        self._read_bytes = 0
        self.unread_replies = 0  # bytes of replies, see `unread`
        self._working = False
        self._work_ready = hub.Event()
        self._room = hub.Event()
        self._reader_waits = False
        self._waiting_since: float | None = None
        self.throttled = False
        super().__init__(socket, address)
        self.xid = 0  # Mininet's RemoteController decodes the hello as UTF-8, os-ken's is random
        self.unreplied_echo_requests = Unreplied()

    @property
    def round_trip(self) -> float | None:
        """Seconds until the switch replied to the last echo request; None before the first."""
        return self.unreplied_echo_requests.round_trip

    @property
    def dead(self) -> bool:
        """Whether the connection has ended, also before the handlers were notified."""
        return self.send_q is None or self.state == DEAD_DISPATCHER

    @property
    def behind(self) -> bool:
        """Whether input from the switch is not handled yet, so that replies may be late."""
        return bool(self._inbox) or self._reader_waits

    @property
    def introduced(self) -> bool:
        """Whether the handshake is over."""
        return bool(self.state == MAIN_DISPATCHER)

    def serve(self) -> None:
        """Serve the connection until it ends."""
        loops = (self._send_loop, self._work_loop, self._echo_request_loop)
        threads = [hub.watch(self.fail, loop) for loop in loops]
        self.send_msg(self.ofproto_parser.OFPHello(self))
        Channel.open += 1
        try:
            self._recv_loop()
        except Exception as error:
            LOG.exception("the connection from %s ended with an error", self.address)
            self.fail(error)
        finally:
            Channel.open -= 1
            for thread in threads:
                hub.kill(thread)
            self.is_active = False
            self._outbox.end()
            # Megabytes, that need not wait for the garbage collector's next look at everything.
            self._inbox.clear()
            self._replies.clear()

    def fail(self, error: Exception) -> None:
        """End the connection because something that it needs has ended by an error."""
        self.counters["faults"] += 1
        if self.listener is not None:
            self.listener.on_fault(error)
        self.close()

    def turn(self) -> None:
        """Wait until it is this connection's turn to work."""
        self._turns.take(self._share)

    def close(self) -> None:
        """End the connection; `serve` comes back when it has."""
        super().close()
        self._room.set()

    def hang_up(self) -> None:
        """Close at once: what is unsent is discarded, and the switch may connect again."""
        self._outbox.end()
        self.close()
        hub.hang_up(self.socket)

    # Sending

    def send(self, buf: bytes, close_socket: bool = False) -> bool:
        """Queue bytes for the switch and return at once; False when the channel is closing."""
        if self.dead:
            return False
        self._outbox.put(bytes(buf), close_socket)
        return True

    def fence(self, holds: Callable[[], bool]) -> None:
        """Send only while `holds` is true, as it is called right before octets leave.

        Once it is not, the connection ends, and what is unsent is discarded.
        """
        self._outbox.fence(holds)

    def drained(self, backlog: int = BACKLOG) -> None:
        """Wait until no more than so many bytes are unsent; returns at once when it is so."""
        self._outbox.drained(backlog)

    def _note_sent(self) -> None:
        if self._inbox:
            self._work_ready.set()

    def _send_loop(self) -> None:
        try:
            self._outbox.run()
        except FencedError:
            self.counters["fenced"] += 1
            self.hang_up()
        except OSError as error:
            LOG.debug("cannot send to %s: %s", self.address, error)
        finally:
            self.send_q = None  # os-ken's own loops look at it to see that the end has come
            self._close_write()

    # Requests

    def request(
        self, xid: int, message: bytes, on_reply: Callable[[bytes], None], urgent: bool = False
    ) -> None:
        """Send a message whose replies (all that carry `xid`, whole messages) go to `on_reply`.

        urgent: they do so out of turn, before what was read earlier.
        """
        if not self.dead:  # nothing would come, and what is kept leads back here
            self._replies[xid] = on_reply
        if urgent:
            self._inbox.urgent.add(xid)
        self.send(message)

    def end_request(self, xid: int) -> None:
        """End a request: further replies are ignored."""
        self._replies.pop(xid, None)
        self._inbox.urgent.discard(xid)

    def unread(self, count: int) -> None:
        """Add bytes of replies that wait for their requester, or subtract them."""
        self.unread_replies += count
        if count < 0:
            self._room.set()

    # Receiving

    def _recv_loop(self) -> None:
        reads = 0
        try:
            while self.state != DEAD_DISPATCHER:
                try:
                    data = self.socket.recv(READ_SIZE)
                except TimeoutError as error:
                    error.__traceback__ = None  # or this and all of the connection hold each other
                    continue
                except OSError:
                    break
                if not data:
                    break
                self.receive(data)
                reads += 1
                if len(data) < READ_SIZE or reads >= READS:
                    reads = 0
                    self._reader_waits = True
                    self._let_others()
                    self._reader_waits = False
            while self.may_work():  # what it said before it went away
                self.turn()
                self.work()
        finally:
            self.socket.close()

    def receive(self, data: bytes) -> None:
        """Sort input, and handle at once what should not or need not wait."""
        began = time.perf_counter()
        most = self._budget.left(began)
        self._read_bytes += len(data)
        if not self.introduced and self._read_bytes > UNINTRODUCED:
            self._close_broken("so much before it has introduced itself")
            return
        try:
            self._inbox.feed(data)
        except BrokenStreamError as error:
            self._close_broken(str(error))
            return
        if self._inbox.has_echoes:
            for echo in self._inbox.take_echoes():
                self._echo(echo)
        while (
            self._inbox.has_prompt
            and time.perf_counter() - began < most
            and (frames := self._inbox.take_frames(FRAMES))
        ):
            self._handle_frames(frames)
        self._budget.spend(time.perf_counter() - began)
        if self.may_work():
            if self._turns.free:
                self.turn()
                self.work()
                self._outbox.flush()  # what answers a port's news is not to wait for the next pass
            if self._inbox:
                self._work_ready.set()

    def _let_others(self) -> None:
        """Yield between reads: a busy switch must not starve the others or fill the memory."""
        if self._outbox.size > MOST_UNSENT:
            self.drained(MOST_UNSENT)
        if self._inbox.weight > LEAST_UNREAD or self.unread_replies > LEAST_OF_REPLIES:
            self._wait_for_room()
        if self._budget.left(time.perf_counter()) > 0:
            hub.pause()
        else:
            self.turn()

    def _wait_for_room(self) -> None:
        share = UNREAD // max(Channel.open, 1)
        most = min(max(share, LEAST_UNREAD), MOST_UNREAD)
        most_replies = min(max(share, LEAST_OF_REPLIES), MOST_UNREAD)
        while (self._inbox.weight > most or self.unread_replies > most_replies) and not self.dead:
            self._room.clear()
            self._room.wait()

    def _close_broken(self, what: str) -> None:
        self.counters["malformed_messages"] += 1
        LOG.warning("%s sent %s: closing", self.address, what)
        self.close()

    # Working

    def _work_loop(self) -> None:
        while True:
            self._work_ready.wait()
            self._work_ready.clear()
            while self.may_work():
                self.turn()
                self.work()

    def may_work(self) -> bool:
        """Whether something waits that may be done now."""
        if self._working or self.state == DEAD_DISPATCHER:
            return False
        return self._inbox.has_prompt or (bool(self._inbox) and self._outbox.size <= BACKLOG)

    def work(self) -> None:
        """Handle a slice of what waits."""
        if self._working:  # an app's handler waits for something
            return
        self._working = True
        try:
            now = time.perf_counter()
            IP_SAMPLING.renew(now)
            while self._work_on() and self._inbox and time.perf_counter() < now + SLICE:
                pass
        finally:
            self._working = False
            self._room.set()
            self._note_throttling()

    def _work_on(self) -> bool:
        """Handle the next item, urgent ones first; returns whether there was one."""
        inbox = self._inbox
        if self.state == DEAD_DISPATCHER:
            return False
        item: Message | Frame | Batch | None = None
        if inbox.has_prompt:
            if frames := inbox.take_frames(FRAMES):
                self._handle_frames(frames)
                return True
            if news := inbox.take_port_news(PORTS):
                self._handle_port_news(news)
                return True
            if frames := inbox.take_prompt_frames(FRAMES):
                self._handle_frames(frames)
                return True
            item = inbox.take_prompt()
        if item is None and self._outbox.size <= BACKLOG:
            item = inbox.take_bulk()
        if isinstance(item, Batch):
            self._handle_batch(item)
        elif item is not None:
            self._handle_message(*item)
        return item is not None

    def _note_throttling(self) -> None:
        """Notify the listener when input has waited for long, and when none waits any more."""
        if not self._inbox:
            self._waiting_since = None
        elif self._waiting_since is None:
            self._waiting_since = time.monotonic()
        throttled = (
            self._waiting_since is not None
            and time.monotonic() - self._waiting_since >= THROTTLED_AFTER
        )
        if throttled != self.throttled and (throttled or not self._inbox):
            self.throttled = throttled
            self.counters["lags"] += throttled
            if self.listener is not None:
                self.listener.on_throttled(throttled)

    def _echo(self, message: Message) -> None:
        """Handle what is urgent; replies to echoes and urgent requests do not reach apps."""
        type_, xid, data = message
        if type_ == ofp.OFPT_ECHO_REQUEST:
            self.send(data[:1] + _ECHO_REPLY + data[2:])
        elif type_ == ofp.OFPT_FLOW_REMOVED:
            self._handle_message(*message)
        elif xid in self._replies:
            self._replies[xid](data)
        else:
            self.acknowledge_echo_reply(xid)

    def _handle_frames(self, frames: list[Frame]) -> None:
        """Pass frames of one kind that arrived together on together; all in their order."""
        if self.listener is None:
            return
        for trap, group in groupby(frames, key=_trap):
            self.listener.on_frames(trap, [(port, data) for _, port, data in group])

    def _handle_port_news(self, messages: list[bytes]) -> None:
        if self.listener is not None:
            self.listener.on_port_news(messages)
        for message in messages:
            self._pass_on(ofp.OFPT_PORT_STATUS, message)

    def _handle_batch(self, batch: Batch) -> None:
        if self.listener is None:
            self.counters["packet_ins_before_ready"] += len(batch.samples)
            return
        if batch.samples or batch.expired:
            self._outbox.hold()
        try:
            self.listener.on_learned(batch.samples, batch.expired)
        finally:
            self._outbox.release()  # a host that comes alone does not wait for the next pass
        if batch.sampled and self.listener is not None:
            self.listener.on_sampled(batch.sampled)
        self._handle_frames(batch.frames)

    def _handle_error(self, listener: Listener, message: bytes) -> None:
        try:
            refusal = read_refusal(message)
        except ValueError:
            self.counters["malformed_messages"] += 1
            return
        self.counters[f"refused_{refusal.part}"] += 1
        listener.on_refused(refusal)

    def _handle_message(self, type_: int, xid: int, message: bytes) -> None:
        if xid in self._replies and type_ in _REPLIES:
            self._replies[xid](message)
        elif type_ == ofp.OFPT_ERROR and self.listener is not None:
            self._handle_error(self.listener, message)
        elif type_ == ofp.OFPT_EXPERIMENTER and is_reply(message):
            pass  # an error reports a bundle that is refused
        elif type_ == ofp.OFPT_FEATURES_REPLY and self.id is None and not self._admitted(message):
            self.close()
        else:
            if self.listener is not None and is_deletion(type_, message):
                self.listener.on_deleted()
            self._pass_on(type_, message)

    def _admitted(self, features_reply: bytes) -> bool:
        if len(features_reply) < 32:
            self.counters["malformed_messages"] += 1
            return False
        return self._admit(self, int.from_bytes(features_reply[8:16], "big"))

    def _pass_on(self, type_: int, message: bytes) -> None:
        if self._others_listen():
            self._dispatch(type_, message)
        elif not self.introduced:
            if self.id is not None and describes_ports(message):
                self._end_handshake(message)
            else:
                self._dispatch(type_, message)

    def _end_handshake(self, ports: bytes) -> None:
        """End the handshake as os-ken does; code that needs the ports requests them again."""
        if not has_more(ports):
            self.set_state(MAIN_DISPATCHER)

    def _others_listen(self) -> bool:
        """Whether an app beside ours handles messages of switches.

        os-ken's objects are slow: a thousand ports cost it what ten thousand sightings cost us.
        """
        if self.ofp_brick is None:
            return False
        observers = self.ofp_brick.observers
        return any(
            len(names) > (event is EventOFPStateChange) for event, names in observers.items()
        )

    def _dispatch(self, type_: int, message: bytes) -> None:
        """Parse a message with os-ken and call the handlers of all apps."""
        try:
            parsed = parse(self, message)
            if self.ofp_brick is None:
                return
            event = ofp_msg_to_ev(parsed)
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
