"""Lab `bond`: several cables that are one.

    mn --custom mininet/lab_bond.py --topo bond,2 --controller ofapp,config=mininet/lab_bond.yaml

Two bridges with two cables between them, and two hosts each.  Two cables are a loop, and spanning
tree would keep one of them closed.  The controller's file (lab_bond.yaml) makes one port of them
at either end, an aggregation; by LACP (IEEE 802.1AX) each end tells the other which of its ports
belong together, every second as `rate: fast` asks:

    mininet> settle
    mininet> ofapp lag show s1
    ...lag0...up...s1-eth1...distributing...
    ...lag0...up...s1-eth2...distributing...

Spanning tree knows the one port, which costs less as it is faster, and hosts are heard on it:

    mininet> ofapp stp show s2
    ...lag0...forwarding 1000...
    mininet> pingall
    ...0% dropped...
    mininet> ofapp fdb show s1
    ...02:00:00:00:00:03...lag0...

Pull one of the cables.  Open vSwitch steps over it by itself, and no address is learned anew:

    mininet> s1 ip link set s1-eth1 down
    mininet> pingall
    ...0% dropped...
    mininet> ofapp lag show s1
    ...s1-eth1...down...
    ...s1-eth2...distributing...
    mininet> s1 ip link set s1-eth1 up
    mininet> settle

At last let one end use one cable alone.  The other hears of it, and sends by that one too:

    mininet> ofapp lag set s1 lag0 --max-links 1
    mininet> ofapp lag show s1
    ...standby...
    mininet> pingall
    ...0% dropped...

What to try:

- `h1 ping -i 0.01 -w 10 h3` (in an xterm) while the cable is pulled: how many are lost?
- Which cable does a flow take?  `h3 iperf3 -s -D`, `h1 iperf3 -c 10.0.0.3 -P 8`, and
  `sh ip -s link show s1-eth1` beside the other, with `ofapp lag set s1 lag0 --hash layer2`,
  `layer2+3` and `layer3+4`.
- `--min-links 2` at both ends, and a cable pulled: who is cut off?
- `--lacp off` at both ends.  Who would notice now that a cable is plugged in wrongly?
- `kill`, and pull a cable: what does the controller have to do with it?
"""

import sys
from pathlib import Path

# `mn` executes this file without a `__file__`.
sys.path.append(str(Path(sys._getframe().f_code.co_filename).resolve().parent))
from ofapp_lab import *  # noqa: F403


class BondTopo(LabTopo):  # noqa: F405
    """Two switches with several cables between them, and hosts at each."""

    def build(self, cables=2, hosts=2):
        pair = self.lab_switches(2)
        for _ in range(cables):
            self.addLink(*pair)
        for switch in pair:
            for _ in range(hosts):
                self.lab_host(switch)


BondTopo.page = __doc__
topos = {"bond": BondTopo}
