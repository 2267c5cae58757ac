"""The name of a switch, for a configuration that identifies bridges by name."""

from __future__ import annotations

from ofapp.bridge.ports.port import LOCAL_PORT
from ofapp.openflow.wire.channel import Channel
from ofapp.openflow.wire.messages.portdesc import ask_ports


def local_name(channel: Channel) -> str | None:
    """The name of the LOCAL port, which is the bridge's; None without one; RequestError."""
    return next((port.name for port in ask_ports(channel) if port.number == LOCAL_PORT), None)
