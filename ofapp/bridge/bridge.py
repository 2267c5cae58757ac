"""One datapath's bridge: its ports, its addresses and the protocols that it runs.

Every method that changes something takes the time where it matters and returns the effects in
the order in which they must happen.  What the datapath should hold at any moment is `desired`, so
that a switch that comes back can be brought in line.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ofapp.bridge import stp
from ofapp.bridge.effects import Effect, LookAgain, Reprogram, SetRate
from ofapp.bridge.fdb.fdb import NO_PORT
from ofapp.bridge.fdb.rates import Load
from ofapp.bridge.fdb.relearned import relearned
from ofapp.bridge.input_error import InputError
from ofapp.bridge.lag.aggregations import Folded
from ofapp.bridge.lldp.on_bridge import local, system
from ofapp.bridge.multicast import Params as MulticastParams
from ofapp.bridge.multicast import PortParams as MulticastPortParams
from ofapp.bridge.multicast import SetGroup, SetUnregistered, VlanParams
from ofapp.bridge.multicast.on_bridge import BridgeSnooping
from ofapp.bridge.multicast.permanent_entries import PermanentEntry
from ofapp.bridge.params.params import BridgeParams
from ofapp.bridge.ports.arrivals import departed, link_event, take_in, usable
from ofapp.bridge.ports.events import BRIDGE_CONFIGURED
from ofapp.bridge.ports.policies import PortPolicies
from ofapp.bridge.ports.port import LOCAL_PORT, Port
from ofapp.bridge.ports.sending import sent
from ofapp.bridge.queries import BridgeQueries
from ofapp.bridge.stp import PortState
from ofapp.bridge.stp.on_bridge import Step


class Bridge(BridgeQueries):
    """The bridge on one datapath: its inputs.  Times are of the core, in seconds."""

    # Ports

    def set_ports(self, ports: Iterable[Port], now: float) -> list[Effect]:
        """Set the complete list of ports of a switch that has just connected."""
        new = {port.number: port for port in ports}
        local_first = sorted(new.values(), key=lambda port: port.number != LOCAL_PORT)
        gone = self.remove_ports(self.not_among(local_first), now)
        self.ports.complete = True
        return [*gone, *self.retain(local_first, now), *self.put_ports(local_first, now)]

    def retain(self, ports: Iterable[Port], now: float) -> list[Effect]:
        """Remove ports that the spanning tree remembers and that are not in this list."""
        if self.spanning_tree is None:
            return []
        return self.followed(self.spanning_tree.retain(self.lags.names(ports), now), now)

    def put_port(self, port: Port, now: float) -> list[Effect]:
        """Add a port, or update its name, address or link."""
        return self.put_ports([port], now)

    def put_ports(self, ports: Iterable[Port], now: float) -> list[Effect]:
        """The same for many at once, each with a different number."""
        ports = list(ports)
        folded = self._folded(self.lags.put(ports, now), now)
        return folded + self._discover(ports, now) if self.params.lldp else folded

    def _put_ports(self, ports: Iterable[Port], now: float) -> list[Effect]:
        """Add or update ports of the bridge, including logical ones."""
        news = take_in(self.ports, self.port_policies, ports, self.learning.counters)
        effects = news.events
        for old_name, name in news.renamed:
            self.static_entries.rename(old_name, name)
            self.permanent_entries.rename(old_name, name)
        if news.new:
            effects += self.policies_anew(now)
        for port in news.new:
            effects += self.learning.set_port(port, self.port_policies.port(port.number), now)
        for port, _ in news.changed:
            if port.number == LOCAL_PORT:
                effects += self.static_entries.set_local(port.mac)
        if news.new:
            effects += self._snoop(news.new, now)
        effects += self._links(news.changed, now)
        return effects + self.static_entries.place({port.name: port.number for port in news.new})

    def remove_port(self, number: int, now: float) -> list[Effect]:
        """Remove a port; static entries on it wait for a port of the same name."""
        return self.remove_ports([number], now)

    def remove_ports(self, numbers: Iterable[int], now: float) -> list[Effect]:
        """The same for many at once."""
        numbers = list(numbers)
        gone = self.lldp.lose(numbers, now) if self.lldp else []
        return gone + self._folded(self.lags.remove(numbers, now), now)

    def _folded(self, folded: Folded, now: float) -> list[Effect]:
        """Apply a change of the switch's ports, or of aggregations, to the bridge."""
        effects = folded.effects
        if folded.gone:
            effects = effects + self._remove_ports(folded.gone, now)
        if folded.ports:
            effects = effects + self._put_ports(folded.ports, now)
        return effects + folded.said if folded.said else effects

    def _remove_ports(self, numbers: Iterable[int], now: float) -> list[Effect]:
        lost = [port for number in numbers if (port := self.ports.drop(number)) is not None]
        if not lost:
            return []
        steps: list[Step] = []
        for port in lost:
            steps += self.relay.close(port.number)
            if self.spanning_tree is not None:
                steps += self.spanning_tree.remove(port.number, now)
        effects = self.followed(steps, now)
        if self.snooping is not None:
            for port in lost:
                for entry in self.permanent_entries.on(port.name):
                    effects += self.snooping.remove_permanent(entry, port.number, now)
            effects += self.snooping.remove_ports([port.number for port in lost], now)
        for port in lost:
            effects += self.learning.drop_port(port.number)
            if port.number == LOCAL_PORT:
                effects += self.static_entries.set_local(None)
        effects += self.static_entries.place({port.name: NO_PORT for port in lost})
        effects += self.policies_anew(now)
        return effects + departed(self.ports, lost)

    def policies_anew(self, now: float) -> list[Effect]:
        """Compute the policies again after a change of ports or parameters."""
        before, self.port_policies = self.port_policies, PortPolicies(self.params, self.ports)
        named = before.configured == self.port_policies.configured
        if before.trivial and self.port_policies.trivial and named:
            return []
        effects: list[Effect] = [Reprogram()]
        if self.snooping is not None:
            effects += self.snooping.set_policies(self.port_policies, now)
        return effects

    def _links(self, changed: Sequence[tuple[Port, bool]], now: float) -> list[Effect]:
        """Apply changed links (were they up?): the relay closes at once, spanning tree opens."""
        effects: list[Step] = []
        spanned: list[Port] = []
        for port, was_up in changed:
            up = usable(self.port_policies, port)
            if not up:
                effects += self.relay.close(port.number)
            if up != was_up:
                effects.append(link_event(self.port_policies, port))
            if port.number != LOCAL_PORT and self.params.stp is not None:
                spanned.append(port)
            elif up and not was_up:
                effects += self.relay.set_state(port.number, PortState.FORWARDING)
        followed = self.followed(effects + self._span(spanned, now), now)
        lost = [p.number for p, was_up in changed if was_up and not usable(self.port_policies, p)]
        return followed + (self.snooping.lose_links(lost, now) if self.snooping and lost else [])

    # Addresses

    def add_static(self, vid: int, mac: int, port_name: str, now: float) -> list[Effect]:
        """Fix an address to a port; InputError."""
        return self.static_entries.add(vid, mac, port_name, now)

    def remove_static(self, vid: int, mac: int) -> list[Effect]:
        """Let an address be learned again; InputError."""
        return self.static_entries.remove(vid, mac)

    def teach(self, port: int, vid: int, mac: int, now: float) -> list[Effect]:
        """Learn an address as if it had been seen; InputError."""
        if port not in self.learning.open_ports:
            raise InputError("port", f"bridge {self.name} has no port {port} that is up")
        return self.learning.learn([(port, vid, mac)], now)

    def release(self, vid: int, mac: int) -> list[Effect]:
        """End the hold-down of an address before its time; InputError."""
        return self.learning.release_held(vid, mac)

    def flush(
        self, port: int | None = None, vid: int | None = None, mac: int | None = None
    ) -> list[Effect]:
        """Forget learned addresses that fit all that is given; without anything, all of them."""
        return self.relay.flush(port, vid, mac)

    def follow_load(self, load: Load, capacity: float | None, now: float) -> list[Effect]:
        """Adapt the ports' rates to the load by their sightings (see `Rates.observe`)."""
        changed = self.rates.observe(load, self.params.packet_in_rate, capacity, now)
        return [SetRate(port) for port in changed]

    # Parameters

    def set_params(self, params: BridgeParams, now: float) -> list[Effect]:
        """Apply the parameters that differ from before, and nothing else."""
        old, before = self.params, self.port_policies
        if params == old:
            return []
        self.params = params
        effects: list[Effect] = []
        if params.stp != old.stp:
            effects += self.set_stp(params.stp, now)
        if (params.multicast, params.multicast_vlans) != (old.multicast, old.multicast_vlans):
            effects += self.set_multicast(params.multicast, params.multicast_vlans, now)
        for port in self.ports:
            new, was = params.port(port.name, port.number), old.port(port.name, port.number)
            if new.stp != was.stp:
                effects += self.set_port_stp(port, new.stp, now)
            if new.multicast != was.multicast:
                effects += self.set_port_multicast(port, new.multicast, now)
        self.params = params  # and not with those of single ports written out
        effects += self.learning.set_policies(params, self.ports, now)
        changed = [effect for effect in self.set_policies(now) if not isinstance(effect, Reprogram)]
        moved = relearned(self.ports, before, self.port_policies, self.learning, self.relay)
        effects += [*moved.forgotten, *changed, *moved.direct, Reprogram(), *moved.guarded]
        if params.lags != old.lags:
            effects += self._folded(self.lags.configure(params.lags, self.ports, now), now)
        effects += self._discover_anew(now)
        if (params.multicast is None) is not (old.multicast is None):
            effects.append(LookAgain())  # whether the switch has the flows of snooping, or none
        return [*effects, BRIDGE_CONFIGURED.event("the configuration has changed")]

    def set_policies(self, now: float) -> list[Effect]:
        """Apply changed parameters: which port may reach which, and which ports take part."""
        up = {port.number: usable(self.port_policies, port) for port in self.ports}
        effects = self.policies_anew(now)
        changed = [p for p in self.ports if usable(self.port_policies, p) is not up[p.number]]
        return effects + self._links([(port, up[port.number]) for port in changed], now)

    # Protocols

    def hear(self, kind: str, frames: Sequence[tuple[int, bytes]], now: float) -> list[Effect]:
        """Handle frames of one kind that arrived together, each with its port of the switch.

        kind: "address", "bpdu", "lacp", "lldp" or "snooped".  KeyError for another one.
        """
        if kind == "address":
            return self.ip_addresses.hear(frames)
        if kind == "snooped":
            seen = self.ip_addresses.hear(frames)
            return seen + [effect for frame in frames for effect in self.snooped(*frame, now)]
        return {"bpdu": self.bpdus, "lacp": self.lacpdus, "lldp": self.lldpdus}[kind](frames, now)

    def bpdu(self, port: int, frame: bytes, now: float) -> list[Effect]:
        """A frame to the bridge group address arrived on a port that `traps` it."""
        return self.bpdus([(port, frame)], now)

    def bpdus(self, frames: Iterable[tuple[int, bytes]], now: float) -> list[Effect]:
        """Several such frames by port: all are handled before any is answered."""
        if self.spanning_tree is None:
            return []
        return self.followed(self.spanning_tree.bpdus(frames, now), now)

    def bpdus_left(self, left: Iterable[tuple[int, int]], now: float) -> None:
        """Note BPDUs that were sent: (port, `SendFrame.bpdu`).  `tick` may be due sooner."""
        if self.spanning_tree is not None:
            self.spanning_tree.bpdus_left(left, now)

    def lacpdus(self, frames: Iterable[tuple[int, bytes]], now: float) -> list[Effect]:
        """Handle LACPDUs and markers, each with the member that received it."""
        return self._folded(self.lags.hear(frames, now), now)

    def lldpdus(self, frames: Iterable[tuple[int, bytes]], now: float) -> list[Effect]:
        """Handle LLDP frames, each with the port of the switch that received it."""
        return self.lldp.hear(frames, now)

    def go_on_lags(self, now: float) -> list[Effect]:
        """Run LACP again: the datapath has the flows of the aggregations."""
        return self._folded(self.lags.go_on(now), now)

    def farewell(self, now: float) -> list[Effect]:
        """Send LACPDUs once more before the controller ends."""
        return self._folded(self.lags.speak(now), now)

    def snooped(self, port: int, frame: bytes, now: float) -> list[Effect]:
        """An IGMP, MLD, PIM or MRD frame arrived; only what this returns is forwarded."""
        if self.snooping is not None:
            return self.snooping.receive(port, frame, now)
        flood = self.relay.flood_ports  # the switch does not know yet that snooping is off
        others = flood - {port} if port in flood else frozenset()
        return sent(self.port_policies, others, port, frame)

    def tick(self, now: float) -> list[Effect]:
        """Let time pass; due at `next_wakeup`."""
        effects = self.learning.tick(now)
        effects += self._folded(self.lags.tick(now), now)
        if self.spanning_tree is not None:
            effects += self.followed(self.spanning_tree.tick(now), now)
        if self.snooping is not None:
            effects += self.snooping.tick(now)
        return effects + self.lldp.tick(now) if self.lldp else effects

    def pause(self, now: float) -> None:
        """Pause all protocols while the switch is disconnected."""
        self.stp.pause(now)
        self.lags.clock.pause(now)
        self.lldp.pause()
        if self.snooping is not None:
            self.snooping.clock.pause(now)

    def resume(self, now: float) -> None:
        """Resume after the switch has reconnected; spanning tree and LACP wait until its flows are
        known (`go_on_stp`, `go_on_lags`)."""
        self.stp.wait()
        self.lags.clock.pause(now)
        self.lldp.resume(now)
        if self.snooping is not None:
            self.snooping.clock.resume(now)

    def beat(self, now: float) -> None:
        """Signal that the controller runs; after the first call several times a second."""
        self.lags.clock.beat(now)
        for protocol in (self.spanning_tree, self.snooping):
            if protocol is not None:
                protocol.clock.beat(now)

    def followed(self, steps: Iterable[Step], now: float) -> list[Effect]:
        """The steps and their effects on floods and multicast (`Flooding.follow`)."""
        return self.flooding.follow(steps, self.spanning_tree, self.snooping, now)

    # Spanning tree

    def revive_stp(self, data: Mapping[str, Any]) -> None:
        """Restore a dump, or the data of `Unsettled`, before any port is known; ValueError.

        The tree is paused until `go_on_stp`.
        """
        if self.params.stp is None:
            raise ValueError("spanning tree is off")
        self.stp.revive(self.params.stp, data, lambda name: self.params.port(name).stp)

    def go_on_stp(self, now: float) -> list[Effect]:
        """Run the tree again: the datapath has the port states of the tree."""
        return self.followed(self.stp.go_on(now), now)

    def beware_stp(self, until: float, now: float) -> list[Effect]:
        """Until then expect a neighbouring switch that forwards without a controller."""
        return self.followed(self.stp.beware(until, now), now)

    def calm_stp(self, now: float) -> list[Effect]:
        """Every switch has a controller again."""
        return self.followed(self.stp.calm(now), now)

    def set_stp(self, params: stp.BridgeParams | None, now: float) -> list[Effect]:
        """Start, administer or (None) stop the spanning tree."""
        self.params = replace(self.params, stp=params)
        if params is not None and self.spanning_tree is not None:
            return self.followed(self.spanning_tree.set_bridge_params(params, now), now)
        return self.followed(self.begin_stp(now), now)

    def begin_stp(self, now: float) -> list[Step]:
        """Start a new tree, or none, as the parameters say, instead of the old one."""
        effects = self.stp.stop()
        return effects + self.span(self.expect_stp(now), now)

    def expect_stp(self, now: float) -> list[int]:
        """Gives the ports to add (`span`) to a tree that starts; first tells it which of them are
        up."""
        ports = [port for port in self.ports if port.number != LOCAL_PORT]
        up = [port.number for port in ports if usable(self.port_policies, port)]
        if up and self.params.stp is not None:
            self.stp.tree(self.params.stp, self.address, now).expect(up)
        return [port.number for port in ports]

    def span(self, ports: Iterable[int], now: float) -> list[Step]:
        """Add these ports to the tree, or open them at once where none runs."""
        found = [*filter(None, map(self.ports.get, ports))]
        if self.params.stp is not None:
            return self._span(found, now)
        return [
            step
            for port in found
            if usable(self.port_policies, port)
            for step in self.relay.set_state(port.number, PortState.FORWARDING)
        ]

    def set_port_stp(self, port: Port, params: stp.PortParams, now: float) -> list[Effect]:
        """Administer a port's spanning tree, running or not."""
        own = replace(self.params.port(port.name, port.number), stp=params)
        self.params = replace(self.params, ports={**self.params.ports, port.name: own})
        tree = self.stp.with_port(port.number)
        steps = [] if tree is None else tree.set_port_params(port.number, params, now)
        return self.followed(steps, now)

    def recover_port(self, port: Port, now: float) -> list[Effect]:
        """Free a port from the guard that holds it."""
        tree = self.stp.with_port(port.number)
        return self.followed([] if tree is None else tree.recover(port.number, now), now)

    def check_migration(self, port: Port, now: float) -> list[Effect]:
        """Have a port speak RSTP again, and see what its neighbour speaks."""
        tree = self.stp.with_port(port.number)
        return self.followed([] if tree is None else tree.check_migration(port.number, now), now)

    def _span(self, ports: list[Port], now: float) -> list[Step]:
        """Pass ports and their links to the spanning tree."""
        if not ports:
            return []
        assert self.params.stp is not None
        policies, params = self.port_policies, self.params
        known = []
        for port in ports:
            up = usable(policies, port)
            seen = port if port.up is up else replace(port, up=up)
            known.append((seen, params.port(port.name, port.number).stp))
        return self.stp.tree(self.params.stp, self.address, now).link(known, now)

    # LLDP

    def _discover(self, ports: Iterable[Port], now: float) -> list[Effect]:
        """Apply new and changed ports of the switch to LLDP."""
        effects: list[Effect] = []
        ports = list(ports)
        if not self.lldp or any(port.number == LOCAL_PORT for port in ports):
            effects += self.lldp.set_system(system(self), now)  # its name and address are sent
        there = [*filter(None, (local(self.params, port) for port in ports))]
        heard = {port.number for port in there}
        silent = [port.number for port in ports if port.number not in heard]
        return [*effects, *self.lldp.remove(silent, now), *self.lldp.put(there, now)]

    def _discover_anew(self, now: float) -> list[Effect]:
        """Apply changed parameters to LLDP."""
        effects = self.lldp.set_system(system(self), now)
        if self.lldp:
            effects += self._discover(self.lags.physical(self.ports), now)
        return effects

    # Multicast snooping

    def restore_multicast(
        self, groups: list[SetGroup], unregistered: list[SetUnregistered], now: float
    ) -> list[Effect]:
        """Take over the entries that a switch had before this controller started; only once."""
        if self.snooping is None or not self.snooping.fresh:
            return []
        return self.snooping.restore(groups, unregistered, now)

    def set_multicast(
        self, params: MulticastParams | None, vlans: Mapping[int, VlanParams], now: float
    ) -> list[Effect]:
        """Start, administer or (None) stop snooping.  Its trap flows follow with the next sync."""
        self.params = replace(self.params, multicast=params, multicast_vlans=vlans)
        snooper = self.snooping
        if params is None:
            self.snooping = None
            return [] if snooper is None else snooper.close(now)
        if snooper is not None:
            return snooper.set_params(params, vlans, now)
        effects = self._snoop(list(self.ports), now)
        if self.snooping is not None:
            states = {
                number: (state is PortState.FORWARDING, self.is_edge(number))
                for number, state in self.relay.states.items()
            }
            effects += self.snooping.set_port_states(states, now)
        return effects

    def set_port_multicast(
        self, port: Port, params: MulticastPortParams, now: float
    ) -> list[Effect]:
        """Administer a port's snooping, running or not."""
        own = replace(self.params.port(port.name, port.number), multicast=params)
        self.params = replace(self.params, ports={**self.params.ports, port.name: own})
        snooper = self.snooping
        return [] if snooper is None else snooper.set_port_params(port.number, params, now)

    def add_permanent(self, entry: PermanentEntry, now: float) -> list[Effect]:
        """Forward a group to a port for good; InputError."""
        self.permanent_entries.add(entry)
        port = self.ports.named(entry.port)
        if self.snooping is None or port is None:
            return []
        return self.snooping.add_permanent(entry, port.number, now)

    def remove_permanent(self, entry: PermanentEntry, now: float) -> list[Effect]:
        """Undo `add_permanent`; InputError."""
        self.permanent_entries.remove(entry)
        port = self.ports.named(entry.port)
        if self.snooping is None or port is None:
            return []
        return self.snooping.remove_permanent(entry, port.number, now)

    def join(self, entry: PermanentEntry, port: int, now: float) -> tuple[bool, list[Effect]]:
        """Join a port to a group as if a host had done so; whether it is a member now."""
        return (False, []) if self.snooping is None else self.snooping.join(entry, port, now)

    def forget_members(
        self,
        now: float,
        vid: int | None = None,
        group: bytes | None = None,
        port: int | None = None,
        source: bytes | None = None,
    ) -> tuple[int, list[Effect]]:
        """Forget members that match all arguments, or that source of theirs; and how many."""
        if self.snooping is None:
            return 0, []
        return self.snooping.forget(now, vid, group, port, source)

    def _snoop(self, ports: Sequence[Port], now: float) -> list[Effect]:
        """Pass ports and their permanent entries to snooping.

        It begins with the first port, LOCAL where there is one: queries need the bridge's address.
        """
        params = self.params
        if params.multicast is None:
            return []
        if self.snooping is None:
            policies, vlans = self.port_policies, params.multicast_vlans
            self.snooping = BridgeSnooping(params.multicast, vlans, self.address, policies)
        own = {port.number: params.port(port.name, port.number) for port in ports}
        effects = self.snooping.put_ports(own, now)
        for port in ports:
            for entry in self.permanent_entries.on(port.name):
                effects += self.add_permanent(entry, now)
        return effects
