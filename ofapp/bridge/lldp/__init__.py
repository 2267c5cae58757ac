"""LLDP: IEEE 802.1AB-2016, one agent a port, to the nearest bridge (7.1, table 7-1).

    params        what can be set, checked
    information   what one side says of itself
    tlv           TLVs: the blocks of which an LLDPDU consists (8.4, 8.5, annex D)
    pdu           frames: made, and read as 9.2.7.7 wants it
    transmit      when an agent sends (9.2.8, 9.2.10)
    receive       the neighbours of a port, and how long each is remembered (9.2.9)
    hearing       whether the neighbours of a port hear it
    agent         a port's agent, from these
    agents        the interface: all agents of a bridge
    own           how the bridges of one controller distinguish each other's frames from copies
    status        the state, for an API

An LLDPDU shows every host behind a port a name, an address and VLANs. LLDP is off by default, so
that virtual machines, which are behind most ports of a virtual switch, do not learn these. The map
of the network is drawn from spanning tree without it.
"""

from ofapp.bridge.lldp.agents import Agents, AgentStatus, NeighbourStatus
from ofapp.bridge.lldp.information import Information, Local, System
from ofapp.bridge.lldp.own import OwnAgents, Relative, Sender
from ofapp.bridge.lldp.params import BridgeParams, PortParams
