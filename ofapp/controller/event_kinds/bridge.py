"""Events of a bridge: its switch, its ports, its addresses and its protocols."""

from __future__ import annotations

from ofapp.controller.event_kinds.kind import (
    BY_ITSELF,
    DEBUG,
    ERROR,
    INFO,
    SET,
    WARNING,
    EventKind,
    kind,
)

_STORM = "Limit what the host sends, or raise the port's storm limit (`storm`)."

BRIDGE: tuple[EventKind, ...] = (
    # Bridges and their switches
    kind("bridge.connected", INFO, "A switch connected and was identified."),
    kind(
        "bridge.disconnected",
        WARNING,
        "The connection to a switch ended; the switch forwards what it knows.",
        "See `ovs-vsctl show` on its host, and whether it reaches the controller.",
    ),
    kind("bridge.ready", INFO, "The switch has all flows and groups that its bridge wants."),
    kind("bridge.configured", INFO, "The bridge runs with a changed configuration."),
    kind(
        "bridge.duplicate",
        ERROR,
        "A second switch with the datapath id of a connected one was refused.",
        "Set other_config:datapath-id on one of the two.",
        "refused running",
    ),
    kind(
        "bridge.limit",
        WARNING,
        "A switch was refused: the controller has as many bridges as it may have.",
        "Forget absent bridges (`ofapp bridge forget`), or raise the limit.",
    ),
    kind(
        "bridge.standby",
        WARNING,
        "Another controller is master of the switch; this one is on standby.",
        "Nothing where that is meant; otherwise remove one from `ovs-vsctl get-controller`.",
        "owner reason",
    ),
    kind("bridge.takeover", INFO, "This controller became master of a switch.", "", "owner"),
    kind(
        "bridge.lost",
        WARNING,
        "Another controller became master of the switch.",
        "Nothing in a cluster; otherwise see which controllers the switch is given.",
    ),
    kind("bridge.forgotten", INFO, "All that was known of an absent bridge was deleted."),
    kind("bridge.given-up", INFO, "A connection was closed in favour of another one."),
    kind("bridge.name-given-up", INFO, "An absent bridge lost its name to a new bridge."),
    # Ports
    kind("port.added", INFO, "A port was added to the switch.", "", "name"),
    kind("port.removed", INFO, "A port was removed from the switch.", "", "name"),
    kind("port.renamed", INFO, "A port has another name.", "", "name"),
    kind("port.up", INFO, "The link of a port came up.", "", "name"),
    kind("port.down", INFO, "The link of a port went down.", "See its cable.", "name"),
    kind("port.set", INFO, SET, "", "..."),
    kind(
        "port.limit",
        ERROR,
        "The bridge has as many ports as it may have; further ones stay closed.",
        "Remove ports, or use another bridge.",
    ),
    kind("port.limit.cleared", INFO, "There is room for ports again."),
    # Addresses
    kind(
        "fdb.limit",
        WARNING,
        "The limit of learned addresses of the bridge, a port or a VLAN was reached.",
        "Raise `fdb_max_learned`, or find the host that sends many addresses.",
        "limit vlan drop",
    ),
    kind("fdb.limit.cleared", INFO, "Addresses can be learned again.", "", "limit vlan refused"),
    kind(
        "fdb.held",
        WARNING,
        "An address that moves too often is held down on its last port.",
        "Look for a loop, a duplicate address or an unnamed bond; `ofapp fdb release` ends it.",
        "mac vlan port elsewhere reason until moves seconds",
    ),
    kind(
        "fdb.held.cleared",
        INFO,
        "An address is not held down any more.",
        "",
        "mac vlan port elsewhere reason until moves seconds",
    ),
    kind(
        "fdb.held.limit",
        WARNING,
        "As many addresses are held down as can be; others may flap.",
        "Find the loop: `ofapp fdb held` has the ports.",
        "limit",
    ),
    kind("fdb.held.limit.cleared", INFO, "Addresses can be held down again."),
    kind(
        "fdb.ip_full",
        WARNING,
        "The table of the hosts' IP addresses is full.",
        "Find the host that claims many addresses: `ofapp fdb show`.",
        "hosts",
    ),
    kind("fdb.ip_full.cleared", INFO, "There is room for IP addresses of hosts again."),
    # What is limited for each port
    *(
        one
        for name, what, remedy in (
            ("learning", "New addresses that come faster than the switch takes them", ""),
            ("packet_in", "Copies of frames from unknown sources", ""),
            ("bpdu", "BPDUs", "See what sends them: a loop, or an attack."),
            ("lacp", "LACPDUs and markers", "See what sends them."),
            ("lldp", "LLDPDUs", "See what sends them."),
            ("snoop", "IGMP, MLD and router messages", "See which host sends them."),
            ("storm.broadcast", "Broadcasts above the port's limit", _STORM),
            ("storm.multicast", "Multicast frames above the port's limit", _STORM),
            ("storm.unknown_unicast", "Frames to unknown hosts above the limit", _STORM),
            ("port.locked", "Frames from unknown sources on a locked port", ""),
        )
        for one in (
            kind(
                f"{name}.limited",
                (WARNING, INFO),
                f"{what} were held back.",
                remedy or "`ofapp port show BRIDGE -s --watch 2` shows the port's rate.",
                "held_back",
            ),
            kind(f"{name}.limited.cleared", INFO, "That is over.", "", "held_back"),
        )
    ),
    kind(
        "acl.limited",
        WARNING,
        "A rule of an access list with a rate drops frames.",
        "`ofapp acl show` has its counters.",
        "acl rule dropped",
    ),
    kind("acl.limited.cleared", INFO, "That is over.", "", "acl rule dropped"),
    # Spanning tree
    kind("stp.set", INFO, SET, "", "..."),
    kind("stp.port.set", INFO, SET, "", "..."),
    kind("stp.state", INFO, "A port's state changed.", "", "old new role reason"),
    kind("stp.role", INFO, "A port's role changed.", "", "old new reason"),
    kind("stp.root", INFO, "The root changed.", "", "old new root_port root_path_cost"),
    kind(
        "stp.topology-change", INFO, "A topology change was detected or heard.", "", "cause count"
    ),
    kind("stp.edge", INFO, "A port is an edge port now, or no longer."),
    kind("stp.migration", INFO, "A port speaks STP or RSTP as its neighbour.", "", "version"),
    *(
        one
        for guard, what, remedy in (
            ("bpdu-guard", "a BPDU on a port that must have none", "then `ofapp stp recover`."),
            ("root-guard", "a better root where none may be", BY_ITSELF),
            ("loop-guard", "BPDUs that stopped without a link failure", BY_ITSELF),
            ("self-loop", "the bridge's BPDUs coming back", "remove the loop there."),
        )
        for one in (
            kind(
                f"stp.{guard}",
                (WARNING, INFO, ERROR),
                f"A port was closed or freed: {what}.",
                f"See what is connected there; {remedy}",
                "guard active count",
            ),
        )
    ),
    kind("stp.bpdu.sent", DEBUG, "A BPDU was sent (`ofapp stp trace`).", "", "..."),
    kind("stp.bpdu.received", DEBUG, "A BPDU was received (`ofapp stp trace`).", "", "..."),
    kind(
        "stp.bpdu.dropped",
        WARNING,
        "A BPDU was malformed and not used.",
        "See what is connected to the port.",
        "reason",
    ),
    # Aggregations
    kind("lag.set", INFO, SET, "", "..."),
    kind("lag.member.up", INFO, "A member of an aggregation carries traffic.", "", "..."),
    kind(
        "lag.member.down",
        WARNING,
        "A member of an aggregation carries no traffic.",
        "`ofapp lag show` has the reason.",
        "...",
    ),
    kind(
        "lag.conflict",
        ERROR,
        "A member of an aggregation cannot be used as configured.",
        "Change `lags:` as the message says.",
        "...",
    ),
    kind(
        "lag.unnamed",
        WARNING,
        "Two ports look like a bond that is not configured.",
        "Make them an aggregation (`lags:`).",
        "ports mac",
    ),
    kind("lag.unnamed.cleared", INFO, "They do not look like a bond any more.", "", "ports"),
    kind(
        "lag.one-sided",
        WARNING,
        "A static aggregation sends on members whose partner uses only one of them.",
        "Set the partner to a static aggregation, or use LACP at both ends.",
        "...",
    ),
    kind("lag.one-sided.cleared", INFO, "The partner uses all members.", "", "..."),
    kind("lacp.partner", INFO, "A member has a partner, or another one.", "", "..."),
    kind(
        "lacp.silent",
        WARNING,
        "A partner is silent, but its member is still used.",
        "See the other end.",
        "lag seconds",
    ),
    kind("lacp.silent.cleared", INFO, "The partner is heard again.", "", "lag"),
    kind(
        "lacp.expired",
        WARNING,
        "A partner was silent for the whole timeout (802.1AX-2014 6.4.12).",
        "See the other end.",
        "lag seconds",
    ),
    kind(
        "lacp.defaulted",
        WARNING,
        "A port that runs LACP hears no partner.",
        "Turn LACP on at the other end, or use `lacp: off` at both.",
        "lag",
    ),
    kind(
        "lacp.stranger",
        WARNING,
        "A member hears another partner than the rest of its aggregation.",
        "See the cabling: all members must lead to one system and key.",
        "lag partner_system",
    ),
    kind("lacp.loop", WARNING, "A member hears its own system.", "Remove the loop there.", "lag"),
    kind("lacp.churn", WARNING, "Actor and partner do not agree.", "See both ends.", "lag side"),
    kind(
        "lacp.held_back",
        WARNING,
        "A partner changes its mind too often; the member waits.",
        BY_ITSELF,
        "lag count",
    ),
    kind(
        "lacp.dropped",
        WARNING,
        "A LACPDU was malformed and not used.",
        "See what is connected to the port.",
        "lag reason",
    ),
    kind(
        "lacp.untold",
        WARNING,
        "Events of a member were only counted.",
        "See what the other end does: it changes too often.",
        "lag count",
    ),
    # LLDP
    kind("lldp.set", INFO, SET, "", "..."),
    kind("lldp.port.set", INFO, SET, "", "..."),
    kind("lldp.neighbour", INFO, "A neighbour was heard.", "", "..."),
    kind("lldp.neighbour.changed", INFO, "A neighbour announces something else.", "", "..."),
    kind("lldp.neighbour.gone", INFO, "A neighbour is gone.", "", "..."),
    kind(
        "lldp.limit",
        WARNING,
        "A port has as many neighbours as are kept.",
        "See what is behind that port.",
        "...",
    ),
    kind("lldp.limit.cleared", INFO, "There is room for neighbours again.", "", "..."),
    kind(
        "lldp.forged",
        WARNING,
        "A frame claims to be of a bridge of this controller, and is not.",
        "See what is behind that port: it repeats or forges LLDP.",
        "...",
    ),
    # Multicast
    kind("mcast.set", INFO, SET, "", "..."),
    kind("mcast.port.set", INFO, SET, "", "..."),
    kind("mcast.querier", INFO, "The querier of a VLAN changed.", "", "..."),
    kind("mcast.router", INFO, "A multicast router is behind a port, or not.", "", "..."),
    kind(
        "mcast.limit.reached",
        WARNING,
        "A port reached a limit of multicast groups or hosts; what exceeds it is refused.",
        "Raise the limit, or find the host that joins so many groups.",
        "limit",
    ),
    kind("mcast.limit.recovered", INFO, "The port is below its limit again.", "", "limit"),
    kind(
        "mcast.vlans",
        WARNING,
        "A port brought up multicast in as many VLANs as it may; in others it floods.",
        "See which host sends in that many VLANs.",
        "limit",
    ),
    kind("mcast.vlans.cleared", INFO, "The port may bring up further VLANs."),
    kind(
        "mcast.changes",
        WARNING,
        "Topology changes keep coming; members are queried less often.",
        "Find the port that flaps: `ofapp events --kind stp`.",
        "changes",
    ),
    kind("mcast.changes.cleared", INFO, "Topology changes have ended."),
)
