"""Lab `ring`: a loop, and the tree in it.

    mn --custom mininet/lab_ring.py --topo ring,4

Bridges in a circle, with a host each.  A broadcast would run round for ever, and each bridge would
see every address now here, now there.  Spanning tree (RSTP, IEEE 802.1D-2004 clause 17) takes one
link out: all bridges agree on a root, keep their best port to it, and close what is left over.

    mininet> settle
    mininet> ofapp stp show
    ...root...
    ...alternate...discarding...
    mininet> pingall
    ...0% dropped...

The bridge with the lowest priority, then the lowest address, is root.  Choose another one:

    mininet> ofapp stp set s3 --priority 4096
    mininet> settle
    mininet> ofapp stp show s3
    ...
    root              this bridge
    ...

Now cut the ring where it is in use.  The closed port opens at once, as it was known from the start
to be the second best way (17.13: its role was Alternate); pings that are lost tell for how long:

    mininet> link s3 s4 down
    mininet> settle
    mininet> pingall
    ...0% dropped...
    mininet> link s3 s4 up
    mininet> settle

What to try:

- `ofapp stp trace` in another shell, and the same cut again: who proposes, who agrees?
- `h1 ping -i 0.01 -w 10 h3` (in an xterm) while the link goes down: how many are lost?
- `ofapp stp set s1 --force-version 0` on every bridge: the same with the STP of 1998.
- `ofapp stp set s1 --off` on every bridge, one ping, and twice `h1 cat /proc/net/dev`: a storm.
  `--on` again!
- `ofapp stp set-port s3 s3-eth1 --admin-edge --bpdu-guard` on a host's port, for a switch that
  a user connects there.
"""

import sys
from pathlib import Path

# `mn` executes this file without a `__file__`.
sys.path.append(str(Path(sys._getframe().f_code.co_filename).resolve().parent))
from ofapp_lab import *  # noqa: F403


class RingTopo(LabTopo):  # noqa: F405
    """Switches in a circle, each with some hosts."""

    def build(self, switches=4, hosts=1):
        ring = self.lab_switches(switches)
        for switch in ring:
            for _ in range(hosts):
                self.lab_host(switch)
        for left, right in zip(ring, ring[1:] + ring[:1], strict=True):
            self.addLink(left, right)


RingTopo.page = __doc__
topos = {"ring": RingTopo}
