"""Problems of first-hop security."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from ofapp.bridge.event import WARNING
from ofapp.bridge.first_hop.binding import Refused
from ofapp.bridge.problem import Problem, ProblemKind

LATELY = 300.0
"""Seconds for which a refused claim is a problem."""

FULL = ProblemKind(
    "bindings.full",
    WARNING,
    "The limit of bindings of the bridge, a port or a VLAN is reached: hosts get no addresses.",
    "Find the host that asks for many addresses, or raise `max_bindings`.",
    "A twentieth of the limit is free again.",
    "ofapp binding show {bridge}",
)
REFUSED = ProblemKind(
    "bindings.refused",
    WARNING,
    "Hosts behind a port claim addresses or roles that they do not have; their frames are dropped.",
    "See what is claimed; `ofapp binding add BRIDGE MAC ADDRESS --port PORT` allows an address.",
    "No such frame has come for five minutes.",
    "ofapp binding refused {bridge}",
)


def problems(
    full: Mapping[str | int | None, int], refused: Iterable[Refused], now: float
) -> Iterator[Problem]:
    """full: limits that are reached, by scope; refused: the last claims, the latest first."""
    for scope, most in full.items():
        where = "the bridge" if scope is None else scope
        where = f"VLAN {scope}" if isinstance(scope, int) else where
        text = f"{where} has {most} bindings, its limit"
        yield FULL.at(text, subject=str(where), data={"limit": most})
    claims: Counter[str] = Counter()
    latest: dict[str, Refused] = {}
    for claim in refused:
        if claim.last < now - LATELY:
            break
        if not claim.passed:
            claims[claim.port] += claim.samples
            latest.setdefault(claim.port, claim)
    for port, samples in claims.items():
        what = latest[port].claim
        text = f"port {port}: frames are refused (samples: {samples}); the last claims {what}"
        yield REFUSED.at(text, subject=port, data={"port_name": port, "samples": samples})
