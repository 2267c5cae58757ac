"""Problems of overload: frames that switches drop or hold back, and switches that send too much."""

from __future__ import annotations

from collections.abc import Iterator

from ofapp.bridge.datapath_status import DatapathStatus
from ofapp.bridge.event import INFO, WARNING, PortNumber
from ofapp.bridge.problem import Problem, ProblemKind
from ofapp.controller.bridges.openflow_datapath import FATES, STORMS

_RATES = "ofapp port show {bridge} -s"

STORM = ProblemKind(
    "port.storm",
    WARNING,
    "Storm control drops frames of a port: it sends more than its `storm` limits.",
    "Look for a loop behind the port, or for the host that sends so much; or raise `storm`.",
    "A poll of the counters finds no further frames dropped.",
    _RATES,
)
HELD_BACK = ProblemKind(
    "port.held-back",
    WARNING,
    "A port sends the controller more frames than its rate: the rest of them is not handled.",
    "Look for a loop behind the port, or for the host that sends so much.",
    "A poll of the counters finds no further frames held back.",
    _RATES,
)
RATE = ProblemKind(
    "port.rate",
    INFO,
    "A port receives more than its `rate_in`, and the rest is dropped.",
    "Nothing, if the limit is meant; otherwise raise `rate_in`.",
    "A poll of the counters finds no further frames dropped.",
    _RATES,
)
RATE_OUT = ProblemKind(
    "port.rate-out",
    INFO,
    "More is to leave by a port than its `rate_out`, and the rest is dropped.",
    "Nothing, if the limit is meant; otherwise raise `rate_out`.",
    "A poll of the counters finds no further frames dropped.",
    _RATES,
)
LEARNING = ProblemKind(
    "port.new-addresses",
    WARNING,
    "New addresses come on a port faster than its switch takes them; some are learned late.",
    "Find the host that invents addresses; `fdb_max_learned` limits the addresses of a port.",
    "No new address was dropped for five seconds.",
    _RATES,
)
THROTTLED = ProblemKind(
    "switch.throttled",
    WARNING,
    "A switch sends faster than the controller serves it: its messages wait.",
    "See which ports send many new addresses, and the load of the controller's host.",
    "No message of the switch waits.",
    "ofapp bridge show {bridge}",
    1.0,
)


_KINDS = {"learning": LEARNING, "rate_in": RATE, "rate_out": RATE_OUT}


def problems(status: DatapathStatus) -> Iterator[Problem]:
    """What a switch has too much of, as of the last poll."""
    for kind, ports in status.limited.items():
        of = _KINDS.get(kind, STORM if kind in STORMS else HELD_BACK)
        fate = FATES.get(kind, "new addresses came faster than the switch takes them")
        for port in sorted(ports):
            data = {"frames": kind, "count": status.held_back.get(kind, {}).get(port, 0)}
            yield of.at((PortNumber(port), f": {fate}"), port, kind, data)
    if status.throttled:
        yield THROTTLED.at("the switch sends faster than it is served: its input is throttled")
