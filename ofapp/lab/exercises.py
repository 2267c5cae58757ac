"""Exercises, and what the network has shown.

An exercise looks at the network itself: nothing here says what the result would be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ofapp.bridge.queries import fdb_tables
from ofapp.bridge.stp import PortState
from ofapp.lab.laboratory import Laboratory


@dataclass(frozen=True, slots=True)
class Goal:
    """Something to reach."""

    text: str
    reached: Callable[[Laboratory], bool]


@dataclass(frozen=True, slots=True)
class Question:
    """Something to predict.  answer: what the network has shown; None: nothing yet."""

    text: str
    choices: Callable[[Laboratory], tuple[str, ...]]
    answer: Callable[[Laboratory], str | None]


def _taken_over(lab: Laboratory, bridges: Iterable[str] = ()) -> tuple[str, float] | None:
    """The port that has begun to forward first since the last change, and after how long."""
    for each in lab.changes:
        name = lab.name(each.datapath_id)
        if each.new is PortState.FORWARDING and name in (bridges or (name,)):
            return f"{name} eth{each.port}", each.at - lab.acted
    return None


def first_to_forward(lab: Laboratory) -> str | None:
    """The port that has begun to forward first since the last change."""
    found = _taken_over(lab)
    return found and found[0]


SOON, DELAYS, LONG = "less than a second", "about 30 seconds", "about 50 seconds"


def how_long(*bridges: str) -> Callable[[Laboratory], str | None]:
    """After how long a port of these bridges, or of any, has begun to forward."""

    def answer(lab: Laboratory) -> str | None:
        found = _taken_over(lab, bridges)
        return found and (SOON if found[1] < 1 else DELAYS if found[1] < 40 else LONG)

    return answer


def ports(lab: Laboratory) -> tuple[str, ...]:
    """The ports of bridges that lead to other bridges."""
    ends = [end for each in lab.network.cables | lab.unplugged for end in each]
    hosts = {end for each in lab.network.cables for end in each if each.b[0] in lab.hosts}
    names = {f"{lab.name(end[0])} eth{end[1]}" for end in ends if end not in hosts}
    return tuple(sorted(names))


def durations(_lab: Laboratory) -> tuple[str, ...]:
    """Choices of times."""
    return SOON, DELAYS, LONG


def blocked(lab: Laboratory) -> str | None:
    """The only port that is discarding; None: none, or several."""
    states = ((name, lab.port_states(name)) for name in map(lab.name, lab.settings))
    found = [f"{name} {port}" for name, own in states for port in own if _closed(own[port])]
    return found[0] if len(found) == 1 else None


def _closed(state: PortState) -> bool:
    return state is PortState.DISCARDING


def root_is(name: str) -> Callable[[Laboratory], bool]:
    """Whether a bridge is the root for all bridges."""
    return lambda lab: lab.root() == name


def loop_ended(lab: Laboratory) -> bool:
    """All bridges have spanning tree, the loop is open, and no frame of a host circles."""
    trees = all(each.tree != "off" for each in lab.settings.values())
    closed = any(_closed(each) for name in lab.settings for each in _states(lab, name))
    return trees and closed and not lab.network.carries_hosts


def _states(lab: Laboratory, number: int) -> Iterable[PortState]:
    return lab.port_states(lab.name(number)).values()


def receivers(source: str) -> Callable[[Laboratory], str | None]:
    """The hosts that a frame of `source` has come to, once it has left all cables."""

    def answer(lab: Laboratory) -> str | None:
        names = [lab.name(each) for each in sorted(lab.hosts)]
        found = [name for name in names if name != source and lab.received(name, source)]
        return " and ".join(found) if found and not lab.network.carries_hosts else None

    return answer


def all_know(*hosts: str) -> Callable[[Laboratory], bool]:
    """Whether all bridges have learned these hosts."""

    def reached(lab: Laboratory) -> bool:
        wanted = {lab.mac(each) for each in hosts}
        tables = [fdb_tables(bridge) for bridge in lab.network.bridges.values()]
        return all(wanted <= {mac for table in own.values() for mac in table} for own in tables)

    return reached


def reaches_h4(lab: Laboratory) -> bool:
    """Whether a frame of h1 has come to h4."""
    return lab.received("h4", "h1") > 0 and not lab.network.carries_hosts


def members_alone(lab: Laboratory) -> bool:
    """Whether a frame of h1 has come to the members of a group, and to no other host."""
    members = [lab.name(host) for host, groups in lab.network.groups.items() if groups]
    others = [each for each in ("h2", "h3") if each not in members]
    if lab.network.carries_hosts or not members or len(others) != 1:
        return False
    return all(lab.received(each, "h1") for each in members if each != "h1") and not any(
        lab.received(each, "h1") for each in others
    )


def both_in_use(lab: Laboratory) -> bool:
    """Whether each bridge has an aggregation with two members in use."""
    lags = [bridge.lags for bridge in lab.network.bridges.values()]
    return all(any(len(own.in_use(port)) == 2 for port in own.numbers) for own in lags)


def one_cable_left(lab: Laboratory) -> bool:
    """Whether a frame of h1 has come to h2 while one cable is cut."""
    return len(lab.unplugged) == 1 and lab.received("h2", "h1") > 0
