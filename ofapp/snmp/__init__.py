"""SNMP, read only: an AgentX subagent (RFC 2741) beside snmpd, fed by the controller's REST API.

    values      what an object may be
    pdu         AgentX on the wire
    objects     objects in their order, and which comes next
    answers     what the controller has said, kept for a while
    bridge_mib  BRIDGE-MIB (RFC 4188) and RSTP-MIB (RFC 4318)
    q_bridge    Q-BRIDGE-MIB (RFC 4363)
    mibs        all of a bridge, with what these refer to of IF-MIB (RFC 2863)
    subagent    the process: a session with snmpd, a context for each bridge

It is a separate process, so that a walk through a hundred thousand objects is not in the
way of a bridge. AgentX is spoken here and not by a library: those for Python (pyagentx of 2015,
pyagentx3 and netsnmpagent of some years ago) are not kept, and know no contexts.
"""
