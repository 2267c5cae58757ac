"""Flows, groups and meters in the switch are those of 0.2: a restart adopts them as they are.

`wire_format.txt` was written by 0.2.  A difference means that an upgrade changes switches: raise
`GENERATION` if that is meant, and write the file again with OFAPP_WRITE_WIRE_FORMAT=1.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import ofapp.common.hub  # noqa: F401

# isort: split
from ofapp.bridge.bridge import Bridge
from ofapp.bridge.desired import Desired
from ofapp.bridge.effects import HoldDown
from ofapp.bridge.lag import LagParams
from ofapp.bridge.lldp import BridgeParams as LldpParams
from ofapp.bridge.loop_protect.params import BridgeParams as LoopParams
from ofapp.bridge.multicast import Params as MulticastParams
from ofapp.bridge.params.acl import STATES
from ofapp.bridge.params.params import BridgeParams, PortParams
from ofapp.bridge.params.policy import AclMatch, AclRule, Mirror, Policies, PortPolicy, Storm
from ofapp.bridge.ports.port import LOCAL_PORT, Port
from ofapp.bridge.ports.vlan import access, trunk
from ofapp.bridge.stp import BridgeParams as StpParams
from ofapp.bridge.stp import PortState
from ofapp.openflow.model.flow import Flow
from ofapp.openflow.pipeline import flows
from ofapp.openflow.pipeline.owner import lease_flow, mark_flow
from ofapp.openflow.pipeline.source import gate_flow, pass_flow
from ofapp.openflow.pipeline.tables import NAMES, check
from ofapp.openflow.switch.installed import Installed
from ofapp.openflow.wire.messages import codec

GOLDEN = Path(__file__).parent / "wire_format.txt"
HOST, FIXED = 0x02000000000A, 0x02000000000B


def plain() -> Bridge:
    bridge = Bridge(1, BridgeParams())
    bridge.set_ports([Port(1, "p1", 1, True), Port(LOCAL_PORT, "br0", 3, True)], 0.0)
    return bridge


def tree() -> Bridge:
    bridge = Bridge(2, BridgeParams(stp=StpParams(), multicast=MulticastParams()))
    bridge.set_ports([Port(1, "p1", 1, True), Port(LOCAL_PORT, "br0", 3, True)], 0.0)
    return bridge


def rich() -> Bridge:
    """A bridge that uses every table, each port with other options."""
    ports = {
        "guest": PortParams(
            vlans=access(7),
            policy=PortPolicy(isolated=True, mcast_flood=False, acl="guests", storm=Storm(1, 2, 3)),
        ),
        "trunk": PortParams(
            vlans=trunk(frozenset({7, 8}), native=9),
            policy=PortPolicy(
                hairpin=True, community=9, rate_in=5000, rate_out=6000, flood=False, acl="states"
            ),
        ),
        "locked": PortParams(
            vlans=access(7),
            policy=PortPolicy(locked=True, bcast_flood=False, qos_trust="none", priority=2),
        ),
        "storm": PortParams(policy=PortPolicy(storm=Storm(4, None, None), qos_trust="pcp")),
        "br0": PortParams(vlans=access(7)),
    }
    rules = (
        AclRule("arp", ((AclMatch("eth_type", 0x806),),), rate=5, mirror="spy", pcp=5),
        AclRule("rest", allow=False),
    )
    states = (AclRule("known", ((STATES["established"],), (STATES["related"],))),)
    policies = Policies(
        acls={"guests": rules, "states": states},
        mirrors=(Mirror("spy", frozenset({"trunk"}), frozenset({"storm"})),),
    )
    params = BridgeParams(
        ports=ports,
        multicast=MulticastParams(),
        policies=policies,
        lags={"lag0": LagParams(("m1",), lacp="off"), "lag1": LagParams(("m2",))},
        lldp=LldpParams(),
        loop_protect=LoopParams(),
        stp=StpParams(hello_time=1.0),
    )
    bridge = Bridge(3, params)
    bridge.add_static(7, FIXED, "locked", 0.0)
    names = ("guest", "trunk", "locked", "storm", "plain", "spy", "m1", "m2")
    made = [Port(number, name, number, True) for number, name in enumerate(names, 1)]
    bridge.set_ports([*made, Port(LOCAL_PORT, "br0", 99, True)], 0.0)
    return bridge


def dump(flow: Flow) -> str:
    return f"{NAMES[flow.table]}/{check(flow).name} {codec.add_flow(flow).hex()}"


def program(bridge: Bridge, desired: Desired, metered: bool) -> Iterator[str]:
    wanted = Installed(metered).wanted(desired)
    yield from map(dump, wanted.all_flows())
    for group in wanted.groups.values():
        yield f"group {group.id:#x} {codec.put_group(group, False).hex()}"
    for meter in wanted.meters.values():
        yield f"meter {meter.id:#x} {codec.make_meter(meter).hex()}"


def lines() -> Iterator[str]:
    for name, make in (("plain", plain), ("tree", tree), ("rich", rich)):
        for metered in (True, False):
            bridge = make()
            yield f"[{name} {'metered' if metered else 'unmetered'}]"
            yield from sorted(program(bridge, bridge.desired(), metered))
        for state in PortState:
            bridge = make()
            yield f"[{name}, ports {state.name.lower()}]"
            for port in bridge.ports:
                if bridge.port_policies.takes_part(port.number):
                    desired = bridge.desired_port(port.number, state)
                    of_port = [*flows.port_flows(desired, True)]
                    if desired.forwards:
                        static = bridge.static_on(port.number)
                        of_port += (pass_flow(each, port.number) for each in static)
                    # IGMP and MLD come to the controller in every state
                    yield from sorted(
                        dump(flow) for flow in of_port if NAMES[flow.table] != "snoop"
                    )
    yield "[by effects]"
    yield from map(dump, flows.learned_flows(1, 7, HOST, 5, 300))
    yield from map(dump, flows.learned_flows(1, 0, HOST, 5, None))
    yield dump(flows.hold_flow(HoldDown(7, HOST, 60, 1, 2)))
    yield from (dump(gate_flow(3, vid, True)) for vid in (None, 7))
    yield from map(dump, (lease_flow(5, 6), mark_flow(7)))


def test_what_switches_hold_is_what_they_held_in_0_2() -> None:
    text = "".join(f"{line}\n" for line in lines())
    if os.environ.get("OFAPP_WRITE_WIRE_FORMAT"):
        GOLDEN.write_text(text)
    assert GOLDEN.read_text() == text
