"""Spanning tree in the configuration file, under the standard's names (802.1D-2004 17.13, 17.14).

The parameters are the core's own: its dataclasses check every value and their relation, and their
refusal is what the user reads.
"""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from ofapp.bridge import stp
from ofapp.config.base import Flag, Model
from ofapp.config.derived import core_values, fields_of


class _Checked(Model):
    """A model whose values must make a core value."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        self.check()
        return self


class _Bridge(_Checked):
    enabled: Flag = Field(True, description="Run spanning tree.")


class StpBridge(fields_of(stp.BridgeParams, stp.refusal), _Bridge):  # type: ignore[misc]
    """Spanning tree of a bridge; times in seconds."""

    def check(self) -> None:
        """Make the core's value, off or on; stp.ParameterError."""
        stp.BridgeParams(**core_values(self, stp.BridgeParams))

    def params(self) -> stp.BridgeParams | None:
        """The core's value; None when spanning tree is off."""
        values = core_values(self, stp.BridgeParams)
        return stp.BridgeParams(**values) if self.enabled else None


class StpPort(fields_of(stp.PortParams, stp.refusal), _Checked):  # type: ignore[misc]
    """Spanning tree of a port."""

    def check(self) -> None:
        """Make the core's value; stp.ParameterError."""
        self.params()

    def params(self) -> stp.PortParams:
        """The core's value."""
        return stp.PortParams(**core_values(self, stp.PortParams))
