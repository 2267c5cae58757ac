"""Parameters of beacons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Interval
from typing_extensions import Doc


@dataclass(frozen=True, slots=True)
class BeaconParams:
    """Parameters of a bridge."""

    limit: Annotated[
        int, Interval(ge=1, le=1000), Doc("Beacons from a port until it is closed for them.")
    ] = 100
