"""LLDP: IEEE 802.1AB-2016, one agent a port, to the nearest bridge (7.1, table 7-1).

    params        what can be set, checked
    information   what one side says of itself
    tlv           TLVs: the blocks of which an LLDPDU consists (8.4, 8.5, annex D)
    pdu           frames: made, and read as 9.2.7.7 wants it
    transmit      when an agent sends (9.2.8, 9.2.10)
    receive       who is heard on a port, and for how long (9.2.9)
    agent         a port's agent, from both
    agents        the face: all agents of a bridge
    own           how the bridges of one controller know each other's frames from copies
    status        how it stands, for an API

What is sent is told to everybody behind a port: a name, an address, VLANs. Most ports of a virtual
switch have guests behind them, whom that is nobody's business; the map of the network is drawn
from spanning tree without it. So LLDP is off unless somebody turns it on.
"""

from ofapp.bridge.lldp.agents import Agents
from ofapp.bridge.lldp.information import Information, Local, System
from ofapp.bridge.lldp.own import OwnAgents, Relative, Sender
from ofapp.bridge.lldp.params import BridgeParams, PortParams
from ofapp.bridge.lldp.status import AgentStatus, NeighbourStatus

__all__ = [
    "AgentStatus",
    "Agents",
    "BridgeParams",
    "Information",
    "Local",
    "NeighbourStatus",
    "OwnAgents",
    "PortParams",
    "Relative",
    "Sender",
    "System",
]
