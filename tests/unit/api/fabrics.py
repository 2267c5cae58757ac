"""A fabric without switches: a ring of three members with a host each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.effects.fabric import Colour
from ofapp.bridge.fabric.fabric import Fabric
from ofapp.bridge.fabric.params import FabricParams, MemberParams
from ofapp.bridge.fabric.status import (
    FabricStatus,
    LinkState,
    LinkStatus,
    MemberStatus,
    Trace,
    TraceHop,
)
from ofapp.bridge.lldp.own import OwnAgents
from ofapp.bridge.ports.port import PortCount

NAMES = "s1", "s2", "s3"
CABLES = (("s1/eth1", "s2/eth2"), ("s2/eth1", "s3/eth2"), ("s3/eth1", "s1/eth2"))
PARAMS = FabricParams(
    "mesh",
    7,
    tuple(MemberParams(name, number, ("eth1", "eth2")) for number, name in enumerate(NAMES, 1)),
    CABLES,
)
STATUS = FabricStatus(
    name="mesh",
    number=7,
    datapath_id=1,
    settled=True,
    paused="",
    members=tuple(
        MemberStatus(name, number, number, True, True, False, 4, (3, 4), 1, 1, 2)
        for number, name in enumerate(NAMES, 1)
    ),
    links=(
        *(LinkStatus(*CABLES[at], LinkState.CARRIES, 1, 60.0 * at) for at in range(2)),
        LinkStatus(*CABLES[2], LinkState.HELD, 2, 3.5, "waits for 8 s, as it has failed twice", 2),
        LinkStatus("s3/eth3", None, LinkState.WRONG, 1, 9.0, "it leads to another fabric"),
    ),
    counters={"probes_sent": 12},
)


@dataclass
class FakeFabric:
    """As the controller has it.  state, counts: what it answers."""

    bridge: Bridge
    params: FabricParams = PARAMS
    state: FabricStatus = STATUS
    counts: Mapping[str, PortCount] | None = None

    @property
    def core(self) -> Fabric:
        """A fabric without connected members."""
        return Fabric(self.params, self.bridge, OwnAgents(b"a secret key"))

    def status(self, now: float) -> FabricStatus:
        """What was set."""
        del now
        return self.state

    def link_counts(self) -> Mapping[str, PortCount]:
        """Those of the first port of the first link, and of the second of the second."""
        if self.counts is None:
            count = PortCount(1, 2, 100, 200, 0, 0, 0, None)
            return {CABLES[0][0]: count, CABLES[1][1]: count}
        return self.counts

    def trace(self, member: int, vid: int, mac: int) -> Trace:
        """Ways in the ring: direct, or after a failure around."""
        entry = next(
            (
                self.bridge.ports.get(table[mac].port)
                for key, table in self.bridge.fdb.tables.items()
                if key == vid and mac in table
            ),
            None,
        )
        if entry is None:
            flood = tuple((hop,) for hop in (_hop(member, 1), _hop(member, -1)))
            return Trace(None, None, True, flood, {})
        to = NAMES.index(entry.name.partition("/")[0]) + 1
        if to == member:
            return Trace(to, entry.name, False, ((),), {})
        step = 1 if to == member % 3 + 1 else -1
        direct = _hop(member, step)
        around = (
            _hop(member, -step, Colour.RED),
            _hop((member - 1 - step) % 3 + 1, -step, Colour.RED),
        )
        after = {(direct.out, direct.into): (around,)}
        return Trace(to, entry.name, False, ((direct,),), after)

    def lose(self, *links: int) -> None:
        """Have links without carrier."""
        known = list(self.state.links)
        for at in links:
            known[at] = replace(known[at], state=LinkState.DOWN, reason="s2/eth1 has no carrier")
        self.state = replace(self.state, links=tuple(known))


def _hop(member: int, step: int, colour: Colour = Colour.GREEN) -> TraceHop:
    """From a member to the next one in the ring, or to the one before."""
    if step > 0:
        out, into = CABLES[member - 1]
    else:
        into, out = CABLES[(member - 2) % 3]
    return TraceHop(out, into, colour)
