"""Bindings by neighbour discovery: first come, first served (RFC 6620).

A host that detects duplicates of an address (RFC 4862 5.4) claims it.  The claim is tentative until
no host behind a trusted port has answered for half a second.  An address that is bound to another
host is claimed successfully only if that host does not answer, as it has left without a trace.  A
binding that ends is renewed if its host answers.

An answer to the host's own solicitation passes the controller, so it asks by separate probes from
the bridge's `prober`.

A host that configures its address again detects duplicates again.  Until it is done it answers no
probe, and gives the address up if it hears another host's claim (RFC 4862 5.4.3).  So an owner's
claim restarts the questions to it, and another host's claim is held until the owner answers.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum
from typing import NamedTuple

from ofapp.bridge.effects import ForwardFrame
from ofapp.bridge.effects.content import BoundAddress
from ofapp.bridge.first_hop.binding import Binding, Origin
from ofapp.bridge.first_hop.bindings.bindings import Bindings
from ofapp.bridge.first_hop.bindings.changes import Changes
from ofapp.bridge.first_hop.bindings.table import is_link_local
from ofapp.bridge.first_hop.prefixes import Prefixes
from ofapp.bridge.packet.address import ANY6, interface_mac6, link_local6
from ofapp.bridge.packet.neighbour import probe_reachability, resolve
from ofapp.bridge.ports.port import Port
from ofapp.bridge.relay.sending import sent
from ofapp.bridge.state import BridgeState
from ofapp.common.deadlines import Deadlines

LIFETIME = 3600.0
"""Seconds after which the host of a binding is asked whether it still uses the address."""
QUIET = 10.0
"""Seconds for which a host that has answered is not asked again because of another one's claim."""
REVALIDATION = 0.3
"""Seconds until Open vSwitch has no cached flows of a removed binding, also on a busy machine.  A
host detects duplicates for a second (RFC 4861 10)."""
MOST_CLAIMS = 32
"""Most claims of a port at the same time."""
MOST_RENEWALS = 64
"""Most bindings that are tested at the same time because they end."""

Key = tuple[int, bytes]
"""(VID, IPv6 address)."""


class _Pace(NamedTuple):
    """Number of probes, and the seconds between them."""

    probes: int
    interval: float


_TENTATIVE = _Pace(2, 0.25)
"""TENT_LT of RFC 6620 3.2.2 is 0.5 s in all."""
_OWNED = _Pace(3, 1.0)
"""MAX_UNICAST_SOLICIT and RETRANS_TIMER of RFC 4861 10: a host may be busy, or paused."""


class Fate(Enum):
    """Verdict on a frame with a claim that is not refused."""

    PASS = "pass"
    HOLD = "hold"


Verdict = Fate | str
"""A refused claim has the name of its counter, a key of `reasons.REASONS`."""


class Claimant(NamedTuple):
    """A host on a port, by the port's name."""

    port: str
    vid: int
    mac: int


@dataclass(slots=True)
class _Test:
    """An address that is tested.

    claimant: the host that has it afterwards unless another one answers.
    owner: the host with the binding, which alone is asked; None: those behind trusted ports are.
    held: the claimant's solicitation, which is forwarded if the owner answers.
    """

    claimant: Claimant
    owner: Claimant | None
    held: ForwardFrame | None
    left: int

    @property
    def pace(self) -> _Pace:
        return _TENTATIVE if self.owner is None else _OWNED

    @property
    def renews(self) -> bool:
        """Whether the binding ends, and no other host claims the address."""
        return self.owner == self.claimant


