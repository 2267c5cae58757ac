"""Kinds of problems that the controller itself knows, beside those of the bridge's protocols."""

from __future__ import annotations

from ofapp.bridge.event import ERROR, INFO, WARNING
from ofapp.bridge.problem import ProblemKind

SETTLING = 10.0
"""Seconds that a switch has for its flows, and a configuration for its bridges and ports."""
BLINK = 0.4
"""Seconds that a port may be without a carrier."""
SILENCE = 35.0
"""Seconds that two ports may take to see each other: LLDP sends every 30 s."""
START = 60.0
"""Seconds after which all switches should be back after a restart."""

DISCONNECTED = ProblemKind(
    "switch.disconnected",
    ERROR,
    "A switch is not connected: it forwards what it knows, and changes there are not repaired.",
    "See on its host whether Open vSwitch runs and reaches the controller. If the switch was"
    " removed for good, the command forgets it.",
    "The switch connects, or its bridge is forgotten.",
    "ofapp bridge forget {bridge}",
    5.0,
)
REFUSED = ProblemKind(
    "switch.refuses",
    ERROR,
    "A switch refuses flows, groups or meters: a part of what is configured has no effect there.",
    "See the reason, and whether the switch supports what is configured.",
    "The switch is compared with its bridge again and refuses nothing.",
    "ofapp bridge show {bridge}",
)
FULL = ProblemKind(
    "switch.full",
    ERROR,
    "A switch has no room for flows, groups or meters: new hosts are flooded, or a part of what is"
    " configured has no effect there.",
    "Let the switch have more flows (`ovs-vsctl list Flow_Table` on its host shows limits), or"
    " learn fewer addresses (`fdb_max_learned`).",
    "The switch has taken all, and for a minute no new host was refused.",
    "ofapp bridge show {bridge}",
)
FOREIGN = ProblemKind(
    "switch.foreign-flows",
    WARNING,
    "A program other than ofapp has set flows in a switch: they may take frames past the bridge's"
    " rules, and ofapp leaves them alone.",
    "See the flows by `ovs-ofctl -O OpenFlow13 dump-flows BRIDGE cookie=0/-1` on the switch's host,"
    " and which program set them; the command, typed there, deletes them.",
    "The switch has no flow without a cookie when it is compared with its bridge again.",
    "ovs-ofctl -O OpenFlow13 del-flows {bridge} cookie=0/-1",
)
OUT_OF_SYNC = ProblemKind(
    "switch.out-of-sync",
    WARNING,
    "A connected switch does not hold what its bridge wants.",
    "If it stays so, see the controller's log.",
    "The switch has all flows, groups and meters.",
    "ofapp events --kind openflow",
    SETTLING,
)
STANDBY = ProblemKind(
    "switch.standby",
    WARNING,
    "Another controller is master of a switch, and this controller changes nothing there.",
    "Let one controller have the switch, or make both a cluster.",
    "This controller is master, or the switch is not connected to it.",
    "ofapp bridge show {bridge}",
    SETTLING,
)
SHARED_ZONES = ProblemKind(
    "connections.zones",
    WARNING,
    "Two bridges of one Open vSwitch track connections in the same zones: what one bridge allows is"
    " established at the other.",
    "Give one of them another `ct_zone_block` (1 to 15) in the configuration file; the command"
    " applies it.",
    "The bridges have different zones, or one has no access list with states.",
    "ofapp config reload",
    SETTLING,
)
CABLE = ProblemKind(
    "cable.missing",
    ERROR,
    "A cable between two switches that was there is gone: redundancy or a part of the network is"
    " lost.",
    "See the cable and both of its ports. If it was removed for good, the command forgets it.",
    "Both ports have a carrier, an end has another cable, or the cable is forgotten.",
    "ofapp topology forget {bridge} {port}",
    BLINK,
)
SILENT = ProblemKind(
    "cable.silent",
    ERROR,
    "The ports at both ends of a cable are up, and do not see each other: the link is one-way, or"
    " something between them drops frames.",
    "See transceivers and media converters, and whether LLDP or spanning tree is still enabled at"
    " both ends. If the cable was removed for good, the command forgets it.",
    "Both ends see each other, an end has another cable, or the cable is forgotten.",
    "ofapp topology forget {bridge} {port}",
    SILENCE,
)
FABRIC_MEMBER = ProblemKind(
    "fabric.member",
    ERROR,
    "A member of a fabric is disconnected or refuses flows: nothing repairs what changes there.",
    "See on its host: `ovs-vsctl show`, and `ofapp doctor`.",
    "The member is connected and holds the plan.",
    "ofapp fabric show {fabric}",
    5.0,
)
FABRIC_LINK = ProblemKind(
    "fabric.link",
    ERROR,
    "A link of a fabric carries no frames.",
    "See the reason, the cable, and the MTU of both ends.",
    "The link carries frames, or its ports are no links any more.",
    "ofapp fabric show {fabric}",
    SETTLING,
)
FABRIC_PAUSED = ProblemKind(
    "fabric.paused",
    WARNING,
    "Spanning tree and other protocols of a fabric's bridge are paused.",
    "See which member is not connected.",
    "All members that the protocols need are connected.",
    "ofapp fabric show {fabric}",
    SETTLING,
)
FILE_INVALID = ProblemKind(
    "config.invalid",
    ERROR,
    "The configuration file on disk is invalid: the last valid one stays in force.",
    "The command has every mistake. A restart would fail with this file.",
    "The file is valid and was read again.",
    "ofapp config check {file}",
)
FILE_INCOMPLETE = ProblemKind(
    "config.incomplete",
    ERROR,
    "The configuration file on disk lost most of its content, or its end mark: it is not applied.",
    "Restore the file. If the loss is meant, the command applies the file.",
    "The file was read again.",
    "ofapp config reload --force",
)
FILE_NEWER = ProblemKind(
    "config.not-applied",
    WARNING,
    "The configuration file on disk is newer than what is in force.",
    "See what would change by `ofapp config reload --dry-run`; the command applies the file.",
    "The file was read again, or is as it was.",
    "ofapp config reload",
    3.0,
)
ROLLED_BACK = ProblemKind(
    "config.rolled-back",
    WARNING,
    "A former version of the configuration is in force in place of the file on disk.",
    "The command shows how the file differs. Correct the file and apply it by `ofapp config"
    " reload`; `ofapp config show` with the number of a version prints that file.",
    "The file is read again.",
    "ofapp config diff",
)
UNKNOWN_PORT = ProblemKind(
    "config.unknown-port",
    WARNING,
    "The configuration names a port that its bridge does not have.",
    "Correct the name in the configuration file, or add the port.",
    "The bridge has such a port, or the file does not name it.",
    "ofapp port show {bridge}",
    SETTLING,
)
ABSENT_PORT = ProblemKind(
    "config.absent-port",
    INFO,
    "The configuration names a port that is not there, perhaps that of a guest that is off.",
    "Nothing, if the port is there at other times.",
    "The bridge has such a port, or the file does not name it.",
    "ofapp port show {bridge}",
    SETTLING,
)
UNKNOWN_BRIDGE = ProblemKind(
    "config.unknown-bridge",
    WARNING,
    "The configuration has settings for a bridge that has not connected.",
    "Correct its name or datapath id in the configuration file, or connect its switch.",
    "Such a bridge connects, or the file does not name it.",
    "ofapp bridge show",
    START,
)
TWO_SECTIONS = ProblemKind(
    "config.ambiguous",
    WARNING,
    "The file has two sections for a bridge, by its datapath id and by its name; one counts.",
    "Remove the other section from the configuration file.",
    "The file has one section for the bridge.",
    "ofapp config show",
)
UNSAVED = ProblemKind(
    "state.unsaved",
    ERROR,
    "What is set at run time cannot be saved: a restart of the controller would lose it.",
    "Make room on the disk of the state directory, or let it be written to; the controller goes on"
    " trying.",
    "All of it is saved.",
)
