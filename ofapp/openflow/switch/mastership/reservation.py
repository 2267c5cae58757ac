"""The reservation that a switch itself keeps: its master, among controllers that share nothing.

It is a flow that no frame ever meets, which ends by its hard timeout unless it is renewed.  Each
controller's matches another mask of the metadata, with the value 0, so that all of them overlap;
and they are added with CHECK_OVERLAP, which a switch refuses while another's is there (OpenFlow
1.3.5, 6.4).  To renew a reservation is to add it again, which Open vSwitch does not take for an
overlap.  So making a reservation and testing whether another controller has one is one step.
"""

import ipaddress
from collections.abc import Callable, Iterator
from functools import cached_property

from ofapp.openflow.model.cookie import Feature
from ofapp.openflow.model.flow import Flow
from ofapp.openflow.model.rule import TableId
from ofapp.openflow.pipeline.owner import lease_flow
from ofapp.openflow.wire.channel import Channel
from ofapp.openflow.wire.messages import codec
from ofapp.openflow.wire.messages.flow_stats import FlowStats
from ofapp.openflow.wire.messages.oxm import oxms
from ofapp.openflow.wire.questions import feature_flows
from ofapp.openflow.wire.requests import expect_error, replies
from ofapp.osken import parser

_METADATA_MASKED = 0x80000510


class SwitchReservation:
    """The reservation of one switch.  own: the number of this controller, or of its cluster."""

    def __init__(self, channel: Channel, number: int) -> None:
        self._channel = channel
        self._own = number
        self._renewed = 0

    def take(self) -> bool:
        """Take it, unless another has it.  Raises RequestError."""
        refused: list[bytes] = []
        xid = self._add(refused.append)
        list(replies(self._channel, parser.OFPBarrierRequest(self._channel)))
        self._channel.end_request(xid)
        return not refused

    def renew(self, lost: Callable[[], None]) -> None:
        """Keep it; `lost` is called, later, should it be another controller's now."""
        self._channel.end_request(self._renewed)
        self._renewed = self._add(lambda _error: lost())

    def release(self) -> None:
        """Let others have it at once."""
        self._channel.send(codec.delete_flow(self._reservation))

    def acquire(self) -> str | None:
        """Take it, or give in words which controller has it.  Raises RequestError."""
        return None if self.take() else self.other() or "a controller whose lease has just ended"

    def other(self) -> str | None:
        """The other controller that has it, in words; None where there is none.  RequestError."""
        for flow in self._reservations():
            if not self._is_own(flow):
                address = flow.cookie & 0xFFFFFFFF
                at = f" at {ipaddress.IPv4Address(address)}" if address else ""
                return f"another controller{at}"
        return None

    def age(self) -> float | None:
        """Seconds since the reservation with our number was renewed; None where there is none.

        RequestError.
        """
        return next((flow.age for flow in self._reservations() if self._is_own(flow)), None)

    def _reservations(self) -> Iterator[FlowStats]:
        return feature_flows(self._channel, Feature.OWNER, TableId.OWNER)

    def _is_own(self, flow: FlowStats) -> bool:
        value = dict(oxms(flow.match)).get(_METADATA_MASKED, b"")
        return value[8:] == self._own.to_bytes(8, "big")

    def _add(self, refused: Callable[[bytes], None]) -> int:
        return expect_error(self._channel, self._claim, refused)

    @cached_property
    def _reservation(self) -> Flow:
        return lease_flow(self._own, self._address())

    @cached_property
    def _claim(self) -> bytes:
        """Made once: a thousand switches have a thousand reservations renewed each second."""
        return codec.claim_flow(self._reservation)

    def _address(self) -> int:
        """Our end of the connection, for people; 0 where it is not an IPv4 address."""
        try:
            return int(ipaddress.IPv4Address(self._channel.socket.getsockname()[0]))
        except (OSError, ValueError, IndexError, TypeError):
            return 0
