"""Which relay options a bridge inserts and removes, for both versions of DHCP."""

from collections import Counter
from dataclasses import dataclass, field

from ofapp.bridge.ports.port import Port

_LONGEST_NAME = 128  # octets; an option has room for 255 with its other fields


@dataclass(slots=True)
class Relaying:
    """bridge: datapath id in hexadecimal; mode: `params.BridgeParams.relay_options`.

    counters: counters of the bridge's `DhcpSnooping`.
    """

    bridge: bytes
    mode: str = "remove"
    counters: Counter[str] = field(default_factory=Counter)

    def circuit(self, port: Port) -> bytes:
        """The agent circuit ID of option 82: the port's name."""
        return port.name.encode()[:_LONGEST_NAME]

    def interface(self, port: Port) -> bytes:
        """The Interface-ID of DHCPv6: bridge and port, as there is no remote ID beside it."""
        return self.bridge + b":" + self.circuit(port)

    def is_own(self, interface: bytes) -> bool:
        """Whether this bridge has made an Interface-ID."""
        return interface.startswith(self.bridge + b":")
