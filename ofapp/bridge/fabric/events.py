"""Events of a fabric: links between members, and conversations."""

from ofapp.bridge.event import INFO, WARNING, EventKind

CONVERSATIONS = EventKind(
    "fabric.conversations",
    WARNING,
    "A member of a fabric has too many conversations; frames of further ones reach all members.",
    "Nothing, if it ends: unused flows are removed after the ageing time. Otherwise find the host"
    " that scans addresses.",
    "member limit",
)
CONVERSATIONS_CLEARED = EventKind(
    "fabric.conversations.cleared",
    INFO,
    "There is room for conversations of a fabric's member again.",
    fields="member limit",
)

LINK_UP = EventKind(
    "fabric.link.up",
    INFO,
    "A link between members of a fabric is proven, and carries frames.",
    fields="one other failures",
)
LINK_DOWN = EventKind(
    "fabric.link.down",
    WARNING,
    "A link between members of a fabric carries no frames any more.",
    "See the reason: the cable, the ports at both ends, or the member at the other end.",
    "one other reason failures",
)
LINK_FLAPPING = EventKind(
    "fabric.link.flapping",
    WARNING,
    "A link of a fabric fails again and again; it is used later after each failure.",
    "Replace the cable or the transceivers. If BFD reports the failures, lengthen its interval.",
    "one other failures seconds",
)
LINK_WRONG = EventKind(
    "fabric.link.wrong",
    WARNING,
    "A link port of a fabric is not cabled to one link port of another member.",
    "Correct the cable, or `cables` or `links` in the configuration file.",
    "one reason",
)
LINK_WRONG_CLEARED = EventKind(
    "fabric.link.wrong.cleared",
    INFO,
    "A link port of a fabric has no wrong cable any more.",
    fields="one",
)
LINK_MTU = EventKind(
    "fabric.link.mtu",
    WARNING,
    "Full-size frames do not pass a link of a fabric, so it is not used.",
    "Set the MTU of both ports, and of all between them, to at least the one in the event.",
    "one other mtu octets",
)
LINK_MTU_CLEARED = EventKind(
    "fabric.link.mtu.cleared", INFO, "Full-size frames pass a link of a fabric.", fields="one other"
)
LINK_FORGED = EventKind(
    "fabric.link.forged",
    WARNING,
    "A frame that a link port received claims to be a probe of this fabric, and is not.",
    "See what is connected there: it repeats or forges probes.",
    "one frames",
)

MEMBER_REFUSED = EventKind(
    "fabric.member.refused",
    WARNING,
    "A member's switch refuses flows of the fabric. The others forward without it as transit.",
    "See `openflow.refused` for the reason, such as a full table. It is tried again by itself.",
    "member seconds",
)
MEMBER_REFUSED_CLEARED = EventKind(
    "fabric.member.refused.cleared",
    INFO,
    "A member's switch that refused flows of the fabric holds the newest plan.",
    fields="member",
)

NO_NUMBER = EventKind(
    "fabric.port.refused",
    WARNING,
    "A port of a fabric's member is not used: the fabric's bridge has no number left for it.",
    "Remove ports from the members' bridges, or divide the fabric.",
    "name",
)
