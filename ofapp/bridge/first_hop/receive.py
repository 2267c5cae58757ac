"""What becomes of each kind of frames that the switch sends: see `openflow.model.traps`."""

from collections import Counter
from collections.abc import Callable, Mapping

from ofapp.bridge.effects import ForwardFrame
from ofapp.bridge.first_hop.binding import Binding, Refused
from ofapp.bridge.first_hop.bindings.bindings import Bindings
from ofapp.bridge.first_hop.bindings.changes import Changes
from ofapp.bridge.first_hop.ethertypes import admitted
from ofapp.bridge.first_hop.leases import Leases
from ofapp.bridge.first_hop.migration import Migration
from ofapp.bridge.first_hop.neighbours import Claimant, Fate, NeighbourBindings, Verdict, inspects
from ofapp.bridge.first_hop.prefixes import Prefixes
from ofapp.bridge.first_hop.refused.claim import Claim, read_claim
from ofapp.bridge.first_hop.refused.refusals import Refusals
from ofapp.bridge.mac import is_group
from ofapp.bridge.packet.address import ANY6
from ofapp.bridge.packet.arp import read_arp
from ofapp.bridge.packet.ethernet import frame_vid
from ofapp.bridge.packet.malformed import Malformed
from ofapp.bridge.packet.neighbour import (
    ADVERTISEMENT,
    ROUTER_ADVERTISEMENT,
    SOLICITATION,
    read_neighbour,
)
from ofapp.bridge.ports.port import Port
from ofapp.bridge.state import BridgeState

Handler = Callable[[Port, bytes, Changes], None]
"""Handler of one frame from a port."""


