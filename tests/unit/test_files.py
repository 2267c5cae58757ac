"""What is read where a file should be."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ofapp.common.files import read_regular


def test_a_file_is_read_as_far_as_there_may_be(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"abc")
    assert (read_regular(path, 2), read_regular(path, 9)) == (b"ab", b"abc")


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_what_is_no_file_is_reported_by_its_name_and_left_closed(
    tmp_path: Path, make: object
) -> None:
    path = tmp_path / "entry"
    make(path)  # type: ignore[operator]
    before = os.listdir("/proc/self/fd")
    with pytest.raises(OSError, match="not a regular file") as error:
        read_regular(path, 9)
    assert error.value.filename == str(path)
    assert os.listdir("/proc/self/fd") == before
