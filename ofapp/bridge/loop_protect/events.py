"""Events of loop protection."""

from ofapp.bridge.event import ERROR, INFO, SET, EventKind

LOOP_PROTECT_SET = EventKind("loop_protect.set", INFO, SET, fields="...")
LOOP_PROTECT_PORT_SET = EventKind("loop_protect.port.set", INFO, SET, fields="...")
LOOP_HELD = EventKind(
    "loop_protect.held",
    ERROR,
    "An edge port was closed: a frame that left by it, or by the other port, came back.",
    "Find the loop behind the two ports: a cable between two sockets, or a bridge without STP.",
    "other vlan seconds times",
)
LOOP_FREED = EventKind("loop_protect.freed", INFO, "A held port opens again.", fields="reason")
