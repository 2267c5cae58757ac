"""The bridge of a switch, as the code sees it that programs the switch.

It is a `Bridge`, or a member's view of a fabric's bridge.  mypy admits what both have, and a view
has nothing else.  All ports are numbers of that switch.
"""

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.fabric.member.addresses import MemberAddresses
from ofapp.bridge.fabric.member.member import MemberBridge
from ofapp.bridge.fdb.learned_addresses import LearnedAddresses

SwitchBridge = Bridge | MemberBridge
SwitchAddresses = LearnedAddresses | MemberAddresses
