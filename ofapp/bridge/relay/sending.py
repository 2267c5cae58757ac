"""Frames that the bridge itself sends, tagged or untagged as each port requires.

Inside the bridge a frame carries its VLAN's tag (see `vlan`). A frame that the controller forwards
instead of the datapath loses the tag where the datapath would pop it, and is not sent where the
datapath would not send it.
"""

from collections.abc import Collection

from ofapp.bridge.effects import Effect, SendFrame
from ofapp.bridge.packet.ethernet import frame_vid
from ofapp.bridge.relay.policies import PortPolicies


def sent(
    policies: PortPolicies, ports: Collection[int], source: int | None, frame: bytes
) -> list[Effect]:
    """Send a frame as inside the bridge out of ports; source: the port it came from, if any."""
    vid = frame_vid(frame)
    allowed = {
        port
        for port in ports
        if policies.vlans(port).has(vid) and (source is None or policies.may_pass(source, port))
    }
    bare = {port for port in allowed if vid and policies.vlans(port).pops(vid)}
    forms = ((allowed - bare, frame), (bare, frame[:12] + frame[16:]))
    return [SendFrame(frozenset(out), form) for out, form in forms if out]
