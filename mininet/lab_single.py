"""Lab `single`: how a bridge learns.

    mn --custom mininet/lab_single.py --topo single,3

One bridge, s1, and some hosts.  A bridge is not told who is where: it reads the source address of
each frame, and remembers by which port it came.

Wait until spanning tree has opened the ports (it listens for 3 s whether another bridge is there);
the first pings go with that.  Then look:

    mininet> settle
    mininet> ofapp fdb show s1
    ...
    02:00:00:00:00:01  -     s1-eth1  learned...
    02:00:00:00:00:02  -     s1-eth2  learned...
    02:00:00:00:00:03  -     s1-eth3  learned...

What is in the table the switch has as two flows an address: one says that the sender is known, the
other where to send.  So it forwards without help.  Without its controller:

    mininet> kill
    mininet> h1 ping -c 3 -i 0.2 h2
    ...3 received, 0% packet loss...
    mininet> restart
    mininet> ofapp fdb show s1
    ...
    02:00:00:00:00:01  -     s1-eth1  learned...
    02:00:00:00:00:02  -     s1-eth2  learned...
    02:00:00:00:00:03  -     s1-eth3  learned...

The new controller has read the table from the switch.  An address goes when its port does (LEARNED
is the number of addresses behind a port), and comes back with the host's first frame:

    mininet> link s1 h2 down
    mininet> ofapp port show s1
    ...s1-eth1...forwarding  1...
    ...s1-eth2...disabled    0...
    mininet> link s1 h2 up
    mininet> settle
    mininet> ofapp port show s1
    ...s1-eth2...forwarding  1...

What to try:

- `dpctl dump-flows` shows all flows; PIPELINE.md in ofapp/openflow/pipeline tells what each table
  is for.
- `ofapp fdb add` fixes an address to a port.  Let a host on another port take that address
  (`h3 ip link set h3-eth0 address 02:00:00:00:00:01`) and ping.  `ofapp events` tells the rest.
- How many flows are there with `--topo single,20` after `pingall`?  Twice as many hosts make how
  many more?  And how many would it be with one flow for each pair?
- Leave h1 silent for 300 s (`h1 ip link set h1-eth0 down`): how does the table change, and when?
"""

import sys
from pathlib import Path

# `mn` executes this file without a `__file__`.
sys.path.append(str(Path(sys._getframe().f_code.co_filename).resolve().parent))
from ofapp_lab import *  # noqa: F403


class SingleTopo(LabTopo):  # noqa: F405
    """One switch and some hosts."""

    def build(self, hosts=3):
        (switch,) = self.lab_switches(1)
        for _ in range(hosts):
            self.lab_host(switch)


SingleTopo.page = __doc__
topos = {"single": SingleTopo}
