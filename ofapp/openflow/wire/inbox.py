"""Messages of a switch that are not handled yet, by how urgent they are.

A switch that ages a hundred thousand addresses out reports it in ten megabytes, and its next
messages come behind them: a BPDU, an echo request.  So messages are sorted as they are read, which
costs a fraction of what it takes to act on them, and wait in one of these lanes:

- `echoes`: requests and replies.  They overtake everything.
- `frames`: BPDUs, LACPDUs, IGMP and MLD.  They overtake everything but news about the port
  that they came in by, such as that it is there.
- `prompt`: all that is in no other lane, LLDP among it, in the order of the stream.
- `bulk`: sightings of hosts, notices of those that aged out, and statistics of flows, which are
  about the same; in the order of the stream among each other.

Sorting must not take long either, as what the kernel holds for us is behind a hundred thousand
notices as well.  Bulk is not looked at as it is read, but stepped over: messages of one type and
length, as such notices are, by comparing whole columns of their headers.

IP addresses are for display only, and reading one takes as long as learning.  So the number of
frames that are read for them is bounded, for all switches together: a network where hosts come and
go shows all, and a storm of hosts, from a switch that restarts or from forged addresses, is learned
as fast as without.
"""

import struct
from collections import Counter, deque
from typing import NamedTuple

from ofapp.openflow.model.trap import Lane, Trap
from ofapp.openflow.model.traps import TRAPS
from ofapp.openflow.wire.messages.flow_removed import (
    Expired,
    first_fixed,
    is_deletion,
    is_learned_notice,
    read_flow_removed,
)
from ofapp.openflow.wire.messages.packet_in import (
    first_misses,
    is_miss,
    read_miss,
    read_packet_in,
    trap_of,
)
from ofapp.osken import ofp

IP_SAMPLE_RATE = 1000
"""Frames a second that are read for IP addresses, of all switches together."""
SAVED = 500
"""Frames that were not read yet and may be at once."""


class IpSampling:
    """Budget of frames.  left: how many may be read now; the reader subtracts what it has read."""

    def __init__(self, left: int = SAVED) -> None:
        self.left = left
        self._at = 0.0

    def renew(self, now: float) -> None:
        """Allow further frames for the time since the last call; `now` in seconds."""
        more = int((now - self._at) * IP_SAMPLE_RATE)
        if more > 0:
            self._at += more / IP_SAMPLE_RATE
            self.left = min(self.left + more, SAVED)


IP_SAMPLING = IpSampling()
"""The limit of this process."""

BATCH = 256
"""Messages in bulk that are decoded together at most."""

OBJECT = 128
"""Bytes that a message takes beside its own, about."""

_HEADER = struct.Struct("!BBHI")
_ECHOES = ofp.OFPT_ECHO_REQUEST, ofp.OFPT_ECHO_REPLY
_FLOW, _PORT_DESC = (kind.to_bytes(2, "big") for kind in (ofp.OFPMP_FLOW, ofp.OFPMP_PORT_DESC))
_PORT_STATUS_LENGTH = 80
_ALL_PORTS = -1
_FEATURE = 18  # offset in a packet-in of the cookie's feature
_FEATURES = [bytes([trap.feature]) for trap in TRAPS if trap.lane is not Lane.BULK]


class BrokenStreamError(Exception):
    """A message whose length cannot be: where the next one begins is not known."""


class Message(NamedTuple):
    """A whole message."""

    type: int
    xid: int
    data: bytes


class Frame(NamedTuple):
    """A frame for the controller that came in by `port`."""

    trap: Trap
    port: int
    data: bytes


class Batch(NamedTuple):
    """Notices, and the sightings that came after them: (vid, mac, serial) and (port, vid, mac).

    sampled: the port and the beginning of the frame of some sightings, from any port.
    frames: frames of other traps in bulk.
    """

    expired: list[Expired]
    samples: list[tuple[int, int, int]]
    sampled: list[tuple[int, bytes]]
    frames: list[Frame]


