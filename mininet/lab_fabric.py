"""Lab `fabric`: three switches that are one bridge, with every link in use.

    mn --custom mininet/lab_fabric.py --topo fabric --controller ofapp,config=mininet/lab_fabric.yaml

A ring of three switches with a host each, as in the lab `ring`; but the controller's file
(lab_fabric.yaml) says that they are one bridge.  Spanning tree closes no link of it:

    mininet> settle
    mininet> ofapp fabric show ring
    ...s1...yes...yes...
    ...s2...yes...yes...
    ...s3...yes...yes...
    ...carries...
    ...carries...
    ...carries...
    mininet> ofapp bridge show
    ...ring...
    mininet> ofapp fdb show ring
    ...s1/s1-eth1...

From each switch to each other one frames take the direct cable.  Where would they go without it?

    mininet> ofapp fabric trace s1/s1-eth1 02:00:00:00:00:02
    ...s1/s1-eth2 > s2/s2-eth2
    without s1/s1-eth2 - s2/s2-eth2:
    ...s1/s1-eth3 > s3/s3-eth3...s3/s3-eth2 > s2/s2-eth3...

Pull that cable.  The switches go round by themselves, before the controller knows.  A frame that
was on its way may be lost, so this ping ends when ten have been answered:

    mininet> link s1 s2 down
    mininet> h1 ping -i 0.2 -c 10 -w 20 h2
    ...10 received...
    mininet> pingall
    ...0% dropped...
    mininet> ofapp fabric show ring
    ...s1/s1-eth2...down...
    mininet> link s1 s2 up
    mininet> settle

They do so without a controller, too:

    mininet> kill
    mininet> link s2 s3 down
    mininet> h2 ping -i 0.2 -c 10 -w 20 h3
    ...10 received...
    mininet> pingall
    ...0% dropped...
    mininet> link s2 s3 up
    mininet> restart

What to try:

- `h1 ping -i 0.01 -w 10 h2` (in an xterm) while `link s1 s2 down` is typed in Mininet: how many are
  lost?  How many in the lab `ring`?
- `link s1 s2 up`: the link is not used at once.  `ofapp fabric show ring --watch 1` says why.
- A cable that fails silently: `sh ovs-vsctl set interface s1-eth2 ingress_policing_rate=1` lets
  next to nothing in.  BFD notices in 600 ms.
- A frame inside: `sh ovs-ofctl -O OpenFlow13 dump-flows s2`, and its outer addresses with
  `sh tcpdump -c 5 -e -n -i s2-eth2 mpls` while h1 pings h2.
- Plug a cable wrongly: exchange two ports in lab_fabric.yaml under `cables`, then
  `ofapp config reload`.
"""  # noqa: E501 (a command is one line)

import sys
from pathlib import Path

# `mn` executes this file without a `__file__`.
sys.path.append(str(Path(sys._getframe().f_code.co_filename).resolve().parent))
from ofapp_lab import *  # noqa: F403
from ofapp_nodes import FabricSwitch


class FabricTopo(LabTopo):  # noqa: F405
    """A ring of switches that are members of a fabric, with a host each."""

    def build(self, switches=3):
        ring = [self.addSwitch(f"s{number}", cls=FabricSwitch) for number in range(1, switches + 1)]
        for switch in ring:
            self.lab_host(switch)
        for left, right in zip(ring, [*ring[1:], ring[0]], strict=True):
            self.addLink(left, right)


FabricTopo.page = __doc__
topos = {"fabric": FabricTopo}
