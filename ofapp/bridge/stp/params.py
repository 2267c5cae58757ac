"""What an administrator may set, with the standard's names, ranges and defaults (17.13, 17.14).

Values are frozen and checked when they are made, so the state machines never meet a value that is
out of range, and the API and the configuration file get one refusal: `ParameterError`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from ofapp.bridge.stp.vectors import FORWARD_DELAY_RANGE, MAX_AGE_RANGE, Times

MIGRATE_TIME = 3.0
"""Seconds a port stays with one protocol version (table 17-1)."""

OWN_HELLO_TIME = (1.0, 2.0)
"""What this bridge may say (table 17-1); others, of 802.1D-1998, say up to ten seconds."""

STP_VERSION = 0
RSTP_VERSION = 2

MAX_PATH_COST = 200_000_000


class PointToPoint(Enum):
    """adminPointToPointMAC (6.4.3)."""

    AUTO = "auto"
    FORCE_TRUE = "force-true"
    FORCE_FALSE = "force-false"


class ParameterError(ValueError):
    """A value that is out of range, or several that do not go together.

    fields: the names of the parameters to blame.
    """

    def __init__(self, fields: Sequence[str], message: str) -> None:
        super().__init__(message)
        self.fields = tuple(fields)


def _in_range(field: str, value: float, bounds: tuple[float, float], unit: str = "") -> None:
    if not bounds[0] <= value <= bounds[1]:
        name = field.replace("_", " ").replace("bpdu", "BPDU")
        shown = f"{value:g}" if isinstance(value, float) else str(value)
        raise ParameterError(
            [field], f"{name} {shown} is not between {bounds[0]:g} and {bounds[1]:.10g}{unit}"
        )


def _priority(what: str, value: int, step: int, top: int) -> None:
    if value % step or not 0 <= value <= top:
        raise ParameterError(
            ["priority"],
            f"{what} priority {value} is not a multiple of {step} between 0 and {top}",
        )


@dataclass(frozen=True, slots=True)
class BridgeParams:
    """Parameters of a bridge (17.13, table 17-1, table 17-2). Times in seconds.

    bpdu_guard_recovery: after so many seconds BPDU guard opens a port again by itself; 0 leaves
    that to a person.

    Raises ParameterError, with the values in its text, when one or their relation is refused.
    """

    priority: int = 32768
    hello_time: float = 2.0
    max_age: float = 20.0
    forward_delay: float = 15.0
    transmit_hold_count: int = 6
    force_version: int = RSTP_VERSION
    bpdu_guard_recovery: float = 0.0

    def __post_init__(self) -> None:
        _priority("bridge", self.priority, 4096, 61440)
        _in_range("hello_time", self.hello_time, OWN_HELLO_TIME, " s")
        _in_range("max_age", self.max_age, MAX_AGE_RANGE, " s")
        _in_range("forward_delay", self.forward_delay, FORWARD_DELAY_RANGE, " s")
        _in_range("transmit_hold_count", self.transmit_hold_count, (1, 10))
        _in_range("bpdu_guard_recovery", self.bpdu_guard_recovery, (0, 86400), " s")
        if self.force_version not in (STP_VERSION, RSTP_VERSION):
            raise ParameterError(
                ["force_version"],
                f"force version {self.force_version} is neither 0 (STP) nor 2 (RSTP)",
            )
        upper, lower = 2 * (self.forward_delay - 1), 2 * (self.hello_time + 1)
        if not upper >= self.max_age >= lower:
            raise ParameterError(
                ["forward_delay", "max_age", "hello_time"],
                "2 × (forward delay − 1) ≥ max age ≥ 2 × (hello time + 1) does not hold: "
                f"forward delay {self.forward_delay:g} s gives {upper:g}, "
                f"max age is {self.max_age:g} s, hello time {self.hello_time:g} s gives {lower:g}",
            )

    @property
    def rstp(self) -> bool:
        """rstpVersion (17.20.11)."""
        return self.force_version >= RSTP_VERSION

    @property
    def times(self) -> Times:
        """BridgeTimes (17.18.4)."""
        return Times(0.0, self.max_age, self.forward_delay, self.hello_time)


@dataclass(frozen=True, slots=True)
class PortParams:
    """Parameters of a port (17.14, table 17-2) and its guards.

    enabled: False takes the port out of the protocol: it forwards whenever its link is up.
    path_cost: None lets the link's speed decide (table 17-3).
    restricted_role, restricted_tcn: the port is never root port; it spreads no topology changes.
    bpdu_guard: the port shuts when it hears any BPDU.
    root_guard: as restricted role, but told and counted, and deaf to the sender's proposals.
    loop_guard: a root, alternate or backup port that stops hearing BPDUs blocks and does not become
        a forwarding designated port.
    bpdu_filter: the port neither sends nor hears BPDUs.
    """

    enabled: bool = True
    priority: int = 128
    path_cost: int | None = None
    admin_edge: bool = False
    auto_edge: bool = True
    point_to_point: PointToPoint = PointToPoint.AUTO
    restricted_role: bool = False
    restricted_tcn: bool = False
    bpdu_guard: bool = False
    root_guard: bool = False
    loop_guard: bool = False
    bpdu_filter: bool = False

    def __post_init__(self) -> None:
        _priority("port", self.priority, 16, 240)
        if self.path_cost is not None:
            _in_range("path_cost", self.path_cost, (1, MAX_PATH_COST))
        if self.root_guard and self.loop_guard:
            raise ParameterError(
                ["root_guard", "loop_guard"],
                "root guard and loop guard exclude each other on a port",
            )


@dataclass(frozen=True, slots=True)
class Link:
    """What the switch says of a port's link. A full duplex link is taken for point-to-point."""

    up: bool
    speed_mbps: int = 1000
    full_duplex: bool = True


def path_cost(speed_mbps: int) -> int:
    """The recommended path cost of table 17-3: 20 Tbit/s over the speed, 1 to 200,000,000."""
    if speed_mbps <= 0:
        return MAX_PATH_COST
    return min(max(20_000_000 // speed_mbps, 1), MAX_PATH_COST)
