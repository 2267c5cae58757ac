"""Problems of loop protection."""

from collections.abc import Iterable, Iterator

from ofapp.bridge.event import ERROR, PortNumber
from ofapp.bridge.loop_protect.holds import Held
from ofapp.bridge.problem import Problem, ProblemKind

HELD = ProblemKind(
    "loop_protect.held",
    ERROR,
    "An edge port is closed: there is a loop behind it.",
    "Find the loop behind the two ports: a cable between two sockets, or a bridge without STP.",
    "No frame has come back for the time of `hold`, or the port is freed by the command.",
    "ofapp loop-protect free {bridge} {port}",
)


def loop_between(port: int, held: Held) -> tuple[str | PortNumber, ...]:
    """The loop in words, with both its ports."""
    where = f" in VLAN {held.vid}" if held.vid else ""
    if held.other == port:
        return PortNumber(port), f" is closed: its own frames came back to it{where}"
    return (
        *(PortNumber(port), " is closed: frames passed between it and "),
        *(PortNumber(held.other), f" outside of the bridge{where}"),
    )


def problems(held: Iterable[tuple[int, Held]]) -> Iterator[Problem]:
    """Ports that are held, by number."""
    for port, hold in held:
        data = {"other": hold.other, "vlan": hold.vid, "times": hold.times}
        yield HELD.at(loop_between(port, hold), port, data=data)
