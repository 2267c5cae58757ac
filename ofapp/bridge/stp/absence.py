"""Resume a bridge after its controller was disconnected while its switch went on.

The switch has forwarded by its last port states, and the tree has not changed. Its information
about the neighbours is old; they may have decided otherwise since, without any BPDU reaching this
bridge. The ports that forward are safe all the same, for each of the neighbours needs this bridge's
agreement to change that. But old information must not open a port:

- A port with a neighbour's information (root, alternate, backup) is `unheard` until the neighbour
  repeats it or the information ages. Until then it neither opens nor agrees to anything.
- Waits in which a neighbour may object begin again, for no objection could be received.
- Designated ports send a BPDU at once, and so the neighbours answer.

The neighbours may be without a controller, too, and for longer. Such a switch drops BPDUs at first
(they go to a controller that is not there). After two hello times (`flows.TRAP_HELLOS`) it forwards
them between its open ports, so that the bridges around it hear each other. `Core.cautious_until`
waits for that. None of this is in 802.1D-2004, where a bridge that stops sending is presumed to
have stopped forwarding.
"""

from ofapp.bridge.effects.content import PortState
from ofapp.bridge.stp.core import Core
from ofapp.bridge.stp.information import update_received_info_while
from ofapp.bridge.stp.params import MIGRATE_TIME
from ofapp.bridge.stp.port import EXPIRED, PAUSED, InfoIs, TreePort


def come_back(core: Core, port: TreePort) -> None:
    """Change the state of an enabled port when its bridge resumes."""
    port.new_info = True
    if port.told_until == PAUSED:  # the last BPDU was sent long ago, or never will be
        port.told_until = EXPIRED
    if port.info_is is InfoIs.RECEIVED:
        update_received_info_while(core, port)
        port.unheard = True
    if port.state is PortState.FORWARDING:
        return
    port.agreed = port.proposing = False
    if port.fd_while != PAUSED:
        port.fd_while = max(port.fd_while, core.now + core.forward_delay(port))
    if port.edge_delay_while != PAUSED:
        port.edge_delay_while = max(port.edge_delay_while, core.edge_delay(MIGRATE_TIME))
