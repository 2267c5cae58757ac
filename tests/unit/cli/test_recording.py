"""ofapp record and ofapp replay."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tests.unit.api import live
from tests.unit.cli.conftest import Run


def test_a_recording_is_saved_and_replayed(
    ofapp: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "bridges.jsonl.gz"
    with live.served("recorded") as url:
        monkeypatch.setenv("OFAPP_API", url)
        said = ofapp("record", str(file))
        assert (said.status, said.err) == (0, "")
        assert said.out == f"{file}: {file.stat().st_size} octets\n"
    text = gzip.decompress(file.read_bytes()).decode()
    assert '"input":"set_ports"' in text
    inputs = text.count('"input"')
    assert ofapp("replay", str(file)).out == f"{inputs} inputs: no difference\n"
    other = text.replace('"$":"InstallEntry","port":1', '"$":"InstallEntry","port":2')
    assert other != text
    file.write_bytes(gzip.compress(other.encode()))
    said = ofapp("replay", str(file))
    assert said.status == 1
    assert "recorded: " in said.out
    assert "replayed: " in said.out


def test_without_record_the_remedy_is_named(live_ofapp: Run, tmp_path: Path) -> None:
    said = live_ofapp("record", str(tmp_path / "file"))
    assert said.status == 1
    assert "start ofapp-manager with --record" in said.err
    assert not (tmp_path / "file").exists()


@pytest.mark.parametrize("content", [b"", b"text", gzip.compress(b"text"), gzip.compress(b"")[:9]])
def test_what_is_no_recording_is_refused(ofapp: Run, tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "file"
    file.write_bytes(content)
    said = ofapp("replay", str(file))
    assert said.status == 1
    assert said.err.startswith("ofapp: ")
    assert str(file) in said.err
    assert "Traceback" not in said.err
