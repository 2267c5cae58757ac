"""The sections of the file that requests can change.

A section is declared once, in one line: from that come its changes for bridges and for ports, their
events and their lines in the audit trail.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ofapp.bridge.event import EventKind
from ofapp.bridge.lldp.events import LLDP_PORT_SET, LLDP_SET
from ofapp.bridge.multicast.events import MCAST_PORT_SET, MCAST_SET
from ofapp.bridge.stp.events import STP_PORT_SET, STP_SET
from ofapp.config.base import Model
from ofapp.config.bridge import Bridge as Settings


class Section(NamedTuple):
    """A section of a protocol, which bridges and ports have.

    name: in the file; subject: in words.
    bridge_set, port_set: kinds of the events of its changes.
    on_local: whether the LOCAL port has it, too.
    read, write: for a bridge's section that is not the attribute of that name.
    """

    name: str
    subject: str
    bridge_set: EventKind
    port_set: EventKind
    on_local: bool = False
    read: Callable[[Settings], Model] | None = None
    write: Callable[[Settings, Any], Settings] | None = None

    def of(self, bridge: Settings) -> Model:
        """The section of a bridge."""
        own: Model = self.read(bridge) if self.read else getattr(bridge, self.name)
        return own

    def put(self, bridge: Settings, new: Model) -> Settings:
        """A copy of the bridge's settings with another section."""
        if self.write is not None:
            return self.write(bridge, new)
        return bridge.model_copy(update={self.name: new})


STP = Section("stp", "spanning tree", STP_SET, STP_PORT_SET)
MULTICAST = Section(
    *("multicast", "multicast", MCAST_SET, MCAST_PORT_SET),
    on_local=True,
    read=Settings.snooping,
    write=Settings.with_snooping,
)
LLDP = Section("lldp", "LLDP", LLDP_SET, LLDP_PORT_SET)