class Inbox:
    """The lanes of one connection: `feed` puts in, the `take_` methods take out.

    weight: bytes that wait, about; counters: gets what is malformed.
    urgent: requests whose answers spanning tree waits for; these are taken like echoes.
    Reports of fixed flows that were deleted are, too.
    ip_sampling: how many frames in bulk may still be read for IP addresses.
    """

    def __init__(self, counters: Counter[str]) -> None:
        self.weight = 0
        self.urgent: set[int] = set()
        self.ip_sampling = IP_SAMPLING
        self._echoes: list[Message] = []
        self._frames: deque[Frame] = deque()
        self._prompt: deque[tuple[int | None, Message | Frame]] = deque()  # with its port
        self._bulk: deque[tuple[bytes, int, int]] = deque()  # whole messages from here to there
        self._counters = counters
        self._rest = b""
        self._news: Counter[int] = Counter()  # what is in `prompt` about a port, by its number

    def __bool__(self) -> bool:
        return bool(self._frames or self._prompt or self._bulk)

    @property
    def has_echoes(self) -> bool:
        """Whether something waits that overtakes everything."""
        return bool(self._echoes)

    @property
    def has_prompt(self) -> bool:
        """Whether something waits that is not in bulk."""
        return bool(self._frames or self._prompt)

    def clear(self) -> None:
        """Discard all that waits."""
        for lane in (self._echoes, self._frames, self._prompt, self._bulk, self._news):
            lane.clear()
        self.weight, self._rest = 0, b""

    def feed(self, data: bytes) -> None:
        """Sort what was read.  Raises BrokenStreamError."""
        if self._rest:
            data = self._rest + data
        at = bulk = 0
        end, unpack = len(data), _HEADER.unpack_from
        while end - at >= 8:
            _version, type_, length, xid = unpack(data, at)
            if length < 8:
                raise BrokenStreamError(f"a message of impossible length {length}")
            if end - at < length:
                break
            if type_ == ofp.OFPT_FLOW_REMOVED:
                alike = _alike(data, at, length)
                fixed = first_fixed(data, at, length, alike)
                at += length * (alike if fixed is None else fixed)
                if fixed is None:
                    continue
            elif type_ == ofp.OFPT_PACKET_IN:
                alike = _alike(data, at, length)
                ours = _first_frame(data[at + _FEATURE : at + alike * length : length])
                if ours is None:
                    at += length * alike
                    continue
                at += length * ours
            elif type_ == ofp.OFPT_MULTIPART_REPLY and data[at + 8 : at + 10] == _FLOW:
                at += length
                continue
            self._put_bulk(data, bulk, at)
            bulk = at + length
            self._put(Message(type_, xid, data[at:bulk]))
            at = bulk
        self._put_bulk(data, bulk, at)
        self._rest = data[at:]

    # What waits

    def take_echoes(self) -> list[Message]:
        """The echo requests and replies, and what else is urgent."""
        echoes, self._echoes = self._echoes, []
        return echoes

    def take_frames(self, most: int) -> list[Frame]:
        """The first frames that need not wait for anything."""
        frames = [self._frames.popleft() for _ in range(min(most, len(self._frames)))]
        for frame in frames:
            self.weight -= OBJECT + len(frame.data)
        return frames

    def take_prompt(self) -> Message | Frame | None:
        """The next message that is not in bulk, or a frame that had to wait for one."""
        if not self._prompt:
            return None
        port, item = self._prompt.popleft()
        if port is not None:
            self._news[port] -= 1
            if not self._news[port]:
                del self._news[port]
        self.weight -= OBJECT + len(item.data)
        return item

    def take_prompt_frames(self, most: int) -> list[Frame]:
        """The next frames of the lane in the order of the stream, before its next message."""
        frames: list[Frame] = []
        while self._prompt and len(frames) < most:
            item = self._prompt[0][1]
            if not isinstance(item, Frame):
                break
            frames.append(item)
            self.take_prompt()
        return frames

    def take_port_news(self, most: int) -> list[bytes]:
        """The next messages that are news of one port each, if there are any before others."""
        news: list[bytes] = []
        while self._prompt and len(news) < most:
            item = self._prompt[0][1]
            if not isinstance(item, Message) or item.type != ofp.OFPT_PORT_STATUS:
                break
            news.append(item.data)
            self.take_prompt()
        return news

    def take_bulk(self) -> Message | Batch | None:
        """The next of what comes in bulk: a message, or a batch of at most `BATCH` messages."""
        if not self._bulk:
            return None
        data, begin, end = self._bulk.popleft()
        batch, at = self._decode(data, begin, end)
        if at < end:
            self._bulk.appendleft((data, at, end))
        self.weight -= at - begin
        return batch

    # Inside

    def _decode(self, data: bytes, at: int, end: int) -> tuple[Message | Batch, int]:
        """The message or batch at this offset, and the offset of the next one."""
        batch = Batch([], [], [], [])
        expired, samples, sampled, frames = batch
        begin = at
        unpack, counters = _HEADER.unpack_from, self._counters
        left = BATCH
        while at < end and left:
            _version, type_, length, xid = unpack(data, at)
            if type_ == ofp.OFPT_PACKET_IN and is_miss(data, at):
                if (sample := read_miss(data, at, length)) is not None:
                    samples.append(sample)
                else:
                    counters["malformed_packet_ins"] += 1
            elif type_ == ofp.OFPT_FLOW_REMOVED and is_learned_notice(data, at):
                if (notice := read_flow_removed(data, at, length)) is not None:
                    if samples:  # a host seen before it aged out: keep the order
                        break
                    expired.append(notice)
            elif type_ == ofp.OFPT_PACKET_IN and (trap := _in_bulk(data, at)) is not None:
                if (read := read_packet_in(data[at : at + length])) is not None:
                    frames.append(Frame(trap, *read))
                else:
                    counters["malformed_packet_ins"] += 1
            elif left == BATCH:
                return Message(type_, xid, data[at : at + length]), at + length
            else:
                break
            at += length
            left -= 1
        if samples and self.ip_sampling.left > 0:
            sampled += first_misses(data, begin, at, self.ip_sampling.left)
            self.ip_sampling.left -= len(sampled)
        del frames[max(self.ip_sampling.left, 0) :]
        self.ip_sampling.left -= len(frames)
        return batch, at

    def _put_bulk(self, data: bytes, begin: int, end: int) -> None:
        if begin == end:
            return
        self.weight += end - begin
        if 2 * (end - begin) < len(data):  # a few messages must not keep all that came with them
            data, begin, end = data[begin:end], 0, end - begin
        self._bulk.append((data, begin, end))

    def _put(self, message: Message) -> None:
        type_, xid, data = message
        port = None
        if type_ in _ECHOES or xid in self.urgent or is_deletion(type_, data):
            self._echoes.append(message)
            return
        if type_ == ofp.OFPT_PACKET_IN:
            trap = trap_of(data, 0)
            if trap is not None and trap.lane is not Lane.BULK:
                self._put_frame(trap, data)
                return
        if type_ == ofp.OFPT_PORT_STATUS and len(data) == _PORT_STATUS_LENGTH:
            port = int.from_bytes(data[16:20], "big")
        elif type_ == ofp.OFPT_MULTIPART_REPLY and data[8:10] == _PORT_DESC:
            port = _ALL_PORTS
        self._put_prompt(port, message)

    def _put_prompt(self, port: int | None, item: Message | Frame) -> None:
        self._prompt.append((port, item))
        self.weight += OBJECT + len(item.data)
        if port is not None:
            self._news[port] += 1

    def _put_frame(self, trap: Trap, message: bytes) -> None:
        read = read_packet_in(message)
        if read is None:
            self._counters["malformed_packet_ins"] += 1
            return
        frame = Frame(trap, *read)
        if self._news and (frame.port in self._news or _ALL_PORTS in self._news):
            self._put_prompt(frame.port, frame)
        elif trap.lane is Lane.PROMPT:
            self._put_prompt(None, frame)
        else:
            self._frames.append(frame)
            self.weight += OBJECT + len(frame.data)


def _alike(data: bytes, at: int, length: int) -> int:
    """Count the consecutive complete messages of the type and length of the first."""
    head = data[at + 1 : at + 4]
    if data[at + length + 1 : at + length + 4] != head:
        return 1
    count = (len(data) - at) // length
    for i in range(3):
        column = data[at + 1 + i : at + count * length : length]
        count = min(count, len(column) - len(column.lstrip(head[i : i + 1])))
    return count


def _first_frame(features: bytes) -> int | None:
    """Which of these packet-ins is the first with a frame of a protocol."""
    positions = [at for feature in _FEATURES if (at := features.find(feature)) >= 0]
    return min(positions, default=None)


def _in_bulk(data: bytes, at: int) -> Trap | None:
    """The kind of the packet-in at this offset, if its frames come in bulk."""
    trap = trap_of(data, at)
    return trap if trap is not None and trap.lane is Lane.BULK else None
