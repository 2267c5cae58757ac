"""A switch that is connected, as the code that compares it with its bridge sees it."""

from collections.abc import Callable
from dataclasses import dataclass

from ofapp.bridge.effects import Effect
from ofapp.openflow.switch.encode.encoder import Encoder
from ofapp.openflow.switch.installed import Installed
from ofapp.openflow.switch.queue.delivery import DeliveryQueue
from ofapp.openflow.switch.switch_bridge import SwitchBridge
from ofapp.openflow.wire.channel import Channel


@dataclass(frozen=True, slots=True)
class ConnectedSwitch:
    """A connected switch.  It is passed as an argument and never kept: it leads to the session.

    bridge: what it is to be; installed: what it is believed to hold; queue: what is to be sent.
    apply: carries effects out; drain: waits until more may be sent, RequestError.
    """

    channel: Channel
    bridge: SwitchBridge
    installed: Installed
    encoder: Encoder
    queue: DeliveryQueue
    apply: Callable[[list[Effect]], None]
    drain: Callable[[], None]
