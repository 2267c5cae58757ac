"""Bindings by DHCP: what servers grant and end, and which messages pass (RFC 7513 6)."""

from ofapp.bridge.effects import ForwardFrame
from ofapp.bridge.first_hop.binding import Binding
from ofapp.bridge.first_hop.bindings.bindings import Bindings
from ofapp.bridge.first_hop.bindings.changes import Changes
from ofapp.bridge.first_hop.bindings.clients import Clients
from ofapp.bridge.first_hop.dhcp.snooping import DhcpSnooping
from ofapp.bridge.first_hop.dhcp.verdict import Cause, Ended, Leased, Verdict
from ofapp.bridge.first_hop.migration import Migration
from ofapp.bridge.first_hop.neighbours import Claimant, NeighbourBindings
from ofapp.bridge.first_hop.params import PortParams
from ofapp.bridge.packet.ethernet import frame_vid
from ofapp.bridge.ports.port import Port
from ofapp.bridge.state import BridgeState


class Leases:
    """DHCP's part in the bindings of a bridge.

    dhcp: reads the messages, and knows the requests that wait for an answer.
    clients: those that have asked for a lease, and have none yet.
    """

    def __init__(
        self,
        bindings: Bindings,
        neighbours: NeighbourBindings,
        migration: Migration,
        state: BridgeState,
    ) -> None:
        self.clients = Clients(bindings)
        self.dhcp = DhcpSnooping(f"{state.datapath_id:016x}", state.params.first_hop.relay_options)
        self._bindings = bindings
        self._neighbours = neighbours
        self._migration = migration
        self._state = state

    def from_client(self, port: Port, frame: bytes, changes: Changes) -> Verdict:
        """Take a host's message; gives the frame that is forwarded, or the reason."""
        host = frame_vid(frame), int.from_bytes(frame[6:12], "big")
        if not self._migration.admits(port, *host, changes, dhcp=True):
            return Verdict(None, "host_elsewhere")
        verdict = self.dhcp.from_client(port, frame, changes.now)
        if verdict.frame is None:
            return verdict
        if not self._may_use(port, host, verdict):
            return self._drop("dhcp_source_not_bound")
        ended = [fact for fact in verdict.facts if isinstance(fact, Ended)]
        bound = [self._bound(fact, port) for fact in ended]
        if None in bound:  # a server that knows clients by option 61 or DUID would believe it
            return self._drop("dhcp_release_of_others")
        if not self.clients.admit(port.name, host, verdict.asks, changes):
            return self._drop("dhcp_clients_limit")
        for fact, binding in zip(ended, bound, strict=True):
            if binding is not None:
                self._bindings.unbind(binding, changes, "released")
                if fact.cause is Cause.DECLINE:
                    self.clients.declined(port.name, host, binding.address.octets, changes)
        return verdict

    def _drop(self, reason: str) -> Verdict:
        self._bindings.counters[reason] += 1
        return Verdict(None, reason)

    def from_server(self, port: Port, frame: bytes, changes: Changes) -> None:
        """Take a server's message.

        What grants an address is forwarded once the host may use it; if it may not, the host must
        not believe that it can.
        """
        if not self._params(port).dhcp_server:  # the switch may not know yet
            self._bindings.counters["dhcp_server_not_allowed"] += 1
            return
        verdict = self.dhcp.from_server(frame, changes.now)
        if verdict.frame is None:
            return
        before, allowed = changes.touched, True
        for fact in verdict.facts:
            if isinstance(fact, Leased):
                allowed = self._lease(fact, changes) and allowed
            elif (binding := self._bound(fact, self._port(fact))) is not None:
                self._bindings.unbind(binding, changes, "released")
        if not allowed:
            self._bindings.counters["dhcp_without_binding"] += 1
            return
        forward = ForwardFrame(port.number, verdict.frame)
        (changes.frames if changes.touched == before else changes.confirmed).append(forward)

    def _lease(self, fact: Leased, changes: Changes) -> bool:
        """Bind what is granted; gives whether the server's message may be forwarded."""
        port = self._port(fact)
        if port is None or not self._guards(port) or not fact.address.usable:
            return True
        ends = None if fact.lifetime is None else changes.at + fact.lifetime
        key = port.name, fact.vid, fact.mac, fact.address, fact.origin
        new = Binding(*key, ends, fact.lifetime, fact.client)
        old = self._bindings.table.get(fact.vid, fact.address)
        taken = old is not None and old.origin is fact.origin and old.port != new.port
        if old is not None and taken and not self._migration.gives_way(old, new.port, changes):
            self._bindings.refuse(new, old, changes)
            return False
        self.clients.leased(port.name, (fact.vid, fact.mac), fact.origin, fact.client)
        if not self._bindings.bind(new, changes):
            return False
        self._migration.granted(port, fact.vid, fact.mac, changes)
        return True

    def _bound(self, fact: Ended, port: Port | None) -> Binding | None:
        """The binding that ends: by DHCP, of the same host, and on this port if that is known."""
        binding = self._bindings.table.get(fact.vid, fact.address)
        if binding is None or (binding.mac, binding.origin) != (fact.mac, fact.origin):
            return None
        return binding if port is None or port.name == binding.port else None

    def _may_use(self, port: Port, host: tuple[int, int], verdict: Verdict) -> bool:
        """Whether a host may send from an address, as far as that is checked on its port.

        An IPv4 address without a binding may be renewed: the server decides, and its answer binds.
        """
        source = verdict.source
        if source is None or self._params(port).source_guard != "ip":
            return True
        claimant = Claimant(port.name, *host)
        if len(source) == 16:
            return self._neighbours.may_use(claimant, source)
        owner = self._bindings.table.owner(claimant.vid, source, (port.name, host[1]))
        if owner is None:
            return verdict.renews
        return (owner.port, owner.mac) == (claimant.port, claimant.mac)

    def _port(self, fact: Leased | Ended) -> Port | None:
        """The port of a host: by its request, or else where it has bindings, or was seen last."""
        ports = self._state.ports
        if fact.port is not None:
            return ports.get(fact.port)
        for binding in self._bindings.table.of_host(fact.vid, fact.mac):
            port = ports.named(binding.port)
            if port is not None and port.up:
                return port
        entry = self._state.learning.fdb.get(fact.vid, fact.mac)
        return None if entry is None else ports.get(entry.port)

    def _guards(self, port: Port) -> bool:
        return self._params(port).guards

    def _params(self, port: Port) -> PortParams:
        return self._state.params.port(port.name, port.number).first_hop
