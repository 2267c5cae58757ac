"""Resume an actor after an absence of its controller, while the switch kept forwarding.

The switch cannot speak LACP by itself. While the controller is disconnected its members stay as
they were: they go on collecting and distributing. The switch itself skips a member whose link
fails, but a partner that falls silent or changes its state goes unnoticed.

What counts is how long the partner waits for an LACPDU. The partner decides that by the bit
LACP_Timeout that it sends (6.4.7); `rate` decides how long this system waits:

    partner's timeout   it waits   it is sent each   the controller may be disconnected for
    long (slow)         90 s       30 s              60 s at least, 90 s at most
    short (fast)        3 s        0.5 s             2.5 s at least, 3 s at most

The minimum is for a controller that ended just before its next LACPDU. One that stops in order
sends once more before (`Actor.send_last`), and may be away for the maximum. The time until the
switch reconnects counts as well: up to 8 s with Open vSwitch's default `max_backoff`, 1 s where
`ofapp deploy` has set it, which a partner with the short timeout needs.

A partner that has waited in vain takes its member out of use (EXPIRED), and three seconds later it
has no partner any more (DEFAULTED). From EXPIRED on frames are lost in both directions, as it
neither sends there nor accepts what this switch still sends. So a partner with the short timeout
survives a `kill -9` of the controller only if the return takes less than 2.5 seconds. That time is
the sum of the service manager's pause (`RestartSec`, 0.1 s in our unit), the start (1.8 s on the
machine where this was measured, 3.4 s while it was busy), and what is left of the second until the
switch reconnects. Of six kills with a short timeout three lost nothing: the partner waited for
2.9 s. Three, on a busy machine, made it wait for 3.6 to 4.9 s and lost 0.4 to 1.5 s of frames. So
do not rely on it; a requested stop (SIGTERM) sends before it ends and has a second more. With the
long timeout no kill lost a frame, and it is the default of Linux's bonding, Open vSwitch and teamd.

A cluster whose etcd does not answer has no owner for a switch. Its last owner still runs and
repeats the LACPDUs that it sent last (`Actor.last_pdus`), so that no partner gives a member up.

Within that time a bond does not lose a frame: the dump is what the partner knows (in sync,
collecting, distributing), nothing is changed in the switch, and the first LACPDU after the
return, which leaves at once by every member, repeats it. This actor's own timers restart, as it
received nothing meanwhile. That is safe: an LACPDU carries what its sender believes of its
receiver, so a partner whose state has changed finds the LACPDU wrong and answers at once
(update_NTT, 6.4.9). A partner that is gone is found after the timeout, as if it had gone at the
return.

Each partner has to answer in any case. One that has given this end up meanwhile sends again only
30 s later (Open vSwitch), which is too late for `rate: fast`. So until it is heard, LACPDUs to it
have the bit LACP_Timeout wrong in their partner information; the only effect is that it answers.
"""

from ofapp.bridge.lag.lacp.core import Core
from ofapp.bridge.lag.lacp.port import PAUSED, SHORT_TIMEOUT_TIME, AggregationPort, Churn, Receive


def come_back(core: Core, port: AggregationPort) -> None:
    """Restart the timers of a member whose actor resumes."""
    if port.receive is Receive.CURRENT:
        port.current_while = core.now + core.timeout
    elif port.receive is Receive.EXPIRED:
        port.current_while = core.now + SHORT_TIMEOUT_TIME
    for machine in (port.actor_churn, port.partner_churn):
        machine.state, machine.timer = Churn.MONITOR, PAUSED
    port.asks = port.enabled
    port.ntt = True
    core.mark(port)
