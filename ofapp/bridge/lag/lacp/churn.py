"""The Churn Detection machines (802.1AX, 6.4.17): an end that does not get in sync in a minute.

One for the actor and one for the partner.  They only report; nothing depends on churn.
"""

from ofapp.bridge.lag.lacp.core import Core
from ofapp.bridge.lag.lacp.events import LACP_CHURN
from ofapp.bridge.lag.lacp.information import State
from ofapp.bridge.lag.lacp.port import (
    CHURN_DETECTION_TIME,
    PAUSED,
    AggregationPort,
    Churn,
    ChurnDetection,
    Selected,
)


def churn_machines(core: Core, port: AggregationPort) -> None:
    """Run both machines until they rest."""
    if churn_machine(core, port, port.actor_churn, port.synchronization):
        _report(core, port, "actor", "this system has not taken the member into use for a minute")
    in_sync = port.partner_says(State.SYNCHRONIZATION)
    if churn_machine(core, port, port.partner_churn, in_sync):
        _report(core, port, "partner", "the partner has not taken the member into use for a minute")


def churn_machine(
    core: Core, port: AggregationPort, machine: ChurnDetection, in_sync: bool
) -> bool:
    """Run one machine; whether it has just found churn."""
    if not port.enabled:
        machine.state, machine.timer = Churn.MONITOR, PAUSED
    elif in_sync:
        machine.state, machine.timer = Churn.NONE, PAUSED
    elif machine.state is Churn.NONE or (
        machine.state is Churn.MONITOR and machine.timer == PAUSED
    ):
        machine.state, machine.timer = Churn.MONITOR, core.now + CHURN_DETECTION_TIME
    elif machine.state is Churn.MONITOR and core.runs_out(machine.timer):
        machine.state, machine.timer = Churn.CHURN, PAUSED
        machine.count += 1
        return True
    return False


def _report(core: Core, port: AggregationPort, side: str, text: str) -> None:
    """Report churn, but not on a standby member, nor where no partner speaks LACP."""
    if port.selected is not Selected.STANDBY and core.heard(port):
        core.emit(LACP_CHURN, text, port, side=side)
