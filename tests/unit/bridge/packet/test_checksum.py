"""Checksums against the slow definition."""

from hypothesis import given
from hypothesis import strategies as st

from ofapp.bridge.packet.checksum import checksum, checksum_ok
from tests.unit.bridge.multicast.lan import internet_checksum


@given(st.binary(min_size=1, max_size=80))
def test_checksum_is_the_internet_checksum(data: bytes) -> None:
    if any(data):
        assert checksum(data) == internet_checksum(data)


@given(st.binary(min_size=2, max_size=80), st.integers(0, 639))
def test_checksum_accepts_the_right_one_and_no_flipped_bit(data: bytes, bit: int) -> None:
    data = data[: len(data) & ~1] + b"\x01\x00"
    whole = data + internet_checksum(data).to_bytes(2, "big")
    assert checksum_ok(whole)
    bit %= len(whole) * 8
    flipped = bytearray(whole)
    flipped[bit // 8] ^= 1 << bit % 8
    assert not checksum_ok(bytes(flipped))


def test_all_zero_data_is_no_message() -> None:
    assert not checksum_ok(bytes(8))
