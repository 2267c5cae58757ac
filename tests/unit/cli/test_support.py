"""ofapp support, as its user meets it."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

from tests.unit.api.network import DPID
from tests.unit.cli.conftest import Run


def test_an_archive_has_the_answers_of_the_api_and_no_credentials(
    live_ofapp: Run, tmp_path: Path
) -> None:
    file = tmp_path / "support.tar.gz"
    said = live_ofapp("support", str(file))
    assert said.status == 0
    assert file.stat().st_mode & 0o077 == 0
    with tarfile.open(file) as archive:
        found = {entry.name: archive.extractfile(entry) for entry in archive}
        read = {name: content.read() for name, content in found.items() if content is not None}
    version = json.loads(read["v1/version.json"])
    assert version["version"]
    assert json.loads(read[f"v1/bridges/{DPID}/ports.json"])["ports"]
    assert {"v1/config.json", "v1/problems.json", "v1/events.json", "metrics.txt"} <= read.keys()
    assert not [name for name in read if "token" in name or "session" in name or "stream" in name]
    assert b"--record" in read["v1/recording.refused"]
    refused = sum(name.endswith(".refused") for name in read)
    answers = len(read) - refused
    size = file.stat().st_size
    assert said.out == f"{file}: {answers} answers, {refused} refused, {size} octets\n"


def test_a_place_where_nothing_can_be_written_is_named(live_ofapp: Run, tmp_path: Path) -> None:
    said = live_ofapp("support", str(tmp_path))
    assert said.status == 1
    assert f"cannot write {tmp_path}: Is a directory" in said.err
