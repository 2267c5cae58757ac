"""Predict what changes in a network lead to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.desired import Desired
from ofapp.bridge.fabric.fabric import Fabric
from ofapp.bridge.multicast import SetGroup
from ofapp.bridge.state import SharedState
from ofapp.bridge.stp import OwnTrees
from ofapp.bridge.stp.port import PortRole
from ofapp.bridge.stp.vectors import ADDRESS_MASK
from ofapp.bridge.twin import assumptions
from ofapp.bridge.twin.actions import Action, Move, Storm
from ofapp.bridge.twin.cable import Cable, SwitchPort
from ofapp.bridge.twin.content import Content, GroupPort, group_ports
from ofapp.bridge.twin.copied import brought_to, copied, negotiating
from ofapp.bridge.twin.fabric import FabricCopy, PathChange, changed, paths_of
from ofapp.bridge.twin.foreign import around, attach, is_foreign
from ofapp.bridge.twin.hosts import RefusedHost, hosts_behind, moved_hosts, refused_hosts
from ofapp.bridge.twin.neighbours import hellos
from ofapp.bridge.twin.network import Change, Logged, TwinNetwork
from ofapp.bridge.twin.reach import (
    HostPort,
    Interruption,
    Reach,
    Struck,
    logical,
    single_points,
    spread,
)
from ofapp.common.portions import Portions

SETTLE = 3.0
"""Seconds that a copy runs before the changes: it repeats its hellos, as after a restart.

