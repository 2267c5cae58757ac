"""Parameters of bridges and ports: the standard's names, ranges and defaults (17.13, 17.14).

Values are frozen and checked when they are created, so the state machines never get a value that is
out of range, and the API and the configuration file report the same `ParameterError`.  Each is
declared only here, see `bridge.parameter`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Final, Literal

from annotated_types import Interval, MultipleOf, Unit
from typing_extensions import Doc

from ofapp.bridge.params.parameter import Parameter, Unset, refusals
from ofapp.bridge.stp.vectors import FORWARD_DELAY_RANGE, MAX_AGE_RANGE, Times

MIGRATE_TIME = 3.0
"""Seconds a port stays with one protocol version (table 17-1)."""

OWN_HELLO_TIME = (1.0, 2.0)
"""Hello times that this bridge may send (table 17-1); 802.1D-1998 allows up to ten seconds."""

RSTP_VERSION: Final = 2

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


def refusal(parameter: Parameter, value: object) -> str | None:
    """Describe what is wrong with the value of a parameter of this module; None if it is valid."""
    if parameter.takes(value):
        return None
    name = parameter.name.replace("_", " ").replace("bpdu", "BPDU")
    shown = f"{value:g}" if isinstance(value, float) else str(value)
    bounds = parameter.interval
    if parameter.step is not None:
        what = "bridge" if parameter.owner is BridgeParams else "port"
        return (
            f"{what} {name} {shown} is not a multiple of {parameter.step} "
            f"between {bounds.ge} and {bounds.le}"
        )
    if parameter.name == "force_version":
        return f"force version {shown} is neither 0 (STP) nor 2 (RSTP)"
    if bounds.ge is None:
        return f"{name} {shown}: it must be {parameter.wanted}"
    unit = "" if parameter.unit is None else f" {parameter.unit}"
    return f"{name} {shown} is not between {bounds.ge:g} and {bounds.le:.10g}{unit}"


def _check(params: object) -> None:
    for parameter, value in refusals(params):
        raise ParameterError([parameter.name], str(refusal(parameter, value)))


@dataclass(frozen=True, slots=True)
class BridgeParams:
    """Parameters of a bridge (17.13, table 17-1, table 17-2). Times in seconds.

    Raises ParameterError, with the values in its text, when one or their relation is refused.
    """

    priority: Annotated[
        int,
        Interval(ge=0, le=61440),
        MultipleOf(4096),
        Doc("The bridge with the lowest is root: 0 to 61440 in steps of 4096."),
    ] = 32768
    hello_time: Annotated[
        float,
        Interval(ge=OWN_HELLO_TIME[0], le=OWN_HELLO_TIME[1]),
        Unit("s"),
        Doc("Seconds between BPDUs: 1 to 2."),
    ] = 2.0
    max_age: Annotated[
        float,
        Interval(ge=MAX_AGE_RANGE[0], le=MAX_AGE_RANGE[1]),
        Unit("s"),
        Doc("Seconds until information from the root expires: 6 to 40."),
    ] = 20.0
    forward_delay: Annotated[
        float,
        Interval(ge=FORWARD_DELAY_RANGE[0], le=FORWARD_DELAY_RANGE[1]),
        Unit("s"),
        Doc("Seconds that a port listens, and then learns, before it forwards: 4 to 30."),
    ] = 15.0
    transmit_hold_count: Annotated[
        int, Interval(ge=1, le=10), Doc("Most BPDUs that a port sends in a second: 1 to 10.")
    ] = 6
    force_version: Annotated[Literal[0, 2], Doc("2 is RSTP, 0 is STP.")] = RSTP_VERSION
    bpdu_guard_recovery: Annotated[
        float,
        Interval(ge=0, le=86400),
        Unit("s"),
        Doc(
            "Seconds after which BPDU guard opens a port again by itself; 0 leaves that to a"
            " person."
        ),
    ] = 300.0

    def __post_init__(self) -> None:
        _check(self)
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

    restricted_role differs from root_guard in that the latter is counted, emits events, and ignores
    the sender's proposals.
    """

    enabled: Annotated[
        bool,
        Doc("Run spanning tree; without it the port forwards, and BPDUs pass as other multicast."),
    ] = True
    priority: Annotated[
        int,
        Interval(ge=0, le=240),
        MultipleOf(16),
        Doc("Of two ports to one bridge the lower is used: 0 to 240 in steps of 16."),
    ] = 128
    path_cost: Annotated[
        int | None,
        Interval(ge=1, le=MAX_PATH_COST),
        Unset("auto"),
        Doc("Cost of the path through this port, 1 to 200000000; by default from the link speed."),
    ] = None
    admin_edge: Annotated[
        bool, Doc("Only hosts are connected: forward 50 ms after the link comes up.")
    ] = False
    auto_edge: Annotated[bool, Doc("Detect whether only hosts are connected.")] = True
    point_to_point: Annotated[
        PointToPoint, Doc("At most one bridge is connected; auto: if the link is full duplex.")
    ] = PointToPoint.AUTO
    restricted_role: Annotated[bool, Doc("Never be root port.")] = False
    restricted_tcn: Annotated[bool, Doc("Propagate no topology change from this port.")] = False
    bpdu_guard: Annotated[bool, Doc("Shut the port when a BPDU comes in.")] = False
    root_guard: Annotated[bool, Doc("Block while superior BPDUs come in.")] = False
    loop_guard: Annotated[
        bool, Doc("Block when a root, alternate or backup port gets no BPDUs any more.")
    ] = False
    bpdu_filter: Annotated[bool, Doc("Neither send nor accept BPDUs.")] = False

    def __post_init__(self) -> None:
        _check(self)
        if self.root_guard and self.loop_guard:
            raise ParameterError(
                ["root_guard", "loop_guard"],
                "root guard and loop guard exclude each other on a port",
            )


@dataclass(frozen=True, slots=True)
class Link:
    """A port's link as the switch reports it. A full duplex link is taken for point-to-point."""

    up: bool
    speed_mbps: int = 1000
    full_duplex: bool = True


def path_cost(speed_mbps: int) -> int:
    """The recommended path cost of table 17-3: 20 Tbit/s over the speed, 1 to 200,000,000."""
    if speed_mbps <= 0:
        return MAX_PATH_COST
    return min(max(20_000_000 // speed_mbps, 1), MAX_PATH_COST)
