"""Which snapshot of a bridge's spanning tree counts, kept by its switch.

Another machine that takes the switch over must not go on with a tree that has moved since it was
written down.  etcd cannot keep that: a write there takes milliseconds, or does not succeed at all
while the tree moves on; to wait for it would hold up spanning tree, and not to wait would leave a
time in which a crash restores an outdated tree.  The switch can.  It carries out the messages of
one connection in order, so a mark that is replaced before the first message that follows from a
move is replaced whenever one of these was carried out: also if a controller dies, and whether etcd
answers or not.  So the mark is a flow that no frame meets, with a number in its cookie.
"""

from ofapp.openflow.model.cookie import Feature, parse_cookie
from ofapp.openflow.model.rule import TableId
from ofapp.openflow.pipeline.owner import mark_flow
from ofapp.openflow.wire.channel import Channel
from ofapp.openflow.wire.messages import codec
from ofapp.openflow.wire.questions import feature_flows


def read_mark(channel: Channel) -> int | None:
    """The switch's mark, None where it has none.  Raises RequestError and ValueError.

    Only its master is to ask: no other controller can change the mark then.
    """
    flows = feature_flows(channel, Feature.MARK, TableId.OWNER)
    cookies = (parse_cookie(flow.cookie) for flow in flows)
    return next((cookie.serial for cookie in cookies if cookie is not None), None)


def write_mark(channel: Channel, mark: int | None) -> None:
    """Make this the mark that counts, before the next message; None: no snapshot counts."""
    if mark is None:
        channel.send(codec.delete_flow(mark_flow(0), any_serial=True))
    else:
        channel.send(codec.add_flow(mark_flow(mark)))
