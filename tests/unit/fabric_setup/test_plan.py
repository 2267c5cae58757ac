"""What has to change in a member's switch, and the commands for it."""

from __future__ import annotations

from dataclasses import replace

from ofapp.bridge.fabric.params import FabricParams, MemberParams
from ofapp.fabric_setup.commands import back, commands, passing, shell
from ofapp.fabric_setup.plan import BFD, NEW_CONTROLLER, Plan, plan
from ofapp.fabric_setup.settings import Controller, Controllers, Interface, Phase, Setting, Switch

MEMBER = MemberParams("s1", 1, ("fab*",))
PARAMS = FabricParams("mesh", 1, (MEMBER, MemberParams("s2", 2, ("fab*",))))
ON = {key: value for key, value in BFD.items() if value is not None}
TARGET = "tcp:192.0.2.1:6653"
READY = Switch(
    "br0",
    f"{1:016x}",
    fail_mode="secure",
    protocols=("OpenFlow13",),
    other_config={"datapath-id": f"{1:016x}", "disable-in-band": "true"},
    controllers=(Controller(TARGET),),
    interfaces=(
        Interface("br0", "internal", 1500, 1500),
        Interface("eth0", mtu=1500),
        Interface("fab1", mtu=1526, mtu_request=1526, bfd=ON),
        Interface("fab2", mtu=9000, bfd=ON),
    ),
)
PLAIN = Switch(
    "br0",
    f"{1:016x}",
    rstp=True,
    interfaces=(
        Interface("br0", "internal", 1500),
        Interface("eth0", mtu=1500),
        Interface("fab1", mtu=1500),
    ),
)


def planned(switch: Switch, *controllers: str) -> Plan:
    return plan(PARAMS, MEMBER, switch, controllers)


def after(found: Plan) -> dict[tuple[str, str], str | None]:
    settings = [change.after for change in found.changes if isinstance(change.after, Setting)]
    return {(one.row, one.column): one.value for one in settings}


def test_a_switch_that_is_ready_is_left_alone() -> None:
    assert planned(READY) == Plan("s1", "br0")


def test_an_rstp_bridge_gets_all_that_a_member_needs() -> None:
    found = planned(PLAIN, TARGET)
    assert not found.problems
    assert after(found) == {
        ("fab1", "mtu_request"): "1526",
        ("fab1", "bfd:enable"): "true",
        ("fab1", "bfd:min_tx"): "50",
        ("fab1", "bfd:min_rx"): "50",
        ("br0", "mtu_request"): "1500",
        ("br0", "other_config:datapath-id"): f"{1:016x}",
        ("br0", "fail_mode"): "secure",
        ("br0", "rstp_enable"): "false",
        ("br0", "other_config:disable-in-band"): "true",
    }
    (controllers,) = [one.after for one in found.changes if isinstance(one.after, Controllers)]
    assert controllers.controllers == (Controller(TARGET, NEW_CONTROLLER),)


def test_what_stops_traffic_for_a_moment_comes_last() -> None:
    found = planned(PLAIN, TARGET)
    first = {(change.after.row) for change in found.phase(Phase.PREPARE)}  # type: ignore[union-attr]
    assert first == {"br0", "fab1"}
    columns = {getattr(one.after, "column", "controller") for one in found.phase(Phase.SWITCH)}
    assert columns == {"fail_mode", "rstp_enable", "other_config:disable-in-band", "controller"}


def test_controllers_that_stay_keep_their_connection() -> None:
    assert not planned(READY, TARGET).changes
    (change,) = planned(READY, TARGET, "tcp:192.0.2.2:6653").changes
    assert isinstance(change.after, Controllers)
    assert change.after.controllers[0] == READY.controllers[0]


def test_decay_is_turned_off() -> None:
    lazy = Interface("fab1", mtu=1526, bfd=ON | {"decay_min_rx": "1000"})
    found = planned(replace(READY, interfaces=(lazy,)))
    assert after(found) == {("fab1", "bfd:decay_min_rx"): None}


def test_intervals_of_bfd_that_were_chosen_stay() -> None:
    slow = Interface("fab1", mtu=1526, bfd=ON | {"min_tx": "1000", "min_rx": "1000"})
    assert not after(planned(replace(READY, interfaces=(slow,))))
    off = replace(slow, bfd={"min_tx": "1000", "min_rx": "300"})
    assert after(planned(replace(READY, interfaces=(off,)))) == {("fab1", "bfd:enable"): "true"}


def test_other_versions_of_openflow_stay() -> None:
    assert not planned(replace(READY, protocols=())).changes
    found = planned(replace(READY, protocols=("OpenFlow10",)))
    assert after(found) == {("br0", "protocols"): "OpenFlow10,OpenFlow13"}


def test_what_is_against_it() -> None:
    bonded = replace(PLAIN.interfaces[-1], bonded=True, error="no such device")
    fatal = [one.text for one in planned(replace(PLAIN, interfaces=(bonded,))).problems]
    assert fatal == [
        "Open vSwitch cannot use fab1: no such device",
        "fab1 is in a bond, and every link of a fabric is a port by itself",
        "br0 has no controller",
    ]
    (missing,) = planned(replace(READY, interfaces=())).problems
    assert missing.text == "no port of br0 is called fab*"
    patch = replace(READY, interfaces=(Interface("fab1", "patch"),))
    (warning,) = planned(patch).problems
    assert not warning.fatal
    assert not planned(patch).changes


def test_the_commands_are_those_of_a_person() -> None:
    found = planned(PLAIN, TARGET)
    text = shell(commands(change.after for change in found.phase(Phase.PREPARE)))
    assert text.replace(" \\\n   ", "") == (
        "ovs-vsctl set Interface fab1 mtu_request=1526 bfd:enable=true bfd:min_tx=50 bfd:min_rx=50"
        " -- set Interface br0 mtu_request=1500"
        f" -- set Bridge br0 other_config:datapath-id={1:016x}"
    )
    text = shell(commands(change.after for change in found.phase(Phase.SWITCH)))
    assert f"create Controller 'target=\"{TARGET}\"'" in text
    remote = shell([["del-controller", "br0"]], "tcp:192.0.2.1:6640")
    assert remote == "ovs-vsctl --db=tcp:192.0.2.1:6640 del-controller br0"


def test_the_way_back_gives_the_mtu_back_before_it_asks_for_none() -> None:
    before = [change.before for change in planned(PLAIN, TARGET).changes]
    assert passing(before) == [
        ["--if-exists", "set", "Interface", "fab1", "mtu_request=1500"],
    ]
    words = back(before)
    assert ["--if-exists", "clear", "Interface", "fab1", "mtu_request"] in words
    assert ["--if-exists", "remove", "Interface", "fab1", "bfd", "enable"] in words
    assert ["del-controller", "br0"] in words


def test_a_value_that_ovs_vsctl_would_split_is_quoted() -> None:
    odd = Setting("Bridge", "br0", "other_config:datapath-id", "aa:bb")
    assert commands([odd]) == [["set", "Bridge", "br0", 'other_config:datapath-id="aa:bb"']]
