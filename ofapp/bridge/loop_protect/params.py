"""Parameters of loop protection."""

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Interval, Unit
from typing_extensions import Doc

_Hold = Interval(ge=1, le=86_400)


@dataclass(frozen=True, slots=True)
class BridgeParams:
    """Parameters of a bridge."""

    interval: Annotated[
        float,
        Interval(ge=0.2, le=10),
        Unit("s"),
        Doc("Seconds between two frames of an edge port, in each of its VLANs."),
    ] = 1.0
    hold: Annotated[
        int,
        _Hold,
        Unit("s"),
        Doc(
            "Seconds without a returned frame until a held port opens; twice as long each time that"
            " the port is held again."
        ),
    ] = 30
    longest_hold: Annotated[
        int,
        _Hold,
        Unit("s"),
        Doc(
            "Most seconds until a held port opens; a port that was open as long starts with `hold`"
            " again."
        ),
    ] = 3600


@dataclass(frozen=True, slots=True)
class PortParams:
    """Parameters of a port where the bridge has loop protection."""

    enabled: Annotated[
        bool, Doc("Send frames here while it is an edge port, and hold it if they come back.")
    ] = True
