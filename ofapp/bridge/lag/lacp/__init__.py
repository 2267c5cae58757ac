"""LACP: IEEE 802.1AX clause 6, one actor an aggregation.

    actor         the interface: `Actor`
    effects       results of its methods
    status        the state, for an API
    reasons       why a member is not in use
    slow          frames: LACPDUs, markers, and others that are refused
    information   information of one end of a link; keys
    port, core    the variables of a member and of the aggregation (6.4.5 to 6.4.8)
    receive       Receive machine (6.4.12)
    periodic      Periodic Transmission machine (6.4.13)
    selection     Selection Logic (6.4.14)
    mux           Mux machine (6.4.15)
    transmit      Transmit machine (6.4.16), Marker Responder (6.5)
    churn         Churn Detection machines (6.4.17)
    absence       resuming after the controller was disconnected, and for how long it may be
    dump          to plain data and back

The parameters are `lag.params.LagParams`.  Clauses of 6.4 are by 802.1AX-2014, whose machines
neighbours have; 802.1AX-2020 has them two numbers earlier (Mux is 6.4.13 there).  LACPDUs are sent
in version 1, and later versions are read as such.  Across two switches: MULTI_CHASSIS.md.
"""

from ofapp.bridge.lag.lacp.actor import MAX_PORT, Actor
from ofapp.bridge.lag.lacp.dump import OtherIdentityError, dump, revive
from ofapp.bridge.lag.lacp.effects import Effect, SendPdu, SetMember
from ofapp.bridge.lag.lacp.information import MAX_ADMIN_KEY, Information, State, System
from ofapp.bridge.lag.lacp.port import Mux, Receive, Selected
from ofapp.bridge.lag.lacp.status import AggregationStatus, MemberState, MemberStatus
