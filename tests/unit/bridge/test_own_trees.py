"""Bridges of one controller know of each other's spanning trees, for as long as they run."""

from collections import deque

import pytest

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects import Effect, SendFrame
from ofapp.bridge.params.params import BridgeParams
from ofapp.bridge.ports.port import LOCAL_PORT, Port
from ofapp.bridge.state import SharedState
from ofapp.bridge.stp import BridgeParams as StpParams
from ofapp.bridge.stp import OwnTrees
from tests.unit.bridge.changes import changed

CABLES = (1, 2)
"""Two of them: port 1 to port 1 and port 2 to port 2."""


class Pair:
    """Two bridges with two cables between them; time passes as the test says."""

    def __init__(self, trees: tuple[OwnTrees, OwnTrees]) -> None:
        self.bridges = [self._bridge(number, own) for number, own in enumerate(trees, 1)]
        self.said = 0
        for bridge in self.bridges:
            self.carry(bridge, bridge.set_ports(_ports(bridge.datapath_id), 0.0), 0.0)
        self.until(0.0, 10.0)

    @staticmethod
    def _bridge(number: int, own: OwnTrees) -> Bridge:
        return Bridge(number, BridgeParams(stp=StpParams(priority=4096 * number)), SharedState(own))

    def carry(self, sender: Bridge, effects: list[Effect], now: float) -> None:
        """Pass BPDUs to and fro until no bridge has anything to send."""
        waiting = deque([(sender, effects)])
        while waiting:
            bridge, effects = waiting.popleft()
            other = self.bridges[bridge is self.bridges[0]]
            for effect in effects:
                if isinstance(effect, SendFrame):
                    (port,) = effect.ports
                    self.said += 1
                    waiting.append((other, other.hear("bpdu", [(port, effect.frame)], now)))

    def until(self, now: float, end: float) -> None:
        """Let time pass."""
        while now < end:
            now += 0.05
            for bridge in self.bridges:
                self.carry(bridge, bridge.tick(now), now)

    def demote(self, now: float) -> int:
        """Make the first, the root, the worst; gives the BPDUs of the next second."""
        before, first = self.said, self.bridges[0]
        self.carry(first, first.set_params(changed(first, stp=StpParams(priority=61440)), now), now)
        self.until(now, now + 1)
        return self.said - before

    def roots(self) -> set[int]:
        statuses = (bridge.stp.status(20.0) for bridge in self.bridges)
        return {status.root for status in statuses if status is not None}


def _ports(number: int) -> list[Port]:
    local = Port(LOCAL_PORT, f"br{number}", 0x020000000100 + number, True)
    return [local, *(Port(n, f"p{n}", 0x10 * number + n, True, 1000) for n in CABLES)]


NEW_ROOT = 8192 << 48 | 0x020000000102


def test_a_demoted_root_is_forgotten_at_once() -> None:
    own = OwnTrees()
    pair = Pair((own, own))
    assert pair.demote(10.0) < 20
    assert pair.roots() == {NEW_ROOT}


def test_a_bridge_of_another_controller_does_not_deceive_the_demoted_root() -> None:
    pair = Pair((OwnTrees(), OwnTrees()))
    assert pair.demote(10.0) < 20
    assert pair.roots() == {NEW_ROOT}


@pytest.mark.parametrize("how", ["away", "off"])
def test_a_tree_that_does_not_run_is_nobodys(how: str) -> None:
    own = OwnTrees()
    first = Pair((own, own)).bridges[0]
    identifier = 4096 << 48 | first.address
    assert own.find(identifier) is not None
    if how == "away":
        first.pause(10.0)
    else:
        first.set_params(changed(first, stp=None), 10.0)
    assert own.find(identifier) is None
    if how == "away":
        first.resume(11.0)
        assert own.find(identifier) is None, "what the switch holds is not known yet"
        first.go_on(11.0)
    else:
        first.set_params(changed(first, stp=StpParams(priority=4096)), 11.0)
    assert own.find(identifier) is not None


def test_a_revived_tree_is_nobodys_until_its_switch_is_seen_to_agree() -> None:
    own = OwnTrees()
    first = Pair((own, own)).bridges[0]
    dumped = first.stp.dump()
    assert dumped is not None
    later = OwnTrees()
    again = Bridge(1, first.params, SharedState(later))
    again.stp.restore(dumped)
    assert later.find(4096 << 48 | first.address) is None
    again.resume(0.0)
    again.go_on(0.0)
    assert later.find(4096 << 48 | first.address) is not None
