"""What the switch holds is what the pipeline declares, and what PIPELINE.md shows."""

from __future__ import annotations

import re
from collections.abc import Callable

from ofapp.openflow.model.cookie import parse_cookie
from ofapp.openflow.model.rule import TableId
from ofapp.openflow.pipeline.tables import PIPELINE, find_rule
from tests.support import frames
from tests.support import multicast_frames as mcframes
from tests.support.accepting import Accepting
from tests.support.controller import Controller
from tests.support.hosts import learn
from tests.support.multicast_entries import hear_querier, wait_entry
from tests.support.ovs import Bridge
from tests.support.waiting import wait_for
from tests.vswitchd import everything
from tests.vswitchd.fabric.bed import RING, Bed, know

FIELDS = {
    "in_port": {"in_port"},
    "metadata": {"metadata"},
    "dl_src": {"eth_src"},
    "dl_dst": {"eth_dst"},
    "vlan_tci": {"vlan_vid"},
    "dl_vlan": {"vlan_vid"},
    "dl_type": {"eth_type"},
    "arp": {"eth_type"},
    "rarp": {"eth_type"},
    "ip": {"eth_type"},
    "ipv6": {"eth_type"},
    "mpls": {"eth_type"},
    "mplsm": {"eth_type"},
    "mpls_tc": {"mpls_tc"},
    "icmp": {"eth_type", "ip_proto"},
    "icmp6": {"eth_type", "ip_proto"},
    "udp": {"eth_type", "ip_proto"},
    "udp6": {"eth_type", "ip_proto"},
    "tp_src": {"udp_src"},
    "tp_dst": {"udp_dst"},
    "nw_frag": {"ip_frag"},
    "ct_state": {"ct_state"},
    "arp_op": {"arp_op"},
    "arp_tpa": {"arp_tpa"},
    "nw_ttl": {"nw_ttl"},
    "arp_spa": {"arp_spa"},
    "nd_target": {"ipv6_nd_target"},
    "nd_sll": {"ipv6_nd_sll"},
    "nd_tll": {"ipv6_nd_tll"},
    "icmp_type": {"icmpv6_type"},
    "nw_proto": {"ip_proto"},
    "nw_src": {"ipv4_src"},
    "nw_dst": {"ipv4_dst"},
    "ipv6_src": {"ipv6_src"},
    "ipv6_dst": {"ipv6_dst"},
} | {f"reg{number}": {f"reg{number}"} for number in range(16)}
A, B, S = (frames.host(number) for number in (1, 2, 3))


DPID = 0x57B
STP = f"""
bridges:
  {DPID:016x}:
    stp: {{enabled: true, forward_delay: 4, max_age: 6}}
    ports:
      slow: {{stp: {{auto_edge: false}}}}
"""


SLOW = f"""
bridges:
  {0x57C:016x}:
    stp: {{enabled: true, forward_delay: 4, max_age: 6}}
    ports:
      slower: {{vlan: 10, stp: {{auto_edge: false}}}}
      slower2: {{qos_trust: pcp}}
"""


def rules_used(bridge: Bridge) -> set[tuple[int, str]]:
    """(table, rule) of each flow that the switch holds; every one must be declared."""
    held = set()
    for flow in bridge.all_flows():
        cookie = parse_cookie(flow.cookie)
        assert cookie is not None, flow
        names = [part.partition("=")[0] for part in flow.match.split(",") if part]
        fields: set[str] = set().union(*(FIELDS[name] for name in names))
        if "icmp" in names:
            fields = fields - {"icmpv6_type"} | {"icmpv4_type"}
        rule = find_rule(flow.table, flow.priority, cookie.feature, frozenset(fields))
        assert rule is not None, flow
        held.add((flow.table, rule.name))
    return held


