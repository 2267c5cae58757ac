"""Looking at a switch with many learned addresses: everything is seen, and it costs no more.

The switch here answers as Open vSwitch does and counts the flows it comes by: those of one whole
cookie it finds by an index, for any other question it walks through all of them.
"""

import struct
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

import ofapp.common.hub

# isort: split
from os_ken.ofproto import ofproto_v1_3 as ofp

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import Effect, InstallEntry, RemoveDestination, RemoveSource
from ofapp.bridge.fdb.fdb import COHORTS
from ofapp.bridge.params.params import BridgeParams
from ofapp.bridge.ports.port import Port
from ofapp.openflow.model.rule import TableId
from ofapp.openflow.switch.audit import sweeper
from ofapp.openflow.switch.audit.sweep import Occasion
from ofapp.openflow.switch.audit.sweeper import Sweeper
from ofapp.openflow.switch.connected import ConnectedSwitch
from ofapp.openflow.switch.encode.encoder import Encoder
from ofapp.openflow.switch.encode.learned import LearnedWriter
from ofapp.openflow.switch.installed import Installed
from ofapp.openflow.switch.queue.delivery import DeliveryQueue
from ofapp.openflow.wire.flow_control import FlowControl
from ofapp.openflow.wire.requests import bodies

EXACT = (1 << 64) - 1
MANY = 2_000  # hosts: more than fit one look, as it is set here


class Switch:
    """Stands in for the channel too; flows are by table and match, with cookie and octets."""

    version = ofp.OFP_VERSION
    behind = False
    ofproto = ofp

    def __init__(self) -> None:
        self.flows: dict[tuple[int, bytes], tuple[int, bytes]] = {}
        self.visited = 0
        self._by_cookie: dict[int, set[tuple[int, bytes]]] = defaultdict(set)
        self._xid = 0
        self._writer = LearnedWriter(300)

    def hold(self, effects: Iterable[Effect]) -> None:
        """Carry out what a bridge wants of learned addresses."""
        for effect in effects:
            match effect:
                case InstallEntry():
                    self._take(self._writer.install(effect))
                case RemoveSource():
                    self._take(self._writer.remove_source(effect))
                case RemoveDestination():
                    self._take(self._writer.remove_destination(effect))

    def _take(self, messages: bytes) -> None:
        while messages:
            (length,) = struct.unpack_from("!H", messages, 2)
            message, messages = messages[:length], messages[length:]
            cookie, mask, table, command = struct.unpack_from("!QQBB", message, 8)
            (match_length,) = struct.unpack_from("!H", message, 50)
            end = 48 + match_length + -match_length % 8
            key = table, message[48:end]
            old = self.flows.get(key)
            if command == ofp.OFPFC_ADD or (old is not None and not (old[0] ^ cookie) & mask):
                self.delete(key)
            if command == ofp.OFPFC_ADD:
                self.flows[key] = cookie, message[end:]
                self._by_cookie[cookie].add(key)

    def delete(self, key: tuple[int, bytes]) -> None:
        """Delete a flow, if there is such."""
        if key in self.flows:
            cookie, _ = self.flows.pop(key)
            self._by_cookie[cookie].discard(key)

    # What a channel does

    def set_xid(self, message: object) -> int:
        self._xid += 1
        message.xid = self._xid  # type: ignore[attr-defined]
        return self._xid

    def request(self, xid: int, message: bytes, on_reply: Callable[[bytes], None]) -> None:
        if message[1] == ofp.OFPT_BARRIER_REQUEST:
            on_reply(struct.pack("!BBHI", 4, ofp.OFPT_BARRIER_REPLY, 8, xid))
            return
        (kind,) = struct.unpack_from("!H", message, 8)
        if kind == ofp.OFPMP_TABLE:
            counts: dict[int, int] = defaultdict(int)
            for table, _ in self.flows:
                counts[table] += 1
            self._reply(
                xid, kind, [struct.pack("!BxxxIQQ", *row, 0, 0) for row in counts.items()], on_reply
            )
            return
        table, cookie, mask = struct.unpack_from("!B3x4x4x4xQQ", message, 16)
        keys = self._by_cookie[cookie] if mask == EXACT else self.flows
        self.visited += len(keys)
        found = [
            (key, self.flows[key])
            for key in keys
            if not (self.flows[key][0] ^ cookie) & mask and table in (key[0], ofp.OFPTT_ALL)
        ]
        self._reply(xid, kind, [_stats(*key, *flow) for key, flow in found], on_reply)

    def _reply(
        self, xid: int, kind: int, items: list[bytes], on_reply: Callable[[bytes], None]
    ) -> None:
        parts = [items[at : at + 300] for at in range(0, len(items), 300)] or [[]]
        for number, part in enumerate(parts, 1):
            body = struct.pack("!HH4x", kind, number < len(parts)) + b"".join(part)
            on_reply(struct.pack("!BBHI", 4, ofp.OFPT_MULTIPART_REPLY, 8 + len(body), xid) + body)

    def end_request(self, xid: int) -> None:
        pass

    def unread(self, count: int) -> None:
        pass

    def turn(self) -> None:
        pass

    def send(self, message: bytes) -> None:
        self._take(message)


def _stats(table: int, match: bytes, cookie: int, instructions: bytes) -> bytes:
    length = 48 + len(match) + len(instructions)
    head = struct.pack("!HBxIIHHHH4xQQQ", length, table, 9, 0, 200, 0, 0, 0, cookie, 1, 64)
    return head + match + instructions


