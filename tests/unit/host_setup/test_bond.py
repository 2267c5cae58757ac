"""Two NICs at once: one aggregation, which the controller has before a NIC is plugged in."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ofapp.host_setup import steps
from ofapp.host_setup.checks import Problem, Reach, check
from ofapp.host_setup.model import DeployConfig
from ofapp.host_setup.plan import plan_apply, steps_towards
from ofapp.host_setup.state import FileLag, Host, Lag, LagFile, Layout
from ofapp.host_setup.wanted import (
    origin_layout,
    present_layout,
    returned_layout,
    tap_names,
    wanted_layout,
)
from tests.unit.host_setup.hosts import do, host, nic

FILE = "/etc/ofapp/ofapp.yaml"
BOND = DeployConfig(nics=("eth0", "eth1"), datapath="netdev", bond="lacp")
THREE = BOND.model_copy(update={"nics": ("eth0", "eth1", "eth2")})
ALONE = BOND.model_copy(update={"nics": ("eth0",), "bond": None})
LAG = Lag("br0", "lag0", ("eth0", "eth1"), "active")


def start(*lags: FileLag) -> Host:
    others = (nic(f"eth{n}", addresses=(), routes=(), index=2 + n) for n in (1, 2))
    return host(nic(), *others, file=LagFile(FILE, lags))


def plan(seen: Host, config: DeployConfig = BOND, origin: Layout | None = None) -> list[object]:
    return list(plan_apply(seen, wanted_layout(seen, config, origin), config))


def done(seen: Host, config: DeployConfig = BOND, origin: Layout | None = None) -> Host:
    for step in plan_apply(seen, wanted_layout(seen, config, origin), config):
        seen = _checked(do(seen, step))
    return seen


def _checked(seen: Host) -> Host:
    """Two uplinks are never plugged in beside each other: that may be a loop."""
    bridge = seen.switch.bridge("br0")
    plugged = {port.name for port in bridge.ports} if bridge else set()
    assert seen.file is not None
    together = {name for found in seen.file.of("br0") for name in found.lag.members}
    assert len(plugged) <= 1 or plugged <= together, plugged
    return seen


def test_the_file_has_it_and_the_controller_knows_it_before_a_nic_is_plugged_in() -> None:
    doing = plan(start())
    kinds = [type(step) for step in doing]
    assert kinds[:3] == [steps.PutBridge, steps.PutLag, steps.AwaitController]
    assert doing[1] == steps.PutLag(FILE, LAG)
    assert doing[2] == steps.AwaitController("br0", spanning_tree=False, lag="lag0")
    assert [s.port.name for s in doing if isinstance(s, steps.PutPort)] == ["eth0", "eth1"]


def test_a_static_one_speaks_no_lacp() -> None:
    doing = plan(start(), BOND.model_copy(update={"bond": "static"}))
    assert steps.PutLag(FILE, replace(LAG, lacp="off")) in doing


def test_a_second_apply_plans_nothing() -> None:
    assert plan(done(start())) == []


@pytest.mark.parametrize("again", range(40))
def test_from_every_step_there_is_a_way_back(again: int) -> None:
    """And from every step of that way."""
    seen = start()
    fallback = present_layout(seen, "br0", BOND.uplinks, tap_names(BOND))
    for step in plan_apply(seen, wanted_layout(seen, BOND), BOND)[:again]:
        seen = _checked(do(seen, step))
    while way := list(steps_towards(seen, fallback)):
        seen = _checked(do(seen, way[0]))
    assert seen.switch.bridges == ()
    assert seen.file == LagFile(FILE)
    eth0 = seen.link("eth0")
    assert eth0 is not None
    assert set(eth0.state.addresses) == set(nic().state.addresses)


def test_revert_takes_it_out_of_the_file_again() -> None:
    seen = start()
    origin, deployed = origin_layout(seen, BOND, None), wanted_layout(seen, BOND)
    seen = done(seen)
    for step in list(steps_towards(seen, returned_layout(seen, origin, deployed))):
        seen = _checked(do(seen, step))
    assert seen.file == LagFile(FILE)
    assert seen.switch.bridges == ()


def test_what_a_person_wrote_is_neither_written_again_nor_taken_out() -> None:
    theirs = FileLag(Lag("br0", "uplink", ("eth1", "eth0"), "passive"), ours=False)
    doing = plan(start(theirs))
    assert steps.AwaitController("br0", spanning_tree=False, lag="uplink") in doing
    assert not [step for step in doing if isinstance(step, steps.PutLag)]
    seen = done(start(theirs))
    for step in list(steps_towards(seen, present_layout(start(theirs), "br0", BOND.uplinks, ()))):
        assert not isinstance(step, steps.RemoveLag)


def test_it_grows_and_shrinks_without_an_uplink_beside_it() -> None:
    origin = origin_layout(start(), BOND, None)
    grown = done(done(start()), THREE, origin)
    assert grown.file is not None
    assert grown.file.ours("br0") == Lag("br0", "lag0", ("eth0", "eth1", "eth2"), "active")
    shrunk = done(grown, BOND, origin_layout(start(), THREE, origin))
    assert shrunk.file is not None
    assert shrunk.file.ours("br0") == LAG
    assert plan(shrunk) == []


def test_one_nic_becomes_two_and_is_one_again() -> None:
    one = done(start(), ALONE)
    fallback = present_layout(one, "br0", BOND.uplinks, ())
    two = done(one)
    for step in list(steps_towards(two, fallback)):
        two = _checked(do(two, step))
    assert two.file == LagFile(FILE)
    assert plan(two, ALONE) == []


def found(seen: Host, config: DeployConfig = BOND, **reach: object) -> list[Problem]:
    return list(check(seen, config, Reach(**reach), confirmed_later=True))  # type: ignore[arg-type]


def test_nothing_is_against_it_and_no_spanning_tree_is_needed() -> None:
    assert found(start(), api="no ofapp answers") == []


BOND0 = nic("bond0", kind="bond", index=9)
MEMBERS = (nic(addresses=(), routes=(), master="bond0"), nic("eth1", (), (), master="bond0"))


@pytest.mark.parametrize(
    ("seen", "config", "text", "fix"),
    [
        (replace(start(), file=None), BOND, "says which file it reads", "--api"),
        (
            replace(start(), file=LagFile(FILE, problem="No such file")),
            BOND,
            "cannot be read here: No such file",
            r"write there by hand: bridges: {br0: {lags: {lag0: {members: [eth0, eth1]",
        ),
        (
            start(FileLag(Lag("br0", "up", ("eth1", "eth2"), "active"), ours=False)),
            BOND,
            "has up of eth1 and eth2, with LACP active on br0 already",
            "change the file",
        ),
        (
            host(*MEMBERS, BOND0, file=LagFile(FILE)),
            BOND,
            "eth0 is a member of bond0, a bond of the kernel (addresses 192.0.2.2/24",
            "use --nic bond0 without --bond",
        ),
        (
            host(*MEMBERS, BOND0, nic("eth2", (), ()), file=LagFile(FILE)),
            BOND.model_copy(update={"nics": ("bond0", "eth2")}),
            "bond0 is a bond of the kernel, and --bond would make one of --nic eth0 --nic eth1",
            "leave out --bond",
        ),
    ],
    ids=["no controller", "file elsewhere", "others' aggregation", "enslaved", "a bond as NIC"],
)
def test_what_is_against_it_is_reported(
    seen: Host, config: DeployConfig, text: str, fix: str
) -> None:
    errors = [problem for problem in found(seen, config) if problem.fatal]
    assert [problem for problem in errors if text in problem.text and fix in problem.fix], errors


def test_a_bond_is_made_of_two() -> None:
    with pytest.raises(ValueError, match="two uplinks at least"):
        DeployConfig(nics=("eth0",), bond="static")
