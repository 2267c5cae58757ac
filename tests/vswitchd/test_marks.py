"""The mark of a bridge's snapshot, as a real switch keeps it."""

from __future__ import annotations

from ofapp.openflow.model.cookie import parse_cookie
from ofapp.openflow.model.rule import TableId
from ofapp.openflow.pipeline.owner import lease_flow, mark_flow
from ofapp.openflow.wire.messages import codec
from tests.support.ovs import VSwitchd
from tests.vswitchd.wire import Wire


def test_another_mark_takes_its_place_beside_any_lease(vswitchd: VSwitchd) -> None:
    bridge = vswitchd.add_bridge(ports=1)

    def serials(wire: Wire) -> list[int]:
        cookies = (parse_cookie(flow.cookie) for flow in wire.flows(TableId.OWNER))
        return sorted(cookie.serial for cookie in cookies if cookie)

    with Wire(bridge) as wire:
        wire.send([codec.add_flow(mark_flow(0xFFFFFFFE)), codec.claim_flow(lease_flow(7, 1))])
        assert serials(wire) == [1, 0xFFFFFFFE]
        wire.send([codec.add_flow(mark_flow(0)), codec.claim_flow(lease_flow(7, 1))])
        assert serials(wire) == [0, 1]
        wire.send([codec.add_flow(mark_flow(77))])
        wire.send([codec.delete_flow(mark_flow(0), any_serial=True)])
        assert serials(wire) == [1]
    bridge.destroy()