class Receiver:
    """The machines of first-hop security, by the frames that each gets.

    leases, neighbours, migration: the machines; prefixes: what routers announce; refusals: what was
    refused last; handlers: by the name of the trap.
    """

    def __init__(self, bindings: Bindings, state: BridgeState, prober: int) -> None:
        """prober: MAC address of the bridge's probes."""
        self.prefixes = Prefixes()
        self.neighbours = NeighbourBindings(bindings, self.prefixes, state, prober)
        self.migration = Migration(bindings, state, prober)
        self.leases = Leases(bindings, self.neighbours, self.migration, state)
        self.refusals = Refusals()
        self._bindings = bindings
        self._state = state

    def counters(self) -> Counter[str]:
        """Return the counters (bound, moved, refused, ...), by name."""
        dhcp = self.leases.dhcp
        others = {
            "prefixes_refused": self.prefixes.refused,
            "dhcp_requests_replaced": dhcp.replaced,
            "host_names_refused": dhcp.names.refused,
        }
        return self._bindings.counters + dhcp.counters + Counter(others)

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """What takes frames, by kind.  It is not kept: a bridge that has gone leaves no cycle."""
        return {
            "dhcp": self._ask_server,
            "dhcp_server": self.leases.from_server,
            "nd": self._solicit,
            "nd_trusted": self._claim_trusted,
            "router": self._advertise,
            "answer": self._answer,
            "refused": self._refuse,
        }

    def _ask_server(self, port: Port, frame: bytes, changes: Changes) -> None:
        """Take a message to a DHCP server, which the switch holds."""
        forwarded: bytes | None = frame
        if self._state.params.port(port.name, port.number).first_hop.guards:
            verdict = self.leases.from_client(port, frame, changes)
            forwarded = verdict.frame
            if forwarded is None:
                host = frame_vid(frame), int.from_bytes(frame[6:12], "big")
                self._report(port, Claim(*host, "dhcp"), None, verdict.reason, changes)
                if self._only_reports(port):
                    forwarded = frame
        if forwarded is not None:
            changes.frames.append(ForwardFrame(port.number, forwarded))

    def _solicit(self, port: Port, frame: bytes, changes: Changes) -> None:
        """Take a solicitation of a host without a binding of it, which the switch holds."""
        fate = self._judge(port, frame, changes) if inspects(self._state, port) else Fate.PASS
        if isinstance(fate, str) and (claim := read_claim(frame)) is not None:
            self._report(port, claim, self._contradicts(port, claim), fate, changes)
        if fate is Fate.PASS or self._only_reports(port):
            changes.frames.append(ForwardFrame(port.number, frame))

    def _judge(self, port: Port, frame: bytes, changes: Changes) -> Verdict:
        message = read_neighbour(frame)
        if isinstance(message, Malformed):
            self._bindings.counters[message.reason] += 1
            return message.reason
        packet = message.packet
        host = Claimant(port.name, packet.ethernet.vid, packet.ethernet.mac)
        if message.link_layer not in (None, host.mac) or is_group(host.mac):
            self._bindings.counters["nd_link_layer"] += 1
            return "nd_link_layer"
        if not self.migration.admits(port, host.vid, host.mac, changes):
            return "host_elsewhere"
        if message.kind == SOLICITATION and packet.source == ANY6 and message.target is not None:
            held = None if self._only_reports(port) else ForwardFrame(port.number, frame)
            return self.neighbours.claim(host, message.target, held, changes)
        return Fate.PASS if self.neighbours.may_use(host, packet.source) else "source"

    def _claim_trusted(self, port: Port, frame: bytes, changes: Changes) -> None:
        """Take a claim of a trusted host, which the switch holds until the address is free."""
        message = read_neighbour(frame)
        if not isinstance(message, Malformed) and message.target is not None:
            ethernet = message.packet.ethernet
            key = ethernet.vid, message.target
            if self.neighbours.claim_trusted(port, ethernet.mac, key, changes):
                self.neighbours.forward_later(key, ForwardFrame(port.number, frame), changes)
                return
        changes.frames.append(ForwardFrame(port.number, frame))

    def _advertise(self, port: Port, frame: bytes, changes: Changes) -> None:
        """Take a copy of a router advertisement."""
        message = read_neighbour(frame)
        if isinstance(message, Malformed) or message.kind != ROUTER_ADVERTISEMENT:
            self._bindings.counters["router_advertisements_invalid"] += 1
        elif self._state.params.port(port.name, port.number).first_hop.router:
            vid, mac = message.packet.ethernet.vid, message.packet.ethernet.mac
            self.neighbours.claim_trusted(port, mac, (vid, message.packet.source), changes)
            if self.prefixes.announce(vid, message.prefixes, changes.at):
                changes.stored = True

    def _answer(self, port: Port, frame: bytes, changes: Changes) -> None:
        """Take a frame to the address of the bridge's probes."""
        arp = read_arp(frame)
        if not isinstance(arp, Malformed):
            if arp.sender_mac == arp.ethernet.mac:
                self.migration.answer(port, arp.ethernet.vid, arp.sender_mac)
            return
        message = read_neighbour(frame)
        if isinstance(message, Malformed) or message.target is None:
            return
        vid, mac = message.packet.ethernet.vid, message.packet.ethernet.mac
        if message.kind == ADVERTISEMENT and message.link_layer in (None, mac):
            self.migration.answer(port, vid, mac)
            self.neighbours.answer(port, mac, (vid, message.target), changes)

    def _refuse(self, port: Port, frame: bytes, changes: Changes) -> None:
        """Take a sample of what the switch has refused."""
        guard = self._state.params.port(port.name, port.number).first_hop
        claim = read_claim(frame, admitted(guard.ethertypes))
        if claim is None:
            self._bindings.counters["refused_not_read"] += 1
            return
        self._bindings.counters["refused_samples"] += 1
        if claim.kind == "source" and claim.address is not None and not any(claim.address):
            return  # MLD of a host that has no address yet (RFC 3590 4), which it repeats later
        fate = self._reconsider(port, claim, changes)
        if isinstance(fate, str):
            self._report(port, claim, self._contradicts(port, claim), fate, changes)

    def _contradicts(self, port: Port, claim: Claim) -> Binding | None:
        """Another host's binding of the claimed address."""
        if claim.address is None:
            return None
        owner = self._bindings.table.owner(claim.vid, claim.address, (port.name, claim.mac))
        own = owner is not None and (owner.port, owner.mac) == (port.name, claim.mac)
        return None if own else owner

    def _report(
        self, port: Port, claim: Claim, owner: Binding | None, reason: str, changes: Changes
    ) -> None:
        """Note a refused claim, and report it.

        owner: the binding that contradicts it; reason: the counter, empty for the switch's alone.
        """
        refused = Refused(
            *(port.name, claim.vid, claim.mac, claim.kind, claim.address, owner),
            *(1, changes.now, changes.now, self._only_reports(port), reason, claim.ethertype),
        )
        self.refusals.note(refused)
        changes.events += self.refusals.report(port.number, refused)

    def _reconsider(self, port: Port, claim: Claim, changes: Changes) -> Verdict:
        """Whether a host may lack its binding: it has migrated, or its claim was lost."""
        if claim.kind not in ("source", "arp", "nd") or is_group(claim.mac) or not claim.mac:
            return ""
        if not self._state.params.port(port.name, port.number).first_hop.guards:
            return ""
        if not self.migration.admits(port, claim.vid, claim.mac, changes):
            return "host_elsewhere"
        host, address = Claimant(port.name, claim.vid, claim.mac), claim.address
        if address is None or not any(address):
            has_any = self._bindings.table.on_port(*host)
            return Fate.PASS if has_any else ""
        owner = self._bindings.table.owner(claim.vid, address, (host.port, host.mac))
        if owner is not None and (owner.port, owner.mac) == (host.port, host.mac):
            return Fate.PASS
        if len(address) != 16 or not inspects(self._state, port):
            return ""
        return self.neighbours.claim(host, address, None, changes)

    def _only_reports(self, port: Port) -> bool:
        return self._state.params.port(port.name, port.number).trust == "learn"
