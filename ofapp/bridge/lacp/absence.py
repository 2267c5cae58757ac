"""An actor goes on after it was away: its controller was not there, its switch was.

The switch cannot speak LACP by itself. While the controller is away its members stay as they were:
they go on collecting and distributing, and the switch itself steps over one whose link fails; one
whose partner goes silent or changes its mind is noticed by nobody.

What counts is how long the partner waits for an LACPDU, and that is for the partner to say, by the
bit LACP_Timeout that it sends (6.4.7), not for `rate`, which is how long this system waits:

    partner's timeout   it waits   it is told each   the controller may be away for
    long (slow)         90 s       30 s              60 s at least, 90 s at most
    short (fast)        3 s        1 s               2 s at least, 3 s at most

The least is for a controller that went just before it would have spoken again; one that ends as it
should speaks once more before (`Actor.speak`), and may be away for the most. The time until the
switch tries to connect again counts as well: up to 8 s with Open vSwitch's own `max_backoff`, 1 s
where `ofapp deploy` has set it, as it has to be beside a partner with the short timeout.

A partner that has waited in vain takes its member out of use (EXPIRED), three seconds later it
knows of no partner any more (DEFAULTED): from the first on frames are lost in both directions, as
it neither sends there nor takes in what this switch still sends. So a partner with the short
timeout survives a `kill -9` of the controller only if the return takes less than two seconds. What
adds up: the service manager's pause (`RestartSec`, 0.1 s in our unit), the start (1.8 s on the
machine where this was measured, 3.4 s while it was busy), and what is left of the second until the
switch tries again. Of six kills beside a short timeout three lost nothing, the partner having
heard nothing for 2.9 s, and three, on a busy machine, had it wait for 3.6 to 4.9 s and lost 0.4 to
1.5 s of frames. So nobody should count on it; a stop that is asked for (SIGTERM) speaks before it
goes and has a second more. Beside the long timeout no kill lost a frame, and Linux's bonding, Open
vSwitch and teamd have that one unless they are told otherwise.

Within that time a bond does not lose a frame: what was dumped is what the partner knows (in sync,
collecting, distributing), nothing is changed in the switch, and the first LACPDU after the
return, which leaves at once by every member, says it again. This actor's own timers begin anew,
for it was deaf. That is safe: an LACPDU carries what its sender believes of its receiver, so a
partner that has changed its mind meanwhile finds the LACPDU wrong and answers at once (update_NTT,
6.4.9), and one that is gone is found so after the timeout, as if it had gone at the return.
"""

from __future__ import annotations

from ofapp.bridge.lacp.core import Core
from ofapp.bridge.lacp.port import PAUSED, SHORT_TIMEOUT_TIME, AggregationPort, Churn, Receive


def come_back(core: Core, port: AggregationPort) -> None:
    """What begins anew for a member when its actor goes on."""
    if port.receive is Receive.CURRENT:
        port.current_while = core.now + core.timeout
    elif port.receive is Receive.EXPIRED:
        port.current_while = core.now + SHORT_TIMEOUT_TIME
    for machine in (port.actor_churn, port.partner_churn):
        machine.state, machine.timer = Churn.MONITOR, PAUSED
    port.ntt = True
    core.mark(port)
