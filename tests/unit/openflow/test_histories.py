"""After any history a switch holds what its bridge wants, and no port has opened too early.

What a change makes and what the whole description makes are compared after each step.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace

import pytest

import ofapp.common.hub  # noqa: F401

# isort: split
from ofapp.bridge.desired import Desired, DesiredPort
from ofapp.bridge.effects import Barrier, Effect, InstallDestination, Reprogram, SetGroup
from ofapp.bridge.params.params import PortParams
from ofapp.bridge.params.policy import PortPolicy
from ofapp.bridge.relay.policies import PortPolicies
from ofapp.controller.bridges.fabric import steps
from ofapp.openflow.pipeline import destination, flood, parts
from ofapp.openflow.pipeline.part import Context, Key, Part
from ofapp.openflow.switch.encode.encoder import Encoder
from ofapp.openflow.switch.installed import Exchange, Installed
from ofapp.openflow.switch.queue import delivery
from tests.support.multicast_frames import packed
from tests.unit.openflow import fabric_histories, histories

CHANGES = 40


@pytest.mark.parametrize(
    "seeds", [range(25), pytest.param(range(25, 10_000), marks=pytest.mark.thorough)], ids=len
)
def test_a_switch_holds_what_its_bridge_wants_after_any_history(seeds: Iterable[int]) -> None:
    for seed in seeds:
        histories.check(seed, CHANGES)


@pytest.mark.parametrize(
    "seeds", [range(4), pytest.param(range(4, 1_000), marks=pytest.mark.thorough)], ids=len
)
def test_members_hold_what_their_fabric_wants_after_any_history(seeds: Iterable[int]) -> None:
    for seed in seeds:
        fabric_histories.check(seed, CHANGES)


def test_an_entry_that_begins_with_a_whole_program_has_its_flow() -> None:
    """The whole program has the entry's group already."""
    history = histories.History(0)
    join = SetGroup(0, packed("239.1.1.9"), None, frozenset())
    history.bridge.multicast.desired = lambda _params: (join,)  # type: ignore[method-assign]
    history.apply([Reprogram(), join])
    history.shell.compare()


@pytest.mark.parametrize("vid", [0, 10])
def test_a_learned_address_may_be_ahead_of_the_group_of_its_port(vid: int) -> None:
    """The whole program has the group, and waits for a barrier."""
    history = histories.History(0)
    port = next(number for number in histories.PORTS if history.bridge.port_at(number))
    guarded = replace(PortParams(), policy=PortPolicy(flood=False))
    history.set(replace(history.bridge.params, ports={f"p{port}": guarded}))
    history.apply([Barrier()])
    history.apply([Reprogram()])
    history.shell.send([InstallDestination(port, vid, 0x020000000001, 1)], ahead=True)
    history.settle()


# The histories find each of these mistakes


def floods_by_table_for_open_ports(patch: pytest.MonkeyPatch) -> None:
    """A flow of the whole bridge that depends on states of ports."""

    def by_table(desired: Desired, metered: bool) -> bool:
        limited = (port.policy.storm.unknown_unicast is not None for port in desired.ports)
        return desired.port_policies.aware or (metered and any(limited))

    for module in (flood, destination):
        patch.setattr(module, "floods_by_table", by_table)


def removed_ports_stay_in_flood_groups(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(PortPolicies, "has", lambda _policies, _port: True)


def a_full_vlan_opens_ports(patch: pytest.MonkeyPatch) -> None:
    """A port that is renewed in the state that the bridge has, and not in the switch's."""

    def renewed(self: Encoder, port: int) -> bytes:
        desired = self._bridge.desired_port(port)
        return b"" if desired.state is None else self._put(desired)

    patch.setattr(Encoder, "_renew_port", renewed)


def innermost_flows_are_deleted_first(patch: pytest.MonkeyPatch) -> None:
    exchange = Installed.exchange

    def reversed_exchange(self: Installed, key: Key, part: Part) -> Exchange:
        made = exchange(self, key, part)
        return made._replace(deleted=made.deleted[::-1])

    patch.setattr(Installed, "exchange", reversed_exchange)


def outermost_flows_are_added_first(patch: pytest.MonkeyPatch) -> None:
    make = parts.KINDS[DesiredPort]

    def made(port: DesiredPort, context: Context) -> Part:
        part = make.make(port, context)
        return part._replace(flows=part.flows[::-1])

    patch.setitem(parts.KINDS, DesiredPort, make._replace(make=made))


def a_whole_program_overtakes_a_barrier(patch: pytest.MonkeyPatch) -> None:
    def until(effects: list[Effect]) -> tuple[list[Effect], list[Effect] | None]:
        at = next((at for at, each in enumerate(effects) if type(each) is Barrier), None)
        return (effects, None) if at is None else (effects[:at], effects[at + 1 :])

    patch.setattr(delivery, "until_barrier", until)


def a_whole_program_overtakes_other_members(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(steps, "_postpone", lambda _step, _last: None)


ONE, FABRIC = histories.check, fabric_histories.check


@pytest.mark.parametrize(
    ("mistake", "check", "soon"),
    [
        (floods_by_table_for_open_ports, ONE, 144),
        (removed_ports_stay_in_flood_groups, ONE, 0),
        (a_full_vlan_opens_ports, ONE, 0),
        (innermost_flows_are_deleted_first, ONE, 0),
        (outermost_flows_are_added_first, ONE, 0),
        (a_whole_program_overtakes_a_barrier, ONE, 0),
        (a_whole_program_overtakes_other_members, FABRIC, 12),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_a_mistake_is_found(
    mistake: Callable[[pytest.MonkeyPatch], None],
    check: Callable[[int, int], None],
    soon: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """soon: the seed of a history that finds it, at the time of writing; others do, too."""
    mistake(monkeypatch)
    assert any(_fails(check, seed) for seed in range(soon, soon + 200))


def _fails(check: Callable[[int, int], None], seed: int) -> bool:
    try:
        check(seed, CHANGES)
    except AssertionError:
        return True
    return False
