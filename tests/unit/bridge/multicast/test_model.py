"""Hosts that behave as RFC 3376 section 5 says, against the bridge, in any order of events.

The model knows nothing of filters, timers or queries of the bridge. It knows what each host wants,
and that is what must be forwarded:

- at every moment, a host that wants a stream gets it (if its port forwards);
- once the bridge had time to ask, a port without a member of a stream does not get it.

Exempt from the second are ports where a host vanished without a word, was cut off when it left,
or speaks an old version (which cannot say what it does not want), for as long as a membership
lasts; and sources that a host in EXCLUDE mode shares a port with (RFC 3376 keeps a superset).
"""

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from ofapp.bridge.multicast import PortParams
from ofapp.bridge.multicast.message import Query
from tests.unit.bridge.multicast.lan import (
    ALLOW,
    BLOCK,
    IS_EX,
    IS_IN,
    TO_EX,
    TO_IN,
    V4,
    V6,
    Lan,
    ip,
)

ROUTER = 5
PORTS = (1, 2, 3, 4)
HOSTS = (1, 2, 3)  # of each port; the third speaks the old version
OLD_HOST = 3

State = tuple[bool, frozenset[str]]  # EXCLUDE mode?, sources
NONE: State = (False, frozenset())

ports = st.sampled_from(PORTS)
hosts = st.sampled_from(HOSTS)
letters = st.frozensets(st.integers(0, 2), max_size=2)


