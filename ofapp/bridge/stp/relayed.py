"""A tree and the relay that carries out what it wants: port states, flushing and BPDUs.

The only port that is up is open at once, even if the tree still waits. Its frames could leave by no
other port, so it can be part of no loop, and a host that moves onto a new bridge with its one
uplink loses nothing. The tree does not know of this. When a second port comes up, the first returns
to the tree's state, usually closed, before the second is added: so with two ports or more the relay
is always in a state of the standard, and never less safe.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from ofapp.bridge import stp
from ofapp.bridge.effects import Barrier, Effect, SendFrame
from ofapp.bridge.event import Event, PortNumber
from ofapp.bridge.relay.relay import Relay
from ofapp.bridge.stp import FlushPort, PortState, SendBpdu, SetPortState, SpanningTree
from ofapp.bridge.stp.events import STP_STATE

_FORWARDING = PortState.FORWARDING
_ALONE = "no other port is up that it could relay to"


class RelayedTree:
    """A tree on a relay.  names: names of its ports by number.  up: ports whose links are up."""

    def __init__(self, tree: SpanningTree, relay: Relay) -> None:
        self.tree = tree
        self.names: dict[int, str] = {}
        self.up: set[int] = set()
        self._relay = relay
        self._early: int | None = None  # the port that is open before the tree opens it
        self._blocked = False  # since the last barrier

    def restore(self, names: dict[int, str]) -> None:
        """Take the restored tree's ports: the relay has their states."""
        self.names = names
        self.up = {*self.tree.states()}
        self._early = self._alone()

    def neighbours(self) -> dict[str, int]:
        """The bridges behind ports by their names, as `stored.invalid_but` has them."""
        return {self.names[port]: bridge for port, bridge in self.tree.behind.items()}

    # Effects

    def carry_out(
        self, wanted: Iterable[stp.Effect], runs: bool, blocked: bool = False
    ) -> list[Effect]:
        """The relay's effects for the tree's, blocks first and a barrier after them.

        runs: BPDUs may be sent now.  blocked: something was blocked just before.
        """
        effects: list[Effect] = []
        flushed = [effect.port for effect in wanted if isinstance(effect, FlushPort)]
        self._blocked |= blocked
        for effect in wanted:
            if isinstance(effect, SetPortState):
                if effect.port not in self.up:
                    continue  # the relay has closed it
                if effect.port == self._early and effect.state is not _FORWARDING:
                    continue  # and stays open, unless `_open_alone` closes it
                blocks = effect.state is PortState.DISCARDING
                if not blocks:
                    effects += self._confirmed()
                self._blocked |= blocks and effect.port in self._relay.states
                effects += self._relay.set_state(effect.port, effect.state)
            elif isinstance(effect, FlushPort):
                effects += self._relay.flush_ports(flushed)
                flushed = []  # all at once, with the first
            elif isinstance(effect, SendBpdu):
                if not runs:
                    continue  # sent after `go_on`
                effects += self._confirmed()
                effects.append(SendFrame(frozenset({effect.port}), effect.frame, effect.number))
            else:
                effects.append(effect)
        # At once, and not only before waiting effects: the reply shows how long closing takes.
        return effects + self._open_alone() + self._confirmed()

    def _confirmed(self) -> list[Effect]:
        """A barrier, if ports have been blocked in this step or an earlier one."""
        blocked, self._blocked = self._blocked, False
        return [Barrier()] if blocked else []

    def renew(self, port: int) -> list[Effect]:
        """Give a port that is up the tree's state, if the datapath does not have it.

        The tree knows a state, blocked if the link was down.
        """
        if port not in self.up or port in self._relay.states:
            return []
        return self._relay.set_state(port, self.tree.port(port).state)

    # The only port

    def close_other(self) -> list[Effect]:
        """Return the only port to the tree's state, unless it is still the only one."""
        return [] if self.up == {self._early} else self._close_early()

    def close_early(self, ports: Collection[int]) -> list[Effect]:
        """Return the only port to the tree's state, if it is among these."""
        return self._close_early() if self._early in ports else []

    def _alone(self) -> int | None:
        """The only port that is up, unless the tree has opened it or a guard holds it."""
        if len(self.up) != 1:
            return None
        (port,) = self.up
        if port not in self.names:  # expected, but not added yet
            return None
        status = self.tree.port(port)
        return None if status.state is _FORWARDING or status.guards else port

    def _close_early(self) -> list[Effect]:
        port, self._early = self._early, None
        if port not in self.up:
            return []
        known = self.tree.port(port)
        if known.state is _FORWARDING:
            return []
        event = _state_event(known, _FORWARDING, known.state, known.reason)
        return [event, *self._relay.set_state(port, known.state)]

    def _open_alone(self) -> list[Effect]:
        """Open the port that has become the only one, close the one that no longer is."""
        alone = self._alone()
        if alone == self._early:
            return []
        effects = self._close_early()
        if alone is not None:
            self._early = alone
            known = self.tree.port(alone)
            effects.append(_state_event(known, known.state, _FORWARDING, _ALONE))
            effects += self._relay.set_state(alone, _FORWARDING)
        return effects

    # Values, with the only port as it is in the relay

    def status(self, ports: Iterable[int] | None, since: float) -> stp.BridgeStatus:
        """The state of the tree and of ports, or of all.  since: seconds since its last event.

        All ports take a tenth of a second where there are thousands.
        """
        snapshot = self.tree.snapshot(ports and [port for port in ports if port in self.names])
        changed = snapshot.time_since_topology_change
        if changed is not None and not snapshot.topology_change:
            changed += since
        shown = tuple(
            replace(self._as_it_is(port), timers=_later(port.timers, since))
            for port in snapshot.ports
        )
        return replace(snapshot, time_since_topology_change=changed, ports=shown)

    def _as_it_is(self, port: stp.PortStatus) -> stp.PortStatus:
        if port.port != self._early:
            return port
        return replace(port, state=_FORWARDING, reason=_ALONE)

    def around(self) -> stp.Around:
        """The bridge and the neighbours by port."""
        around = self.tree.around()
        ports = tuple(
            port._replace(state=_FORWARDING) if port.port == self._early else port
            for port in around.ports
        )
        return around._replace(ports=ports)

    def states(self) -> dict[int, PortState]:
        """The state of each port whose link is up, as the datapath should have it: ports that
        other protocols hold are discarding."""
        states = self.tree.states()
        if self._early in states:
            states[self._early] = _FORWARDING
        held = dict.fromkeys(self._relay.held & states.keys(), PortState.DISCARDING)
        return states | held


def _state_event(port: stp.PortStatus, old: PortState, new: PortState, reason: str) -> Event:
    """An event like the tree's about a port's state."""
    states = {"old": old.value, "new": new.value}
    text = PortNumber(port.port), f": {old.value} -> {new.value} ({reason})"
    data = {**states, "role": port.role.value, "reason": reason}
    return STP_STATE.event(text, port=port.port, data=data)


def _later(timers: Mapping[str, float], seconds: float) -> dict[str, float]:
    return {name: max(left - seconds, 0.0) for name, left in timers.items()}
