"""Multicast snooping in the configuration file: names, merging, and what is refused where."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ofapp.bridge.multicast import ParamError, Params, PortParams, PortVlanParams, VlanParams
from ofapp.config import Config, ConfigError, load_config
from ofapp.config.multicast import MulticastBridge, MulticastPort, MulticastVlan

DPID = "0000000000000001"


def load(text: str, path: Path) -> Config:
    file = path / "ofapp.yaml"
    file.write_text(text)
    return load_config(file)


def refusal(text: str, path: Path) -> list[str]:
    with pytest.raises(ConfigError) as refused:
        load(text, path)
    return [f"{fault.path}: {fault.what}" for fault in refused.value.faults]


def test_without_a_word_it_is_on_with_the_cores_defaults() -> None:
    params = Config().bridge(1).params()
    assert params.multicast == Params()
    assert params.multicast_vlans == {}
    assert params.port("eth0").multicast == PortParams()


def test_the_names_are_the_cores() -> None:
    """Every parameter of the core can be set, and no other."""

    def names(core: type[Any]) -> set[str]:
        return set(core.__dataclass_fields__)

    assert set(MulticastVlan.model_fields) == names(VlanParams)
    assert set(MulticastBridge.model_fields) == names(VlanParams) | names(Params) - {"vlan"} | {
        "vlans"
    }
    derived = {"hosts_only"}  # of `router` of first-hop security
    assert set(MulticastPort.model_fields) == names(PortParams) - derived


def test_a_bridges_own_values_go_on_top_of_the_defaults(tmp_path: Path) -> None:
    config = load(
        f"""
        defaults:
          multicast:
            mcast_query_response_interval: 2
            mcast_querier: true
          vlans: {{10: {{multicast: {{mcast_igmp_version: 2}}}}}}
        bridges:
          "{DPID}":
            multicast:
              mcast_query_interval: 5
              mcast_hash_max: 100
            vlans: {{10: {{multicast: {{mcast_querier: false}}}}, 20: {{}}}}
            ports:
              eth0: {{multicast: {{mcast_router: 2, mcast_fast_leave: true}}}}
              eth1: {{multicast: {{vlans: {{10: {{mcast_router: 2}}}}}}}}
        """,
        tmp_path,
    )
    params = config.bridge(1).params()
    vlan = VlanParams(mcast_query_response_interval=2, mcast_query_interval=5, mcast_querier=True)
    assert params.multicast == Params(mcast_hash_max=100, vlan=vlan)
    assert params.multicast_vlans == {
        10: VlanParams(
            mcast_query_response_interval=2, mcast_query_interval=5, mcast_igmp_version=2
        ),
    }
    assert params.port("eth0").multicast == PortParams(mcast_router=2, mcast_fast_leave=True)
    own = PortParams(vlans={10: PortVlanParams(mcast_router=2)})
    assert params.port("eth1").multicast == own
    other = config.bridge(2).params()
    assert other.multicast_vlans[10].mcast_querier
    assert other.multicast == Params(
        vlan=VlanParams(mcast_query_response_interval=2, mcast_querier=True)
    )


def test_a_vlan_of_a_port_stands_above_what_a_pattern_says(tmp_path: Path) -> None:
    bridge = load(
        f"""
        bridges:
          "{DPID}":
            ports:
              eth*: {{multicast: {{mcast_router: 0, vlans: {{10: {{mcast_router: 2}}}}}}}}
              eth0:
                multicast: {{vlans: {{10: {{mcast_router: null}}, 20: {{mcast_router: 1}}}}}}
              eth1: {{multicast: {{mcast_router: 1}}}}
        """,
        tmp_path,
    ).bridge(1)
    params = bridge.params()
    routers = {
        name: [params.port(name).multicast.router(vid) for vid in (0, 10, 20)]
        for name in ("eth0", "eth1", "eth2")
    }
    assert routers == {"eth0": [0, 0, 1], "eth1": [1, 2, 1], "eth2": [0, 2, 0]}
    shown = bridge.shown()["ports"]
    assert shown["eth0"]["multicast"] == {
        "vlans": {"10": {"mcast_router": None}, "20": {"mcast_router": 1}}
    }
    assert shown["eth1"]["multicast"] == {"mcast_router": 1}


def test_it_is_turned_off_for_a_bridge_or_for_a_vlan(tmp_path: Path) -> None:
    config = load(
        f"""
        defaults: {{multicast: {{mcast_snooping: false}}}}
        bridges:
          "{DPID}":
            multicast: {{mcast_snooping: true}}
            vlans: {{7: {{multicast: {{mcast_snooping: false}}}}}}
        """,
        tmp_path,
    )
    assert config.bridge(2).params().multicast is None
    params = config.bridge(1).params()
    assert params.multicast == Params()
    assert not params.multicast_vlans[7].mcast_snooping


def test_permanent_entries_are_written_as_people_write_them(tmp_path: Path) -> None:
    entries = """
            mdb:
            - {group: 239.1.1.1, port: eth0}
            - {group: FF05:0::3, port: eth0, vlan: 7, source: "2001:DB8::1"}
            - {group: 1-0-1-C0-FF-EE, port: eth0}
    """
    config = load(f'bridges:\n    "{DPID}":{entries}', tmp_path)
    assert [(e.group, e.port, e.vlan, e.source) for e in config.bridge(1).mdb] == [
        ("239.1.1.1", "eth0", 0, None),
        ("ff05::3", "eth0", 7, "2001:db8::1"),
        ("01:00:01:c0:ff:ee", "eth0", 0, None),
    ]
    assert config.bridge(2).mdb == ()


def test_every_fault_is_reported_with_its_place(tmp_path: Path) -> None:
    text = f"""
    defaults:
      multicast:
        mcast_hash_max: 0
        mcast_querier: "yes"
        mcast_query_interval: .inf
        mcast_querier_address4: 239.1.1.1
        mcast_speed: 1
      vlans: {{5000: {{}}}}
    bridges:
      "{DPID}":
        vlans: {{7: {{multicast: {{mcast_mld_version: 3, strict: true}}}}}}
        ports: {{eth0: {{multicast: {{mcast_router: true}}}}}}
        mdb:
        - {{group: 224.0.0.5, port: eth0}}
        - {{group: 239.1.1.1, port: eth0, source: "fe80::1"}}
        - {{group: me, port: eth0}}
        - {{group: "02:00:00:00:00:01", port: eth0}}
    """
    own = f"bridges.{DPID}"
    faults = dict(line.split(": ", 1) for line in refusal(text, tmp_path))
    for path in ("defaults.multicast.mcast_speed", f"{own}.vlans.7.multicast.strict"):
        assert faults.pop(path).startswith("there is no such key; there are mcast_snooping, ")
    assert faults == {
        "defaults.multicast.mcast_hash_max": "must be a whole number from 1 to 16777216, not 0",
        "defaults.multicast.mcast_querier": 'must be true or false, not "yes"',
        "defaults.multicast.mcast_query_interval": "must be a number from 1 to 31744 s, not inf",
        "defaults.multicast.mcast_querier_address4": "must be an IPv4 host address or 0.0.0.0,"
        " not '239.1.1.1'",
        "defaults.vlans.5000": "5000 is not a VID: 0 (untagged) to 4094",
        f"{own}.vlans.7.multicast.mcast_mld_version": "must be a whole number from 1 to 2, not 3",
        f"{own}.ports.eth0.multicast.mcast_router": "must be a whole number from 0 to 2, not true",
        f"{own}.mdb.0": "224.0.0.5 is not a multicast group that can have an entry",
        f"{own}.mdb.1": "fe80::1 cannot be a source of 239.1.1.1",
        f"{own}.mdb.3": "02:00:00:00:00:01 is the MAC address of one host, not of a group",
        f"{own}.mdb.2.group": "'me' does not appear to be an IPv4 or IPv6 address",
    }


RELATION = "must be less than mcast_query_interval (RFC 3376 8.3), or equal as in Linux, not 10.0"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("defaults: {multicast: {mcast_query_interval: 5}}", "defaults.multicast"),
        (
            "defaults: {vlans: {7: {multicast: {mcast_query_interval: 5}}}}",
            "defaults.vlans.7.multicast",
        ),
        (
            f"bridges: {{'{DPID}': {{multicast: {{mcast_query_interval: 5}}}}}}",
            f"bridges.{DPID}.multicast",
        ),
    ],
)
def test_values_that_do_not_go_together_are_reported_with_their_place(
    text: str, place: str, tmp_path: Path
) -> None:
    (fault,) = refusal(text, tmp_path)
    assert fault == f"{place}.mcast_query_response_interval: {RELATION}"


def test_an_answer_time_as_long_as_the_interval_is_taken_with_a_warning(tmp_path: Path) -> None:
    file = tmp_path / "ofapp.yaml"
    file.write_text(
        "defaults: {multicast: {mcast_query_interval: 10}, vlans: {7: {multicast:"
        " {mcast_query_interval: 20}}, 8: {multicast: {mcast_querier: true}}}}"
    )
    places = [warning.partition(": is as long")[0] for warning in load_config(file).warnings()]
    assert places == [
        "defaults.multicast.mcast_query_response_interval",
        "defaults.vlans.8.multicast.mcast_query_response_interval",
    ]


@pytest.mark.parametrize("model", [MulticastBridge, MulticastPort])
def test_the_documents_bounds_are_the_cores(model: type[MulticastBridge | MulticastPort]) -> None:
    """Alone each bound is taken; the step beyond is not."""
    bounded = 0
    for name, schema in model.model_json_schema()["properties"].items():
        if "minimum" not in schema:
            continue
        bounded += 1
        step = 1 if schema.get("type") == "integer" else 0.01
        for bound, beyond in (
            (schema["minimum"], schema["minimum"] - step),
            (schema["maximum"], schema["maximum"] + step),
        ):
            assert not blamed(model, name, bound), (name, bound)
            assert blamed(model, name, beyond), (name, beyond)
    assert bounded == (13 if model is MulticastBridge else 2)


def blamed(model: type[MulticastBridge | MulticastPort], name: str, value: float) -> bool:
    try:
        model(**{name: value})
    except ValueError:
        return True
    return False


def test_a_change_is_checked_as_a_whole() -> None:
    settings = MulticastBridge(mcast_query_response_interval=2)
    assert settings.changed({"mcast_query_interval": 5}).mcast_query_interval == 5
    with pytest.raises(ParamError) as refused:
        settings.changed({"vlans": {7: MulticastVlan(mcast_query_interval=1)}})
    assert refused.value.field == "vlans.7.mcast_query_response_interval"
    assert MulticastPort().changed({"mcast_router": 0}).params() == PortParams(mcast_router=0)
