"""Between bridges of one controller an agreement says to what, and silence is not absence."""

from dataclasses import replace

from ofapp.bridge.stp import (
    BridgeParams,
    Effect,
    Link,
    OwnTrees,
    PortParams,
    PortState,
    SendBpdu,
    SpanningTree,
)
from ofapp.bridge.stp.bpdu import MIN_FRAME, decode, encode
from ofapp.bridge.stp.neighbour import PEER
from tests.unit.bridge.stp.lab import BETTER, agreement, rst

UPPER, LOWER = 0x0200_0000_0011, 0x0200_0000_0012


def said(effects: list[Effect]) -> list[bytes]:
    return [effect.frame for effect in effects if isinstance(effect, SendBpdu)]


class Pair:
    """Two bridges and a link; BPDUs of either are kept here until a test delivers them."""

    def __init__(self, own: bool = True) -> None:
        trees = OwnTrees()
        self.trees = [
            SpanningTree(BridgeParams(), address, trees if own else None)
            for address in (UPPER, LOWER)
        ]
        self.said: list[list[bytes]] = [[], []]
        for number, tree in enumerate(self.trees):
            if own:
                tree.join()
            self.said[number] += said(tree.add_port(1, PortParams(), Link(True), 0.0))

    def hand_over(self, number: int, now: float) -> None:
        """What that one has said."""
        frames, self.said[number] = self.said[number], []
        other = 1 - number
        for frame in frames:
            self.said[other] += said(self.trees[other].receive(1, frame, now))

    def state(self, number: int) -> PortState:
        return self.trees[number].port(1).state

    def way_to_root(self, cost: int, now: float) -> None:
        """What the upper one hears of a root behind its other port."""
        frame = encode(rst(BETTER, cost), 0x99)
        effects = self.trees[0].receive(2, frame, now)
        self.said[0] += [
            effect.frame for effect in effects if isinstance(effect, SendBpdu) and effect.port == 1
        ]


def late_agreement(own: bool) -> Pair:
    """The agreement to what the upper bridge said first comes when it has said something worse, and
    that has been under way for longer than anybody waits for."""
    pair = Pair(own)
    pair.trees[0].add_port(2, PortParams(), Link(True), 0.0)
    pair.said = [[], []]
    pair.way_to_root(0, 0.01)
    pair.hand_over(0, 0.02)
    assert any(decode(frame).agreement for frame in pair.said[1])
    pair.way_to_root(10_000, 0.03)
    for tree in pair.trees:
        tree.tick(0.5)
    pair.hand_over(1, 0.5)
    return pair


def test_an_agreement_to_what_was_said_before_opens_nothing() -> None:
    pair = late_agreement(own=True)
    assert pair.state(0) is PortState.DISCARDING
    for now in (0.6, 0.7, 0.8):
        pair.hand_over(0, now)
        pair.hand_over(1, now)
    assert pair.state(0) is PortState.FORWARDING


def test_of_anybody_else_nobody_knows_to_what_it_is() -> None:
    assert late_agreement(own=False).state(0) is PortState.FORWARDING


def test_what_numbers_a_bpdu_is_outside_of_it() -> None:
    plain = agreement()
    numbered = replace(plain, serial=0xFFFFFE, answers=1)
    frames = [encode(bpdu, UPPER) for bpdu in (plain, numbered)]
    end = 14 + int.from_bytes(frames[0][12:14], "big")
    assert [len(frame) for frame in frames] == [MIN_FRAME, MIN_FRAME]
    assert frames[0][:end] == frames[1][:end]
    assert decode(frames[1]) == numbered
    assert decode(frames[1][:end]) == plain


def test_a_bridge_that_is_late_is_no_host() -> None:
    """It has spoken, and says nothing for ten seconds: the port is no edge while it is there."""
    pair = Pair()
    pair.hand_over(1, 0.01)
    upper, _ = pair.trees
    for now in range(1, 11):
        upper.tick(float(now))
        assert not upper.port(1).oper_edge

    gone = Pair()
    gone.hand_over(1, 0.01)
    gone.trees[1].leave()
    for now in range(1, 11):
        gone.trees[0].tick(float(now))
    assert gone.trees[0].port(1).oper_edge


def test_so_is_one_that_is_only_remembered() -> None:
    """The tree has begun again, and has the name of the former peer: no BPDU has come yet."""
    trees = OwnTrees()
    upper, lower = (SpanningTree(BridgeParams(), address, trees) for address in (UPPER, LOWER))
    for tree in (upper, lower):
        tree.join()
    upper.add_port(1, PortParams(), Link(True), 0.0, behind=LOWER)
    for now in range(1, 11):
        upper.tick(float(now))
        assert not upper.port(1).oper_edge
    lower.leave()
    upper.tick(12.0)
    assert upper.port(1).oper_edge


def test_one_that_is_late_for_a_minute_is_gone_and_the_tree_wakes_for_that() -> None:
    pair = Pair()
    pair.hand_over(1, 0.01)
    upper, now = pair.trees[0], 0.01
    while not upper.port(1).oper_edge and now < 70:
        now = upper.next_wakeup() or now
        upper.tick(now)
    assert now == 0.01 + PEER * BridgeParams().hello_time


def test_other_padding_is_none_of_our_business() -> None:
    frame = encode(agreement(), UPPER)
    for padding in (b"\xff" * 7, b"\0\xa9" + bytes(5), b"", b"\xa9"):
        assert decode(frame[:53] + padding).serial == 0


def test_no_two_ports_begin_with_the_same_number() -> None:
    trees = OwnTrees()
    assert len({trees.first_serial() for _ in range(10_000)}) == 10_000