class Setup:
    """A bridge, its switch and what looks at it; no rest between questions."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(ofapp.common.hub, "sleep", lambda _seconds: None)
        monkeypatch.setattr(sweeper, "PART", 512)
        monkeypatch.setattr(sweeper, "SMALL", 1_000)
        monkeypatch.setattr(sweeper, "SLICE", 128)
        monkeypatch.setattr(sweeper, "bodies", self._bodies)
        self.switch = Switch()
        self.largest = 0
        """Octets of the longest answer to questions that were sent together."""
        self.restart()

    def _bodies(self, channel: Any, *requests: Any) -> Iterator[bytes]:
        octets = 0
        for body in bodies(channel, *requests):
            octets += len(body)
            yield body
        self.largest = max(self.largest, octets)

    def restart(self) -> None:
        """A controller that knows nothing."""
        self.bridge = Bridge(1, BridgeParams(fdb_max_learned=1_000_000))
        self.bridge.put_port(Port(1, "p1", 0x02FF00000001, True, 10_000, True), 0.0)
        installed = Installed()
        connected = ConnectedSwitch(
            self.switch,  # type: ignore[arg-type]
            self.bridge,
            installed,
            Encoder(self.bridge, installed),
            DeliveryQueue(self.bridge, FlowControl()),
            self.switch.hold,
            lambda: None,
        )
        self.sweeper = Sweeper(connected)

    def learn(self, first: int, count: int) -> None:
        samples = [(1, 0, 0x020000000000 + mac) for mac in range(first, first + count)]
        for at in range(0, count, 16):
            self.switch.hold(self.bridge.learning.learn(samples[at : at + 16], -9.0))

    def look(self, occasion: Occasion = Occasion.ROUTINE) -> int:
        """Look once; gives how many flows the switch came by."""
        before = self.switch.visited
        self.sweeper.sweep(occasion)
        return self.switch.visited - before

    def take_out(self, table: int, mac: int) -> None:
        """Delete one half by hand."""
        text = (0x020000000000 + mac).to_bytes(6, "big")
        (key,) = [key for key in self.switch.flows if key[0] == table and text in key[1]]
        self.switch.delete(key)

    def forget(self) -> None:
        """All hosts have aged; the switch has not deleted their flows yet."""
        for vid, mac, entry in self.bridge.fdb:
            self.bridge.addresses.expired(vid, mac, entry.serial)


@pytest.fixture
def setup(monkeypatch: pytest.MonkeyPatch) -> Setup:
    return Setup(monkeypatch)


@pytest.mark.parametrize("hosts", [40, MANY])
def test_what_is_gone_is_found_and_mended(setup: Setup, hosts: int) -> None:
    setup.learn(1, hosts)
    setup.take_out(TableId.SOURCE, 7)
    setup.take_out(TableId.DESTINATION, 8)
    setup.look()
    assert setup.bridge.fdb.get(0, 0x020000000007) is None
    assert setup.bridge.fdb.learned == hosts - 1
    assert setup.bridge.learning.counters["mended"] == 1


def test_a_controller_that_knows_nothing_finds_everything_by_the_index(setup: Setup) -> None:
    setup.learn(1, MANY)
    flows = dict(setup.switch.flows)
    setup.restart()
    visited = setup.look(Occasion.CONNECTED)
    assert setup.bridge.fdb.learned == MANY
    assert setup.switch.flows == flows
    assert visited <= 1.1 * len(flows)


def test_flows_with_serials_of_a_controller_of_old_are_taken_over(setup: Setup) -> None:
    setup.learn(1, MANY - 3)
    old = [InstallEntry(1, 0, 0x020000F00000 + n, 70_000 + n, 0) for n in range(3)]
    setup.switch.hold(old)
    setup.restart()
    setup.look(Occasion.CONNECTED)
    assert setup.bridge.fdb.learned == MANY
    serials = {cookie & 0xFFFFFFFF for cookie, _ in setup.switch.flows.values()}
    assert max(serials) <= COHORTS
    flows = dict(setup.switch.flows)
    setup.look()
    assert (setup.bridge.fdb.learned, setup.switch.flows) == (MANY, flows)


def test_a_stranger_is_found_in_time(setup: Setup) -> None:
    setup.learn(1, MANY)
    flows = dict(setup.switch.flows)
    setup.switch.hold([InstallEntry(1, 0, 0x020000F00000, 70_000, 0)])
    for _ in range(4):  # parts
        setup.look()
    assert setup.switch.flows == flows


def test_twice_the_hosts_cost_a_switch_twice_as_much_and_not_four_times(setup: Setup) -> None:
    setup.learn(1, MANY)
    once = setup.look()
    setup.learn(1 + MANY, MANY)
    twice = setup.look()
    assert once <= 2.5 * 2 * MANY
    assert twice <= 2.2 * once


def test_hosts_that_only_the_switch_has_are_not_asked_for_in_one_piece(setup: Setup) -> None:
    """As after many hosts have aged together: the bridge has forgotten them before the switch."""
    setup.learn(1, 2 * MANY)
    setup.look()
    usual = setup.largest
    setup.forget()
    for _ in range(8):  # parts
        setup.look()
    assert setup.largest <= 2 * usual
    assert setup.switch.flows == {}
