"""The catalogue of events: all kinds that the controller logs, and what to do about them.

Each subject declares its kinds beside it, and has one line here.  `/v1/events/kinds`, `ofapp events
--kinds` and the test of the alert rules read it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import ModuleType

from ofapp.api.http import events as api
from ofapp.bridge.event import EventKind
from ofapp.bridge.fabric import events as fabric
from ofapp.bridge.fdb import events as fdb
from ofapp.bridge.first_hop import events as first_hop
from ofapp.bridge.lag import events as lag
from ofapp.bridge.lag.lacp import events as lacp
from ofapp.bridge.lldp import events as lldp
from ofapp.bridge.loop_protect import events as loop_protect
from ofapp.bridge.multicast import events as multicast
from ofapp.bridge.one_way import events as one_way
from ofapp.bridge.port_access import events as port_access
from ofapp.bridge.ports import events as ports
from ofapp.bridge.stp import events as stp
from ofapp.controller import events
from ofapp.controller import member_events as cluster
from ofapp.controller.access import events as access
from ofapp.controller.bridges import events as bridges
from ofapp.controller.bridges import openflow_datapath
from ofapp.controller.configuration import events as configuration
from ofapp.controller.hosts import events as hosts
from ofapp.controller.problems import events as problems
from ofapp.controller.radius import events as radius
from ofapp.controller.state import events as state

SUBJECTS = (
    bridges,
    ports,
    fdb,
    stp,
    lag,
    lacp,
    lldp,
    loop_protect,
    one_way,
    multicast,
    first_hop,
    port_access,
    fabric,
    *openflow_datapath.EVENTS,
    configuration,
    hosts,
    problems,
    state,
    access,
    radius,
    api,
    cluster,
    events,
)


def declared(module: ModuleType) -> Iterator[EventKind]:
    """The kinds of a subject, alone, in tuples and in mappings."""
    waiting = [value for name, value in vars(module).items() if not name.startswith("__")]
    for value in waiting:
        if isinstance(value, EventKind):
            yield value
        elif isinstance(value, tuple):
            waiting += value
        elif isinstance(value, Mapping):
            waiting += value.values()


KINDS: Mapping[str, EventKind] = {
    kind.name: kind for subject in SUBJECTS for kind in declared(subject)
}
