"""The kinds of flow that a table may hold."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum


class TableId(IntEnum):
    """Tables that other modules name.  Numbers are apart so that later tables fit between."""

    ADMISSION = 0
    ACCESS = 5
    VLAN = 10
    MARK = 15
    STORM = 20
    TYPES = 21
    CLAIMS = 22
    TRAPS = 23
    AWAY = 24
    GUARD = 26
    REFUSED = 27
    CHECKED = 28
    ACL = 30
    TRACK = 31
    STATES = 32
    COMMIT = 33
    NESTED = 35
    SOURCE = 40
    OWN = 45
    ANSWER = 50
    VOUCH = 52
    DESTINATION = 60
    MULTICAST = 70
    SNOOP = 80
    UNKNOWN = 82
    FLOOD = 85
    EGRESS = 90
    RATE = 92
    LAG = 95
    ENTER = 98
    OUTER = 100
    FABRIC = 102
    HOP = 104
    LEAVE = 106
    OWNER = 200


ONWARD = -1
"""In a rule's `goto`: the next table that a port's frames pass on their way to the source table."""


class Register(IntEnum):
    """Registers of Open vSwitch that hold a frame's state between tables.

    EGRESS: the port that it is about to leave by.  ISOLATED: 1 from an isolated port, and from a
    port of a community, whose number stands above that bit.  FLOODED: 1 on its way out of a port
    that it floods to, 2 once it has passed that port's rate.  ACL: the access list of the port it
    came from, 0 for none.  SAMPLED: 1 once the controller has a copy for its sender's IP address,
    or a mirror has its copy of a frame to 01:80:c2:00:00:0x.

    First-hop security uses the others.  CHECKS: what is checked of the port it came from.
    TRAP: the trap that its kind of frames has, 0 for none.  ADVERTISES: 1 for an advertisement
    whose source is to be checked yet.  ADDRESS: the IP address that it claims, in four registers;
    an IPv4 address is in the last of them, IPV4.  SENDER: the MAC address that it claims, in the
    lower 48 bits of two registers; above it the kind of the IP address: 0 for none, 4 or 6.

    Behind these checks some of the registers are used again.  ZONE: the connection tracking
    zone of a frame whose list has rules with states.  ASKED: 1 for an ARP request whose target has
    been looked up.  HOLDER: the port of the target; its MAC address is in SENDER.

    A fabric uses two.  MEMBER: the member that a frame is for, or, with the bit `TREE`, the one
    where its tree begins; of a frame that came by a tree, the member where it entered.  Above these
    bits (`ORIGIN`): the aggregation it came from, if that has ports at several members.  WAY: what
    spreads frames over ways, then the port of the next hop.
    """

    EGRESS = 0
    ISOLATED = 1
    FLOODED = 2
    ACL = 3
    SAMPLED = 4
    CHECKS = 5
    TRAP = 6
    ADVERTISES = 7
    ASKED = 7
    ADDRESS = 8
    HOLDER = 9
    ZONE = 8
    IPV4 = 11
    SENDER = 12
    SENDER_LOWER = 13
    MEMBER = 14
    WAY = 15


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of flow.

    match: the fields it matches, all of them and no other.
    goto: the tables that it may lead to, None among them when it may be the last.
    actions: the kinds of action it may apply.
    drops: whether frames are lost by a flow that leads nowhere; None: if it may apply no action.
    lowest: its flows have priorities from this on, None for `priority` alone; optional: fields that
    they may match besides.  Only what users write in their own order needs these.
    """

    name: str
    priority: int
    match: frozenset[str]
    feature: int
    about: str
    goto: tuple[int | None, ...] = (None,)
    actions: frozenset[str] = frozenset()
    lowest: int | None = None
    optional: frozenset[str] = frozenset()
    drops: bool | None = None

    @property
    def may_drop(self) -> bool:
        """Whether frames may be lost by its flows."""
        return None in self.goto and (not self.actions if self.drops is None else self.drops)

    def has(self, priority: int) -> bool:
        """Whether flows of this kind may have a priority."""
        return (self.priority if self.lowest is None else self.lowest) <= priority <= self.priority

    def allows(self, priority: int, feature: int, fields: frozenset[str]) -> bool:
        """Whether a flow with this priority, feature and matched fields is of this kind."""
        return (
            self.has(priority)
            and feature == self.feature
            and self.match <= fields <= self.match | self.optional
        )


def rule(
    name: str,
    priority: int,
    match: str,
    feature: int,
    about: str,
    goto: int | Iterable[int | None] | None = None,
    actions: str = "",
    lowest: int | None = None,
    optional: Iterable[str] = (),
    drops: bool | None = None,
) -> Rule:
    """A rule, from fields and kinds of actions in one text each; `goto` one table or several."""
    tables = (goto,) if goto is None or isinstance(goto, int) else tuple(goto)
    return Rule(
        name,
        priority,
        frozenset(match.split()),
        feature,
        about,
        tables,
        frozenset(actions.split()),
        lowest,
        frozenset(optional),
        drops,
    )