With bridges of other owners two forward delays more: their ports begin closed.
"""

MOST_VLANS = 8
"""Most VLANs with multicast groups that are predicted: each bridge asks in each of them after each
topology change, and all of them hear it."""

MOST_SECONDS = 300.0
"""Most seconds to predict."""


@dataclass(frozen=True, slots=True)
class Roles:
    """The role of a port before and after the changes; None: it has none."""

    datapath_id: int
    port: int
    before: PortRole | None
    after: PortRole | None


@dataclass(frozen=True, slots=True)
class Forgotten:
    """Learned addresses that a port forgets.  at: when it is flushed first."""

    at: float
    datapath_id: int
    port: int
    addresses: int


@dataclass(frozen=True, slots=True)
class Prediction:
    """What follows from changes.  Times are seconds since the changes.

    roots: the root of each bridge's tree afterwards, by datapath id, where another bridge is root.
    changes: changes of ports' states, in their order; roles: roles of ports that differ.
    flushed: ports whose learned addresses are forgotten.
    events: what the log would say, in its order.
    interruptions: hosts that cannot reach each other, and loops.
    single_points: cables and bridges without which the network would fall apart afterwards.
    struck: ports with hosts that get the frames of a storm.
    contents: those of switches that differ afterwards, by datapath id.
    members: those of members of fabrics, by the datapath id of the bridge and the member's number.
    groups: ports that multicast groups gain or lose.
    refused: hosts that have moved to a port where they have no binding in the end.
    paths: paths through fabrics that differ.
    hosts: learned addresses by place, without ports that have a cable.
    populations: learned addresses by the switch and the VLAN of those places.
    assumptions: what was taken for granted, in sentences.
    names: names of bridges of other owners and of members of fabrics, by datapath id.
    ports: names of fabrics' link ports.
    """

    changes: tuple[Change, ...] = ()
    roles: tuple[Roles, ...] = ()
    roots: Mapping[int, int] = field(default_factory=dict)
    flushed: tuple[Forgotten, ...] = ()
    events: tuple[Logged, ...] = ()
    interruptions: tuple[Interruption, ...] = ()
    single_points: tuple[tuple[str, object], ...] = ()
    struck: tuple[Struck, ...] = ()
    contents: Mapping[int, Content] = field(default_factory=dict)
    members: Mapping[int, Mapping[int, Content]] = field(default_factory=dict)
    groups: tuple[GroupPort, ...] = ()
    refused: tuple[RefusedHost, ...] = ()
    paths: tuple[PathChange, ...] = ()
    hosts: Mapping[HostPort, int] = field(default_factory=dict)
    populations: Mapping[tuple[int, int], int] = field(default_factory=dict)
    assumptions: tuple[str, ...] = ()
    names: Mapping[int, str] = field(default_factory=dict)
    ports: Mapping[SwitchPort, str] = field(default_factory=dict)


def copy_of(
    bridges: Iterable[Bridge],
    cables: Iterable[Cable],
    now: float,
    rest: Callable[[], object],
    fabrics: Iterable[Fabric] = (),
) -> TwinNetwork:
    """Copy a network, with bridges of other owners as far as their path to the root is known.

    rest: called after each bridge, which lets other work run.
    fabrics: those that the bridges are of.
    """
    network, shared, portions = TwinNetwork(now), SharedState(OwnTrees()), Portions(rest)
    for each in cables:
        network.connect(each)
    cabled = {end for each in network.cables for end in each}
    originals, members = [*bridges], {each.bridge.datapath_id: each for each in fabrics}
    network.snooped, network.left_out = _with_groups(originals, rest)
    for bridge in originals:
        network.receivers.take(bridge, cabled, now)
        network.params[bridge.datapath_id] = bridge.params
        network.brought[bridge.datapath_id] = brought_to(bridge)
        fabric = members.get(bridge.datapath_id)
        runs = fabric is None or not fabric.status(now).paused
        copy, effects = copied(bridge, shared, network.snooped, now, portions, runs)
        network.add(copy, effects, None if fabric is None else FabricCopy(fabric, copy, now))
        rest()
    for number in negotiating(network.bridges, network.cables):
        bridge = network.bridges[number]
        if number in network.fabrics:
            network.fabrics[number].runs_lacp = True
        network.apply(bridge, bridge.carry_out(bridge.lags.go_on(now), now))
        rest()
    foreigners, network.unknown = around(originals, now, rest)
    for foreign in foreigners:
        if cabled.isdisjoint(port.at for port in foreign.ports):
            attach(network, foreign)
        rest()
    return network


def _with_groups(
    bridges: Iterable[Bridge], rest: Callable[[], object]
) -> tuple[frozenset[int], int]:
    """The VLANs with most multicast groups, and the number of other VLANs with any."""
    groups = Counter[int]()
    for bridge in bridges:
        entries = bridge.multicast.desired(bridge.params) or ()
        groups.update(each.vid for each in entries if isinstance(each, SetGroup))
        rest()
    most = frozenset(vid for vid, _ in groups.most_common(MOST_VLANS))
    return most, len(groups) - len(most)


def learned_of(bridges: Iterable[Bridge], rest: Callable[[], object]) -> dict[HostPort, int]:
    """How many addresses each port has learned in each VLAN.

    A port that is up counts without any address, too: a host may be silent.

    rest: called after each VLAN of a bridge, which lets other work run.
    """
    result: dict[HostPort, int] = {}
    for bridge in bridges:
        for port in bridge.ports:
            if port.up:
                vid = bridge.port_policies.vlans(port.number).pvid
                result[HostPort(bridge.datapath_id, port.number, vid)] = 0
        for vid, table in [*bridge.fdb.tables.items()]:
            ports = Counter(each.port for each in [*table.values()] if each.was_learned)
            result |= {HostPort(bridge.datapath_id, at, vid): n for at, n in ports.items()}
            rest()
    return result


def predict(
    network: TwinNetwork,
    learned: Mapping[HostPort, int],
    actions: Sequence[Action],
    seconds: float,
) -> Iterator[Prediction | None]:
    """Make changes in a copied network, and give what follows; None: a pause.

    learned: see `learned_of`.  The last value is the answer.  Raises KeyError for a port or bridge
    that is not there.
    """
    original = yield from _roles(network)
    for heard in hellos(network.bridges, network.now):
        network.hellos += heard
        yield None
    for hello in network.hellos:
        network.repeat(hello)
        yield None
    for _ in network.run(network.now + _settling(network)):
        yield None
    network.forget()
    network.flushed.clear()
    network.events.clear()
    links = {(end[0], logical(network, *end)) for each in network.cables for end in each}
    hosts = {
        place: count
        for place, count in learned.items()
        if (place.datapath_id, place.port) not in links
    }
    hosts |= hosts_behind(network, hosts, learned)
    moves = [each for each in actions if isinstance(each, Move)]
    moved = moved_hosts(network, hosts, moves)
    reach, roots = Reach(network, hosts, moved), _roots(network)
    yield None
    roles = yield from _roles(network)
    assumed = tuple(assumptions.of_network(network, original, roles))
    names = {
        number: assumptions.foreign_name(network, number)
        for number in network.bridges
        if is_foreign(number)
    }
    ports: dict[SwitchPort, str] = {}
    for fabric in network.fabrics.values():
        names |= fabric.switch_names()
        ports |= fabric.names
    populations = Counter[tuple[int, int]]()
    for place, count in moved.items():
        populations[network.switch_at(place.datapath_id, place.port), place.vid] += count
    yield None
    paths = paths_of(network.fabrics.values(), network.cables)
    yield None
    held: dict[int, dict[int, Desired]] = {}
    for number in network.params:
        held[number] = network.content(number)
        yield None
    given = dict(network.params)
    begun = network.now
    changes: list[Change] = []
    for action in actions:
        action.apply(network)
        yield None
    yield from reach.look()
    for _ in network.run(begun + seconds):
        if network.is_changed:
            changes += network.changes
            network.forget()
            yield from reach.look()
        yield None
    after, new_roots = (yield from _roles(network)), _roots(network)
    contents: dict[int, Content] = {}
    members: dict[int, dict[int, Content]] = {}
    for number in network.params.keys() & network.bridges.keys():
        old, new = held[number], network.content(number)
        both = {at: Content(old[at], new[at]) for at in sorted(old.keys() & new.keys())}
        given_others = network.params[number] is not given[number]
        if given_others or any(each.differs for each in both.values()):
            contents[number] = both.pop(0)
            members[number] = both
        yield None
    points = tuple(single_points(network))
    yield None
    changed_paths = changed(paths, paths_of(network.fabrics.values(), network.cables))
    yield None
    yield Prediction(
        changes=tuple(each._replace(at=each.at - begun) for each in changes),
        roles=tuple(
            Roles(*key, roles.get(key), after.get(key))
            for key in sorted(roles.keys() | after.keys())
            if roles.get(key) is not after.get(key)
        ),
        roots={key: root for key, root in new_roots.items() if _other(roots.get(key), root)},
        flushed=tuple(_flushed(network, learned, begun)),
        events=tuple(each._replace(at=each.at - begun) for each in network.events),
        interruptions=reach.found(),
        single_points=points,
        struck=tuple(_struck(network, actions)),
        contents=contents,
        members=members,
        groups=tuple(group_ports(network, contents)),
        refused=tuple(refused_hosts(network, moves)),
        paths=changed_paths,
        hosts=moved,
        populations=populations,
        assumptions=tuple(dict.fromkeys((*assumed, *assumptions.of_actions(network, actions)))),
        names=names,
        ports=ports,
    )


def _roles(network: TwinNetwork) -> Generator[None, None, dict[tuple[int, int], PortRole]]:
    """The role of each port; pauses after each bridge.  A fabric without power has none."""
    roles: dict[tuple[int, int], PortRole] = {}
    powered = {*network.switches().values()}
    for number, bridge in network.bridges.items():
        status = bridge.stp.status(network.now) if number in powered else None
        roles |= {(number, port.port): port.role for port in status.ports} if status else {}
        yield
    return roles


def _roots(network: TwinNetwork) -> dict[int, int]:
    trees = {number: bridge.stp.around() for number, bridge in network.bridges.items()}
    return {number: tree.root for number, tree in trees.items() if tree is not None}


def _other(before: int | None, after: int) -> bool:
    """Whether a bridge id is of another bridge: the same bridge may have another priority."""
    return before is None or (before ^ after) & ADDRESS_MASK != 0


def _flushed(
    network: TwinNetwork, learned: Mapping[HostPort, int], begun: float
) -> Iterator[Forgotten]:
    addresses = Counter[tuple[int, int]]()
    for place, count in learned.items():
        addresses[place.datapath_id, place.port] += count
    first: dict[tuple[int, int], float] = {}
    for at, datapath_id, number in network.flushed:
        first.setdefault((datapath_id, number), at - begun)
    for port, at in sorted(first.items()):
        yield Forgotten(at, *port, addresses[port])


def _settling(network: TwinNetwork) -> float:
    """How long a copy runs before the changes."""
    foreign = [bridge for number, bridge in network.bridges.items() if is_foreign(number)]
    delays = [each.stp.params.forward_delay for each in foreign if each.stp.params is not None]
    return SETTLE + 2 * max(delays, default=0.0)


def _struck(network: TwinNetwork, actions: Iterable[Action]) -> Iterator[Struck]:
    for action in actions:
        if isinstance(action, Storm) and action.at.datapath_id in network.bridges:
            yield from sorted(spread(network, action.at, action.rate))
