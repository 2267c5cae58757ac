"""Lab `tree`: where a bridge believes hosts to be, and what happens when one moves.

    mn --custom mininet/lab_tree.py --topo tree,2,2

A root bridge s1, and bridges s2 and s3 below it with two hosts each.  There is no loop; but each
frame passes several bridges, which learn each for themselves.

    mininet> settle
    mininet> pingall
    ...0% dropped...
    mininet> ofapp fdb show --mac 02:00:00:00:00:01
    ...
    02:00:00:00:00:01  -     s1-eth1  learned  ...  s1
    02:00:00:00:00:01  -     s2-eth2  learned  ...  s2
    02:00:00:00:00:01  -     s3-eth1  learned  ...  s3

Follow h1 from s3 down: s3-eth1 leads to s1, s1-eth1 to s2, and there it is behind s2-eth2.  Now
take h1 to the other side of the tree, as a guest that migrates:

    mininet> move h1 s3
    h1: from s2 to s3
    mininet> settle
    mininet> ofapp fdb show --mac 02:00:00:00:00:01
    ...
    02:00:00:00:00:01  -     s1-eth2  learned  ...  s1
    02:00:00:00:00:01  -     s2-eth1  learned  ...  s2
    02:00:00:00:00:01  -     s2-eth2  learned  ...  s3
    mininet> h3 ping -c 1 h1
    ...1 received...

(The cable is still named s2-eth2; it is plugged into s3.)  One frame of h1 was enough to put all
three right: each bridge on its way saw the address come from elsewhere.

What to try:

- `ofapp events` after the move: which bridge told of it, and why not all three?
- Start `h3 ping -i 0.05 -w 20 h1` in an xterm, then move h1 back.  What if h1 is silent meanwhile
  (`h3 ping` is answered, so it is not: send with `stream`, or UDP with iperf)?
- `--topo tree,3,3`: which bridge knows all addresses, and which do not?
- `ofapp fdb flush s1` while an `iperf h1 h3` runs: does anybody notice?
"""

import sys
from pathlib import Path

# `mn` executes this file without a `__file__`.
sys.path.append(str(Path(sys._getframe().f_code.co_filename).resolve().parent))
from ofapp_lab import *  # noqa: F403


class TreeTopo(LabTopo):  # noqa: F405
    """A tree of switches `depth` levels deep, with hosts below the last."""

    def build(self, depth=2, fanout=2):
        levels = [[self.addSwitch("s1")]]
        count = 1
        for _ in range(depth - 1):
            levels.append([])
            for parent in levels[-2]:
                for _ in range(fanout):
                    count += 1
                    levels[-1].append(self.addSwitch(f"s{count}"))
                    self.addLink(parent, levels[-1][-1])
        for switch in levels[-1]:
            for _ in range(fanout):
                self.lab_host(switch)


TreeTopo.page = __doc__
topos = {"tree": TreeTopo}
