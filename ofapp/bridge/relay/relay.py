"""The relay: port states, and which addresses are forgotten with them.  802.1D-2004 7.4.

A port that is up is in a state; one that is down has none.  All states are set here, with or
without spanning tree, so that admission, flood set and FDB change together and in a safe order:
blocking comes before opening.

Spanning tree decides on the state; any other protocol may hold a port, which is discarding until
no protocol holds it.  The traps of a held port stay, so its protocol still hears its frames.
"""

from collections.abc import Collection, Iterator, Set

from ofapp.bridge.effects import ClosePort, Effect, Flush
from ofapp.bridge.effects.content import PortState, SetPortState
from ofapp.bridge.fdb.fdb import Entry
from ofapp.bridge.fdb.learning import Learning


class Relay:
    """Port states and flushing for one bridge.

    states: the state of each port that is up.
    """

    def __init__(self, learning: Learning) -> None:
        self.states: dict[int, PortState] = {}
        self._wanted: dict[int, PortState] = {}  # as if no protocol held the port
        self._holders: dict[int, frozenset[str]] = {}
        self._learning = learning
        self._fdb = learning.fdb

    @property
    def flood_ports(self) -> frozenset[int]:
        """The ports that frames to unknown destinations leave by."""
        forwarding = PortState.FORWARDING
        return frozenset(port for port, state in self.states.items() if state is forwarding)

    def set_state(self, port: int, state: PortState) -> list[Effect]:
        """Put a port into a state, or note the state while a protocol holds the port.

        A port that stops learning forgets its addresses.
        """
        self._wanted[port] = state
        if port in self._holders:
            state = PortState.DISCARDING
        old = self.states.get(port)
        self.states[port] = state
        self._admit(port, state)
        effects: list[Effect] = [SetPortState(port, state)]
        if state is PortState.FORWARDING:
            effects += self._learning.release(port)
        if state is PortState.DISCARDING and old not in (None, state):
            effects += self.flush_ports([port], blocked=True)
        return effects

    def hold(self, port: int, protocol: str) -> list[Effect]:
        """Keep a port discarding until it is freed, although spanning tree may open it."""
        self._holders[port] = self._holders.get(port, frozenset()) | {protocol}
        if self.states.get(port) in (None, PortState.DISCARDING):
            return []
        return self.set_state(port, self._wanted[port])

    def free(self, port: int, protocol: str) -> list[Effect]:
        """End a protocol's hold of a port; the port gets the state that spanning tree has for it
        once no protocol holds it."""
        left = self._holders.pop(port, frozenset()) - {protocol}
        if left:
            self._holders[port] = left
        wanted = self._wanted.get(port, PortState.DISCARDING)
        return [] if left or wanted is PortState.DISCARDING else self.set_state(port, wanted)

    @property
    def held(self) -> Set[int]:
        """The ports that protocols hold."""
        return self._holders.keys()

    def lose(self, ports: Collection[int]) -> list[Effect]:
        """Clear the states of ports after the datapath lost all their flows.

        Each of the ports has a state.

        Learned addresses are kept.  A port's addresses are installed again when it opens, unless
        they are flushed before.
        """
        for port in ports:
            self._admit(port, PortState.DISCARDING)
            del self.states[port], self._wanted[port]
            if port in self._fdb.learned_by_port:
                self._learning.lost.add(port)
        return [ClosePort(port) for port in ports]

    def heard_bridge(self, port: int) -> list[Effect]:
        """Flush the kept addresses of a port with another bridge behind it, which may have found
        other paths to them meanwhile."""
        return self.flush_ports([port]) if port in self._learning.lost else []

    def close(self, port: int) -> list[Effect]:
        """Close a port that is down or gone; nothing for one that was not up."""
        old = self.states.pop(port, None)
        if old is None:
            return []
        del self._wanted[port]
        self._admit(port, PortState.DISCARDING)
        return [ClosePort(port), *self.flush_ports([port], blocked=True)]

    def flush(
        self, port: int | None = None, vid: int | None = None, mac: int | None = None
    ) -> list[Effect]:
        """Forget learned addresses that match all arguments; without arguments, all of them.

        A port, a VID or everything takes a fixed number of messages for any number of hosts.
        """
        if mac is None and (port is None or vid is None):
            ports = None if port is None else [port]
            forgotten = self._learning.forget_all(ports, vid, sticky=True)
            return [Flush(port, vid, sticky=True), *forgotten]
        doomed = [
            (its_vid, its_mac)
            for its_vid, its_mac, entry in self._select(vid, mac)
            if entry.was_learned and port in (None, entry.port)
        ]
        self._learning.counters["flushed"] += len(doomed)
        return [effect for address in doomed for effect in self._learning.withdraw(*address)]

    def flush_ports(self, ports: Collection[int], blocked: bool = False) -> list[Effect]:
        """Forget the addresses of these ports in one pass: a topology change flushes many.

        Sticky addresses stay known.  They stay in the datapath, too, unless the ports are blocked,
        where no frame may leave.
        """
        known = [port for port in ports if port in self._fdb.learned_by_port]
        forgotten = self._learning.forget_all(known, None) if known else []
        return [*(Flush(port, sticky=blocked) for port in ports), *forgotten]

    def _admit(self, port: int, state: PortState) -> None:
        active, holding = state is not PortState.DISCARDING, state is PortState.LEARNING
        self._learning.set_active(port, active, holding)

    def _select(self, vid: int | None, mac: int | None) -> Iterator[tuple[int, int, Entry]]:
        for its_vid in list(self._fdb.tables) if vid is None else [vid]:
            table = self._fdb.tables.get(its_vid, {})
            for its_mac in list(table) if mac is None else [mac]:
                if its_mac in table:
                    yield its_vid, its_mac, table[its_mac]
