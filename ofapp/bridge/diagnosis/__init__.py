"""Why a host has no network: one sentence, and what to do about it.

A host is asked for by the name of its port, by its MAC address, or by an IP address.  Reasons are
tried from the cable upward: port, spanning tree, VLANs, learning, first-hop security, access lists.
The first one that applies is the answer: what is behind a closed port cannot be judged.
"""

from ofapp.bridge.diagnosis.reason import Reason
from ofapp.bridge.diagnosis.reasons import AclDrops, diagnose
from ofapp.bridge.diagnosis.subject import Subject, subjects
