"""What the twin predicts of a fabric is what happens to one of four real switches."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from contextlib import closing
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support import frames
from tests.support.controller import Controller
from tests.support.fabric_network import Cable, FabricNetwork
from tests.support.ovs import VSwitchd
from tests.support.waiting import wait_for

RING = [Cable((1, 2), (2, 2)), Cable((2, 3), (3, 2)), Cable((3, 3), (4, 2)), Cable((4, 3), (1, 3))]
Paths = dict[tuple[str, str], set[tuple[str, ...]]]


@pytest.fixture(scope="module")
def network(vswitchd: VSwitchd) -> Iterator[FabricNetwork]:
    """Four members in a ring, each with a host that is known."""
    with closing(Controller()) as controller:
        made = FabricNetwork(vswitchd, controller, 4, RING)
        try:
            controller.start()
            made.connect()
            made.learn()
            yield made
        finally:
            made.close()


def end(member: int, port: int) -> str:
    return f"pod/s{member}/sw{member}to{port}"


def asked(network: FabricNetwork, **question: Any) -> Any:
    reply = network.controller.api("POST", "/v1/what-if", question)
    assert reply.status == 200, reply
    return reply.body


def paths(network: FabricNetwork) -> Paths:
    """The paths between each two members that are there, as the fabric traces them."""
    found: Paths = {}
    for one, other in combinations(network.present, 2):
        query = f"from=s{one}/sw{one}edge&to={frames.host(other)}"
        traced = network.controller.get(f"/v1/fabrics/pod/trace?{query}")
        assert not traced["flooded"], traced
        found[f"pod/s{one}", f"pod/s{other}"] = {
            tuple(f"{hop['out']} - {hop['into']}" for hop in way) for way in traced["ways"]
        }
    return found


def predicted_paths(before: Paths, answer: Any) -> Paths:
    expected = dict(before)
    for each in answer["paths"]:
        assert before[each["a"], each["b"]] == {tuple(path) for path in each["before"]}
        expected[each["a"], each["b"]] = {tuple(path) for path in each["after"]}
    return expected


def are(network: FabricNetwork, expected: Paths) -> None:
    """Wait until the paths are these, and all frames arrive once."""
    network.settle()
    network.learn()
    last: list[Paths] = []

    def as_predicted() -> bool:
        last[:] = [paths(network)]
        return last == [expected]

    wait_for(as_predicted, "the paths", seconds=40, tick=network.tick)
    network.check(random.Random(1))


def test_a_link_is_asked_and_then_cut(network: FabricNetwork) -> None:
    before = paths(network)
    answer = asked(network, cut=[end(1, 2)])
    assert not answer["interrupted"]
    assert paths(network) == before, "asking changes nothing"
    (content,) = answer["switches"]
    changed = {item["item"].partition(":")[0] for item in content["planned"]["items"]}
    assert (content["bridge"], changed) == ("pod", {"s1", "s2", "s3", "s4"})
    assert content["planned"]["sent"]["flows"]
    assert {f"bridge pod/s{at}" for at in (3, 4)} <= {*answer["single_points"]}
    assert f"cable {end(2, 3)} - {end(3, 2)}" in answer["single_points"]
    expected = predicted_paths(before, answer)
    assert expected["pod/s1", "pod/s2"] != before["pod/s1", "pod/s2"]
    network.fail(RING[0])
    are(network, expected)
    plugged = asked(network, plug=[{"a": end(1, 2), "b": end(2, 2)}])
    assert predicted_paths(expected, plugged) == before
    network.mend(RING[0])
    are(network, before)


def test_a_member_is_asked_and_then_lost(network: FabricNetwork) -> None:
    before = paths(network)
    answer = asked(network, fail=["pod/s3"])
    gone = {(each["a"], each["b"]) for each in answer["cut_off"] if each["seconds"] is None}
    assert gone == {("pod/s1", "pod/s3"), ("pod/s2", "pod/s3"), ("pod/s3", "pod/s4")}
    expected = {
        pair: found
        for pair, found in predicted_paths(before, answer).items()
        if "pod/s3" not in pair
    }
    network.delete(3, carrier=False)
    are(network, expected)
    network.create(3)
    are(network, before)


def test_costs_of_a_file_are_asked_and_then_applied(network: FabricNetwork, tmp_path: Path) -> None:
    before = paths(network)
    fabric = network.file["fabrics"]["pod"]
    costs = {end(1, 2).removeprefix("pod/"): 10}
    dear = {
        "defaults": {"stp": {"enabled": False}},  # as `Controller.configure` has it
        "fabrics": {"pod": {**fabric, "costs": costs}},
    }
    file = tmp_path / "new.yaml"
    file.write_text(yaml.safe_dump(dear), "utf-8")
    done = network.controller.ofapp("what-if", "--config", str(file), "--json")
    assert done.returncode == 0, done.stdout
    expected = predicted_paths(before, json.loads(done.stdout))
    assert expected != before
    reload(network, dear)
    are(network, expected)
    reload(network, network.file)
    are(network, before)


def reload(network: FabricNetwork, file: Any) -> None:
    network.controller.configure(yaml.safe_dump(file))
    reply = network.controller.api("POST", "/v1/config/reload", force=True)
    assert reply.status == 200, reply


def test_a_member_has_a_short_name_and_the_command_shows_paths(network: FabricNetwork) -> None:
    short = end(1, 2).removeprefix("pod/")
    done = network.controller.ofapp("what-if", "--cut", short)
    assert done.returncode == 0, done.stdout
    assert "PATHS AFTER" in done.stdout
    lost = network.controller.ofapp("what-if", "--fail", "s2")
    assert lost.returncode == 1, lost
    assert "cut off: pod/s1 and pod/s2" in lost.stdout


@pytest.mark.parametrize(
    ("question", "status", "detail"),
    [
        ({"fail": ["pod/s9"]}, 404, "pod has no member s9; its members are: s1, s2, s3"),
        ({"cut": ["pod/s1/eth77"]}, 404, "eth77"),
        ({"storm": [{"port": end(1, 2)}]}, 409, "leads to another member"),
        ({"plug": [{"a": end(1, 2), "b": "pod/s2/sw2edge"}]}, 409, "link port at both ends"),
    ],
)
def test_a_wrong_question_names_what_is_wrong(
    network: FabricNetwork, question: Any, status: int, detail: str
) -> None:
    reply = network.controller.api("POST", "/v1/what-if", question)
    assert (reply.status, detail in json.dumps(reply.body)) == (status, True), reply


def test_a_link_is_cut_while_the_controller_is_away(network: FabricNetwork) -> None:
    before = paths(network)
    answer = asked(network, cut=[end(2, 3)], disconnected=20)
    assert not answer["interrupted"]
    network.controller.kill9()
    network.fail(RING[1])

    def all_meet() -> bool:
        sent = {network.send(*pair, settle=True): pair for pair in combinations(network.present, 2)}
        got = network.arrived(*sent)
        return all(got[number][to] == 1 for number, (_, to) in sent.items())

    wait_for(all_meet, "frames to go around the link", tick=network.tick)
    network.controller.start()
    are(network, predicted_paths(before, answer))
    network.mend(RING[1])
    are(network, before)
