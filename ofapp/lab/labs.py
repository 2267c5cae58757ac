"""Networks to begin with: their theory, with clauses of the standards, and their exercises."""

from __future__ import annotations

from dataclasses import dataclass

from ofapp.lab.exercises import (
    Goal,
    Question,
    all_know,
    blocked,
    both_in_use,
    durations,
    first_to_forward,
    how_long,
    loop_ended,
    members_alone,
    one_cable_left,
    ports,
    reaches_h4,
    receivers,
    root_is,
)
from ofapp.lab.laboratory import Laboratory
from ofapp.lab.settings import Settings

GROUP = "239.1.1.1"


@dataclass(frozen=True, slots=True)
class Lab:
    """A network to begin with.

    theory: sentences, each with its clause.  cables: as "s1-s2".  hosts: bridge and VLAN of each.
    begin: second at which a student sees the network first.
    """

    title: str
    theory: tuple[str, ...]
    bridges: tuple[Settings, ...] = ()
    cables: tuple[str, ...] = ()
    hosts: tuple[tuple[str, int], ...] = ()
    exercises: tuple[Goal | Question, ...] = ()
    begin: float = 0.0

    def build(self) -> Laboratory:
        """Make the laboratory."""
        made = Laboratory()
        for settings in self.bridges:
            made.add_bridge(settings)
        for each in self.cables:
            made.connect(*each.split("-"))
        for bridge, vid in self.hosts:
            made.add_host(bridge, vid)
        while made.network.now < self.begin:
            made.advance(self.begin - made.network.now)
        made.act()
        return made


# The labs

RSTP, STP, NO_TREE = Settings(), Settings(tree="stp"), Settings(tree="off")
RING = ("s1-s2", "s2-s3", "s3-s4", "s4-s1")

_ROOT = (
    "Each bridge has an identifier: its priority, then its address (802.1D-2004 9.2.5).",
    "The bridge with the lowest identifier becomes the root (17.3.1).",
    "Every other bridge has one root port: the port with the cheapest path to the root (17.7).",
    "On each cable one end is designated. A port that is neither is an alternate port, and is"
    " discarding (17.7).",
)
_RAPID = (
    "RSTP asks: a designated port sends a proposal, and its neighbour agrees after it has closed"
    " its other ports (802.1D-2004 17.10, 17.12).",
    "So a port forwards after a few BPDUs, and no timer has to expire.",
    "An alternate port takes over at once when the root port's link goes down (17.10).",
)

