"""The window: what is open, when to ask, and how it follows the switch."""

from __future__ import annotations

from ofapp.openflow.window import LARGEST, MARK, SMALLEST, Window


def test_it_closes_when_too_much_is_unanswered_and_opens_with_the_answer() -> None:
    window = Window()
    assert not window.sent(MARK - 1)
    assert window.sent(1)
    mark = window.mark()
    assert not window.sent(MARK - 1)
    window.sent(window.size)
    assert not window.is_open
    window.answered(mark, 1.0, 1.02)
    assert not window.is_open
    window.answered(window.mark(), 1.0, 1.02)
    assert window.is_open


def test_it_follows_the_time_that_answers_take() -> None:
    window = Window()
    size = window.size
    window.answered(0, 1.0, 1.02)
    assert window.size == size
    window.answered(0, 2.0, 2.5)
    assert window.size == size // 2
    window.answered(0, 2.1, 2.6)  # asked before it shrank
    assert window.size == size // 2
    for now in range(3, 30):
        window.answered(0, now, now + 0.5)
    assert window.size == SMALLEST
    for now in range(30, 60):
        window.answered(0, now, now + 0.001)
    assert window.size == LARGEST
