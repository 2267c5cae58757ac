"""The system group (RFC 3418) in the context of a bridge: management stations begin with it.

Without a context snmpd has that of the host.
"""

from __future__ import annotations

import time

import ofapp
from ofapp.snmp.answers import Answers
from ofapp.snmp.objects import Row, ordered, scalars
from ofapp.snmp.values import NOWHERE, Oid, integer, octets, ticks

SYSTEM: Oid = (1, 3, 6, 1, 2, 1, 1)
_LAYER_2 = 2  # of sysServices: 2 to the power of the layer less one
_STARTED = time.monotonic()


def system(answers: Answers) -> list[Row]:
    """The scalars; sysUpTime is that of the subagent, and sysObjectID 0.0, as there is none."""
    bridge = answers.bridge()
    values = [
        (1, octets(f"ofapp {ofapp.__version__}, bridge {bridge['datapath_id']} on Open vSwitch")),
        (2, NOWHERE),
        (3, ticks(time.monotonic() - _STARTED)),
        (4, octets("")),
        (5, octets(bridge["name"])),
        (6, octets("")),
        (7, integer(_LAYER_2)),
    ]
    return ordered(scalars(SYSTEM, values))