LABS: dict[str, Lab] = {
    "root": Lab(
        "Which bridge is the root?",
        _ROOT,
        bridges=(RSTP,) * 3,
        cables=("s1-s2", "s2-s3", "s3-s1"),
        hosts=(("s1", 0), ("s2", 0), ("s3", 0)),
        exercises=(
            Question("Let time pass. Which port is discarding in the end?", ports, blocked),
            Goal("Make s3 the root: give it a lower priority.", root_is("s3")),
        ),
    ),
    "ring": Lab(
        "A ring: one cable is cut",
        _RAPID,
        bridges=(Settings(priority=4096), RSTP, RSTP, RSTP),
        cables=RING,
        hosts=(("s1", 0), ("s3", 0)),
        exercises=(
            Question(
                "Pause, and cut the cable between s1 and s2. Which port begins to forward first?",
                ports,
                first_to_forward,
            ),
            Question("After how long?", durations, how_long()),
        ),
        begin=30,
    ),
    "stp": Lab(
        "STP beside RSTP",
        (
            "Bridges s1 to s3 run RSTP, s4 to s6 run STP (802.1D-2004 17.4).",
            "A port of STP has no answer to wait for. It discards and learns for forward delay"
            " each, 15 s by default (17.13).",
            "A bridge whose neighbour falls silent waits for three hello times, 6 s, before that"
            " (17.21.23).",
        ),
        bridges=(RSTP,) * 3 + (STP,) * 3,
        cables=("s1-s2", "s2-s3", "s3-s1", "s4-s5", "s5-s6", "s6-s4"),
        hosts=(("s2", 0), ("s3", 0), ("s5", 0), ("s6", 0)),
        exercises=(
            Question(
                "Cut the cable between s1 and s3. After how long does another port forward?",
                durations,
                how_long("s1", "s2", "s3"),
            ),
            Question(
                "Cut the cable between s4 and s6. After how long does another port forward?",
                durations,
                how_long("s4", "s5", "s6"),
            ),
        ),
        begin=60,
    ),
    "mesh": Lab(
        "A full mesh",
        (
            *_ROOT,
            "Of n bridges with a cable between any two, n - 1 cables carry frames.",
        ),
        bridges=(RSTP,) * 4,
        cables=("s1-s2", "s1-s3", "s1-s4", "s2-s3", "s2-s4", "s3-s4"),
        exercises=(Goal("Make s4 the root.", root_is("s4")),),
        begin=10,
    ),
    "loop": Lab(
        "A loop without spanning tree",
        (
            "A bridge sends a broadcast out of all other ports (802.1D-2004 7.7).",
            "Ethernet frames have no hop limit: in a loop they circle for ever.",
            "Their sender seems to move from port to port, so the learned addresses are wrong"
            " (7.8).",
        ),
        bridges=(NO_TREE,) * 3,
        cables=("s1-s2", "s2-s3", "s3-s1"),
        hosts=(("s1", 0), ("s2", 0), ("s3", 0)),
        exercises=(
            Goal(
                "Send a frame of h1 to all, and watch it circle. Then end the loop without cutting"
                " a cable: set spanning tree on each bridge.",
                loop_ended,
            ),
        ),
    ),
    "learning": Lab(
        "Learning addresses",
        (
            "A bridge learns behind which port an address is from the frames' sources"
            " (802.1D-2004 7.8).",
            "A frame to an unknown address leaves by all other ports: it is flooded (7.7).",
            "An address that sends nothing for the ageing time, 300 s, is forgotten (7.9.2).",
        ),
        bridges=(RSTP,) * 3,
        cables=("s1-s2", "s2-s3"),
        hosts=(("s1", 0), ("s2", 0), ("s3", 0)),
        exercises=(
            Question(
                "Send a frame of h1 to h3. Which hosts does it come to?",
                lambda _lab: ("h2", "h3", "h2 and h3"),
                receivers("h1"),
            ),
            Goal(
                "Let all bridges learn h1 and h3.",
                all_know("h1", "h3"),
            ),
        ),
        begin=10,
    ),
    "vlan": Lab(
        "VLANs",
        (
            "A port for hosts gives their frames its VLAN (802.1Q-2018 6.9).",
            "Between bridges a frame carries the tag of its VLAN.",
            "A frame leaves only by ports that are members of its VLAN (8.6.2, 8.6.4).",
        ),
        bridges=(RSTP,) * 2,
        cables=("s1-s2",),
        hosts=(("s1", 10), ("s1", 20), ("s2", 10), ("s2", 20)),
        exercises=(
            Question(
                "Send a frame of h1 to all. Which hosts does it come to?",
                lambda _lab: ("h2", "h3", "h4", "h2 and h3 and h4"),
                receivers("h1"),
            ),
            Goal("Move h4 to VLAN 10, and send a frame of h1 to all: it comes to h4.", reaches_h4),
        ),
        begin=10,
    ),
    "igmp": Lab(
        "IGMP snooping",
        (
            "A host reports the groups that it wants (RFC 2236 3); a querier asks for reports.",
            "A bridge that snoops sends a group's frames to members and routers alone"
            " (RFC 4541 2.1.2).",
            "A bridge without snooping floods them.",
        ),
        bridges=(Settings(snooping="querier"), Settings(snooping="on"), Settings(snooping="on")),
        cables=("s1-s2", "s2-s3"),
        hosts=(("s1", 0), ("s2", 0), ("s3", 0)),
        exercises=(
            Goal(
                f"Let h2 or h3 join {GROUP}, and send a frame of h1 to {GROUP}: it comes to the"
                " member, and to no other host.",
                members_alone,
            ),
        ),
        begin=40,
    ),
    "lacp": Lab(
        "An aggregation",
        (
            "LACP makes one port of several cables (802.1AX-2020 6.4). Spanning tree knows only"
            " this port.",
            "Each end sends LACPDUs. A cable is used once both ends agree about it.",
            "When a cable is cut, its frames take another cable: the aggregation stays up.",
        ),
        bridges=(RSTP,) * 2,
        cables=("s1-s2", "s1-s2"),
        hosts=(("s1", 0), ("s2", 0)),
        exercises=(
            Question("Without an aggregation one port is discarding. Which?", ports, blocked),
            Goal(
                "Aggregate the cables between s1 and s2, and let time pass: both carry frames.",
                both_in_use,
            ),
            Goal(
                "Cut one of the two cables, and send a frame of h1 that comes to h2.",
                one_cable_left,
            ),
        ),
        begin=20,
    ),
    "own": Lab(
        "Your own network",
        (
            "Add bridges and hosts, and connect them: choose a bridge, then the other end.",
            "All bridges begin with RSTP and priority 32768 (802.1D-2004 17.13).",
        ),
    ),
}
"""All labs, by name."""
