"""LLDP in the configuration file: the parameters are the core's own."""

from __future__ import annotations

from pydantic import Field

from ofapp.bridge import lldp
from ofapp.config.base import Flag, Model
from ofapp.config.derived import core_values, fields_of


class _Bridge(Model):
    enabled: Flag = Field(
        False,
        description="Tell the neighbours of each port about this bridge, and hear what they say.",
    )


class LldpBridge(fields_of(lldp.BridgeParams), _Bridge):  # type: ignore[misc]
    """LLDP of a bridge."""

    def params(self) -> lldp.BridgeParams | None:
        """The core's value; None where it is off."""
        return lldp.BridgeParams(**core_values(self, lldp.BridgeParams)) if self.enabled else None


class LldpPort(fields_of(lldp.PortParams), Model):  # type: ignore[misc]
    """LLDP of a port."""

    def params(self) -> lldp.PortParams:
        """The core's value."""
        return lldp.PortParams(**core_values(self, lldp.PortParams))
