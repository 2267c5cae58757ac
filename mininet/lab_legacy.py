"""Lab `legacy`: an old bridge in the loop.

    mn --custom mininet/lab_legacy.py --topo legacy

A ring of two bridges of ours, s1 and s2, and one that is not: b3, a Linux bridge with the spanning
tree of 1998, which knows timers only.  Where it is heard our bridges speak as it does (17.4).

    mininet> ofapp stp set s1 --priority 4096 --forward-delay 4 --max-age 6 --hello-time 1
    mininet> settle
    mininet> ofapp stp show s1 --detail
    ...
      root              this bridge
    ...
    s1-eth2 (2)
    ...
      sends             RSTP
    ...
    s1-eth3 (3)
    ...
      sends             STP
    ...
    mininet> b3 bridge link show
    ...b3-eth...state forwarding...

Between s1 and s2 it is RSTP, and a link opens in milliseconds.  b3 has nothing but time:
each of its ports listens for the forward delay and learns for as long, before it forwards.  What
that delay is the root tells everybody: with 802.1D's 15 s a change takes 30 s, here it is 8 s.

    mininet> link s1 b3 down
    mininet> time settle
    *** Elapsed time: ...
    mininet> pingall
    ...0% dropped...

And a bridge without any spanning tree?  It passes BPDUs on as it does other frames, so the bridges
at both its ends hear each other through it, and one of them closes:

    mininet> b3 ip link set b3 type bridge stp_state 0
    mininet> link s1 b3 up
    mininet> settle
    mininet> ofapp stp show s2
    ...s2-eth3...alternate...discarding...
    mininet> pingall
    ...0% dropped...

What to try:

- `link s1 s2 down`, then `time settle`: why is that quick, although the way is through b3 now?
- The same cuts in lab ring: what does one old bridge cost?
- Make it root: `b3 ip link set b3 type bridge stp_state 1 priority 4096`.  Who tells the timers
  then?  (`ofapp stp show s1`)
- When b3 is replaced by a bridge that speaks RSTP our ports go on with STP: `ofapp stp mcheck`.
- `ofapp stp set-port s1 s1-eth3 --root-guard` before b3 becomes root.
"""

import sys
from pathlib import Path

# `mn` executes this file without a `__file__`.
sys.path.append(str(Path(sys._getframe().f_code.co_filename).resolve().parent))
from ofapp_lab import *  # noqa: F403
from ofapp_nodes import LegacyBridge


class LegacyTopo(LabTopo):  # noqa: F405
    """Switches and one Linux bridge in a circle, with a host each."""

    def build(self, switches=2):
        ring = self.lab_switches(switches)
        ring.append(self.addSwitch(f"b{switches + 1}", cls=LegacyBridge))
        for switch in ring:
            self.lab_host(switch)
        for left, right in zip(ring, ring[1:] + ring[:1], strict=True):
            self.addLink(left, right)


LegacyTopo.page = __doc__
topos = {"legacy": LegacyTopo}