class NeighbourBindings:
    """The claims of a bridge's hosts."""

    def __init__(
        self, bindings: Bindings, prefixes: Prefixes, state: BridgeState, prober: int
    ) -> None:
        """prober: MAC address of the bridge's probes."""
        self._bindings = bindings
        self._prefixes = prefixes
        self._state = state
        self._prober = prober
        self._tests: dict[Key, _Test] = {}
        self._claims: Counter[str] = Counter()  # tests by the claimant's port
        self._due = Deadlines[Key]()
        self._answered: dict[Key, float] = {}  # when owners have answered, the earliest first
        self._held: dict[Key, ForwardFrame] = {}  # claims of trusted hosts
        self._held_until = Deadlines[Key]()
        self._claimed_by_trusted: dict[Key, float] = {}  # when trusted hosts have claimed, the same

    def claim(
        self, claimant: Claimant, octets: bytes, held: ForwardFrame | None, changes: Changes
    ) -> Verdict:
        """A host claims an address; held: its solicitation, if that was the claim."""
        key, address = (claimant.vid, octets), BoundAddress(octets, 8 * len(octets))
        test = self._tests.get(key)
        if test is not None:
            return self._claim_tested(key, test, claimant, held, changes)
        old = self._bindings.table.owner(claimant.vid, octets, (claimant.port, claimant.mac))
        if old is None:
            return self._claim_free(key, claimant, changes)
        if (old.port, old.mac) == (claimant.port, claimant.mac):
            if old.origin is Origin.ND:
                self._renew(old, changes)
                self._answered.pop(key, None)  # it does not until it has detected no duplicate
            return Fate.PASS
        if old.origin is not Origin.ND or old.address != address:
            return self._refuse(claimant, octets, old, changes)
        if not self._state.is_up(old.port):
            self._bind(claimant, octets, changes)
            return Fate.PASS
        if changes.at < self._answered.get(key, -QUIET) + QUIET:
            refused = self._refuse(claimant, octets, old, changes)
            return Fate.PASS if held else refused  # its owner answers the solicitation
        owner = Claimant(old.port, old.vid, old.mac)
        return self._test(key, claimant, owner, held, changes) or Fate.HOLD

    def claim_trusted(self, port: Port, mac: int, key: Key, changes: Changes) -> bool:
        """A host on a port that is not inspected claims an address: it wins over guests.

        Gives whether a guest has lost the address.  The host may be a router that was down while
        the guest claimed it.  The host answers no probe until it has detected no duplicate, so no
        guest's claim counts for some seconds.
        """
        if inspects(self._state, port):
            return False
        _note(self._claimed_by_trusted, key, changes.at)
        claim = self._binding(Claimant(port.name, key[0], mac), key[1], changes)
        test = self._tests.get(key)
        if test is not None and test.claimant.mac != mac:
            self._end(key)
        old = self._bindings.table.get(key[0], claim.address)
        if old is not None and old.origin is Origin.ND and old.mac != mac:
            self._bindings.unbind(old, changes, "lost_to_trusted")
            self._bindings.refuse(old, claim, changes)
            return True
        return False

    def forward_later(self, key: Key, frame: ForwardFrame, changes: Changes) -> None:
        """Forward a trusted host's claim once the switch refuses the answer of the former owner.

        A switch goes on by its cached flows for some time after a flow was removed.
        """
        self._held[key] = frame
        self._held_until.set(key, changes.at + REVALIDATION)

    def _claim_tested(
        self,
        key: Key,
        test: _Test,
        claimant: Claimant,
        held: ForwardFrame | None,
        changes: Changes,
    ) -> Verdict:
        if claimant == test.owner:
            if test.renews:
                self._keep(key, test, changes)
            else:
                test.left = test.pace.probes
                self._due.set(key, changes.at + test.pace.interval)
            return Fate.PASS
        if test.renews:
            self._recount(test, claimant)
            test.held = held
            return Fate.HOLD
        if claimant != test.claimant:
            return self._count("conflicts")
        return Fate.PASS if test.owner is None else Fate.HOLD

    def _claim_free(self, key: Key, claimant: Claimant, changes: Changes) -> Verdict:
        address = BoundAddress(key[1], 128)
        on_link = is_link_local(key[1]) or self._prefixes.has(*key, changes.at)
        if not on_link or not address.usable:
            return self._count("nd_off_link")
        if changes.at < self._claimed_by_trusted.get(key, -QUIET) + QUIET:
            return self._count("nd_trusted_claim")
        owner = self._owner_by_mac(key)
        if owner is not None and owner.mac == claimant.mac:
            if self._bindings.table.on_port(*claimant):
                return Fate.PASS  # without a binding of it
        elif owner is not None:
            return self._refuse(claimant, key[1], owner, changes)
        return self._test(key, claimant, None, None, changes) or Fate.PASS

    def _owner_by_mac(self, key: Key) -> Binding | None:
        """The host that may use a link-local address without a binding of it.

        It has other bindings, and the address follows from its MAC address.
        """
        mac = interface_mac6(key[1])
        known = () if mac is None else self._bindings.table.of_host(key[0], mac)
        address = BoundAddress(key[1], 128)
        return next((replace(binding, address=address) for binding in known), None)

    def answer(self, port: Port, mac: int, key: Key, changes: Changes) -> None:
        """A host has answered a probe."""
        test = self._tests.get(key)
        if test is None:
            return
        if test.owner is None:
            if not inspects(self._state, port):
                self._end(key)
                other = self._binding(Claimant(port.name, key[0], mac), key[1], changes)
                claim = self._binding(test.claimant, key[1], changes)
                self._bindings.refuse(claim, other, changes)
        elif (port.name, mac) == (test.owner.port, test.owner.mac):
            self._keep(key, test, changes)

    def _keep(self, key: Key, test: _Test, changes: Changes) -> None:
        """End the test of an address that its owner uses."""
        self._end(key)
        old = self._bindings.table.get(key[0], BoundAddress(key[1], 128))
        if old is None:
            return
        self._renew(old, changes)
        if not test.renews:
            _note(self._answered, key, changes.at)
            claim = self._binding(test.claimant, key[1], changes)
            self._bindings.refuse(claim, old, changes)
            if test.held is not None:
                changes.frames.append(test.held)

    def may_use(self, claimant: Claimant, octets: bytes) -> bool:
        """Whether a host may send from an IPv6 address, as the switch checks it for others."""
        if octets in (ANY6, link_local6(claimant.mac)):
            return True
        test = self._tests.get((claimant.vid, octets))
        if test is not None and test.owner is None:
            return test.claimant == claimant
        old = self._bindings.table.owner(claimant.vid, octets, (claimant.port, claimant.mac))
        return old is not None and (old.port, old.mac) == (claimant.port, claimant.mac)

    def end(self, old: Binding, changes: Changes) -> None:
        """Test or remove a binding of neighbour discovery: its time is over."""
        key, owner = (old.vid, old.address.octets), Claimant(old.port, old.vid, old.mac)
        on_link = is_link_local(key[1]) or self._prefixes.has(*key, changes.at)
        if not on_link or not self._guarded(old.port):
            self._bindings.expire(old, changes)
        elif len(self._tests) >= MOST_RENEWALS:
            self._bindings.postpone(old, changes.at + 1.0)
        elif key not in self._tests:
            self._begin(key, _Test(owner, owner, None, _OWNED.probes), changes)

    def lose(self, port: str, changes: Changes) -> None:
        """A port is down or gone: its claims end, and its owners cannot answer."""
        for key, test in [*self._tests.items()]:
            if test.claimant.port == port:
                self._end(key)
            elif test.owner is not None and test.owner.port == port:
                self._settle(key, test, changes)

    def tick(self, changes: Changes) -> None:
        """Let time pass: ask again, or settle."""
        for key in self._held_until.expired(changes.at):
            changes.frames.append(self._held.pop(key))
        for key in self._due.expired(changes.at):
            test = self._tests[key]
            if test.left:
                self._probe(key, test, changes)
            else:
                self._settle(key, test, changes)

    def next_wakeup(self) -> float | None:
        """When `tick` is due."""
        due = self._due.next(), self._held_until.next()
        return min((instant for instant in due if instant is not None), default=None)

    # Inside

    def _test(
        self,
        key: Key,
        claimant: Claimant,
        owner: Claimant | None,
        held: ForwardFrame | None,
        changes: Changes,
    ) -> str | None:
        """Begin to test, unless the port has as many claims as it may: gives the counter then."""
        if self._claims[claimant.port] >= MOST_CLAIMS:
            return self._count("nd_claims_limit")
        test = _Test(claimant, owner, held, 0)
        test.left = test.pace.probes
        self._begin(key, test, changes)
        return None

    def _count(self, counter: str) -> str:
        self._bindings.counters[counter] += 1
        return counter

    def _refuse(self, claimant: Claimant, octets: bytes, old: Binding, changes: Changes) -> str:
        """Refuse an address that another host has; gives the counter."""
        self._bindings.refuse(self._binding(claimant, octets, changes), old, changes)
        return "conflicts"

    def _begin(self, key: Key, test: _Test, changes: Changes) -> None:
        self._tests[key] = test
        self._claims[test.claimant.port] += 1
        self._probe(key, test, changes)

    def _probe(self, key: Key, test: _Test, changes: Changes) -> None:
        test.left -= 1
        self._due.set(key, changes.at + test.pace.interval)
        vid, octets = key
        ports: Iterable[int]
        if test.owner is None:
            frame = resolve(octets, self._prober, vid)
            ports = self._trusted()
        else:
            frame = probe_reachability(octets, test.owner.mac, self._prober, vid)
            number = self._state.ports.numbers.get(test.owner.port)
            ports = () if number is None else (number,)
        changes.frames += sent(self._state.port_policies, [*ports], None, frame)

    def _settle(self, key: Key, test: _Test, changes: Changes) -> None:
        """No host has answered."""
        self._end(key)
        if test.renews:
            old = self._bindings.table.get(key[0], BoundAddress(key[1], 128))
            if old is not None and old.origin is Origin.ND:
                self._bindings.expire(old, changes)
        else:
            self._bind(test.claimant, key[1], changes)

    def _end(self, key: Key) -> None:
        test = self._tests.pop(key)
        self._recount(test, None)
        self._due.set(key, None)

    def _recount(self, test: _Test, claimant: Claimant | None) -> None:
        self._claims[test.claimant.port] -= 1
        if not self._claims[test.claimant.port]:
            del self._claims[test.claimant.port]
        if claimant is not None:
            test.claimant = claimant
            self._claims[claimant.port] += 1

    def _bind(self, claimant: Claimant, octets: bytes, changes: Changes) -> None:
        self._bindings.bind(self._binding(claimant, octets, changes), changes)

    def _renew(self, binding: Binding, changes: Changes) -> None:
        ends = changes.at + LIFETIME
        self._bindings.bind(replace(binding, expires=ends, lifetime=LIFETIME), changes)

    def _binding(self, claimant: Claimant, octets: bytes, changes: Changes) -> Binding:
        address = BoundAddress(octets, 128)
        return Binding(*claimant, address, Origin.ND, changes.at + LIFETIME, LIFETIME)

    def _guarded(self, name: str) -> bool:
        """Whether hosts of a port can be asked, and are to be: it is up and inspected."""
        port = self._state.ports.named(name)
        return port is not None and self._state.usable(port) and inspects(self._state, port)

    def _trusted(self) -> list[int]:
        """The ports where hosts may answer for any address."""
        there = map(self._state.ports.get, sorted(self._state.relay.flood_ports))
        return [port.number for port in there if port and not inspects(self._state, port)]


def _note(times: dict[Key, float], key: Key, now: float) -> None:
    """Note when a key was seen last; what is older than `QUIET` is forgotten."""
    times.pop(key, None)
    times[key] = now
    while (first := next(iter(times))) != key and times[first] + QUIET <= now:
        del times[first]


def inspects(state: BridgeState, port: Port) -> bool:
    """Whether neighbour discovery of a port's hosts is inspected."""
    return state.params.port(port.name, port.number).first_hop.nd_inspection
