"""A bridge that has been deaf and dumb goes on: its controller was not there, its switch was.

The switch has forwarded all the while as it was last told, and so the tree has stood still. What it
knows of its neighbours is what they said before; they may have decided otherwise since and told
nobody. What this bridge holds open is safe all the same, for each of its neighbours needs its
agreement to change that. What it may not do is to open anything on old knowledge:

- A port that is fed by a neighbour (root, alternate, backup) is `unheard` until the neighbour
  repeats itself or the information ages. Until then it neither opens nor agrees to anything.
- Waits in which somebody may object begin anew, for nobody could be heard objecting.
- Designated ports tell at once what they have to tell, and so the neighbours answer.

The neighbours may be as deaf, for the same reason and for longer. A switch nobody speaks for drops
BPDUs at first (they go to a controller that is not there), and passes them on between its open
ports after two hello times (`flows.TRAP_HELLOS`), so that the bridges around it hear each other.
That is what `Core.cautious_until` waits for. None of this is in 802.1D-2004, where a bridge that
stops speaking is presumed to have stopped forwarding.
"""

from __future__ import annotations

from ofapp.bridge.stp.core import Core
from ofapp.bridge.stp.effects import PortState
from ofapp.bridge.stp.information import update_received_info_while
from ofapp.bridge.stp.params import MIGRATE_TIME
from ofapp.bridge.stp.port import EXPIRED, PAUSED, InfoIs, TreePort


def come_back(core: Core, port: TreePort) -> None:
    """What changes for an enabled port when its bridge goes on."""
    port.new_info = True
    if port.told_until == PAUSED:  # what was said last was sent long since, or never will be
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
