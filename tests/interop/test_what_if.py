"""What the twin predicts is what happens: random changes of random networks, asked and then made.

Before each change `POST /v1/what-if` is asked.  When the change has been made, roles and states of
all ports, the ports whose addresses are forgotten, and the hosts that lose frames are compared with
the answer.  Nothing is compared where the machine itself stalled: a frame, a BPDU or a report of a
link took longer than STALL. Such a change is asked again, after the network is at rest.  How long
bridges of others take to react is not recorded: durations may differ by STALL more there.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from random import Random
from typing import Any

import pytest

from tests.support.census import Census
from tests.support.foretold import (
    RealNetwork,
    Roles,
    Shape,
    random_change,
    random_shape,
    restore,
)
from tests.support.stp_peers import KernelStp, OvsRstp
from tests.support.waiting import wait_for

STALL = 0.6
"""Seconds; three hellos are missed after 3 s, and a port opens by itself after 2 s."""
ACCURACY = 0.05
"""Seconds that durations may differ, beside what the machine adds."""
INTERVAL = 0.05
"""Seconds between two frames of a host."""
MOST_CUT = 3
"""Cables that may be out at the same time."""

TRIALS = {
    "ring with an aggregation and VLANs": (Shape(3, 1, vlans=(10, 20), doubled=1), 11, 9),
    "Linux's and Open vSwitch's bridges": (Shape(3, 1, foreign=(KernelStp, OvsRstp)), 12, 4),
}
"""Networks, each with its seed and the number of its changes."""

DOUBT = ("is not predicted", "may be wrong", "may take up to", "go on with their last hellos")
"""Words of an answer that names what it cannot predict."""
doubted: list[str] = []
"""Changes that had another effect, where the answer has named what it cannot predict."""

Facts = dict[str, Any]
measured: list[tuple[float, float]] = []
"""Of each pair of hosts that was cut off: the difference, and what the machine has added."""


@dataclass(frozen=True)
class Happened:
    """What followed from a change.  Times are seconds after it; flushed: bridge and port.

    added: seconds that links, BPDUs and frames took; stalled: the longest of them.
    """

    roles: Roles
    flushed: frozenset[tuple[str, str]]
    added: float
    stalled: float


class Trial:
    """One network whose changes are predicted and made."""

    def __init__(self, net: RealNetwork, census: Census) -> None:
        self.net, self.census = net, census
        self._names = {
            (switch.dpid16, port["number"]): (switch.name, port["name"])
            for switch in net.own
            for port in net.controller.get(f"/v1/bridges/{switch.dpid16}/ports")["ports"]
        }

    def change(self) -> list[str] | None:
        """Predict and make one change; gives what differs.  None: the machine stalled."""
        net = self.net
        if len(net.cut) >= MOST_CUT:
            restore(net)
        net.wait_rest()
        cut, before, learned = [*net.cut], net.roles(), self._learned()
        apart = self._apart(time.monotonic() - 10 * INTERVAL)
        change = random_change(net)
        question = {**change.question, "seconds": 60}
        reply = net.controller.api("POST", "/v1/what-if", question, timeout=60)
        assert reply.status == 200, reply
        if net.roles() != before:
            net.cut[:] = cut
            return None
        predicted, gone = reply.body, {switch.name for switch in change.gone}
        there = {switch.name for switch in net.own} - gone
        expected = {at: role for at, role in after(before, predicted).items() if at[0] in there}
        begun = change.make(net)
        self._wait(expected, predicted, begun, gone)
        happened = self._happened(begun, gone)
        if happened.stalled > STALL:
            return None
        said = {(each["bridge"], each["port"]) for each in predicted["flushed"]}
        forgot = {at for at in happened.flushed if at in learned and at[0] not in gone}
        to_forget = {at for at in said if at in learned and at[0] not in gone}
        different = [
            f"{at}: {before.get(at)}, predicted {expected.get(at)}, is {happened.roles.get(at)}"
            for at in expected.keys() | happened.roles.keys()
            if expected.get(at) != happened.roles.get(at)
        ]
        different += [f"{at}: addresses forgotten or not" for at in forgot ^ to_forget]
        different += self._interrupted(predicted, begun, happened.added, apart)
        if different and any(word in each for each in predicted["assumptions"] for word in DOUBT):
            doubted.append(str(change.question))
            return []
        return [f"{change.question} {each}; {predicted['assumptions']}" for each in different]

    def _learned(self) -> set[tuple[str, str]]:
        """Ports with learned addresses."""
        return {
            (switch.name, entry["port"]["name"])
            for switch in self.net.own
            for entry in self.net.controller.fdb(switch)  # type: ignore[arg-type]
            if entry["type"] == "dynamic"
        }

    def _wait(self, expected: Roles, predicted: Facts, begun: float, gone: set[str]) -> None:
        """Wait until what was predicted has happened, or something else is at rest."""
        last = max([each["at"] for each in predicted["changes"]], default=0.0)

        def done() -> bool:
            forgotten = {
                (each["bridge"], each["port"])
                for each in predicted["flushed"]
                if each["addresses"] and each["bridge"] not in gone
            }
            return forgotten <= self._happened(begun, gone).flushed and expected == self._roles(
                gone
            )

        with suppress(AssertionError):  # it is compared below
            wait_for(done, "the prediction", seconds=last + 5, tick=self._pause)
        self.net.wait_rest()

    def _pause(self) -> None:
        """Let some rounds of frames pass: each look at the recording reads all of it."""
        end = self.census.rounds + 4
        wait_for(lambda: self.census.rounds >= end, "frames", seconds=30)

    def _roles(self, gone: set[str]) -> Roles:
        return {at: role for at, role in self.net.roles().items() if at[0] not in gone}

    def _happened(self, begun: float, gone: set[str]) -> Happened:
        flushed: set[tuple[str, str]] = set()
        sent: dict[str, float] = {}
        flights: list[tuple[float, float]] = []
        last = link = begun
        for at, line in self.net.recorded(begun):
            if line["input"] in ("put_port", "put_ports"):
                link = max(link, at)
            if line["input"] == "hear" and line["with"][0][0] == "bpdu":
                heard = [frame["of"] for _, frame in line["with"][0][1]]
                flights += [(sent[frame], at) for frame in heard if frame in sent]
            for effect in filter(None, line["effects"] or ()):
                kind = effect["$"].rpartition(".")[2] if isinstance(effect, dict) else ""
                if kind == "Flush" and effect["port"] is not None:
                    flushed.add(self._names.get((line["bridge"], effect["port"]), ("", "")))
                elif kind == "SendFrame":
                    sent.setdefault(effect["frame"]["of"], at)
                elif kind in ("SetPortState", "ClosePort"):
                    last = max(last, at)
        rounds = self._rounds(begun)
        frames = max(self.census.flights(rounds), default=0.0)
        slowest = max([there - here for here, there in flights], default=0.0)
        added = link - begun + under_way(flights, last) + frames
        return Happened(
            self._roles(gone), frozenset(flushed), added, max(slowest, link - begun, frames)
        )

    def _rounds(self, since: float) -> range:
        """The rounds of frames from then on, without those that are still under way."""
        sent = self.census.sent
        first = next((at for at, then in enumerate(sent) if then >= since), len(sent))
        return range(first, max(first, len(sent) - 4))

    def _pairs(self) -> Iterator[tuple[Any, Any]]:
        """Hosts of different bridges in the same VLAN."""
        hosts = self.net.hosts
        for at, one in enumerate(hosts):
            for other in [*hosts][at + 1 :]:
                if one.home is not other.home and hosts[one] == hosts[other]:
                    yield one, other

    def _apart(self, since: float) -> set[tuple[Any, Any]]:
        """Pairs that do not reach each other now."""
        rounds = self._rounds(since)
        return {pair for pair in self._pairs() if self.census.lost(*pair, rounds) == len(rounds)}

    def _interrupted(
        self, predicted: Facts, begun: float, added: float, apart: set[tuple[Any, Any]]
    ) -> Iterator[str]:
        """Pairs whose frames were lost for another time than predicted."""
        self._pause()
        rounds = self._rounds(begun)
        end = self.census.sent[rounds.stop - 1] - begun if rounds else 0.0
        names = {peer.name: self._far_name(peer) for peer in self.net.peers}
        for one, other in set(self._pairs()) - apart:
            homes = {names.get(home.name, home.name) for home in (one.home, other.home)}
            to_be = sum(
                (end if each["seconds"] is None else each["since"] + each["seconds"])
                - each["since"]
                for each in predicted["cut_off"]
                if {each["a"], each["b"]} == homes and each["vlan"] == self.net.hosts[one]
            )
            lost = max(self.census.lost(*pair, rounds) for pair in ((one, other), (other, one)))
            difference = abs(lost * INTERVAL - to_be)
            if lost or to_be:
                measured.append((difference, added))
            allowed = ACCURACY + added + 2 * INTERVAL + (STALL if self.net.peers else 0.0)
            if difference > allowed:
                real = f"{lost * INTERVAL:.2f} s, of which the machine {added:.2f} s"
                yield f"{homes} cut off for {real}; predicted {to_be:.2f} s"

    @staticmethod
    def _far_name(peer: Any) -> str:
        """The name of a bridge of others in an answer."""
        from pathlib import Path

        return "bridge " + Path(f"/sys/class/net/{peer.name}/address").read_text().strip()


def after(before: Roles, predicted: Facts) -> Roles:
    """Roles and states that are to follow."""
    result = dict(before)
    for each in predicted["roles"]:
        at = each["bridge"], each["port"]
        if each["after"] in (None, "disabled"):
            result.pop(at, None)
        else:
            result[at] = each["after"], result.get(at, ("", "discarding"))[1]
    for each in predicted["changes"]:
        at = each["bridge"], each["port"]
        if at in result and each["new"] is not None:
            result[at] = result[at][0], each["new"]
    return result


def under_way(flights: list[tuple[float, float]], last: float) -> float:
    """Seconds until `last` in which some BPDU was under way."""
    total, upto = 0.0, 0.0
    for here, there in sorted(flights):
        begin, end = max(here, upto), min(there, last)
        if end > begin:
            total, upto = total + end - begin, end
    return total


def run(shape: Shape, random: Random, changes: int) -> tuple[list[str], int, int]:
    """Make changes in a network: what differs, how many agree, how often the machine stalled."""
    different: list[str] = []
    agree = stalls = 0
    with closing(RealNetwork(shape, random)) as net:
        net.start()
        with Census([*net.hosts], INTERVAL) as census:
            trial = Trial(net, census)
            while agree < changes and not different and stalls < changes:
                found = trial.change()
                if found is None:
                    stalls += 1
                else:
                    different += found
                    agree += not found
                census.check()
    return different, agree, stalls


@pytest.mark.parametrize(
    "name",
    [
        # A bridge with STP whose root port has not sent a notification yet is not known at all.
        pytest.param(name, marks=[pytest.mark.thorough] if shape.foreign else [])
        for name, (shape, _, _) in TRIALS.items()
    ],
)
def test_changes_have_the_predicted_effects(name: str) -> None:
    shape, seed, changes = TRIALS[name]
    doubted.clear()
    different, agree, stalls = run(shape, Random(seed), changes)
    assert not different
    assert len(doubted) < changes
    if agree < changes:
        pytest.skip(f"the machine stalled {stalls} times; {agree} changes agree")


@pytest.mark.thorough
def test_two_hundred_changes_have_the_predicted_effects() -> None:
    """Networks of 3 to 12 switches, eight changes of each."""
    different: list[str] = []
    agree = stalls = seed = 0
    while agree < 200 and seed < 60:
        random = Random(seed)
        wrong, right, stalled = run(random_shape(random), random, 8)
        different += [f"seed {seed}: {each}" for each in wrong]
        agree, stalls, seed = agree + right, stalls + stalled, seed + 1
        print(f"{seed} networks: {agree} agree, {len(different)} differ, {stalls} stalls", wrong)
    worst = max((difference - added for difference, added in measured), default=0.0)
    print(f"of those {len(doubted)} differ, and the answer has said so: {doubted}")
    print(f"durations: at most {worst * 1000:.0f} ms beside what the machine added")
    assert not different
