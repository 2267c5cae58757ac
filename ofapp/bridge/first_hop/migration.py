"""Hosts that appear on another port than before.

A host may have migrated, or another one may use its MAC address.  So bindings move with any frame
of the host only if their port is down or gone, also on another bridge of this controller.  A frame
that came shortly before the port went down counts.  While the port is up, bindings move by DHCP
alone, and only if the host does not answer on it.  A MAC address without bindings that is known on
another port, as that of a router, is not bound before it is known not to answer there.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from ofapp.bridge.first_hop.binding import Binding
from ofapp.bridge.first_hop.bindings.bindings import Bindings
from ofapp.bridge.first_hop.bindings.changes import Changes
from ofapp.bridge.first_hop.stranded import StrandedHosts
from ofapp.bridge.packet.address import link_local6
from ofapp.bridge.packet.arp import probe
from ofapp.bridge.packet.neighbour import probe_reachability
from ofapp.bridge.ports.port import Port
from ofapp.bridge.relay.sending import sent
from ofapp.bridge.state import BridgeState
from ofapp.common.deadlines import Deadlines

SHORTLY = 5.0
"""Seconds for which a frame on another port is remembered."""
MOST_SEEN = 4096
"""Most hosts whose frames on another port are remembered."""
PROBES, PROBE_INTERVAL = 3, 1.0
"""RFC 4861 10: a host may be busy, or paused."""
ABSENT = 30.0
"""Seconds for which a host that did not answer may get addresses elsewhere: it repeats a DHCP
request after 4 to 16 s (RFC 2131 4.1)."""
MOST_TESTS, MOST_OF_PORT = 256, 16
"""Most hosts that are asked at the same time: for all ports, and for the hosts of one port, which
may claim to be any host."""
ADDRESSES = 4
"""Most addresses for which a host is asked."""

Host = tuple[int, int]
"""(VID, MAC address)."""


@dataclass(slots=True)
class _Test:
    """A host that is asked on the port of its bindings.

    claimed_on: the port where it has appeared; left: probes to send.
    """

    port: str
    claimed_on: str
    left: int = PROBES


class Migration:
    """The hosts of a bridge that appear on another port."""

    def __init__(self, bindings: Bindings, state: BridgeState, prober: int) -> None:
        """prober: MAC address of the bridge's probes."""
        self._bindings = bindings
        self._state = state
        self._prober = prober
        self._seen: dict[Host, tuple[str, float]] = {}  # the earliest first
        self._tests: dict[Host, _Test] = {}
        self._absent: dict[Host, tuple[str, float]] = {}
        self._due = Deadlines[Host]()

    def admits(self, port: Port, vid: int, mac: int, changes: Changes, dhcp: bool = False) -> bool:
        """Whether a host may claim addresses on a guarded port, or its MAC address is elsewhere.

        dhcp: it asks a DHCP server, which knows its hosts.
        """
        if mac in self._state.learning.local:
            return False
        if not self._bindings.table.of_host(vid, mac):
            self._take_over(port, vid, mac, changes)
        bound = self._bindings.elsewhere(port.name, vid, mac)
        old = bound or self._learned_elsewhere(port, vid, mac)
        if old is None:
            return True
        if not self._state.is_up(old):
            self._bindings.move(vid, mac, old, port.name, changes)
            return True
        host = vid, mac
        self._seen.pop(host, None)
        self._seen[host] = port.name, changes.at
        if len(self._seen) > MOST_SEEN:
            del self._seen[next(iter(self._seen))]
        if bound is not None and not dhcp:
            return False
        if self._is_gone(host, old, port.name, changes):
            return True
        self._bindings.counters["host_elsewhere"] += 1
        return False

    def gives_way(self, owner: Binding, to: str, changes: Changes) -> bool:
        """Whether an address may go to a host on another port, as its owner is gone.

        to: the name of that port.

        A server believes a client that repeats the client identifier of another one (option 61,
        DUID), and grants it the address of that one.  So an owner that answers keeps it.
        """
        if not self._state.is_up(owner.port):
            return True
        return self._is_gone((owner.vid, owner.mac), owner.port, to, changes)

    def _is_gone(self, host: Host, port: str, claimed_on: str, changes: Changes) -> bool:
        """Whether a host has not answered on a port that is up; else it is asked from now on."""
        if self._is_absent(host, port, changes.at):
            return True
        if host not in self._tests and self._has_room(claimed_on):
            test = self._tests[host] = _Test(port, claimed_on)
            self._probe(host, test, changes)
        return False

    def _has_room(self, port: str) -> bool:
        """Whether one more host may be asked for the hosts of a port."""
        there = sum(test.claimed_on == port for test in self._tests.values())
        if there < MOST_OF_PORT and len(self._tests) < MOST_TESTS:
            return True
        self._bindings.counters["host_tests_limit"] += 1
        return False

    def granted(self, port: Port, vid: int, mac: int, changes: Changes) -> None:
        """A server has granted a host an address on a port: its other bindings follow."""
        old = self._bindings.elsewhere(port.name, vid, mac)
        if old is not None and self._is_absent((vid, mac), old, changes.at):
            self._bindings.move(vid, mac, old, port.name, changes)

    def _take_over(self, port: Port, vid: int, mac: int, changes: Changes) -> None:
        """Take over a host whose port on another bridge of this controller is down or gone."""
        where = self._state.shared.of(StrandedHosts).take((vid, mac), self._state.datapath_id)
        if where is not None:
            self._bindings.adopt(vid, mac, where, port.name, changes)

    def _learned_elsewhere(self, port: Port, vid: int, mac: int) -> str | None:
        """Another port where frames of a host were seen, if it has no binding on this one."""
        entry = self._state.learning.fdb.get(vid, mac)
        other = None if entry is None else self._state.ports.get(entry.port)
        if other is None or other.name == port.name:
            return None
        return None if self._bindings.table.on_port(port.name, vid, mac) else other.name

    def _is_absent(self, host: Host, port: str, now: float) -> bool:
        absent_on, since = self._absent.get(host, ("", 0.0))
        return port == absent_on and now < since + ABSENT

    def answer(self, port: Port, vid: int, mac: int) -> None:
        """A host has answered a probe."""
        test = self._tests.get((vid, mac))
        if test is not None and test.port == port.name:
            del self._tests[vid, mac]
            self._due.set((vid, mac), None)

    def lose(self, port: str, changes: Changes) -> None:
        """A port is down or gone: hosts that have appeared elsewhere shortly before are there."""
        if not self._seen:
            return
        for vid, mac in self._bindings.table.hosts(port):
            to, since = self._seen.get((vid, mac), ("", 0.0))
            if to and to != port and changes.at < since + SHORTLY and self._state.is_up(to):
                del self._seen[vid, mac]
                self._bindings.move(vid, mac, port, to, changes)

    def tick(self, changes: Changes) -> None:
        """Let time pass: ask again, or note that a host does not answer."""
        for host in self._due.expired(changes.at):
            test = self._tests[host]
            if test.left and self._state.is_up(test.port):
                self._probe(host, test, changes)
                continue
            del self._tests[host]
            self._absent.pop(host, None)
            self._absent[host] = test.port, changes.at
            while len(self._absent) > MOST_SEEN:
                del self._absent[next(iter(self._absent))]

    def next_wakeup(self) -> float | None:
        """When `tick` is due."""
        return self._due.next()

    def _probe(self, host: Host, test: _Test, changes: Changes) -> None:
        test.left -= 1
        self._due.set(host, changes.at + PROBE_INTERVAL)
        number = self._state.ports.numbers.get(test.port)
        ports = () if number is None else (number,)
        for frame in self._frames(*host, test.port):
            changes.frames += sent(self._state.port_policies, ports, None, frame)

    def _frames(self, vid: int, mac: int, port: str) -> Iterable[bytes]:
        bound = [each.octets for each in self._bindings.table.on_port(port, vid, mac) if each.whole]
        heard = self._state.ip_addresses.of(vid, mac)
        for octets in dict.fromkeys((*bound[:ADDRESSES], *heard[:ADDRESSES], link_local6(mac))):
            if len(octets) == 4:
                yield probe(octets, self._prober, mac, vid)
            else:
                yield probe_reachability(octets, mac, self._prober, vid)
