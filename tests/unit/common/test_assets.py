"""Files for browsers, which the Debian package has compressed."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from ofapp.common.assets import read_asset


def test_a_file_is_read_from_its_compressed_copy(tmp_path: Path) -> None:
    (tmp_path / "js").mkdir()
    (tmp_path / "js" / "packed.js.gz").write_bytes(gzip.compress(b"let packed;"))
    (tmp_path / "js" / "plain.js").write_bytes(b"let plain;")
    assert read_asset(tmp_path, "js/packed.js") == b"let packed;"
    assert read_asset(tmp_path, "js/plain.js") == b"let plain;"
    with pytest.raises(FileNotFoundError):
        read_asset(tmp_path, "js/missing.js")
