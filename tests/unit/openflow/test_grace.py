"""How long to wait until a switch forwards as it says that it does."""

from ofapp.bridge.stp.transmit import AGREEMENT_DELAY
from ofapp.openflow.switch.grace import LEAST, MOST, grace


def test_a_switch_that_answers_late_gets_longer() -> None:
    assert grace(0.0) == LEAST
    assert LEAST < grace(0.01) < grace(0.02) < MOST


def test_but_not_for_ever() -> None:
    assert grace(10.0) == MOST < AGREEMENT_DELAY
