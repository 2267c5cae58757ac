"""Lab `dual_homed`: two of everything that must not fail.

    mn --custom mininet/lab_dual_homed.py --topo dual_homed,2

Two core bridges, s1 and s2, joined to each other; access bridges s3, s4, ... with an uplink to each
core, and two hosts each.  This is how a rack or a floor is wired.  The core should be root, and its
second bridge the next one:

    mininet> settle
    mininet> ofapp stp set s1 --priority 4096
    mininet> ofapp stp set s2 --priority 8192
    mininet> settle
    mininet> ofapp stp show s3
    ...s3-eth1...root...forwarding...
    ...s3-eth2...alternate...discarding...

Each access bridge uses its uplink to s1, and holds the one to s2 ready.  Cut the first:

    mininet> link s1 s3 down
    mininet> settle
    mininet> ofapp stp show s3
    ...s3-eth2...root...forwarding...
    mininet> pingall
    ...0% dropped...
    mininet> link s1 s3 up
    mininet> settle

Now the whole of s1 is gone.  Its links stay up, so the others notice when its BPDUs cease, after
three hello times; s2 is root then:

    mininet> switch s1 stop
    mininet> settle
    mininet> ofapp stp show s2
    ...
    root              this bridge
    ...
    mininet> pingall
    ...0% dropped...

What to try:

- `switch s1 start`: how many pings are lost when the old root comes back?
- `ofapp stp set s1 --hello-time 1` before it is stopped: does it go faster?
- A guest host with two interfaces would loop if it bridged them.  Let h1 do so: give it a second
  cable (`py net.addLink(s4, h1)`, `py s4.attach("...")`), a Linux bridge over both without spanning
  tree, and look at `ofapp stp show s3`.
- Guard the uplinks: `ofapp stp set-port s1 s1-eth2 --root-guard`, then give s3 priority 0.
"""

import sys
from pathlib import Path

# `mn` executes this file without a `__file__`.
sys.path.append(str(Path(sys._getframe().f_code.co_filename).resolve().parent))
from ofapp_lab import *  # noqa: F403


class DualHomedTopo(LabTopo):  # noqa: F405
    """Two core switches, and access switches with an uplink to each of them."""

    def build(self, access=2, hosts=2):
        one, other, *rest = self.lab_switches(2 + access)
        for switch in rest:
            self.addLink(switch, one)
            self.addLink(switch, other)
            for _ in range(hosts):
                self.lab_host(switch)
        self.addLink(one, other)


DualHomedTopo.page = __doc__
topos = {"dual_homed": DualHomedTopo}
