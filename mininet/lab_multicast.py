"""Lab `multicast`: frames for members only.

    mn --custom mininet/lab_multicast.py --topo multicast

Two bridges, three hosts at s1 and two at s2; the last, h5, can act as a router.  `stream` sends ten
frames to a group and shows how many each host gets (with `until` repeatedly, until these hosts
get them).  At first there is no querier, so no bridge knows the members; it floods, as a bridge
must (RFC 4541 2.1.1):

    mininet> settle
    mininet> stream h1 239.1.1.1
    h2: 10  h3: 10  h4: 10  h5: 10
    mininet> ofapp multicast show s1
    ...flood...

Let the router send IGMP queries, and one host of each bridge become a member:

    mininet> h5 ip link set br0 type bridge mcast_querier 1
    mininet> h2 ip addr add 239.1.1.1/32 dev h2-eth0 autojoin
    mininet> h4 ip addr add 239.1.1.1/32 dev h4-eth0 autojoin
    mininet> stream h1 239.1.1.1 until h2 h4 h5
    h2: 10  h3: 0  h4: 10  h5: 10
    mininet> ofapp mdb show
    ...239.1.1.1...
    mininet> ofapp multicast show s1
    ...restrict...

h3 is no member and gets nothing.  h5 gets all without a report: behind a router there may be
members that a bridge does not see.  A group without members goes to the router only:

    mininet> stream h1 239.9.9.9
    h2: 0  h3: 0  h4: 0  h5: 10

A member that leaves sends a report; the router asks whether there is another one, and as no host
answers the stream ends:

    mininet> h2 ip addr del 239.1.1.1/32 dev h2-eth0
    mininet> stream h1 239.1.1.1 until h4 h5
    h2: 0  h3: 0  h4: 10  h5: 10

What to try:

- `stream h1 224.0.0.251` (mDNS): who gets that, and why (RFC 4541 2.1.2)?
- The router falls silent: `h5 ip link set br0 type bridge mcast_querier 0`.  How long until it is
  flooded again, and what would a bridge break that went on restricting?
- Without a router a bridge can ask: `sh curl -X PATCH -H "Content-Type: application/json"
  -d '{"mcast_querier": true}' $OFAPP_API/v1/bridges/0000000000000001/multicast`.
- `h3 python3` with IP_ADD_SOURCE_MEMBERSHIP: only from h1, not from h2.
- `move h4 s1` while it is a member.
- The same with IPv6: `stream h1 ff1e::1`; h5 asks only about IPv4.
"""

import sys
from pathlib import Path

# `mn` executes this file without a `__file__`.
sys.path.append(str(Path(sys._getframe().f_code.co_filename).resolve().parent))
from ofapp_lab import *  # noqa: F403
from ofapp_nodes import QuerierHost


class MulticastTopo(LabTopo):  # noqa: F405
    """Two switches, three hosts and two; the last can be a router."""

    def build(self):
        one, other = self.lab_switches(2)
        for switch in (one, one, one, other):
            self.lab_host(switch)
        self.lab_host(other, cls=QuerierHost)
        self.addLink(one, other)


MulticastTopo.page = __doc__
topos = {"multicast": MulticastTopo}
