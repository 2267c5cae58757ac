"""A bridge on which every guard over sources stands."""

from ofapp.bridge.bridge import Bridge
from ofapp.bridge.params.params import BridgeParams, PortParams
from ofapp.bridge.params.policy import MoveLimit, Policies, PortPolicy, VlanPolicy
from ofapp.bridge.ports.port import LOCAL_PORT, Port

HELD = 0x020000000001


def guarded() -> Bridge:
    """Ports 1 (full, sticky), 2 (in a full VLAN 7), 3 and LOCAL (locked), 4 (learns nothing)."""
    locked = PortParams(policy=PortPolicy(locked=True))
    ports = {
        "p1": PortParams(1, policy=PortPolicy(sticky=True, over_limit="drop")),
        "p3": locked,
        "p4": PortParams(policy=PortPolicy(learning=False)),
        "br0": locked,
    }
    vlans = {7: VlanPolicy(1, "drop")}
    policies = Policies(vlans=vlans, mac_move=MoveLimit(moves=1))
    made = Bridge(1, BridgeParams(ports=ports, policies=policies))
    made.add_static(7, 0x02000000000A, "p3", 0.0)
    numbers = {f"p{number}": number for number in range(1, 5)} | {"br0": LOCAL_PORT}
    made.set_ports([Port(n, name, n & 0xFF, True) for name, n in numbers.items()], 0.0)
    made.learning.learn([(1, 7, HELD), (2, 7, HELD)], 1.0)
    return made
