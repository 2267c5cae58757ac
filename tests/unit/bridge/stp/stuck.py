"""Designated ports that stay closed although the bridge behind them could agree."""

from collections.abc import Hashable, Iterable, Iterator
from typing import NamedTuple

from ofapp.bridge.effects.content import PortState
from ofapp.bridge.stp.core import Core
from ofapp.bridge.stp.port import PortRole, TreePort
from tests.unit.bridge.stp.fabric import Fabric

HELLOS = 2
"""After so many a port opens in any case: the forward delay of RSTP."""
LATE = 0.5
"""Seconds more, for messages under way."""


class End(NamedTuple):
    """A port at one end of a link, and its bridge."""

    core: Core
    port: TreePort


class Stuck:
    """Looks again and again; `found` are those that were closed for too long.

    A bridge that knows of absent switches (`cautious_until`) waits for them, and for a hello then.
    """

    def __init__(self) -> None:
        self.found: list[str] = []
        self._since: dict[Hashable, float] = {}

    def look(self, links: Iterable[tuple[Hashable, End, End]], now: float) -> None:
        """links: both ends of each, and a name; again from the other side is another one."""
        waiting = {name: one for name, one, other in links if _could_open(one, other)}
        self._since = {name: self._since.get(name, now) for name in waiting}
        for name, one in waiting.items():
            since = self._since[name]
            if now - since > HELLOS * one.core.params.hello_time + LATE:
                self.found.append(f"{name} is closed from {since:.3f} to {now:.3f}")
                self._since[name] = now


def _could_open(one: End, other: End) -> bool:
    (core, port), (neighbour, far) = one, other
    return (
        port.role is PortRole.DESIGNATED
        and far.role in (PortRole.ROOT, PortRole.ALTERNATE, PortRole.BACKUP)
        and port.state is not PortState.FORWARDING
        and all(end.enabled and end.send_rstp and end.point_to_point for end in (port, far))
        and not port.kept_discarding
        and not any(each.running(each.cautious_until) for each in (core, neighbour))
    )


def watch(fabric: Fabric) -> list[str]:
    """Look at a fabric's links four times a second from now on; gives what will be found."""
    stuck = Stuck()

    def look() -> None:
        stuck.look(_links(fabric), fabric.now)
        fabric.at(fabric.now + 0.25, look)

    look()
    return stuck.found


def _links(fabric: Fabric) -> Iterator[tuple[Hashable, End, End]]:
    for cable in fabric.cables:
        one, other = (_end(fabric, *end) for end in cable.ends)
        if cable.up and one is not None and other is not None:
            yield f"{cable.ends[0]}", one, other
            yield f"{cable.ends[1]}", other, one


def _end(fabric: Fabric, number: int, port: int) -> End | None:
    """None where the bridge cannot hear, or its switch carries nothing out now."""
    session = fabric.sessions.get(number)
    if session is None or not session.writes or session.switch.stalled_until > fabric.now - 1:
        return None
    spanning = session.bridge.stp
    core = spanning.tree.core if spanning.clock.runs else None
    return End(core, core.ports[port]) if core is not None and port in core.ports else None