class World(RuleBasedStateMachine):
    """A LAN of such hosts."""

    @initialize(vx=st.sampled_from([V4, V6]), own=st.booleans(), fast=st.frozensets(ports))
    def start(self, vx: type[V4] | type[V6], own: bool, fast: frozenset[int]) -> None:
        self.vx = vx
        self.own = own
        self.groups = (vx.group, vx.other)
        self.sources = vx.sources[:3]
        self.wanted: dict[tuple[int, int], dict[str, State]] = {
            (port, host): {} for port in PORTS for host in HOSTS
        }
        self.tainted: dict[tuple[int, str], float] = {}
        self.down: set[int] = set()
        self.lan = Lan(mcast_querier=own)
        self.next_query = self.lan.now
        for port in fast:
            params = PortParams(mcast_fast_leave=True)
            self.lan.do(self.lan.snooping.set_port_params(port, params, self.lan.now))
        self.pass_time(10.0)

    # Hosts.

    def state(self, port: int, host: int, group: str) -> State:
        return self.wanted[port, host].get(group, NONE)

    def say(self, port: int, host: int, *rows: tuple[int, str, frozenset[str]]) -> bool:
        """A report; False if the port does not take it."""
        if rows:
            said = [(kind, group, sorted(sources)) for kind, group, sources in rows]
            self.lan.receive(port, self.vx.report(*said, host=10 * port + host))
        return port not in self.down

    def old(self, port: int, group: str, join: bool) -> None:
        host = 10 * port + OLD_HOST
        self.lan.receive(port, (self.vx.join if join else self.vx.leave)(group, host))
        self.taint(port, group)

    def taint(self, port: int, group: str) -> None:
        self.tainted[port, group] = self.lan.now + 260.0

    def answer(self, port: int, group: str | None, asked: frozenset[str]) -> None:
        """RFC 3376 5.2, without the delay."""
        for host in HOSTS:
            for name in self.groups if group is None else (group,):
                exclude, sources = self.state(port, host, name)
                if host == OLD_HOST:
                    if exclude:
                        self.old(port, name, True)
                elif not asked:
                    if exclude or sources:
                        self.say(port, host, (IS_EX if exclude else IS_IN, name, sources))
                elif wanted := (asked - sources if exclude else asked & sources):
                    self.say(port, host, (IS_IN, name, wanted))

    def hear_queries(self) -> None:
        """Hosts answer what the bridge asks, and what that makes it ask."""
        while self.lan.sent:
            for where, query in self.lan.queries():
                assert isinstance(query, Query)
                if query.family is self.vx.family:
                    names = [g for g in self.groups if ip(g) == query.group]
                    assert names or query.general
                    asked = frozenset(s for s in self.sources if ip(s) in query.sources)
                    assert len(asked) == len(query.sources)
                    assert not where & self.down
                    for port in sorted(where & set(PORTS)):
                        self.answer(port, names[0] if names else None, asked)

    # The querier outside, if ours is off.

    def ask(self, group: str | None = None, sources: frozenset[str] = frozenset()) -> None:
        self.lan.receive(ROUTER, self.vx.query(group=group, sources=tuple(sorted(sources))))
        heard = self.lan.forwarded
        assert heard == {port for port in PORTS if port not in self.down}
        for port in sorted(heard):
            self.answer(port, group, sources)

    def pass_time(self, seconds: float) -> None:
        end = self.lan.now + seconds
        self.hear_queries()
        while True:
            due = self.lan.snooping.next_wakeup()
            if not self.own and self.next_query <= min(end, due or end):
                self.lan.advance(max(0.0, self.next_query - self.lan.now))
                self.next_query += 125.0
                self.ask()
            elif due is not None and due <= end:
                self.lan.advance(max(0.0, due - self.lan.now))
                self.hear_queries()
            else:
                break
        self.lan.now = end

    # What can happen.

    @rule(port=ports, host=hosts, group=st.integers(0, 1), exclude=st.booleans(), chosen=letters)
    def change(
        self, port: int, host: int, group: int, exclude: bool, chosen: frozenset[int]
    ) -> None:
        """A host changes its state (RFC 3376 5.1)."""
        name = self.groups[group]
        before = self.state(port, host, name)
        after: State = (exclude, frozenset(self.sources[i] for i in chosen))
        if host == OLD_HOST:
            after = (exclude, frozenset())
        self.wanted[port, host][name] = after
        if before == after:
            return
        old, new = before[1], after[1]
        rows: list[tuple[int, str, frozenset[str]]]
        if host == OLD_HOST:
            rows = [(TO_EX if exclude else TO_IN, name, frozenset())]
        elif before[0] != exclude:
            rows = [(TO_EX if exclude else TO_IN, name, new)]
        else:
            gained, lost = (old - new, new - old) if exclude else (new - old, old - new)
            rows = [(kind, name, s) for kind, s in ((ALLOW, gained), (BLOCK, lost)) if s]
        if port in self.down:
            self.taint(port, name)
        if host == OLD_HOST:
            self.old(port, name, exclude)
        else:
            self.say(port, host, *rows)
        self.hear_queries()
        if not self.own and port not in self.down:
            for kind, _, sources in rows:
                if kind == TO_IN:
                    self.ask(name)
                    self.ask(name, frozenset(self.sources) - sources)
                elif kind == BLOCK:
                    self.ask(name, sources)

    @rule(port=ports, host=hosts)
    def vanish(self, port: int, host: int) -> None:
        for name in self.wanted[port, host]:
            self.taint(port, name)
        self.wanted[port, host].clear()

    @rule(port=ports)
    def toggle(self, port: int) -> None:
        """Spanning tree stops or starts the port; on a start it is asked who is there."""
        self.down ^= {port}
        up = port not in self.down
        self.lan.do(self.lan.snooping.set_port_states({port: (up, True)}, self.lan.now))
        self.hear_queries()

    @rule()
    def topology_change(self) -> None:
        self.lan.do(self.lan.snooping.topology_change(self.lan.now))
        self.hear_queries()

    @rule(seconds=st.sampled_from([0.5, 1.0, 1.5, 30.0, 130.0, 300.0]))
    def wait(self, seconds: float) -> None:
        self.pass_time(seconds)

    # What must hold.

    def wants(self, port: int, group: str, source: str) -> bool:
        for host in HOSTS:
            exclude, sources = self.state(port, host, group)
            if (source in sources) != exclude:
                return True
        return False

    @invariant()
    def nobody_goes_without(self) -> None:
        for port in PORTS:
            for group in self.groups:
                for source in self.sources:
                    heard = port in self.lan.heard_by(group, source)
                    if port in self.down:
                        assert not heard
                    elif self.wants(port, group, source):
                        assert heard, (port, group, source)

    @invariant()
    def the_datapath_is_what_the_core_says(self) -> None:
        groups = {
            (e.vid, e.group, e.source): e.ports
            for e in self.lan.snooping.desired()
            if hasattr(e, "source")
        }
        assert groups == self.lan.entries

    @precondition(lambda self: hasattr(self, "lan"))
    @rule()
    def nobody_is_bothered_after_a_while(self) -> None:
        self.pass_time(3.0)
        for port in PORTS:
            for group in self.groups:
                if self.tainted.get((port, group), 0.0) > self.lan.now:
                    continue
                if any(self.state(port, host, group)[0] for host in HOSTS):
                    continue
                for source in self.sources:
                    if not self.wants(port, group, source):
                        assert port not in self.lan.heard_by(group, source), (port, group, source)
                assert port not in self.lan.heard_by(group), (port, group)
        self.nobody_goes_without()


World.TestCase.settings = settings(
    max_examples=150,
    stateful_step_count=30,
    suppress_health_check=[HealthCheck.too_slow],
)
TestWorld = World.TestCase
