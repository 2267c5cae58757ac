"""Which controller a switch is reserved for."""

from types import SimpleNamespace
from typing import Any

import ofapp.launcher.options  # noqa: F401  (os-ken's modules in the order that works)
from ofapp.openflow.pipeline.owner import lease_flow
from ofapp.openflow.switch.mastership import reservation
from ofapp.openflow.switch.mastership.reservation import SwitchReservation
from ofapp.openflow.wire.messages import codec
from ofapp.openflow.wire.messages.flow_stats import FlowStats

OWN, OTHER = 0x1122_3344_5566_7788, 0x8877_6655_4433_2211
AGE = 1.25


def reported_flow(number: int, address: int = 0) -> FlowStats:
    """As the switch tells of it, which has been told so by the very message."""
    flow = lease_flow(number, address)
    match = bytes(codec.claim_flow(flow))[52:72]
    return FlowStats(flow.table, 1, 0, 0, flow.cookie, 0, match, b"", 0, AGE)


def reservation_of(monkeypatch: Any, *flows: FlowStats) -> SwitchReservation:
    monkeypatch.setattr(SwitchReservation, "_reservations", lambda _self: iter(flows))
    return SwitchReservation(SimpleNamespace(), OWN)  # type: ignore[arg-type]


def test_an_own_lease_is_not_another_s(monkeypatch: Any) -> None:
    assert int.from_bytes(reported_flow(OWN).match[:4], "big") == reservation._METADATA_MASKED
    own = reservation_of(monkeypatch, reported_flow(OWN))
    assert own.other() is None
    assert own.age() == AGE


def test_another_s_is_reported_with_its_address(monkeypatch: Any) -> None:
    other = reservation_of(monkeypatch, reported_flow(OTHER, 0x0A000001))
    assert other.other() == "another controller at 10.0.0.1"
    assert other.age() is None
    assert reservation_of(monkeypatch).other() is None
