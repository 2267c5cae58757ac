"""IGMP and MLD snooping (RFC 4541), sans-IO. Use `Snooping`; see `effects` for results.

Layers, each knowing only those before it: `address`, `codec`, `message`; `igmp`, `mld`, `decode`,
`encode` (octets); `filter`, `timers` (state without a network); `shared`, `scope` (common state of
the bridge, and of one VLAN and family); `routers`, `querier`, `member`, `group`, `snooped_vlan`
(the state there); `receive`, `snapshot`, `snooping` (the bridge). `topology_changes` is separate.
No object refers to its owner: a group, say, gets the `Scope` with each call, and returns whether
the datapath's entries may differ now.
"""

from ofapp.bridge.effects.content import RemoveGroup, SetGroup, SetUnregistered
from ofapp.bridge.multicast.effects import Effect, ForwardTo, SendFrame
from ofapp.bridge.multicast.params import (
    ParamError,
    Params,
    PortParams,
    PortVlanParams,
    VlanParams,
)
from ofapp.bridge.multicast.snapshot import (
    MemberInfo,
    QuerierInfo,
    RouterInfo,
    Snapshot,
    SourceInfo,
)
from ofapp.bridge.multicast.snooping import Snooping
from ofapp.bridge.multicast.topology_changes import TopologyChanges
from ofapp.bridge.packet.address import (
    Family,
    always_floods,
    family_of,
    is_mac_group,
    parse,
    parse_group,
    text,
)
