"""Drop-ins beside the configuration file: their order, how they are merged, and their mistakes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings

from ofapp.common.yaml_text import yaml_text
from ofapp.config import Config, ConfigError, load_config, merged_config, parse_config
from ofapp.config.load import signature
from ofapp.config.loss import extent, missing
from tests.unit.config.configs import bridges

QUICK = (Phase.explicit, Phase.reuse, Phase.generate)  # shrinking such examples takes minutes


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "ofapp.yaml.d").mkdir()
    (tmp_path / "ofapp.yaml").write_text("")
    return tmp_path / "ofapp.yaml"


def put(file: Path, name: str, text: str) -> Path:
    drop_in = file.with_name(f"{file.name}.d") / name
    drop_in.write_text(text)
    return drop_in


def mistakes(file: Path) -> list[str]:
    with pytest.raises(ConfigError) as refused:
        load_config(file)
    return [str(fault) for fault in refused.value.faults]


def test_sections_are_merged_and_values_and_lists_replaced(file: Path) -> None:
    file.write_text(
        "bridges:\n  br0:\n    ageing_time: 60\n    ports: {eth1: {vlan: 10, isolated: true}}\n"
        "    lags:\n      lag0: {members: [a, b]}\n"
    )
    put(
        file,
        "one.yaml",
        "bridges:\n  br0:\n    ports: {eth1: {vlan: 20}, eth2: {vlan: 30}}\n"
        "    lags: {lag0: {members: [c, d]}}\n",
    )
    bridge = load_config(file).bridge(1, "br0")
    assert bridge.ageing_time == 60
    assert [bridge.port(name, None).vlan.access for name in ("eth1", "eth2")] == [20, 30]
    assert bridge.port("eth1", None).isolated
    assert bridge.lags["lag0"].members == ("c", "d")


def test_the_last_in_lexical_order_counts(file: Path) -> None:
    for name, time in (("b.yaml", 20), ("a.yaml", 10), ("B.yaml", 30)):
        put(file, name, f"defaults: {{ageing_time: {time}}}\n")
    assert load_config(file).bridge(1, None).ageing_time == 20


def test_other_files_and_hidden_ones_are_not_read(file: Path) -> None:
    for name in (".a.yaml", "a.yaml~", "a.yaml.ofapp-new", "README"):
        put(file, name, "nonsense: [\n")
    assert load_config(file) == Config()


def test_an_empty_section_changes_nothing(file: Path) -> None:
    file.write_text("defaults: {ageing_time: 60}\n")
    put(file, "a.yaml", "defaults:\n# nothing yet\n")
    put(file, "b.yaml", "# nothing at all\n")
    assert load_config(file).bridge(1, None).ageing_time == 60


def test_a_bridge_is_the_same_in_each_spelling_of_its_datapath_id(file: Path) -> None:
    file.write_text("bridges: {0xa1: {ageing_time: 60}}\n")
    put(file, "a.yaml", "bridges: {'00:00:00:00:00:00:00:a1': {fdb_max_learned: 5}}\n")
    bridge = load_config(file).bridge(0xA1, None)
    assert (bridge.ageing_time, bridge.fdb_max_learned) == (60, 5)


def test_each_mistake_has_its_own_file_and_line(file: Path) -> None:
    file.write_text("bridges:\n  br0:\n    ageing_time: never\n")
    first = put(
        file, "a.yaml", "bridges:\n  br0:\n    agein_time: 5\n    ports: {eth1: {vlan: 9999}}\n"
    )
    second = put(file, "b.yaml", "\ndefaults: {stp: {hello_time: x}}\n")
    found = mistakes(file)
    assert [fault.split(": ")[0] for fault in found] == [
        f"{file}:3:18",
        f"{first}:3:5",
        f"{first}:4:26",
        f"{second}:2:30",
    ]


def test_a_key_that_is_twice_in_a_drop_in_is_a_mistake_there(file: Path) -> None:
    drop_in = put(file, "a.yaml", "watch: true\nwatch: false\n")
    assert mistakes(file) == [f"{drop_in}:2:1: watch: this key is there already, in line 1"]


@pytest.mark.parametrize(
    ("text", "what"),
    [("a: [\n", "2:1: not YAML"), ("- a\n", "1:1: a drop-in must have sections")],
)
def test_a_drop_in_that_is_no_section_is_named(file: Path, text: str, what: str) -> None:
    drop_in = put(file, "a.yaml", text)
    (found,) = mistakes(file)
    assert found.startswith(f"{drop_in}:{what}")


def test_a_drop_in_that_cannot_be_read_is_named(file: Path) -> None:
    drop_in = file.with_name("ofapp.yaml.d") / "a.yaml"
    drop_in.symlink_to("missing")
    assert mistakes(file) == [f"{drop_in}: cannot be read: No such file or directory"]


def test_drop_ins_need_the_file(file: Path) -> None:
    put(file, "a.yaml", "watch: true\n")
    file.unlink()
    assert mistakes(file) == [f"{file}: cannot be read: No such file or directory"]


def test_the_end_mark_is_that_of_the_file(file: Path) -> None:
    file.write_text("watch: false\n...\n")
    put(file, "a.yaml", "watch: true\n")
    assert load_config(file).ends_marked
    assert parse_config(merged_config(file), "f").ends_marked


def test_a_drop_in_that_is_removed_does_not_look_cut_and_one_that_is_emptied_does(
    file: Path,
) -> None:
    drop_in = put(file, "a.yaml", "watch: true\n")
    before = extent(load_config(file))
    drop_in.write_text("")
    assert missing(before, extent(load_config(file))) is not None
    drop_in.unlink()
    assert missing(before, extent(load_config(file))) is None


def test_without_drop_ins_the_merged_file_is_the_file(file: Path) -> None:
    file.write_text("# mine\nwatch: true\n")
    assert merged_config(file) == file.read_bytes()


@settings(max_examples=20, phases=QUICK)
@given(bridges(), bridges())
def test_the_merged_file_means_the_same(
    tmp_path_factory: pytest.TempPathFactory, one: object, other: object
) -> None:
    file = tmp_path_factory.mktemp("merged") / "ofapp.yaml"
    file.with_name("ofapp.yaml.d").mkdir()
    file.write_text(yaml_text({"bridges": {"br0": one}}))
    put(file, "a.yaml", yaml_text({"bridges": {"br1": other}}))
    assert parse_config(merged_config(file), "f").bridges == load_config(file).bridges


def test_a_drop_in_that_is_added_changed_or_removed_is_noticed(file: Path) -> None:
    seen = [signature(file)]
    drop_in = put(file, "a.yaml", "watch: true\n")
    seen.append(signature(file))
    os.utime(drop_in, (1, 1))
    seen.append(signature(file))
    drop_in.unlink()
    assert signature(file) == seen[0]
    assert len({*seen}) == 3
    file.unlink()
    assert signature(file) is None
