"""Problems of spanning tree."""

from collections.abc import Iterator, Mapping

from ofapp.bridge.event import ERROR, PortNumber
from ofapp.bridge.problem import Problem, ProblemKind
from ofapp.bridge.stp.port import Guard

_RECOVER = "ofapp stp recover {bridge} {port}"

GUARDS: Mapping[Guard, ProblemKind] = {
    Guard.BPDU_GUARD: ProblemKind(
        "stp.bpdu-guard",
        ERROR,
        "A port is closed: a BPDU arrived on a port that must not receive any.",
        "See which switch is connected there, and remove it.",
        "The port is recovered by the command, or after `bpdu_guard_recovery`.",
        _RECOVER,
    ),
    Guard.ROOT_GUARD: ProblemKind(
        "stp.root-guard",
        ERROR,
        "A port is closed: a superior root was announced where none is allowed.",
        "See which switch is connected there, and raise its bridge priority value.",
        "The superior BPDUs stop.",
        "ofapp stp show {bridge}",
    ),
    Guard.LOOP_GUARD: ProblemKind(
        "stp.loop-guard",
        ERROR,
        "A port is closed: BPDUs stopped without a link failure.",
        "See whether the link passes frames in one direction only.",
        "BPDUs arrive again, or the port is recovered by the command.",
        _RECOVER,
    ),
    Guard.SELF_LOOP: ProblemKind(
        "stp.self-loop",
        ERROR,
        "A port is closed: the bridge received its own BPDUs there.",
        "Find the loop behind that port: a cable between two sockets, or an unmanaged switch.",
        "No BPDU of the bridge has arrived there for three hello times.",
        _RECOVER,
    ),
}


def problems(guarded: Mapping[int, tuple[Guard, ...]]) -> Iterator[Problem]:
    """Ports that a guard closes.  guarded: guards by port number."""
    for port, guards in guarded.items():
        for guard in guards:
            what = guard.value.replace("-", " ").replace("bpdu", "BPDU")
            yield GUARDS[guard].at((PortNumber(port), f" is closed by {what}"), port)
