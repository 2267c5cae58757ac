"""BPDU guard, loop guard and own-BPDU detection: when they trigger and how a port recovers.

None of these is in 802.1D-2004; operators know them from other bridges.  BPDU guard shuts the port
(it is not enabled any more).  Loop guard and own BPDUs only keep it discarding, so that it goes on
sending BPDUs and notices when the fault is over.  Root guard is in `roles`, because it depends on
the result of role selection.
"""

from ofapp.bridge.stp.core import Core
from ofapp.bridge.stp.port import EXPIRED, PAUSED, Guard, TreePort

OWN_BPDU_HELLOS = 3
"""Hello times for which an own BPDU keeps its port blocked: the lifetime of other information."""


def strike_bpdu_guard(core: Core, port: TreePort) -> None:
    """Shut a port with BPDU guard that has received a BPDU."""
    recovery = core.params.bpdu_guard_recovery
    port.err_disabled = True
    port.err_until = core.now + recovery if recovery else PAUSED
    after = f"for {recovery:g} s" if recovery else "until it is recovered by hand"
    core.guard(port, Guard.BPDU_GUARD, f"BPDU guard: BPDU heard, shut {after}")


def hear_own_bpdu(core: Core, port: TreePort) -> None:
    """Block a port that has received its own BPDU: frames sent there come back."""
    port.self_loop_until = core.now + OWN_BPDU_HELLOS * core.params.hello_time
    if not port.self_loop:
        port.self_loop = True
        core.guard(port, Guard.SELF_LOOP, "hears its own BPDUs, blocking")


def hear_bpdu(core: Core, port: TreePort) -> None:
    """Release loop guard: a valid BPDU of another port came in."""
    if port.loop_inconsistent:
        release_loop_guard(core, port, "BPDUs are back")


def expire(core: Core, port: TreePort) -> None:
    """Do the timed recoveries that are due."""
    if port.err_disabled and not core.running(port.err_until):
        release_bpdu_guard(core, port, "the recovery time is over")
    if port.self_loop and not core.running(port.self_loop_until):
        release_self_loop(core, port, "no own BPDU for three hello times")


def release(core: Core, port: TreePort, reason: str) -> None:
    """Release every guard that can be released by hand."""
    if port.err_disabled:
        release_bpdu_guard(core, port, reason)
    if port.loop_inconsistent:
        release_loop_guard(core, port, reason)
    if port.self_loop:
        release_self_loop(core, port, reason)
    port.drops_reported.clear()


def link_lost(core: Core, port: TreePort) -> None:
    """Release what a lost link makes pointless; BPDU guard stays: cables are put back."""
    if port.loop_inconsistent:
        release_loop_guard(core, port, "the port is down")
    if port.self_loop:
        release_self_loop(core, port, "the port is down")
    port.drops_reported.clear()


def release_bpdu_guard(core: Core, port: TreePort, reason: str) -> None:
    """Release BPDU guard; the caller enables the port."""
    port.err_disabled = False
    port.err_until = EXPIRED
    core.unguard(port, Guard.BPDU_GUARD, f"BPDU guard: recovered, {reason}")


def release_loop_guard(core: Core, port: TreePort, reason: str) -> None:
    """Enable the port again, from discarding."""
    port.loop_inconsistent = False
    _from_the_start(core, port)
    core.unguard(port, Guard.LOOP_GUARD, f"loop guard: recovered, {reason}")


def release_self_loop(core: Core, port: TreePort, reason: str) -> None:
    """Enable the port again, from discarding."""
    port.self_loop = False
    port.self_loop_until = EXPIRED
    _from_the_start(core, port)
    core.unguard(port, Guard.SELF_LOOP, f"own BPDUs: recovered, {reason}")


def _from_the_start(core: Core, port: TreePort) -> None:
    # fdWhile ran out while the guard was on; without this the port would forward at once.
    if port.fd_while != PAUSED:
        port.fd_while = core.now + core.forward_delay(port)