def test_every_flow_is_declared_and_every_rule_is_used(
    bridge: Bridge, controller: Controller, controller_factory: Callable[[str], Controller]
) -> None:
    declared = {(table.id, rule.name) for table in PIPELINE for rule in table.rules}
    declared.discard((TableId.OWNER, "mark"))  # of a cluster, which has separate tests
    declared.discard((TableId.ADMISSION, "takeover"))  # gone when the switch is in line
    assert controller.put_static(bridge, S, 2).status == 201
    learn(controller, bridge, 1, port=1)
    mac_group = f"/v1/bridges/{bridge.dpid16}/mdb/0/01:00:01:c0:ff:ee/2"
    assert controller.api("PUT", mac_group).status == 201
    for family, group, source in ((4, "232.1.1.1", "10.0.0.9"), (6, "ff3e::1", "fd00::9")):
        hear_querier(bridge, 3, family=family)
        bridge.inject(1, mcframes.report(1, (mcframes.ALLOW, group, (source,))))
        wait_entry(bridge, group, {1, 3}, source=source)
    held = rules_used(bridge)

    def learns(made: Bridge) -> bool:
        """Its port is in state learning, for two seconds: looked for before anything else."""
        held.update(used := rules_used(made))
        return (TableId.ADMISSION, "learning") in used

    # The rest of the rules are of spanning tree, where a port that is not an edge comes to learn,
    # and of what must be configured.
    treed = bridge.switch.add_bridge(dpid=DPID)
    treed.add_port(1, "slow")
    treed.add_port(2, "slow2")  # the only port that is up would open at once
    controller_factory(STP).connect(treed)
    wait_for(lambda: learns(treed), "a port to learn")
    full = bridge.switch.add_bridge(dpid=everything.DPID)
    with Accepting("guests") as server:
        configured = controller_factory(everything.config(server))
        everything.build(full, configured)
        everything.bring_about(full, configured)
    slow = bridge.switch.add_bridge(dpid=0x57C)
    slow.add_port(1, "slower")
    slow.add_port(2, "slower2")
    controller_factory(SLOW).connect(slow)

    def unused() -> set[tuple[int, str]]:
        for made in (treed, full, slow):
            held.update(rules_used(made))
        return declared - held

    bed = Bed(bridge.switch, RING, shared={1: {2: (11,)}})
    know(bed, 2)
    for member in bed.members.values():
        held |= rules_used(member.bridge)
    bed.close()
    wait_for(lambda: not unused(), f"every rule to be used; yet {unused()}")
    assert held == declared
    for made in (treed, full, slow):
        made.destroy()


def test_a_trace_goes_through_the_tables_in_order(bridge: Bridge, controller: Controller) -> None:
    learn(controller, bridge, 1, port=1)
    learn(controller, bridge, 2, port=2)

    def tables(flow: str) -> tuple[list[int], str]:
        text = bridge.switch.appctl("ofproto/trace", bridge.name, flow)
        steps = [
            int(line.strip().partition(".")[0])
            for line in text.splitlines()
            if line.strip()[:1].isdigit()
        ]
        return steps, text.rpartition("Datapath actions:")[2].strip()

    path, actions = tables(f"in_port=1,dl_src={A},dl_dst={B}")
    assert path[:3] == [TableId.ADMISSION, TableId.SOURCE, TableId.DESTINATION]
    assert "userspace" not in actions
    path, actions = tables(f"in_port=1,dl_src={S},dl_dst={B}")
    assert "userspace" in actions  # the copy to the controller, in the same pass
    path, actions = tables(f"in_port=1,dl_src={A},dl_dst={frames.BROADCAST}")
    assert path == [0, TableId.SOURCE, TableId.DESTINATION]
    path, actions = tables(f"in_port=1,dl_src={A},dl_dst=01:00:5e:00:00:16,ip,nw_proto=2")
    assert path == [0, TableId.SOURCE, TableId.DESTINATION, TableId.MULTICAST, TableId.SNOOP]
    assert "userspace" in actions  # whose messages are the controller's alone to forward
    outputs = re.sub(r"meter\(\d+\)|userspace\(.*?\)\)", "", actions)
    assert not set("23") & set(outputs)
    path, actions = tables("in_port=1,dl_src=01:00:00:00:00:01,dl_dst=ff:ff:ff:ff:ff:ff")
    assert (path, actions) == ([TableId.ADMISSION], "drop")
