"""Files that were cut or emptied while they are still YAML."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ofapp.config import ConfigError, load_config
from ofapp.config.load import parse_config
from ofapp.config.loss import extent, missing

BRIDGES = "".join(
    f"  br{number}:\n    ageing_time: 60\n    ports: {{eth1: {{vlan: 10}}, eth2: {{vlan: 20}}}}\n"
    for number in range(10)
)
TEXT = f"bridges:\n{BRIDGES}"


def lost(old: str, new: str) -> str | None:
    return missing(*(extent(parse_config(text.encode(), "file")) for text in (old, new)))


@pytest.mark.parametrize("cut", ["", "bridges:\n", "# nothing\n", "watch: false\n"])
def test_a_file_that_says_nothing_any_more(cut: str) -> None:
    assert lost(TEXT, cut) == "30 of the 30 settings that the file had are not there any more"
    assert lost("bridges: {br0: {ageing_time: 60}}", cut)
    assert lost(cut, cut) is None
    assert lost(cut, TEXT) is None


def test_every_cut_at_the_end_of_a_line_is_found_when_more_than_half_is_gone() -> None:
    lines = TEXT.splitlines(keepends=True)
    found = [lost(TEXT, "".join(lines[:kept])) is not None for kept in range(1, len(lines) + 1)]
    assert found == sorted(found, reverse=True)
    assert found.index(False) == pytest.approx(len(lines) / 2, abs=2)


def test_a_list_that_is_cut_counts_by_its_entries() -> None:
    def file(entries: int) -> str:
        macs = (f"02:00:00:00:00:{number:02x}" for number in range(entries))
        own = ", ".join(f'{{mac: "{mac}", port: eth1}}' for mac in macs)
        return f"bridges: {{br0: {{ageing_time: 60, static: [{own}]}}}}"

    assert lost(file(20), file(15)) is None
    assert (
        lost(file(20), file(5)) == "30 of the 41 settings that the file had are not there any more"
    )


def test_what_is_changed_is_not_missing() -> None:
    assert lost(TEXT, TEXT.replace("60", "90").replace("10}", "20}")) is None


def test_few_settings_may_go_as_long_as_some_stay() -> None:
    small = "bridges: {br0: {ageing_time: 60, fdb_max_learned: 5, name: x}}".replace(
        ", name: x", ""
    )
    assert lost(small, "bridges: {br0: {ageing_time: 60}}") is None


def test_an_end_mark_that_was_there_must_stay() -> None:
    marked = f"{TEXT}...\n"
    assert lost(TEXT, marked) is None
    assert lost(marked, marked.replace("60", "90")) is None
    assert "`...`" in str(lost(marked, TEXT))
    for size in range(len(marked) - 4):
        try:
            parse_config(marked[:size].encode(), "file")
        except ConfigError:
            continue
        assert lost(marked, marked[:size]) is not None, marked[:size]


def test_a_fifo_is_no_file(tmp_path: Path) -> None:
    fifo = tmp_path / "ofapp.yaml"
    os.mkfifo(fifo)
    with pytest.raises(ConfigError, match=r"ofapp\.yaml: cannot be read: this is not a reg"):
        load_config(fifo)
