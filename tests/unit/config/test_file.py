"""What a valid file means."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import jsonschema_rs
import pytest
import yaml
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from ofapp.bridge.params.policy import Mirror, MoveLimit, PortPolicy, Storm, VlanPolicy
from ofapp.bridge.ports.vlan import ALL_VIDS, TRANSPARENT, PortVlans, access, trunk
from ofapp.config import Config, ConfigError, Fault, load_config, parse_config
from ofapp.config.compare import differences
from ofapp.config.document import NotYamlError, read
from ofapp.config.model import json_schema
from tests.unit.config.configs import bridges

QUICK = (Phase.explicit, Phase.reuse, Phase.generate)  # shrinking such examples takes minutes
ROOT = Path(__file__).parents[3]


def config(text: str) -> Config:
    return parse_config(textwrap.dedent(text).encode(), "f")


def test_nothing_at_all_is_the_defaults() -> None:
    assert load_config(None) == config("") == config("bridges:\ndefaults:\n  stp:\n") == Config()


@pytest.mark.parametrize(
    "key",
    [
        "'00000000000000a1'",
        "00000000000000a1",
        "00000000000000A1",
        "0xa1",
        "00:00:00:00:00:00:00:a1",
    ],
)
def test_a_datapath_id_in_all_its_forms(key: str) -> None:
    settings = config(f"bridges: {{{key if ':' not in key else repr(key)}: {{ageing_time: 7}}}}")
    assert settings.bridge(0xA1).ageing_time == 7
    assert settings.bridge(2).ageing_time == 300


@pytest.mark.parametrize("key", ["0000000000000001", "1", "'1'", "0x1", "0001"])
def test_and_of_digits_alone(key: str) -> None:
    assert config(f"bridges: {{{key}: {{ageing_time: 7}}}}").bridge(1).ageing_time == 7


def test_a_bridge_by_its_name_and_the_id_goes_first() -> None:
    settings = config("bridges: {br0: {ageing_time: 7}, 0x2: {ageing_time: 8}}")
    assert settings.names_bridges
    assert [settings.bridge(1, name).ageing_time for name in ("br0", "br1", None)] == [7, 300, 300]
    assert settings.bridge(2, "br0").ageing_time == 8
    assert settings.keys(2, "br0") == ["0000000000000002", "br0"]


@pytest.mark.parametrize(
    ("vlan", "core"),
    [
        ("10", access(10)),
        ("'10'", access(10)),
        ("office", access(30)),
        ("{access: office}", access(30)),
        ("transparent", TRANSPARENT),
        ("", TRANSPARENT),
        ("{trunk: all}", trunk(ALL_VIDS)),
        ("{trunk: 10}", trunk(frozenset({10}))),
        ("{trunk: [10, 20-22], native: 1}", trunk(frozenset({10, 20, 21, 22}), 1)),
        ("{trunk: '10, 20-22,office'}", trunk(frozenset({10, 20, 21, 22, 30}))),
        ("{trunk: 10, native: office, native_tagged: yes}", trunk(frozenset({10}), 30, True)),
    ],
)
def test_a_ports_vlan(vlan: str, core: PortVlans) -> None:
    settings = config(
        f"defaults: {{vlans: {{30: {{name: office}}}}, ports: {{a: {{vlan: {vlan}}}}}}}"
    )
    assert settings.bridge(1).params().port("a").vlans == core


def test_policies() -> None:
    params = (
        config(
            """
            defaults:
              mac_move: {moves: 3, hold: 5.5}
              vlans: {10: {fdb_max_learned: 5, over_limit: drop}, 20: {name: lab}}
            bridges:
              1:
                ports:
                  a: {isolated: yes, bcast_flood: off, storm: {broadcast: 10}, over_limit: drop}
                  3: {shutdown: true}
                  LOCAL: {hairpin: true}
                mirrors: {ids: {to: x, ingress: all, both: [a, b]}, tap: {to: y, egress: a}}
            """
        )
        .bridge(1)
        .params()
    )
    assert params.port("a").policy == PortPolicy(
        isolated=True, bcast_flood=False, storm=Storm(broadcast=10), over_limit="drop"
    )
    assert params.port("b", 3).policy.shutdown
    assert params.port("br0", 0xFFFFFFFE).policy.hairpin
    assert params.policies.vlans == {10: VlanPolicy(5, "drop")}
    assert params.policies.mac_move == MoveLimit(3, 10.0, 5.5)
    assert params.policies.mirrors == (
        Mirror("x", None, frozenset("ab")),
        Mirror("y", frozenset(), frozenset("a")),
    )


def test_what_a_pattern_says_holds_for_the_ports_that_it_fits() -> None:
    settings = config(
        """
        defaults:
          ports:
            "*": {mcast_flood: false}
            vnet*: {isolated: true, vlan: {trunk: [1, 2], native: 1}}
        bridges:
          1:
            ports:
              vnet1: {vlan: 10, storm: {broadcast: 5}}
              vnet2: {isolated: false}
              7: {locked: true}
        """
    ).bridge(1)
    one, two, three, other = (
        settings.port(name, 0) for name in ("vnet1", "vnet2", "vnet3", "eth0")
    )
    assert (one.isolated, one.mcast_flood, one.vlan.access, one.vlan.trunk) == (
        True,
        False,
        10,
        None,
    )
    assert (two.isolated, two.vlan.native) == (False, 1)
    assert (three.isolated, three.mcast_flood) == (True, False)
    assert (other.isolated, other.mcast_flood) == (False, False)
    seven = settings.port("tap", 7)
    assert (seven.locked, seven.mcast_flood, seven.isolated) == (True, False, False)


def test_null_takes_a_default_back() -> None:
    settings = config(
        """
        defaults: {ports: {a: {fdb_max_learned: 5, acl: web}}, acls: {web: [{action: drop}]}}
        bridges: {1: {ports: {a: {fdb_max_learned: null, acl: null}}}}
        """
    )
    assert settings.bridge(2).port("a", 0).acl == "web"
    assert (
        settings.bridge(1).port("a", 0).acl,
        settings.bridge(1).port("a", 0).fdb_max_learned,
    ) == (
        None,
        None,
    )


def test_anchors_and_merge_keys() -> None:
    settings = config(
        """
        bridges:
          1: &one
            ageing_time: 7
            ports: {a: &guest {isolated: true, locked: true}, b: {<<: *guest, locked: false}}
          2: {<<: [*one, {ageing_time: 8, description: x}]}
        """
    )
    assert settings.bridge(2).ageing_time == 7
    assert settings.bridge(2).description == "x"
    b = settings.bridge(1).port("b", 0)
    assert (b.isolated, b.locked) == (True, False)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("52:54:00:12:34:56", "52:54:00:12:34:56"),
        ("2026-11-21", "2026-11-21"),
        ("010", "010"),
        ("0x1F", 31),
        ("0o17", 15),
        ("-5", -5),
        ("1e3", 1000.0),
        (".inf", float("inf")),
        ("on", True),
        ("No", False),
        ("~", None),
        ("'5'", "5"),
        ("!!str 5", "5"),
        ("=", "="),
    ],
)
def test_values(text: str, value: object) -> None:
    assert read(f"a: {text}").root.value == {"a": value}


def test_a_byte_order_mark_is_no_fault() -> None:
    assert parse_config(b"\xef\xbb\xbfwatch: true", "f").watch


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    for path, what in ((tmp_path / "no", "No such file"), (tmp_path, "not a regular file")):
        with pytest.raises(ConfigError, match=what):
            load_config(path)


def test_what_is_shown_can_be_read_again() -> None:
    text = """
        defaults: {vlans: {10: {name: office}}, ports: {"vnet*": {isolated: true}}}
        bridges:
          1:
            stp: {priority: 4096}
            ports: {a: {vlan: {trunk: [office, 20-30], native: 5}}, 3: {vlan: office}}
            mirrors: {ids: {to: x, both: all}}
            static: [{mac: "52:54:00:00:00:01", port: a, vlan: office}]
    """
    before = config(text).bridge(1)
    shown = yaml.safe_dump({"bridges": {"1": before.shown()}})
    after = config(shown).bridge(1)
    assert after.params() == before.params()
    assert differences(before, after) == {}


@settings(max_examples=50, phases=QUICK)
@given(bridges())
def test_any_bridge_survives_being_shown(bridge: object) -> None:
    before = Config.model_validate({"bridges": {"1": bridge}}).bridge(1)
    shown = json.dumps({"bridges": {"1": before.shown()}})
    after = config(shown).bridge(1)
    assert (after.params(), differences(before, after)) == (before.params(), {})


@settings(max_examples=50, phases=QUICK)
@given(bridges())
def test_what_is_valid_is_so_for_an_editor(bridge: object) -> None:
    text = json.loads(json.dumps({"bridges": {"1": bridge}}))
    jsonschema_rs.validator_for(json_schema()).validate(text)


def test_the_schema_finds_what_is_wrong() -> None:
    schema = jsonschema_rs.validator_for(json_schema())
    assert schema.is_valid({"defaults": {"ports": {"a": {"vlan": {"trunk": [10, "20-30"]}}}}})
    for wrong in ({"prots": {}}, {"vlan": {"trnk": 5}}, {"vlan": []}, {"isolated": "maybe"}):
        assert not schema.is_valid({"defaults": {"ports": {"a": wrong}}}), wrong


SNIPPETS = st.sampled_from(
    [
        *("defaults:", "bridges:", "  ports:", "    eth0:", "vlan:", " 10", "{", "}", "[", "]"),
        *(": ", "- ", "\n", "  ", "\t", "&a", "*a", "<<: ", "!!x", "'", '"', "|", ">", "#", ","),
        *("trunk:", "all", "stp:", "static:", "mac:", "0x1", "---", "...", "? ", "%", "@", "\x00"),
        *("é", "\u2028", "null", "mirrors:", "acls:", "match:", "\r", "1e999", "0" * 20),
    ]
)


def faults(text: str | bytes) -> list[Fault]:
    """Of a file, none for a valid one; any other exception is a defect."""
    data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    try:
        parse_config(data, "f")
    except ConfigError as error:
        return error.faults or pytest.fail("refused without a word")
    return []


@settings(max_examples=300)
@given(st.one_of(st.lists(SNIPPETS, max_size=40).map("".join), st.text(max_size=80)))
def test_broken_files_are_refused_with_a_line(text: str) -> None:
    lines = sum(map(text.count, "\n\r\x85\u2028\u2029")) + 2
    assert all(fault.what and 1 <= fault.place.line <= lines for fault in faults(text))


@settings(max_examples=200)
@given(st.binary(max_size=100))
def test_so_is_any_file(data: bytes) -> None:
    assert all(fault.what for fault in faults(data))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


@st.composite
def spoilt(draw: st.DrawFn) -> object:
    """A valid configuration with something else in the place of one value."""
    whole = {"bridges": {"1": draw(bridges())}, "defaults": {}, "api": {}, "channel": {}}
    at: object = whole
    while isinstance(at, dict) and at:
        key = draw(st.sampled_from(sorted(at, key=str)))
        inner = at[key]
        if not isinstance(inner, dict) or not inner or draw(st.integers(0, 3)) == 0:
            at[key] = draw(json_values)
            break
        at = inner
    return whole


@settings(max_examples=200)
@given(spoilt())
def test_so_is_a_valid_file_with_one_value_exchanged(values: object) -> None:
    text = yaml.safe_dump(values, allow_unicode=True)
    assert all(fault.what and fault.place.line >= 1 for fault in faults(text))


def test_the_document_reader_alone_refuses_too() -> None:
    with pytest.raises(NotYamlError):
        read("]")


def test_the_file_that_is_packaged_is_valid() -> None:
    load_config(ROOT / "deploy" / "ofapp.yaml")
