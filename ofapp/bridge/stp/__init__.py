"""Spanning tree: IEEE 802.1D-2004 clause 17, RSTP that also speaks STP, one instance a bridge.

    tree          the interface: `SpanningTree`
    params        parameters, checked
    effects       results for the caller
    status        state, for an API
    around        neighbours of its ports, for a map
    bpdu          frames
    vectors       identifiers and priority vectors
    port, core    the variables of a port and of the bridge (17.19, 17.18)
    receive       port receive, protocol migration, bridge detection (17.23, 17.24, 17.25)
    transmit      port transmit (17.26)
    information   port information (17.27)
    own           the trees of one controller: checks of each other's information
    roles         port role selection (17.28)
    transition    port role transition, port state transition (17.29, 17.30)
    topology      topology change (17.31)
    guards        BPDU guard, loop guard, own BPDUs
    absence       resuming after the controller was disconnected
    neighbour     which bridge is behind a port, and which agreement counts

Port timers (17.22) are instants, see `port`.
"""

from ofapp.bridge.effects.content import PortState, SetPortState, TopologyChanged
from ofapp.bridge.stp.around import Around, PortAround
from ofapp.bridge.stp.effects import Effect, FlushPort, SendBpdu
from ofapp.bridge.stp.events import STP_BPDU_RECEIVED, STP_BPDU_SENT
from ofapp.bridge.stp.own import OwnTrees
from ofapp.bridge.stp.params import (
    OWN_HELLO_TIME,
    BridgeParams,
    Link,
    ParameterError,
    PointToPoint,
    PortParams,
    path_cost,
    refusal,
)
from ofapp.bridge.stp.port import Guard, PortRole
from ofapp.bridge.stp.status import BridgeStatus, PortStatus
from ofapp.bridge.stp.tree import NewPort, SpanningTree

TRACE = (STP_BPDU_SENT, STP_BPDU_RECEIVED)
"""The kinds of events that `SpanningTree.trace` switches on."""
