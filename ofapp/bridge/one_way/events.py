"""Events of one-way links."""

from ofapp.bridge.event import ERROR, INFO, WARNING, EventKind

ONE_WAY_HELD = EventKind(
    "one_way.held",
    ERROR,
    "A port was closed: its link passes frames in one direction alone.",
    "Replace the cable or the transceivers between the two ports.",
    "neighbour found",
)
ONE_WAY_FREED = EventKind("one_way.freed", INFO, "A held port opens again.", fields="reason")
ONE_WAY_SUSPECTED = EventKind(
    "one_way.suspected",
    WARNING,
    "A neighbour does not hear a port, which stays open.",
    "Look at the cable; set `one_way: hold` at both ends to have such a port closed.",
    "neighbour",
)
ONE_WAY_SUSPECTED_CLEARED = EventKind(
    "one_way.suspected.cleared", INFO, "The suspicion of a one-way link has ended.", fields="reason"
)
