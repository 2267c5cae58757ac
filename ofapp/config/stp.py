"""Spanning tree in the configuration file, under the standard's names (802.1D-2004 17.13, 17.14).

Ranges are the core's own: its parameter classes check every value and their relation, and their
refusal is what the user reads.  The bounds given here are for the API's document only; a test
holds them against the core's.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, Self

from pydantic import Field, StrictBool, StrictFloat, StrictInt, model_validator

from ofapp.bridge import stp
from ofapp.config.base import Model


def _bounds(minimum: int, maximum: int, **more: int) -> dict[str, Any]:
    return {"minimum": minimum, "maximum": maximum, **more}


class _Checked(Model):
    """A model whose values must make a core value."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        self.check()
        return self

    @abstractmethod
    def check(self) -> None:
        """Make the core's value; stp.ParameterError."""

    def core_values(self) -> dict[str, Any]:
        """The core's arguments."""
        return self.model_dump(exclude={"enabled"})

    def changed(self, values: Mapping[str, Any]) -> Self:
        """With `values`, of the right types, in the place of its own; stp.ParameterError."""
        new = self.model_copy(update=values)
        new.check()
        return new


class StpBridge(_Checked):
    """Spanning tree of a bridge; times in seconds."""

    enabled: StrictBool = True
    priority: StrictInt = Field(
        32768,
        description="0 to 61440 in steps of 4096; the lowest is root",
        json_schema_extra=_bounds(0, 61440, multipleOf=4096),
    )
    hello_time: StrictFloat = Field(2.0, description="1 to 2", json_schema_extra=_bounds(1, 2))
    max_age: StrictFloat = Field(20.0, description="6 to 40", json_schema_extra=_bounds(6, 40))
    forward_delay: StrictFloat = Field(
        15.0, description="4 to 30", json_schema_extra=_bounds(4, 30)
    )
    transmit_hold_count: StrictInt = Field(
        6, description="1 to 10 BPDUs a second", json_schema_extra=_bounds(1, 10)
    )
    force_version: StrictInt = Field(
        2, description="2 = RSTP, 0 = STP", json_schema_extra={"enum": [0, 2]}
    )
    bpdu_guard_recovery: StrictFloat = Field(
        300.0,
        description="seconds until BPDU guard opens a port again, 0 = by hand only",
        json_schema_extra=_bounds(0, 86400),
    )

    def check(self) -> None:
        """Make the core's value, off or on; stp.ParameterError."""
        stp.BridgeParams(**self.core_values())

    def params(self) -> stp.BridgeParams | None:
        """The core's value; None when spanning tree is off."""
        return stp.BridgeParams(**self.core_values()) if self.enabled else None


class StpPort(_Checked):
    """Spanning tree of a port."""

    enabled: StrictBool = Field(True, description="False: BPDUs pass as ordinary multicast")
    priority: StrictInt = Field(
        128,
        description="0 to 240 in steps of 16",
        json_schema_extra=_bounds(0, 240, multipleOf=16),
    )
    path_cost: StrictInt | None = Field(
        None,
        description="1 to 200000000; without it the speed's",
        json_schema_extra=_bounds(1, 200_000_000),
    )
    admin_edge: StrictBool = Field(
        False, description="only hosts here: forward at once when the link comes up"
    )
    auto_edge: StrictBool = Field(True, description="find out whether only hosts are here")
    point_to_point: stp.PointToPoint = Field(
        stp.PointToPoint.AUTO, description="at most one bridge is here; auto = on full duplex"
    )
    restricted_role: StrictBool = Field(False, description="never be root port")
    restricted_tcn: StrictBool = Field(False, description="spread no topology change from here")
    bpdu_guard: StrictBool = Field(False, description="shut the port when a BPDU comes in")
    root_guard: StrictBool = Field(False, description="block while a better root is told here")
    loop_guard: StrictBool = Field(
        False, description="block when BPDUs cease on a root or spare port"
    )
    bpdu_filter: StrictBool = Field(False, description="neither send nor hear BPDUs")

    def check(self) -> None:
        """Make the core's value; stp.ParameterError."""
        self.params()

    def params(self) -> stp.PortParams:
        """The core's value."""
        return stp.PortParams(enabled=self.enabled, **self.core_values())
