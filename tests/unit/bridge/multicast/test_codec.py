"""The float codes against the RFC's formula."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ofapp.bridge.multicast.codec import (
    decode8,
    decode16,
    encode8,
    encode16,
)


@pytest.mark.parametrize(("code", "value"), [(0, 0), (127, 127), (0x80, 128), (0x8F, 248)])
def test_decode8_by_hand(code: int, value: int) -> None:
    assert decode8(code) == value


def test_decode8_is_the_rfc_formula_and_encode8_its_inverse() -> None:
    for code in range(256):
        mant, exp = code & 0xF, code >> 4 & 7
        value = code if code < 128 else (mant | 0x10) << (exp + 3)
        assert decode8(code) == value
        assert encode8(value) == code


def test_decode16_is_the_rfc_formula_and_encode16_its_inverse() -> None:
    for code in [*range(0, 0x8000, 97), *range(0x8000, 0x10000, 13), 0x7FFF, 0x8000, 0xFFFF]:
        mant, exp = code & 0xFFF, code >> 12 & 7
        value = code if code < 0x8000 else (mant | 0x1000) << (exp + 3)
        assert decode16(code) == value
        assert encode16(value) == code


@given(st.integers(-5, 40000))
def test_encode8_never_says_more_than_asked(value: int) -> None:
    said = decode8(encode8(value))
    assert said <= max(value, 0)
    assert said == 31744 or said >= value * 15 // 16


@given(st.integers(0, 9_000_000))
def test_encode16_never_says_more_than_asked(value: int) -> None:
    said = decode16(encode16(value))
    assert said <= value
    assert said == 8387584 or said >= value * 4095 // 4096
