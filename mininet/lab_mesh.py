"""Lab `mesh`: every bridge joined to every other.

    mn --custom mininet/lab_mesh.py --topo mesh,4

Of the N(N-1)/2 links of a full mesh a tree uses N-1; here 3 of 6.  The tree is the star around the
root: it is one hop to it from everywhere, and a shorter way there is not.

    mininet> settle
    mininet> ofapp stp set s1 --priority 0
    mininet> settle
    mininet> ofapp stp show
    ...
    root              this bridge
    ...alternate...discarding...
    ...alternate...discarding...
    ...alternate...discarding...

The three links that do not touch s1 are closed at one end each.  From s2 to s3 it is through s1,
even though there is a cable.  Which way is short is a matter of cost; the root's own are not
counted, those on the way to it are.  Make the direct way from s2 to the root dear, and it goes
through another bridge:

    mininet> ofapp stp set-port s2 s2-eth2 --path-cost 200000
    mininet> settle
    mininet> ofapp stp show s2
    ...s2-eth2...alternate...discarding...
    ...s2-eth3...root...forwarding...
    mininet> pingall
    ...0% dropped...

What to try:

- `switch s1 stop` takes the root away altogether.  How long does it take until `settle` returns,
  and why longer than a cut cable?  (`ofapp stp show`: hello time and max age.)  Then
  `switch s1 start`.
- `--topo mesh,6`: how many ports discard?  Is it (N-1)(N-2)/2?
- `iperf h2 h3` with the mesh as it is, and after `ofapp stp set s2 --priority 0`: what does a tree
  cost in bandwidth, and what would it take to use all links?
"""

import sys
from pathlib import Path

# `mn` executes this file without a `__file__`.
sys.path.append(str(Path(sys._getframe().f_code.co_filename).resolve().parent))
from ofapp_lab import *  # noqa: F403


class MeshTopo(LabTopo):  # noqa: F405
    """Switches, each joined to every other, with a host each."""

    def build(self, switches=4):
        mesh = self.lab_switches(switches)
        for switch in mesh:
            self.lab_host(switch)
        for number, left in enumerate(mesh):
            for right in mesh[number + 1 :]:
                self.addLink(left, right)


MeshTopo.page = __doc__
topos = {"mesh": MeshTopo}
