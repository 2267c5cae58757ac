"""Lab `curve`: what happens to a bridge as its load rises.

    mn --custom mininet/lab_curve.py --topo curve

Two hosts at one bridge, s1.  At a low load a ping shows what a frame takes:

    mininet> settle
    mininet> h1 ping -q -c 20 -i 0.05 h2
    ...20 received, 0% packet loss...

J. T. Yu measured a Linux bridge in 2004: with 64 octets, from 100 frames a second to 100,000.
Latency stayed at 25 us up to 40,000, where the processor was busy for 56 % of the time.  At 66,225
it was 87 us, and at 66,667 it was 22,987 us: frames came faster than the bridge could take them
out of its queue.  `ofapp bench` makes the same table here, beside this network and in bridges
that it creates for that:

    mininet> ofapp bench paper yu --quick --table 3 --out /tmp/curve
    .../tmp/curve/report.md
    /tmp/curve/report.html

The first rows: the paper's latency and those found here, for the Linux bridge, Open vSwitch alone
and ofapp.

    mininet> sh grep "^| 1,000 |" /tmp/curve/report.md
    | 1,000 | 512,000 | 25.0 | ...
    mininet> sh grep "^| 66,667 |" /tmp/curve/report.md
    | 66,667 | 34,133,504 | 22,987 | ...

Where this machine has its knee, and with how many frames a second:

    mininet> sh grep "^| Knee |" /tmp/curve/report.md
    | Knee | 66,225 (87 µs; then 22,987 µs) | ...

And the paper's claims, each with a verdict:

    mininet> sh grep "^- .*collapse" /tmp/curve/report.md
    - **...

What to try:

- `ofapp bench paper yu --quick --out /tmp/yu` measures all tables and figures, in two minutes;
  open report.html in a browser.
- Give rates around this machine's knee: `--table 3 --rate 80000 --rate 90000 --rate 100000`.
- Which of the three devices has no knee?  What does the generator wait for then?
- Figure 10: is a frame a second slower than a thousand?  Why, if the bridge is idle?
"""

import sys
from pathlib import Path

# `mn` executes this file without a `__file__`.
sys.path.append(str(Path(sys._getframe().f_code.co_filename).resolve().parent))
from ofapp_lab import *  # noqa: F403


class CurveTopo(LabTopo):  # noqa: F405
    """One switch and two hosts."""

    def build(self):
        (switch,) = self.lab_switches(1)
        for _ in range(2):
            self.lab_host(switch)


CurveTopo.page = __doc__
topos = {"curve": CurveTopo}
