"""How many flows a switch has in a fabric of 100 members and 100,000 hosts.

Hosts are spread evenly: 1,000 at each member.  A switch has two flows for each of these, and one
for each host elsewhere that one of them talks to.  Of the latter there are at most `MOST`; past
that they are removed, and frames to hosts that come in addition flood.
"""

import ofapp.common.hub  # noqa: F401

# isort: split
from ofapp.bridge.effects.fabric import Content, DesiredFabric
from ofapp.bridge.fabric.plans.plan import plan
from ofapp.bridge.fabric.state.conversations import MOST
from ofapp.openflow.pipeline import flows
from ofapp.openflow.switch.installed import Installed
from tests.support.fabric import NUMBER, desired_at, large_graph, link_ports
from tests.unit.openflow.pipeline.test_fabric import edge

MEMBERS, HOSTS = 100, 100_000
MOST_FLOWS = 25_000
VERSIONS = 3
"""Two in an update; one more that a member uses which is cut off."""


def test_a_switch_has_at_most_25_000_flows_with_100_switches_and_100_000_hosts() -> None:
    whole = large_graph(MEMBERS)
    parts = plan(whole)
    busiest = max(whole.members, key=lambda member: len(whole.hops[member]))
    links = link_ports(whole, busiest)
    content = Content(dict.fromkeys(range(VERSIONS), parts[busiest]), frozenset(), 0)
    fabric = DesiredFabric(NUMBER, busiest, links, links, content)
    program = Installed(metered=True).wanted(desired_at(edge(), fabric))
    own = sum(1 for _ in program.all_flows())
    assert own <= 60 + VERSIONS * 5 * MEMBERS + 2 * len(links)
    here = HOSTS // MEMBERS
    made = {
        flow.identity for mac in range(here) for flow in flows.learned_flows(11, 0, mac, 1, 300)
    }
    made |= {flows.remote_flow(0, mac, 3, 300).identity for mac in range(here, here + MOST)}
    assert len(made) == 2 * here + MOST
    assert own + len(made) <= MOST_FLOWS
